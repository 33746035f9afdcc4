"""MIME: a reply that mimics the speaker's emotion to a degree (Majumder et al., EMNLP 2020).

Emotions fall into a positive and a negative group. From the context one emotion is sampled in each; the context is
refined by either, the speaker's own polarity first, and a gate mixes the two for the decoder.

    paper         here                   shape         equation
    E_C(C)        context_embeddings()   (B, S, D)     (1), positions inside the encoder
    H, c          context, summary       (B, S, D)     (2), (3)
    E_E, W_E, s   emotions, matching     (E, D)        (4) to (6)
    z_g           Normal.at()            (B, D)        (7), (8), (11) to (15)
    d_g, e_g      pooled()               (B, D)        (9), (10)
    L_ELBO        divergence, surprise   (B,)          (16), (17)
    m, m~         mimic()                (B, D)        (18), (19)
    M, M~         refine()               (B, S, D)     (20) to (23)
    M_fused       fuse()                 (B, S, D)     (24) to (27)
    O, P_resp     decoder, output        (B, T, D)     (28) to (30)
    L             losses()                             (31), (32)

What the paper leaves open. Training hears the posterior's sample; a reply hears the prior's mean, to be the same every
time. The e_g that (16) and (17) take as given is the one a sample of the prior pools, a constant to them, and
P(e_g | z_g, C) is a unit Gaussian around the one z_g pools. The posterior has a first layer per group. Only a context
of no words keeps its CTX, which (20) leaves out. Prior and posterior start alike: started apart, by Xavier, they differ
by hundreds of nats, and closing that gap flattens c before the classifier has learnt from it.

`variant: release` follows the authors' code: an encoder each for (22) and (23), CTX kept in (20), the positive group's
variance for both groups; the decoder hears the prior's sample, also in replying; of (16) only the divergence is left.
(The release's posterior reads the mean of M for e_g; as its sample goes nowhere, we kept e_g.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from harken.labels import EMOTIONS, NEGATIVE, POSITIVE
from harken.models.contract import State
from harken.models.layers import xavier
from harken.models.losses import Term, emotion_terms
from harken.models.stacks import Encoder
from harken.models.transformer import Transformer, TransformerConfig
from harken.text.batches import NO_EMOTION, Batch
from harken.text.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class MimeConfig(TransformerConfig):
    """The release's sizes; the switches are the paper's ablations."""

    encoder_layers: int = 1
    decoder_layers: int = 1
    refiner_layers: int = 1
    """Layers of the encoder that refines the context by an emotion (Eqs. 22, 23)."""
    mimicry: bool = True
    """The speaker's own polarity first (Eqs. 18, 19); off leaves the positive group first."""
    grouping: bool = True
    """An emotion of each polarity; off pools one of all 32, and then there is nothing to mimic either."""
    stochastic: bool = True
    """Sample the emotions (Eq. 8); off takes the mean, the paper's 'without STC'."""
    variant: Literal["paper", "release"] = "paper"
    """The equations as printed, or with the departures of the authors' code."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        yield from super().problems()
        if self.refiner_layers < 1:
            yield f"refiner_layers = {self.refiner_layers} must be at least 1"
        if self.mimicry and not self.grouping:
            yield "mimicry = true needs the two groups; set grouping to true, or mimicry to false as well"


class Normal(NamedTuple):
    """A diagonal Gaussian."""

    mean: Tensor  # (B, D)
    log_variance: Tensor  # (B, D)

    def at(self, noise: Tensor) -> Tensor:
        """Where standard noise falls, (B, D) -> (B, D)."""
        return self.mean + noise * torch.exp(0.5 * self.log_variance)  # (13), (15)


def divergence(q: Normal, p: Normal) -> Tensor:
    """KL[q || p], summed over the dimensions, -> (B,)."""
    ratio = (q.log_variance.exp() + (q.mean - p.mean) ** 2) / p.log_variance.exp()
    return 0.5 * (p.log_variance - q.log_variance + ratio - 1).sum(-1)  # (16), first part


def surprise(given: Tensor, pooled: Tensor) -> Tensor:
    """-log P of a vector under the unit Gaussian around another, but for a constant, two of (B, D) -> (B,)."""
    return 0.5 * ((given - pooled) ** 2).sum(-1)  # (16), second part


def mimic(positive: Tensor, negative: Tensor, is_positive: Tensor) -> tuple[Tensor, Tensor]:
    """The speaker's own polarity first, (B, D), (B, D), (B,) -> two of (B, D)."""
    same = is_positive.unsqueeze(-1)
    return torch.where(same, positive, negative), torch.where(same, negative, positive)  # (18), (19)


def without_ctx(pad: Tensor) -> Tensor:
    """Padding that hides the CTX in front too, unless it is all there is, (B, S) -> (B, S)."""
    alone = pad[:, 1:].all(1, keepdim=True)
    return torch.cat([~alone, pad[:, 1:]], dim=1)


class ResponseEmotions(nn.Module):
    """The emotions of the reply, one per group, sampled from the context."""

    def __init__(self, config: MimeConfig, groups: Sequence[Sequence[int]]) -> None:
        super().__init__()
        self.groups, self.stochastic, self.release = groups, config.stochastic, config.variant == "release"
        width, n, n_variances = config.d_model, len(groups), 1 if self.release else len(groups)
        self.first = nn.Linear(width, width)  # FC_sample
        self.mean = _maps(n, width, width)  # FC_mu
        self.members = nn.ModuleList(nn.Linear(width, len(group)) for group in groups)  # FC_d
        if config.stochastic:
            self.log_variance = _maps(n_variances, width, width)  # FC_sigma
            self.posterior_first = _maps(n, 2 * width, width)
            self.posterior_mean = _maps(n, width, width)
            self.posterior_log_variance = _maps(n_variances, width, width)
        xavier(self)
        if config.stochastic:  # prior and posterior start as one standard Gaussian
            for part in (self.mean, self.log_variance, self.posterior_mean, self.posterior_log_variance):
                for parameter in part.parameters():
                    nn.init.zeros_(parameter)

    def forward(self, summary: Tensor, emotions: Tensor) -> tuple[list[Tensor], dict[str, Tensor]]:
        """c (B, D), E_E (E, D) -> e_g (B, D) per group, and in training the parts of the bound, (B,) each."""
        first = [F.relu(self.first(summary))] * len(self.groups)  # (11)
        if not self.stochastic:
            return self.pooled(_each(self.mean, first), emotions), {}  # (12)
        prior = _normals(self.mean, self.log_variance, first)  # (7), (12)
        noisy = self.training or self.release
        z = [p.at(torch.randn_like(p.mean)) if noisy else p.mean for p in prior]  # (8), (14)
        pooled = self.pooled(z, emotions)
        if not self.training:
            return pooled, {}
        given = [e.detach() for e in pooled]
        inner = _each(self.posterior_first, [torch.cat([summary, e], dim=-1) for e in given])
        posterior = _normals(self.posterior_mean, self.posterior_log_variance, [F.relu(x) for x in inner])  # (17)
        bound = {"kl": _sum(map(divergence, posterior, prior))}
        if self.release:
            return pooled, bound
        z = [q.at(torch.randn_like(q.mean)) for q in posterior]
        pooled = self.pooled(z, emotions)
        return pooled, bound | {"reconstruction": _sum(map(surprise, given, pooled))}  # (16)

    def pooled(self, z: Iterable[Tensor], emotions: Tensor) -> list[Tensor]:
        """z_g -> e_g, (B, D) -> (B, D) per group."""
        d = [x.softmax(-1) for x in _each(self.members, z)]  # (9)
        return [d_g @ emotions[group] for d_g, group in zip(d, self.groups, strict=True)]  # (10)


class Mime(Transformer):
    """A Transformer whose decoder looks at the context as the reply's emotions refine it."""

    needs_emotion = True
    has_oracle = True
    config: MimeConfig
    is_positive: Tensor

    def __init__(self, config: MimeConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        width = config.d_model
        groups = [[EMOTIONS.index(name) for name in group] for group in (POSITIVE, NEGATIVE)]
        groups = groups if config.grouping else [list(range(len(EMOTIONS)))]
        n_refiners = len(groups) if config.variant == "release" else 1
        self.register_buffer("is_positive", torch.tensor([name in POSITIVE for name in EMOTIONS]), persistent=False)
        self.emotions = nn.Parameter(nn.init.xavier_uniform_(torch.empty(len(EMOTIONS), width)))  # E_E
        self.matching = nn.Linear(width, width, bias=False)  # W_E
        self.response_emotions = ResponseEmotions(config, groups)
        self.refiners = nn.ModuleList(Encoder(config, config.refiner_layers, 2 * width) for _ in range(n_refiners))
        self.contribution = nn.Linear(len(groups) * width, len(groups) * width)  # FC_contrib
        self.fusion = nn.Linear(len(groups) * width, width)  # FC_fused
        for part in (self.matching, self.refiners, self.contribution, self.fusion):
            xavier(part)

    def emotion_vectors(self) -> Tensor:
        """The emotion embeddings E_E of the paper's Figure 3, (E, D)."""
        return self.emotions.detach()

    def encode(self, batch: Batch, *, oracle: bool = False) -> State:
        """Read the contexts; the polarity to mimic is the predicted emotion's, with `oracle` the gold one's."""
        return self.read(batch, oracle=oracle)[0]

    def read(self, batch: Batch, *, oracle: bool) -> tuple[State, dict[str, Tensor]]:
        """The state, and in training the parts of the bound."""
        context = self.encoder(self.context_embeddings(batch), batch.pad)  # (1), (2)
        summary = context[:, 0]  # (3)
        logits = self.matching(summary) @ self.emotions.t()  # (4)
        mixed: Sequence[Tensor]
        mixed, bound = self.response_emotions(summary, self.emotions)
        if self.config.mimicry:
            emotion = logits.argmax(-1)  # (B,)
            if oracle:
                emotion = torch.where(batch.emotion == NO_EMOTION, emotion, batch.emotion)
            positive, negative = mixed
            mixed = mimic(positive, negative, self.is_positive[emotion])
        pad = batch.pad if self.config.variant == "release" else without_ctx(batch.pad)
        memory = self.fuse(self.refine(context, pad, mixed))
        return State(memory, pad, self.decoder.start(memory), logits), bound

    def refine(self, context: Tensor, pad: Tensor, emotions: Sequence[Tensor]) -> list[Tensor]:
        """The context as each emotion colours it, (B, S, D), G of (B, D) -> G of (B, S, D)."""
        coloured = [torch.cat([context, e.unsqueeze(1).expand_as(context)], dim=-1) for e in emotions]  # (20), (21)
        if len(self.refiners) == len(coloured):
            return [refiner(x, pad) for refiner, x in zip(self.refiners, coloured, strict=True)]
        both = self.refiners[0](torch.cat(coloured), pad.repeat(len(coloured), 1))  # (G · B, S, D)
        return list(both.chunk(len(coloured)))  # (22), (23)

    def fuse(self, refined: Sequence[Tensor]) -> Tensor:
        """The refined contexts through one gate, G of (B, S, D) -> (B, S, D)."""
        both = torch.cat(list(refined), dim=-1)  # (24)
        adjusted = torch.sigmoid(self.contribution(both)) * both  # (25), (26)
        fused: Tensor = self.fusion(adjusted)  # (27)
        return fused

    def losses(self, batch: Batch) -> dict[str, Term]:
        """The loss of the words, of the emotion and of the bound; gold polarities in training only."""
        state, bound = self.read(batch, oracle=self.training)
        terms = self.response_terms(batch, self.hidden(batch, state), self.config.smoothing)  # (28) to (31)
        assert state.emotion_logits is not None
        terms |= emotion_terms(state.emotion_logits, batch.emotion)  # (5), (6)
        count = torch.tensor(len(batch), device=batch.context.device)
        return terms | {name: Term(part.sum(), count) for name, part in bound.items()}  # (32), weighed by the loop


def _maps(n: int, d_in: int, d_out: int) -> nn.ModuleList:
    return nn.ModuleList(nn.Linear(d_in, d_out) for _ in range(n))


def _each(maps: nn.ModuleList, inputs: Iterable[Tensor]) -> list[Tensor]:
    return [apply(x) for apply, x in zip(maps, inputs, strict=False)]


def _normals(means: nn.ModuleList, log_variances: nn.ModuleList, inputs: Sequence[Tensor]) -> list[Normal]:
    """A Gaussian per group; the release has one log-variance, the first group's, for all."""
    return list(map(Normal, _each(means, inputs), cycle(_each(log_variances, inputs))))


def _sum(parts: Iterable[Tensor]) -> Tensor:
    return torch.stack(list(parts)).sum(0)
