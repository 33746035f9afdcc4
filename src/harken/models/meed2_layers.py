"""What MEED2's three parts are built of: one representation of the input, and layers with the norm behind.

    x_t = norm(word + position + label + segment)              section 4.1, Figure 4
    y   = norm(x + part(x))                                     every part of a layer: post-LN

Where we differ from the release: attention has no biases and keeps its weights whole, and dropout also stands between the
two maps of a feed-forward, as in all our layers.
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn

from harken.labels import LABELS
from harken.models.layers import Dropout, Embedding, Shape, attendable
from harken.models.layers import norm as layer_norm
from harken.models.stacks import DecoderLayer, EncoderLayer, LayerCache, extended
from harken.text.vocabulary import SYS


def segments_of(roles: Tensor) -> Tensor:
    """The side of each token from its role id: 0 the speaker, 1 the listener, (…) -> (…)."""
    return (roles == SYS).long()


class Representation(nn.Module):
    """Adds to each word where it stands, the label of its turn and who says it."""

    def __init__(self, shape: Shape, n_positions: int, *, labels: bool) -> None:
        super().__init__()
        self.positions = _like_words(n_positions, shape.d_model)
        self.segments = _like_words(2, shape.d_model)
        self.labels = Embedding(1 + len(LABELS), shape.d_model) if labels else None
        if self.labels is not None:  # a label that training never shows adds nothing, as the unknown one in row 0
            nn.init.zeros_(self.labels.weight)
        self.norm = layer_norm(shape.d_model)
        self.dropout = Dropout(shape.dropout)

    def forward(self, words: Tensor, segments: Tensor, labels: Tensor, start: int = 0) -> Tensor:
        """(B, T, D), (B, T or 1), (B, T or 1) at positions start … -> (B, T, D); a label is -1 where unknown."""
        x: Tensor = self.dropout(self.norm(self.summed(words, segments, labels, start)))
        return x

    def summed(self, words: Tensor, segments: Tensor, labels: Tensor, start: int = 0) -> Tensor:
        """The sum of the four embeddings; positions beyond the table share its last row."""
        places = torch.arange(start, start + words.shape[1], device=words.device)
        x: Tensor = words + self.positions(places.clamp(max=self.positions.num_embeddings - 1))
        x = x + self.segments(segments)
        return x if self.labels is None else x + self.labels(labels + 1)


def _like_words(rows: int, width: int) -> nn.Embedding:
    """A table that starts as large as scaled word embeddings are."""
    table = nn.Embedding(rows, width)
    nn.init.normal_(table.weight, std=0.01 * math.sqrt(width))
    return table


class PostNormEncoderLayer(EncoderLayer):
    """Self-attention and feed-forward, norms behind."""

    def forward(self, x: Tensor, pad: Tensor, mask: Tensor) -> Tensor:
        """(B, S, D) -> (B, S, D)."""
        found = self.attention(x, self.attention.keys_and_values(x), mask=mask)
        x = self.attention_norm(x + self.dropout(found))
        y: Tensor = self.feed_forward_norm(x + self.dropout(self.feed_forward(x, pad)))
        return y


class PostNormDecoderLayer(DecoderLayer):
    """Causal self-attention, attention to the context, feed-forward; norms behind."""

    def forward(self, x: Tensor, cache: LayerCache, mask: Tensor) -> Tensor:
        """A whole response, (B, T, D) -> (B, T, D)."""
        found = self.attention(x, self.attention.keys_and_values(x), causal=True)
        x = self.attention_norm(x + self.dropout(found))
        x = self.cross_norm(x + self.dropout(self.cross(x, cache.memory, mask=mask)))
        y: Tensor = self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
        return y

    def step(self, x: Tensor, cache: LayerCache, mask: Tensor) -> Tensor:
        """One more position, (B, 1, D) -> (B, 1, D); the cache grows by it."""
        cache.own = extended(cache.own, self.attention.keys_and_values(x))
        x = self.attention_norm(x + self.attention(x, cache.own))
        x = self.cross_norm(x + self.cross(x, cache.memory, mask=mask))
        found, cache.windows = self.feed_forward.step(x, cache.windows)
        y: Tensor = self.feed_forward_norm(x + found)
        return y


class PostNormEncoder(nn.Module):
    """Layers over a padded context."""

    def __init__(self, shape: Shape, n_layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(PostNormEncoderLayer(shape) for _ in range(n_layers))

    def forward(self, x: Tensor, pad: Tensor) -> Tensor:
        """(B, S, D), (B, S) -> (B, S, D)."""
        mask = attendable(pad)
        for layer in self.layers:
            x = layer(x, pad, mask)
        return x


class PostNormDecoder(nn.Module):
    """Layers over a response, looking at a memory."""

    def __init__(self, shape: Shape, n_layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(PostNormDecoderLayer(shape) for _ in range(n_layers))

    def start(self, memory: Tensor) -> list[LayerCache]:
        """One cache per layer, (B, S, D) -> L caches."""
        return [cast(PostNormDecoderLayer, layer).start(memory) for layer in self.layers]

    def forward(self, x: Tensor, caches: list[LayerCache], mask: Tensor) -> Tensor:
        """A whole response, (B, T, D) -> (B, T, D)."""
        for layer, cache in zip(self.layers, caches, strict=True):
            x = layer(x, cache, mask)
        return x

    def step(self, x: Tensor, caches: list[LayerCache], mask: Tensor) -> Tensor:
        """One position, (B, 1, D) -> (B, 1, D); the caches grow."""
        for layer, cache in zip(self.layers, caches, strict=True):
            x = cast(PostNormDecoderLayer, layer).step(x, cache, mask)
        return x
