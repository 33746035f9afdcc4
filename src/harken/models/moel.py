"""MoEL: a mixture of empathetic listeners (Lin et al., EMNLP 2019).

One listener per emotion, each a decoder layer of its own, answers the context, and is heard as much as its emotion is
likely. A shared listener joins them, and a meta listener turns what they say together into words.

    paper         here                   shape
    E_C(C)        context_embeddings()   (B, S, D)      word + speaker (+ position, in the encoder)
    H, q = H_0    state.memory           (B, S, D)
    k_i           keys                   (E, D)         one per emotion
    p(e_i | C)    state.weights          (B, K)         softmax(q · k_i), over the K likeliest
    V_0           shared                 (B, T, D)
    V_i           listeners              (B, K, T, D)   all in one computation (side_by_side.py)
    V_M           mixture()              (B, T, D)
    O             decoder                (B, T, D)      the meta listener
    L1 + L2       losses()                              the emotion's and the words'

Where we differ from the release: the coin that lets the gold emotion choose the listener is tossed for the batch at
hand, not for the next one, and never when a model is measured, where the release keeps whatever fell last.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import torch
from torch import Tensor, nn

from harken.labels import EMOTIONS
from harken.models.contract import State, shifted
from harken.models.layers import xavier
from harken.models.losses import Term, emotion_terms
from harken.models.side_by_side import SideBySide
from harken.models.stacks import DecoderLayer, LayerCache
from harken.models.transformer import Transformer, TransformerConfig
from harken.text.batches import NO_EMOTION, Batch
from harken.text.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class MoelConfig(TransformerConfig):
    """The release's sizes; `decoder_layers` are the meta listener's."""

    encoder_layers: int = 1
    decoder_layers: int = 1
    top_k: int | None = 5
    """Listeners heard, the likeliest, their weights made to sum to one; null hears all 32."""
    oracle_steps: int = 10_000
    """In training the gold emotion chooses the listener with probability exp(-step / oracle_steps); 0 never does."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        yield from super().problems()
        if self.top_k is not None and not 1 <= self.top_k <= len(EMOTIONS):
            yield (
                f"top_k = {self.top_k} must lie in 1..{len(EMOTIONS)} (one listener per emotion), "
                "or be null to use every listener"
            )
        if self.oracle_steps < 0:
            yield f"oracle_steps = {self.oracle_steps} must not be negative; 0 never uses the gold emotion"


@dataclass(kw_only=True)
class MoelState(State):
    """The listeners a row hears, how much, and what each keeps."""

    weights: Tensor = field(metadata={"fixed": True})  # (B, K)
    chosen: Tensor = field(metadata={"fixed": True})  # (B, K)
    shared: LayerCache
    listeners: LayerCache


def listener_weights(logits: Tensor, top_k: int | None = None) -> tuple[Tensor, Tensor]:
    """p of the likeliest listeners, summing to one, and their numbers, (B, E) -> two of (B, K)."""
    likeliest = logits.topk(top_k or logits.shape[1], dim=1)
    return likeliest.values.softmax(1), likeliest.indices


def gold_only(weights: Tensor, chosen: Tensor, emotion: Tensor) -> tuple[Tensor, Tensor]:
    """The gold emotion's listener alone where there is one, (B, K), (B, K), (B,) -> two of (B, K), or of (B, 1)."""
    known = (emotion != NO_EMOTION).unsqueeze(1)  # (B, 1)
    alone = torch.zeros_like(weights)
    alone[:, 0] = 1.0
    weights, chosen = torch.where(known, alone, weights), torch.where(known, emotion.unsqueeze(1), chosen)
    return (weights[:, :1], chosen[:, :1]) if bool(known.all()) else (weights, chosen)


def mixture(shared: Tensor, weights: Tensor, heard: Tensor) -> Tensor:
    """V_M, (B, T, D), (B, K), (B, K, T, D) -> (B, T, D)."""
    return shared + torch.einsum("bk,bktd->btd", weights, heard)  # V_0 + sum of p_i V_i


def oracle_chance(step: int, steps: int) -> float:
    """The probability that the gold emotion chooses the listener at a training step."""
    return math.exp(-step / steps) if steps else 0.0


class Moel(Transformer):
    """A Transformer whose decoder, the meta listener, reads what the other listeners make of the response so far."""

    needs_emotion = True
    has_oracle = True
    config: MoelConfig

    def __init__(self, config: MoelConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.keys = nn.Linear(config.d_model, len(EMOTIONS), bias=False)
        self.shared = DecoderLayer(config)
        layers = [DecoderLayer(config) for _ in EMOTIONS]
        for part in (self.keys, self.shared, *layers):
            xavier(part)
        self.listeners = SideBySide(layers)

    def emotion_vectors(self) -> Tensor:
        """The listeners' keys, (E, D)."""
        return self.keys.weight.detach()

    def encode(self, batch: Batch, *, oracle: bool = False) -> MoelState:
        """Read the contexts and choose the listeners, with `oracle` the gold emotion's alone."""
        memory = self.encoder(self.context_embeddings(batch), batch.pad)  # H
        logits = self.keys(memory[:, 0])  # q · k_i
        weights, chosen = listener_weights(logits, self.config.top_k)  # p(e_i | C)
        if oracle:
            weights, chosen = gold_only(weights, chosen, batch.emotion)
        return MoelState(
            memory=memory,
            pad=batch.pad,
            caches=self.decoder.start(memory),
            emotion_logits=logits,
            weights=weights,
            chosen=chosen,
            shared=self.shared.start(memory),
            listeners=self.listeners.start(memory, chosen),
        )

    def hidden(self, batch: Batch, state: State) -> Tensor:
        """The meta listener's states for the whole response, (B, T, D)."""
        state = cast(MoelState, state)
        x = self.decoder.enter(self.embedding(shifted(batch.target)))
        shared = self.shared(x, state.shared, state.mask)  # V_0
        heard = self.listeners(x, state.listeners, state.chosen, state.mask)  # V_i
        return self.decoder.through(mixture(shared, state.weights, heard), state.caches, state.mask)  # V_M, O

    def hidden_step(self, tokens: Tensor, state: State) -> Tensor:
        """The meta listener's state after one more token, (B,) -> (B, D)."""
        state = cast(MoelState, state)
        x = self.decoder.enter(self.embedding(tokens.unsqueeze(1)), state.length)
        shared = self.shared.step(x, state.shared, state.mask)
        heard = self.listeners.step(x, state.listeners, state.chosen, state.mask)
        x = self.decoder.through_step(mixture(shared, state.weights, heard), state.caches, state.mask)
        state.length += 1
        return x.squeeze(1)

    def losses(self, batch: Batch) -> dict[str, Term]:
        """The loss of the words and of the emotion; in training the gold emotion chooses at times."""
        chance = oracle_chance(self.trained_steps, self.config.oracle_steps) if self.training else 0.0
        state = self.encode(batch, oracle=chance > 0 and bool(torch.rand(()) < chance))
        terms = self.response_terms(batch, self.hidden(batch, state), self.config.smoothing)  # L2
        assert state.emotion_logits is not None
        return terms | emotion_terms(state.emotion_logits, batch.emotion)  # L1
