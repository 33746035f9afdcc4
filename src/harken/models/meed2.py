"""MEED2: a reply in a chosen emotion or intent (Xie and Pu, CoNLL 2021, section 4).

A predictor decides which of the 41 labels the reply shall have, an encoder-decoder writes it so; every token of context
and reply carries the label of its turn. Whoever talks to it may ask for a label instead (`batch.asked`).

    paper           here                          shape       where
    X, e_u          batch.context, batch.labels   (B, S)      4.1; [CLS] stands for <s>, it has no label
    input           Representation                (B, S, D)   word + position + emotion + segment, one set of tables
                                                              for encoder and decoder
    α, r, ê_y       ResponsePredictor             (B, 41)     Eqs. 1, 2 (response_predictor.py)
    e_y             state.label                   (B,)        the gold label in training, ê_y's best at test
    ŷ               hidden, output                (B, T, D)

Training apart and in one loop are the same here: the predictor shares no parameter with the words, neither loss has a
gradient in the other's part, and Adam treats each parameter by itself. (Clipping by the norm of all gradients would tie
them together, and so does the choice of the best step, which is the words'.) `joint: true` is the paper's ablation: one
encoder, both losses. `labels: false` is its baseline, the full Transformer of the same sizes.

Where we differ: turns are told apart by segments and labels, without </s> between them. The release averages a response's
loss over its tokens first, we over the tokens of the batch. Likelihoods are honest by default, under the predicted label;
the published ones know the label of the gold response (`oracle`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn

from harken.models.contract import Generator, State, shifted
from harken.models.layers import Embedding, Shape, xavier
from harken.models.losses import Term, label_terms
from harken.models.meed2_layers import PostNormDecoder, PostNormEncoder, Representation, segments_of
from harken.models.response_predictor import LabelHead, ResponsePredictor, Variant
from harken.text.batches import NO_LABEL, Batch
from harken.text.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class Meed2Config(Shape):
    """The paper's sizes (appendix B)."""

    n_heads: int = 6
    depth: int | None = 300
    d_inner: int = 1_200
    feed_forward: Literal["conv", "relu", "gelu"] = "gelu"
    dropout: float = 0.1
    project: bool = False
    encoder_layers: int = 4
    decoder_layers: int = 4
    predictor_layers: int = 4
    positions: int = 512
    """Rows of the table of positions; tokens beyond share the last one."""
    labels: bool = True
    """Read the turns' labels and choose the reply's; false is the baseline, words, positions and segments alone."""
    joint: bool = False
    """The predictor reads the encoder's states and both are trained together: the paper's ablation."""
    variant: Variant = "paper"
    """`release` has a layer more in the predictor's attention."""
    smoothing: float = 0.0
    """Label smoothing of the training loss."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        yield from super().problems()
        for name in ("encoder_layers", "decoder_layers", "predictor_layers", "positions"):
            if getattr(self, name) < 1:
                yield f"{name} = {getattr(self, name)} must be at least 1"
        if not 0 <= self.smoothing < 1:
            yield f"smoothing = {self.smoothing} must lie in 0..1"
        if self.project:
            yield "project is for models of the MoEL family; set it to false"
        if self.joint and not self.labels:
            yield "joint trains a predictor of labels; set labels to true or joint to false"


@dataclass
class Meed2State(State):
    """What decoding needs, and who answers."""

    segment: Tensor = field(kw_only=True, metadata={"fixed": True})  # (B,)


def chosen_labels(batch: Batch, logits: Tensor | None, *, oracle: bool = False) -> Tensor:
    """What the replies shall be: what someone asked for, else for an oracle the gold label, else the likeliest; (B,)."""
    if logits is None:
        return torch.full_like(batch.asked, NO_LABEL)
    label = logits.argmax(1)
    if oracle:
        label = torch.where(batch.label == NO_LABEL, label, batch.label)
    return torch.where(batch.asked == NO_LABEL, label, batch.asked)


class Meed2(Generator):
    """Encoder, decoder and predictor."""

    config: Meed2Config

    def __init__(self, config: Meed2Config, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.has_oracle = self.reads_labels = self.steerable = config.labels
        self.embedding = Embedding(self.n_tokens, config.d_model)
        self.represent = Representation(config, config.positions, labels=config.labels)
        self.encoder = PostNormEncoder(config, config.encoder_layers)
        self.decoder = PostNormDecoder(config, config.decoder_layers)
        self.output = nn.Linear(config.d_model, self.n_tokens)
        self.predictor: ResponsePredictor | None = None
        self.head: LabelHead | None = None
        if config.joint:
            self.head = LabelHead(config.d_model, config.variant)
        elif config.labels:
            self.predictor = ResponsePredictor(
                config, self.n_tokens, config.predictor_layers, config.positions, config.variant
            )
        xavier(self)

    def encode(self, batch: Batch, *, oracle: bool = False) -> Meed2State:
        """Read the contexts and choose the labels of the replies."""
        memory, logits = self._read(batch)
        return self._start(batch, memory, logits, chosen_labels(batch, logits, oracle=oracle))

    def _read(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """The states of the contexts, (B, S, D), and what the replies shall be, (B, 41)."""
        segments = segments_of(batch.roles)
        x = self.represent(self.embedding(batch.context), segments, batch.labels)
        memory = self.encoder(x, batch.pad)
        if self.head is not None:
            return memory, self.head(memory, batch.pad)
        if self.predictor is not None:
            return memory, self.predictor(batch.context, segments, batch.labels, batch.pad)
        return memory, None

    def _start(self, batch: Batch, memory: Tensor, logits: Tensor | None, label: Tensor) -> Meed2State:
        return Meed2State(
            memory,
            batch.pad,
            self.decoder.start(memory),
            label=label,
            label_logits=logits,
            segment=segments_of(batch.answerer),
        )

    def _response(self, tokens: Tensor, state: State, start: int = 0) -> Tensor:
        """What the decoder reads: label and segment are the same at every position, (B, T) -> (B, T, D)."""
        assert isinstance(state, Meed2State) and state.label is not None
        x: Tensor = self.represent(self.embedding(tokens), state.segment.unsqueeze(1), state.label.unsqueeze(1), start)
        return x

    def hidden(self, batch: Batch, state: State) -> Tensor:
        """The decoder's states for the whole response, (B, T, D)."""
        states: Tensor = self.decoder(self._response(shifted(batch.target), state), state.caches, state.mask)
        return states

    def hidden_step(self, tokens: Tensor, state: State) -> Tensor:
        """The decoder's state after one more token, (B,) -> (B, D)."""
        x = self._response(tokens.unsqueeze(1), state, state.length)
        states = self.decoder.step(x, state.caches, state.mask)
        state.length += 1
        return states.squeeze(1)

    def losses(self, batch: Batch) -> dict[str, Term]:
        """The loss of the words, under the gold label in training, and of the label."""
        memory, logits = self._read(batch)
        label = batch.label if self.training else chosen_labels(batch, logits)
        state = self._start(batch, memory, logits, label)
        terms = self.response_terms(batch, self.hidden(batch, state), self.config.smoothing)
        return terms if logits is None else terms | label_terms(logits, batch.label)
