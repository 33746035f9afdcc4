"""EmpDG: empathetic dialogue generation at two resolutions (Li et al., COLING 2020): the generator.

The dialogue is read twice, word by word and by its emotion words alone; the decoder looks at both readings and may copy
words of the context. Two critics (critics.py) then play against it (training/adversarial.py).

    symbol      here                      shape
    C           context_embeddings()      (B, S, D)    word + role (+ position, in the encoders)
    H_s         encoder                   (B, S, D)    the semantic reading
    H_e         emotion_encoder           (B, S', D)   the emotional one: [CLS], then the emotion words in their order
    P(e | C)    emotion_logits            (B, E)       softmax(W H_e[0])
    M           state.memory              (B, S+S', D) both, one after the other
    O           hidden()                  (B, T, D)    the decoder's states
    P(w)        pointer.py                (B, T, V)    words of the vocabulary and of the context
    Y~          play()                    (B, T, D)    the response in soft tokens: sum of P(w) · vector of w, as heard()

What the paper leaves open: soft tokens follow the gold words so far, as in training by likelihood; the smoothed part
of the loss lets the vocabulary alone speak, which leaves out only what copying gives the words of the context.
Where we differ from the release: the pointer has queries and keys of its own, and copies words only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn

from harken.errors import HarkenError
from harken.labels import EMOTIONS
from harken.models.contract import State
from harken.models.layers import xavier
from harken.models.losses import Term, emotion_terms
from harken.models.pointer import Copying, Pointer, copied, mixed, mixture, soft_tokens, word_terms
from harken.models.stacks import Encoder
from harken.models.transformer import Transformer, TransformerConfig
from harken.text.batches import Batch
from harken.text.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class EmpdgConfig(TransformerConfig):
    """The family's sizes with one layer each, as the release has them."""

    encoder_layers: int = 1
    decoder_layers: int = 1
    emotion_layers: int = 1
    """Layers of the encoder over the emotion words."""
    lexicon: Path | None = None
    """Your copy of an NRC lexicon (`word<TAB>emotion<TAB>score`), or a word a line; null takes VADER's words."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        yield from super().problems()
        if self.emotion_layers < 1:
            yield f"emotion_layers = {self.emotion_layers} must be at least 1"


def read_lexicon(path: Path | None) -> set[str]:
    """The emotion words of a file, those of score 0 left out; VADER's where there is no file."""
    if path is None:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

        return set(SentimentIntensityAnalyzer().lexicon)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise HarkenError(f"{path}: cannot be read as a lexicon ({problem}); set network.lexicon, or null") from problem
    return {word for number, line in enumerate(lines, 1) for word in _listed(line, f"{path}:{number}", number == 1)}


def _listed(line: str, where: str, may_be_header: bool) -> Iterator[str]:
    """The word of a line, if the line lists one."""
    word, *rest = (cell.strip() for cell in line.split("\t"))
    try:
        if word and (not rest or (len(rest) == 2 and float(rest[1]) > 0)):
            yield word.lower()
        if len(rest) not in {0, 2}:
            raise ValueError
    except ValueError as problem:
        if not may_be_header:
            raise HarkenError(
                f"{where}: a lexicon has a word a line, or lines of word, emotion and score with tabs between"
            ) from problem


def emotion_words(tokens: Sequence[str], lexicon: set[str]) -> Tensor:
    """Which tokens are emotion words, (V,); a byte pair is one if it is the whole word."""
    return torch.tensor([token.lstrip("Ġ▁").lower() in lexicon for token in tokens])


def to_front(kept: Tensor) -> tuple[Tensor, Tensor]:
    """The kept positions in their order, and the padding behind them, (B, S) -> two of (B, S')."""
    longest = int(kept.sum(1).max())
    order = torch.argsort(~kept, dim=1, stable=True)[:, :longest]
    return order, ~kept.gather(1, order)


@dataclass(kw_only=True)
class EmpdgState(State):
    """What there is to copy."""

    context: Tensor = field(metadata={"fixed": True})  # (B, S)
    keys: Tensor = field(metadata={"fixed": True})  # (B, S, d)


@dataclass(frozen=True)
class Written:
    """What a whole response gives, over its N real tokens."""

    log_p: Tensor  # (N,) log P of the gold words
    others: Tensor  # (N,) mean log P of all others, from the vocabulary alone
    soft: Tensor  # (H, T, D), to be heard with the padding of the target


class Empdg(Transformer):
    """A Transformer that reads twice and copies."""

    needs_emotion = True
    config: EmpdgConfig
    lexicon: Tensor

    def __init__(self, config: EmpdgConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        listed = emotion_words(vocabulary.tokens, read_lexicon(config.lexicon))
        self.register_buffer("lexicon", listed, persistent=False)
        self.emotion_encoder = Encoder(config, config.emotion_layers)
        self.emotion = nn.Linear(config.d_model, len(EMOTIONS), bias=False)
        self.pointer = Pointer(config)
        for part in (self.emotion_encoder, self.emotion, self.pointer):
            xavier(part)

    def emotional(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Where [CLS] and the emotion words stand in the context, and the padding behind them, two of (B, S')."""
        kept = self.lexicon[batch.context] & ~batch.pad
        kept[:, 0] = True
        return to_front(kept)

    def heard(self, ids: Tensor) -> Tensor:
        """Words as the critics hear them, (…) -> (…, D): without a gradient, their vectors one long in the mean.

        How steep a critic becomes goes with the distances between what it hears.
        """
        return nn.functional.embedding(ids, self.embedding.weight.detach()) * self._unit()

    def _unit(self) -> Tensor:
        lengths: Tensor = torch.linalg.vector_norm(self.embedding.weight.detach(), dim=1)
        return lengths.mean().reciprocal()

    def encode(self, batch: Batch, *, oracle: bool = False) -> EmpdgState:
        """Read the contexts twice."""
        embedded = self.context_embeddings(batch)  # C
        semantic = self.encoder(embedded, batch.pad)  # H_s
        places, pad = self.emotional(batch)
        chosen = embedded.gather(1, places.unsqueeze(-1).expand(-1, -1, embedded.shape[-1]))
        emotional = self.emotion_encoder(chosen, pad)  # H_e
        memory = torch.cat([semantic, emotional], dim=1)  # M
        return EmpdgState(
            memory=memory,
            pad=torch.cat([batch.pad, pad], dim=1),
            caches=self.decoder.start(memory),
            emotion_logits=self.emotion(emotional[:, 0]),  # P(e | C)
            context=batch.context,
            keys=self.pointer.key(semantic),
        )

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """log P of the next token, (B,) -> (B, V)."""
        state = cast(EmpdgState, state)
        hidden = self.hidden_step(tokens, state)
        copying = self.pointer(hidden.unsqueeze(1), state.keys, state.context)
        return mixture(self.output(hidden), copying, state.context)

    def nll(self, batch: Batch, state: State) -> Tensor:
        """The negative log-likelihood of each target token, 0 on padding, (B, T)."""
        real = ~batch.target_pad
        written = self.write(batch, cast(EmpdgState, state), torch.zeros_like(real[:, 0]))
        return torch.zeros(real.shape, device=real.device).masked_scatter(real, -written.log_p)

    def losses(self, batch: Batch) -> dict[str, Term]:
        """The loss of the words and of the emotion."""
        return self.play(batch, torch.zeros_like(batch.pad[:, 0]))[0]

    def play(self, batch: Batch, heard: Tensor) -> tuple[dict[str, Term], Tensor]:
        """`losses`, and the responses of the rows that are `heard` in soft tokens, (B,) -> (H, T, D)."""
        state = self.encode(batch)
        written, real, smoothing = self.write(batch, state, heard), ~batch.target_pad, self.config.smoothing
        loss = -((1 - smoothing) * written.log_p + smoothing * written.others)
        terms = {
            "response": Term(loss.sum(), real.sum()),
            "nll": Term(-written.log_p.detach().sum(), real.sum()),
        }
        assert state.emotion_logits is not None
        return terms | emotion_terms(state.emotion_logits, batch.emotion), written.soft

    def write(self, batch: Batch, state: EmpdgState, heard: Tensor) -> Written:
        """The whole response, and its soft tokens in the rows that are `heard`."""
        real = ~batch.target_pad
        hidden = self.hidden(batch, state)  # O
        copying = self.pointer(hidden, state.keys, state.context)
        log_keep, log_copy = copying.log_keep[real], copying.log_copy[real]
        table, both = self.embedding.weight.detach(), real & heard.unsqueeze(1)
        gold, others, means = word_terms(hidden[real], self.output, batch.target[real], table, both[real])
        log_p = mixed(gold, copied(copying.attention, batch.context, batch.target)[real], log_keep, log_copy)  # P(w)
        expected = means.new_zeros(*both[heard].shape, table.shape[1]).masked_scatter(both[heard].unsqueeze(-1), means)
        theirs = Copying(*(part[heard] for part in copying))
        soft = soft_tokens(expected * self._unit(), self.heard(batch.context[heard]), theirs)  # Y~
        return Written(log_p, log_keep + others, soft)
