"""What the reply shall be: MEED2's response emotion/intent predictor (Xie and Pu 2021, section 4.2).

An encoder reads the context, attention with one trained vector pools its states, a hidden layer and a softmax choose among
the 41 labels.

    paper    here                   shape      equation
    r_i      states                 (B, S, D)
    v        LabelHead.v            (D,)
    α        attention_weights()    (B, S)     (1)
    r        pooled()               (B, D)     (2)
    ê_y      logits                 (B, 41)

The release puts a layer with tanh between r_i and v (`variant: release`) and pools r_i all the same; the hidden layer's
activation, which the paper leaves open, is its tanh.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from harken.labels import LABELS
from harken.models.layers import Embedding, Shape
from harken.models.meed2_layers import PostNormEncoder, Representation

Variant = Literal["paper", "release"]


def attention_weights(states: Tensor, v: Tensor, pad: Tensor) -> Tensor:
    """How much each real token counts, (B, S, D), (D,), (B, S) -> (B, S)."""
    return (states @ v).masked_fill(pad, float("-inf")).softmax(1)  # (1)


def pooled(states: Tensor, weights: Tensor) -> Tensor:
    """The weighted sum of the states, (B, S, D), (B, S) -> (B, D)."""
    return (weights.unsqueeze(1) @ states).squeeze(1)  # (2)


class LabelHead(nn.Module):
    """From the states of a context to the label of its answer."""

    def __init__(self, width: int, variant: Variant) -> None:
        super().__init__()
        self.v = nn.Parameter(torch.randn(width) * width**-0.5)
        self.attending = nn.Sequential(nn.Linear(width, width), nn.Tanh()) if variant == "release" else nn.Identity()
        self.hidden = nn.Linear(width, width)
        self.output = nn.Linear(width, len(LABELS))

    def forward(self, states: Tensor, pad: Tensor) -> Tensor:
        """(B, S, D), (B, S) -> logits, (B, 41)."""
        whole = pooled(states, attention_weights(self.attending(states), self.v, pad))
        logits: Tensor = self.output(torch.tanh(self.hidden(whole)))
        return logits


class ResponsePredictor(nn.Module):
    """The predictor as published: an encoder and tables of its own."""

    def __init__(self, shape: Shape, n_tokens: int, n_layers: int, n_positions: int, variant: Variant) -> None:
        super().__init__()
        self.embedding = Embedding(n_tokens, shape.d_model)
        self.represent = Representation(shape, n_positions, labels=True)
        self.encoder = PostNormEncoder(shape, n_layers)
        self.head = LabelHead(shape.d_model, variant)

    def forward(self, context: Tensor, segments: Tensor, labels: Tensor, pad: Tensor) -> Tensor:
        """(B, S) four times -> logits, (B, 41)."""
        states = self.encoder(self.represent(self.embedding(context), segments, labels), pad)
        logits: Tensor = self.head(states, pad)
        return logits
