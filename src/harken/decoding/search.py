"""From contexts to replies: greedy, sampling, beam and diverse beam, for every generator.

Rows are decoded together with key/value caches; a row that is done leaves the batch. A reply never depends on the other
rows: sampling draws its numbers from the seed and the row's own context.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from harken.decoding.constraints import LEAST, constrain, log_total, top
from harken.decoding.mutual import unheard
from harken.models.contract import Generator, State
from harken.text.batches import Batch
from harken.text.vocabulary import EOS, SOS


@dataclass(frozen=True, kw_only=True)
class DecodingConfig:
    """How a reply is searched for; greedy by default."""

    beam: int = 1
    """Hypotheses kept; 1 is greedy."""
    groups: int = 1
    """Groups of a diverse beam (Vijayakumar et al. 2016); each gets beam / groups hypotheses."""
    diversity: float = 0.5
    """What a group pays for a token that an earlier group chose at the same step; for more than one group."""
    sample: bool = False
    """Draw each token instead of searching."""
    temperature: float = 1.0
    top_k: int | None = None
    """Draw among this many likeliest tokens."""
    top_p: float | None = None
    """Draw among the fewest tokens that together have this probability (nucleus)."""
    seed: int = 13
    length_norm: float = 1.0
    """A beam ranks finished hypotheses by log-probability / length ** length_norm; 0 ranks by probability."""
    mutual: float = 0.0
    """A beam takes off this share of a hypothesis's log-probability without the context (mutual.py); 0 takes nothing."""
    no_repeat: int = 0
    """Never write an n-gram of this many tokens twice; 0 allows it."""
    min_length: int = 1
    """Tokens before the end may come; 1 keeps a reply from being empty."""
    max_length: int = 50

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        for name, least in (("beam", 1), ("groups", 1), ("no_repeat", 0), ("min_length", 0), ("max_length", 1)):
            if getattr(self, name) < least:
                yield f"{name} = {getattr(self, name)} must be at least {least}"
        if self.groups >= 1 and self.beam % self.groups:
            yield f"beam = {self.beam} must be a multiple of groups = {self.groups}"
        if self.min_length > self.max_length:
            yield f"min_length = {self.min_length} must not exceed max_length = {self.max_length}"
        if self.temperature <= 0:
            yield f"temperature = {self.temperature} must be above 0; greedy decoding is sample: false"
        if self.top_k is not None and self.top_k < 1:
            yield f"top_k = {self.top_k} must be at least 1, or null for all tokens"
        if self.top_p is not None and not 0 < self.top_p <= 1:
            yield f"top_p = {self.top_p} must lie in 0..1, or be null for all tokens"
        if not 0 <= self.mutual < 1:
            yield f"mutual = {self.mutual} must lie in 0..1, below 1"
        if self.mutual and self.beam == 1:
            yield f"mutual = {self.mutual} ranks the hypotheses of a beam; set beam above 1"
        if self.sample and self.beam > 1:
            yield f"sample draws one reply; set beam = {self.beam} to 1"
        if not self.sample and (self.top_k is not None or self.top_p is not None):
            yield "top_k and top_p are for sampling; set sample to true"


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A reply without its end token, and its score: log-probability over length ** length_norm."""

    tokens: list[int]
    score: float


@torch.inference_mode()
def decode(
    generator: Generator, batch: Batch, config: DecodingConfig, *, oracle: bool = False
) -> list[list[Hypothesis]]:
    """The hypotheses of each row, best first; the generator must be in eval mode."""
    state = generator.encode(batch, oracle=oracle)
    return decode_state(generator, state, batch, config)


@torch.inference_mode()
def decode_state(generator: Generator, state: State, batch: Batch, config: DecodingConfig) -> list[list[Hypothesis]]:
    """As `decode`, from contexts already read."""
    if config.beam > 1:
        found = _Beam(generator, state, config).run()
        return _informative(generator, state, batch, found, config) if config.mutual else found
    draws = _draws(batch, config) if config.sample else None
    return [[hypothesis] for hypothesis in _walk(generator, state, config, draws)]


def _informative(
    generator: Generator, state: State, batch: Batch, found: list[list[Hypothesis]], config: DecodingConfig
) -> list[list[Hypothesis]]:
    """The hypotheses by log p(T | S) - λ log p(T), over length ** length_norm, best first."""
    rows = [(row, one) for row, hypotheses in enumerate(found) for one in hypotheses]
    # What reached max_length was cut off, so it has no end to pay for.
    scored = [[*one.tokens, EOS] if len(one.tokens) < config.max_length else one.tokens for _, one in rows]
    alone = unheard(generator, state, batch, [row for row, _ in rows], scored)
    ranked: list[list[Hypothesis]] = [[] for _ in found]
    for (row, one), tokens, likely in zip(rows, scored, alone, strict=True):
        owed = config.mutual * likely / len(tokens) ** config.length_norm
        ranked[row].append(Hypothesis(one.tokens, one.score - owed))
    return [sorted(hypotheses, key=lambda hypothesis: -hypothesis.score) for hypotheses in ranked]


def _walk(generator: Generator, state: State, config: DecodingConfig, draws: Tensor | None) -> list[Hypothesis]:
    """One hypothesis per row: the likeliest token each time, or a drawn one."""
    rows = torch.arange(len(state.memory), device=state.memory.device)
    history = rows.new_empty((len(rows), 0))
    tokens = torch.full_like(rows, SOS)
    scores = torch.zeros(len(rows), device=rows.device)
    done: list[Hypothesis | None] = [None] * len(rows)
    for position in range(config.max_length):
        logits = generator.step(tokens, state)  # (R, V)
        norms = log_total(logits)
        logits = constrain(logits, history, min_length=config.min_length, no_repeat=config.no_repeat)
        if draws is None:
            best, tokens = top(logits, 1)
            best, tokens = best.squeeze(1), tokens.squeeze(1)
        else:
            tokens = pick(logits, draws[rows, position], config)
            best = logits.gather(1, tokens.unsqueeze(1)).squeeze(1)
        scores = scores + best - norms
        ended = tokens == EOS
        if position + 1 == config.max_length or ended.any():
            last = ended | (position + 1 == config.max_length)
            for i in last.nonzero().squeeze(1).tolist():
                said = history[i].tolist() + ([] if ended[i] else [int(tokens[i])])
                done[int(rows[i])] = Hypothesis(said, float(scores[i]) / (position + 1) ** config.length_norm)
            stay = (~last).nonzero().squeeze(1)
            if not len(stay):
                break
            state = state.select(stay)
            rows, history, tokens, scores = rows[stay], history[stay], tokens[stay], scores[stay]
        history = torch.cat([history, tokens.unsqueeze(1)], dim=1)
    return [hypothesis for hypothesis in done if hypothesis is not None]


def pick(logits: Tensor, draws: Tensor, config: DecodingConfig) -> Tensor:
    """The token at quantile `draws` of the tempered, truncated distribution, (R, V), (R,) -> (R,)."""
    k = logits.shape[1] if config.top_k is None else min(config.top_k, logits.shape[1])
    values, tokens = logits.topk(k, dim=1)  # sorted, so that truncation keeps a prefix
    mass = (values / config.temperature).softmax(1).cumsum(1)  # (R, k)
    if config.top_p is not None:
        needed = 1 + (mass < config.top_p).sum(1, keepdim=True)  # the fewest tokens that reach top_p
        draws = draws * mass.gather(1, (needed - 1).clamp(max=k - 1)).squeeze(1)
    place = (mass < draws.unsqueeze(1)).sum(1, keepdim=True).clamp(max=k - 1)
    return tokens.gather(1, place).squeeze(1)


def _draws(batch: Batch, config: DecodingConfig) -> Tensor:
    """Numbers in 0..1 for each row and position, a function of the seed and the row's context, (B, max_length)."""
    rows = []
    for context, pad in zip(batch.context.tolist(), batch.pad.tolist(), strict=True):
        real = [token for token, padding in zip(context, pad, strict=True) if not padding]
        digest = hashlib.sha256(f"{config.seed}:{real}".encode()).digest()
        source = torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
        rows.append(torch.rand(config.max_length, generator=source))
    return torch.stack(rows).to(batch.context.device)


@dataclass
class _Beam:
    """Beam search over B contexts with G groups of K hypotheses each, as B · G · K rows."""

    generator: Generator
    state: State
    config: DecodingConfig
    finished: list[list[Hypothesis]] = field(init=False)

    def run(self) -> list[list[Hypothesis]]:
        """Each context's hypotheses, best first."""
        config, device = self.config, self.state.memory.device
        groups, width = config.groups, config.beam // config.groups
        contexts = torch.arange(len(self.state.memory), device=device)  # (B,) those still searching
        self.finished = [[] for _ in contexts]
        self.state = self.state.select(contexts.repeat_interleave(groups * width))
        history = contexts.new_empty((len(contexts) * groups * width, 0))
        tokens = torch.full((len(history),), SOS, device=device)
        scores = torch.full((len(contexts), groups, width), LEAST, device=device)
        scores[:, :, 0] = 0.0  # at first the hypotheses of a group are the same one
        for position in range(config.max_length):
            logits = self.generator.step(tokens, self.state)  # (R, V)
            norms = log_total(logits)  # (R,)
            logits = constrain(logits, history, min_length=config.min_length, no_repeat=config.no_repeat)
            scores, parents, chosen = self._choose(logits, norms, scores, history, contexts)
            tokens = chosen.flatten()
            history = torch.cat([history[parents.flatten()], tokens.unsqueeze(1)], dim=1)
            self.state = self.state.reorder(parents.flatten())
            stay = self._unfinished(scores, contexts, position + 1)
            if not stay.any() or position + 1 == config.max_length:
                break
            if not stay.all():
                rows = stay.repeat_interleave(groups * width).nonzero().squeeze(1)
                self.state = self.state.select(rows)
                history, tokens, scores, contexts = history[rows], tokens[rows], scores[stay], contexts[stay]
        for i, context in enumerate(contexts.tolist()):
            if stay[i]:  # cut off at max_length
                self._keep(context, scores[i].flatten(), history.view(len(contexts), -1, history.shape[1])[i])
        for hypotheses in self.finished:
            hypotheses.sort(key=lambda hypothesis: -hypothesis.score)
            del hypotheses[config.beam :]
        return self.finished

    def _choose(
        self, logits: Tensor, norms: Tensor, scores: Tensor, history: Tensor, contexts: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The next hypotheses, three of (B, G, K): their scores, the rows they continue, their new tokens."""
        config = self.config
        b, groups, width = scores.shape
        logits = logits.view(b, groups, width, -1)
        norms = norms.view(b, groups, width)
        first = torch.arange(b * groups * width, device=scores.device).view(b, groups, width)
        taken = logits.new_zeros((b, logits.shape[-1])) if groups > 1 else None  # (B, V) how often chosen at this step
        kept: list[tuple[Tensor, Tensor, Tensor]] = []
        for group in range(groups):
            options = logits[:, group].flatten(0, 1)  # (B · K, V)
            if taken is not None:
                options = options - config.diversity * taken.repeat_interleave(width, 0)
            values, tokens = top(options, 2 * width)  # (B · K, M)
            plain = values if taken is None else logits[:, group].flatten(0, 1).gather(1, tokens)
            base = (scores[:, group] - norms[:, group]).flatten().unsqueeze(1)  # (B · K, 1)
            ranked = (values + base).view(b, -1)  # (B, K · M) what decides, the penalty included
            order = ranked.topk(min(2 * width, ranked.shape[1]), dim=1).indices  # (B, 2K)
            likely = (plain + base).view(b, -1).gather(1, order)  # (B, 2K) log-probabilities
            chosen = tokens.view(b, -1).gather(1, order)
            rows = first[:, group].repeat_interleave(tokens.shape[1], 1).gather(1, order)
            self._finish(likely[:, :width], rows[:, :width], chosen[:, :width], history, contexts)
            # Each hypothesis ends at most once, so at least K of the 2K go on.
            going = (chosen == EOS).int().argsort(dim=1, stable=True)[:, :width]
            kept.append((likely.gather(1, going), rows.gather(1, going), chosen.gather(1, going)))
            if taken is not None:
                taken.scatter_add_(1, kept[-1][2], torch.ones_like(kept[-1][0]))
        scores, parents, chosen = (torch.stack(part, dim=1) for part in zip(*kept, strict=True))
        return scores.masked_fill(chosen == EOS, LEAST), parents, chosen

    def _finish(self, likely: Tensor, rows: Tensor, chosen: Tensor, history: Tensor, contexts: Tensor) -> None:
        """Keep the hypotheses that end now."""
        ends = (chosen == EOS) & (likely > LEAST)
        for i, j in ends.nonzero().tolist():
            said = history[rows[i, j]].tolist()
            self.finished[int(contexts[i])].append(self._hypothesis(said, float(likely[i, j]), len(said) + 1))

    def _keep(self, context: int, scores: Tensor, history: Tensor) -> None:
        """Keep hypotheses as they are."""
        for score, said in zip(scores.tolist(), history.tolist(), strict=True):
            if score > LEAST:
                self.finished[context].append(self._hypothesis(said, score, len(said)))

    def _hypothesis(self, said: list[int], score: float, length: int) -> Hypothesis:
        return Hypothesis(said, score / length**self.config.length_norm)

    def _unfinished(self, scores: Tensor, contexts: Tensor, length: int) -> Tensor:
        """Which contexts go on, (B,): those with fewer than `beam` finished, unless nothing alive can still win.

        A hypothesis that leads all finished ones as it stands is followed beyond that, so that no beam ends below what
        it had in hand: copying offers many an early end. The groups of a diverse beam do not compete, so there only the
        first rule counts.
        """
        alive = scores.flatten(1).amax(1)  # (B,)
        hopes = (alive / max(length + 1, self.config.max_length) ** self.config.length_norm).tolist()
        stands = (alive / length**self.config.length_norm).tolist()
        competing = self.config.groups == 1
        going = []
        for context, hope, stand in zip(contexts.tolist(), hopes, stands, strict=True):
            found = self.finished[context]
            best = max((hypothesis.score for hypothesis in found), default=LEAST) if competing else LEAST
            leads = competing and stand > best
            going.append(hope > best and (leads or len(found) < self.config.beam))
        return torch.tensor(going, device=scores.device)
