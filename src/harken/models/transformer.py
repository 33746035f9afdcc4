"""Transformer and Multi-TR: an encoder-decoder over the context, alone or with an emotion classifier beside it.

Vaswani et al. 2017, as Rashkin et al. 2019 (4 layers, 6 heads; "Large" 5 layers) and the MoEL family (2 layers of its
own shape) use it for empathetic replies. Multi-TR (Rashkin et al. 2018, Lin et al. 2019) reads the emotion from the
state of [CLS]:

    paper        here                 shape
    E_C(C)       context_embeddings() (B, S, D)   word + role (+ position, in the encoder)
    H            state.memory         (B, S, D)
    c = H_0      state.memory[:, 0]   (B, D)
    P            emotion_logits       (B, E)      softmax(W c)

Where we differ from the MoEL release: its smoothed loss is a KL divergence, ours a cross-entropy, a constant apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from harken.labels import EMOTIONS
from harken.models.contract import Generator, State, shifted
from harken.models.layers import Dropout, Embedding, Shape, xavier
from harken.models.losses import Term, emotion_terms
from harken.models.pretrained import mean_pooled
from harken.models.stacks import Decoder, Encoder
from harken.text.batches import Batch
from harken.text.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(Shape):
    """The MoEL family's sizes by default; configs/ has the benchmark's."""

    encoder_layers: int = 2
    decoder_layers: int = 2
    tied: bool = False
    """One table for the embeddings and the output layer."""
    smoothing: float = 0.1
    """Label smoothing of the training loss; reported likelihoods are never smoothed."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        yield from super().problems()
        for name in ("encoder_layers", "decoder_layers"):
            if getattr(self, name) < 1:
                yield f"{name} = {getattr(self, name)} must be at least 1"
        if not 0 <= self.smoothing < 1:
            yield f"smoothing = {self.smoothing} must lie in 0..1"


class Transformer(Generator):
    """Encoder, decoder, output layer."""

    config: TransformerConfig

    def __init__(self, config: TransformerConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.embedding = Embedding(self.n_tokens, config.d_model, tied=config.tied)
        self.encoder = Encoder(config, config.encoder_layers)
        self.decoder = Decoder(config, config.decoder_layers)
        self.output = nn.Linear(config.d_model, self.n_tokens)
        xavier(self)
        if config.tied:
            self.output.weight = self.embedding.weight

    def context_embeddings(self, batch: Batch) -> Tensor:
        """Word and role embeddings of the context, (B, S, D)."""
        # One lookup for both: each one costs a gradient as large as the table.
        embeddings: Tensor = self.embedding(torch.stack([batch.context, batch.roles])).sum(0)
        return embeddings

    def encode(self, batch: Batch, *, oracle: bool = False) -> State:
        """Read the contexts."""
        memory = self.encoder(self.context_embeddings(batch), batch.pad)  # (B, S, D)
        return State(memory, batch.pad, self.decoder.start(memory))

    def hidden(self, batch: Batch, state: State) -> Tensor:
        """The decoder's states for the whole response, (B, T, D)."""
        states: Tensor = self.decoder(self.embedding(shifted(batch.target)), state.caches, state.mask)
        return states

    def hidden_step(self, tokens: Tensor, state: State) -> Tensor:
        """The decoder's state after one more token, (B,) -> (B, D)."""
        states = self.decoder.step(self.embedding(tokens.unsqueeze(1)), state.caches, state.mask, state.length)
        state.length += 1
        return states.squeeze(1)

    def losses(self, batch: Batch) -> dict[str, Term]:
        """The loss of the words."""
        return self.response_terms(batch, self.hidden(batch, self.encode(batch)), self.config.smoothing)


@dataclass(frozen=True, kw_only=True)
class MultiTrConfig(TransformerConfig):
    """A Transformer's sizes, and how the emotion is read."""

    pooling: Literal["cls", "mean", "wide"] = "cls"
    """The state of [CLS], as published; the mean of all states; or that mean and beside it a vote of each word."""
    word_dropout: float = 0.0
    """Share of the context's words that are hidden in training."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        yield from super().problems()
        if not 0 <= self.word_dropout < 1:
            yield f"word_dropout = {self.word_dropout} must lie in 0..1"


class MultiTr(Transformer):
    """A Transformer whose reading of the context also tells the emotion."""

    config: MultiTrConfig
    needs_emotion = True

    def __init__(self, config: MultiTrConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.emotion = nn.Linear(config.d_model, len(EMOTIONS), bias=False)
        self.emotion_dropout = Dropout(config.dropout)
        xavier(self.emotion)
        self.votes = nn.Embedding(self.n_tokens, len(EMOTIONS)) if config.pooling == "wide" else None
        if self.votes is not None:
            nn.init.zeros_(self.votes.weight)

    def context_embeddings(self, batch: Batch) -> Tensor:
        """Word and role embeddings of the context, (B, S, D); in training some words are missing."""
        embeddings = super().context_embeddings(batch)
        if self.training and self.config.word_dropout:
            embeddings = embeddings * self._shown(batch)
        return embeddings

    def _shown(self, batch: Batch) -> Tensor:
        """Which words are not hidden, (B, S, 1); never [CLS]."""
        shown = torch.rand(batch.context.shape, device=batch.context.device) >= self.config.word_dropout
        shown[:, 0] = True
        return shown.unsqueeze(-1)

    def encode(self, batch: Batch, *, oracle: bool = False) -> State:
        """Read the contexts and their emotions."""
        state = super().encode(batch, oracle=oracle)
        whole = state.memory[:, 0] if self.config.pooling == "cls" else mean_pooled(state.memory, ~batch.pad)  # (B, D)
        state.emotion_logits = self.emotion(self.emotion_dropout(whole))  # (B, E)
        if self.votes is not None:
            votes = self.emotion_dropout(self.votes(batch.context))  # (B, S, E)
            n = (~batch.pad).sum(1, keepdim=True)  # (B, 1)
            state.emotion_logits = state.emotion_logits + mean_pooled(votes, ~batch.pad) * n.sqrt()
        return state

    def losses(self, batch: Batch) -> dict[str, Term]:
        """The loss of the words and of the emotion."""
        state = self.encode(batch)
        terms = self.response_terms(batch, self.hidden(batch, state), self.config.smoothing)
        assert state.emotion_logits is not None
        return terms | emotion_terms(state.emotion_logits, batch.emotion)
