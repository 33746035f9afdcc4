"""The contract of every generator: encode a batch, step token by token, give the losses.

A model file defines a config (a `Shape` and its own fields) and a `Generator`. What it must keep, the contract tests
check over every model of the table: stepping through a response gives what decoding it whole gives; a row's figures
depend neither on the other rows nor on padding; in eval mode nothing is random.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar, Self, cast

import torch
from torch import Tensor, nn

from harken.models.layers import Embedding, attendable
from harken.models.losses import Term, projected_nll
from harken.models.stacks import LayerCache
from harken.text.batches import Batch
from harken.text.vocabulary import SOS, Vocabulary


@dataclass
class State:
    """What decoding needs of a batch; every tensor in it, in its fields and in theirs, has the batch first.

    A field marked `fixed` belongs to the context and not to the reply so far, so hypotheses of one context share it.
    """

    memory: Tensor = field(metadata={"fixed": True})  # (B, S, D) what the decoder looks at
    pad: Tensor = field(metadata={"fixed": True})  # (B, S)
    caches: list[LayerCache]
    emotion_logits: Tensor | None = field(default=None, metadata={"fixed": True})  # (B, E)
    length: int = 0
    """Tokens stepped through so far."""
    label: Tensor | None = field(default=None, metadata={"fixed": True})  # (B,) the label each reply is written in
    label_logits: Tensor | None = field(default=None, metadata={"fixed": True})  # (B, 41) what was thought of each

    @property
    def mask(self) -> Tensor:
        """Where the decoder may look, (B, 1, 1, S)."""
        return attendable(self.pad)

    def select(self, rows: Tensor) -> Self:
        """The state of these rows, in this order; a row may come twice (beams) or not at all (finished)."""
        return cast(Self, _select(self, rows, everything=True))

    def reorder(self, rows: Tensor) -> Self:
        """As `select`, where each row stays within its context: what is fixed is left alone."""
        return cast(Self, _select(self, rows, everything=False))


def _select(value: Any, rows: Tensor, everything: bool) -> Any:
    if isinstance(value, Tensor):
        return value.index_select(0, rows)
    if isinstance(value, list | tuple):
        return type(value)(_select(item, rows, everything) for item in value)
    if isinstance(value, dict):
        return {key: _select(item, rows, everything) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        moved = {
            f.name: _select(getattr(value, f.name), rows, everything)
            for f in fields(value)
            if everything or not f.metadata.get("fixed")
        }
        return replace(value, **moved)
    return value


class Generator(nn.Module, ABC):
    """A model that answers a context token by token.

    A model with an ordinary output layer defines `encode`, `hidden`, `hidden_step` and `losses`; one whose words come
    from elsewhere too (a copy distribution) overrides `nll` and `step` instead of the two `hidden`.
    """

    needs_emotion: ClassVar[bool] = False
    """Whether training needs the emotion of each dialogue."""
    has_oracle: bool = False
    """Whether `encode` does anything with `oracle`: only then are figures under the gold emotion worth the time."""
    reads_labels: bool = False
    """Whether it reads the label of every turn, so that a live conversation has to be labelled."""
    steerable: bool = False
    """Whether its replies heed the label someone asks for (`batch.asked`)."""
    embedding: Embedding
    output: nn.Linear

    def __init__(self, config: Any, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.config = config
        self.n_tokens = len(vocabulary)
        self.trained_steps = 0
        """Optimiser steps so far, kept up by the training loop for what depends on progress."""

    @abstractmethod
    def encode(self, batch: Batch, *, oracle: bool = False) -> State:
        """Read the contexts; only an `oracle` may look at `batch.emotion`. The state is ready for the first `step`."""

    @abstractmethod
    def losses(self, batch: Batch) -> dict[str, Term]:
        """The terms of the loss under their names; those without a gradient are measured only.

        `response` is the (smoothed) loss of the words, `nll` their plain negative log-likelihood; a model that reads
        emotions adds `emotion`, its loss, and `accuracy`, how often its first choice is right.
        """

    def begin(self, vocabulary: Vocabulary) -> str | None:
        """Begin training with pre-trained weights where the config names some; gives a line for the log."""
        return None

    def forward(self, batch: Batch) -> dict[str, Term]:
        """`losses`, under the name by which data-parallel training calls it."""
        return self.losses(batch)

    def hidden(self, batch: Batch, state: State) -> Tensor:
        """The decoder's states for the whole response at once, (B, T, D)."""
        raise NotImplementedError

    def hidden_step(self, tokens: Tensor, state: State) -> Tensor:
        """The decoder's state after one more token of each row, (B,) -> (B, D); the state moves on."""
        raise NotImplementedError

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Logits of the next token after `tokens`, (B,) -> (B, V); the state moves on. The first tokens are SOS."""
        logits: Tensor = self.output(self.hidden_step(tokens, state))
        return logits

    def nll(self, batch: Batch, state: State) -> Tensor:
        """The negative log-likelihood of each target token, 0 on padding, (B, T)."""
        real = ~batch.target_pad
        _, nll = projected_nll(
            self.hidden(batch, state)[real], self.output.weight, self.output.bias, batch.target[real]
        )
        return torch.zeros(real.shape, dtype=nll.dtype, device=nll.device).masked_scatter(real, nll)

    def response_terms(self, batch: Batch, hidden: Tensor, smoothing: float = 0.0) -> dict[str, Term]:
        """`response` and `nll` from the decoder's states, the vocabulary product taken at real tokens only."""
        real = ~batch.target_pad
        loss, nll = projected_nll(
            hidden[real], self.output.weight, self.output.bias, batch.target[real], smoothing=smoothing
        )
        return {"response": Term(loss, real.sum()), "nll": Term(nll.sum(), real.sum())}


def shifted(target: Tensor) -> Tensor:
    """What the decoder reads to predict `target`: SOS, then all but the last token, (B, T) -> (B, T)."""
    return torch.cat([torch.full_like(target[:, :1], SOS), target[:, :-1]], dim=1)
