"""Layers put together: what an encoder layer and a decoder layer are, with its cache, and stacks of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import torch
from torch import Tensor, nn

from harken.models.layers import (
    Attention,
    Dropout,
    KeyValue,
    Positions,
    Shape,
    attendable,
    feed_forward,
    norm,
)


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, norms in front."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention = Attention(shape)
        self.feed_forward = feed_forward(shape, causal=False)
        self.attention_norm = norm(shape.d_model)
        self.feed_forward_norm = norm(shape.d_model)
        self.dropout = Dropout(shape.dropout)

    def forward(self, x: Tensor, pad: Tensor, mask: Tensor) -> Tensor:
        """(B, S, D) -> (B, S, D)."""
        h = self.attention_norm(x)
        x = x + self.dropout(self.attention(h, self.attention.keys_and_values(h), mask=mask))
        y: Tensor = x + self.dropout(self.feed_forward(self.feed_forward_norm(x), pad))
        return y


@dataclass
class LayerCache:
    """What a decoder layer keeps: of the context for good, of the reply so far growing."""

    memory: KeyValue = field(metadata={"fixed": True})  # (B, H, S, d)
    own: KeyValue | None = None  # (B, H, t, d)
    windows: list[Tensor] = field(default_factory=list)  # (B, 2, …) per convolution


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the context, feed-forward; norms in front."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention = Attention(shape)
        self.cross = Attention(shape)
        self.feed_forward = feed_forward(shape, causal=True)
        self.attention_norm = norm(shape.d_model)
        self.cross_norm = norm(shape.d_model)
        self.feed_forward_norm = norm(shape.d_model)
        self.dropout = Dropout(shape.dropout)

    def start(self, memory: Tensor) -> LayerCache:
        """The cache before the first token, (B, S, D) -> LayerCache."""
        return LayerCache(self.cross.keys_and_values(memory))

    def forward(self, x: Tensor, cache: LayerCache, mask: Tensor) -> Tensor:
        """A whole response, (B, T, D) -> (B, T, D); the cache gives the context and stays as it is."""
        h = self.attention_norm(x)
        x = x + self.dropout(self.attention(h, self.attention.keys_and_values(h), causal=True))
        x = x + self.dropout(self.cross(self.cross_norm(x), cache.memory, mask=mask))
        y: Tensor = x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
        return y

    def step(self, x: Tensor, cache: LayerCache, mask: Tensor) -> Tensor:
        """One more position, (B, 1, D) -> (B, 1, D); the cache grows by it."""
        h = self.attention_norm(x)
        cache.own = extended(cache.own, self.attention.keys_and_values(h))
        x = x + self.attention(h, cache.own)
        x = x + self.cross(self.cross_norm(x), cache.memory, mask=mask)
        y, cache.windows = self.feed_forward.step(self.feed_forward_norm(x), cache.windows)
        return x + y


def extended(seen: KeyValue | None, new: KeyValue) -> KeyValue:
    """Keys and values with those of the next positions behind them."""
    return new if seen is None else (torch.cat([seen[0], new[0]], dim=2), torch.cat([seen[1], new[1]], dim=2))


class _Stack(nn.Module):
    """What encoder and decoder share: the way in (projection, positions, dropout) and the norm at the end."""

    def __init__(self, shape: Shape, d_input: int | None = None) -> None:
        super().__init__()
        d_input = d_input or shape.d_model
        maps = shape.project or d_input != shape.d_model
        self.project = nn.Linear(d_input, shape.d_model, bias=False) if maps else nn.Identity()
        self.positions = Positions(shape.d_model)
        self.dropout = Dropout(shape.dropout)
        self.norm = norm(shape.d_model)

    def enter(self, x: Tensor, start: int = 0) -> Tensor:
        """Embeddings -> what the first layer reads, (B, T, d_input) -> (B, T, D)."""
        y: Tensor = self.dropout(self.positions(self.project(x), start))
        return y


class Encoder(_Stack):
    """Layers over a padded context; its input may be wider than the model."""

    def __init__(self, shape: Shape, n_layers: int, d_input: int | None = None) -> None:
        super().__init__(shape, d_input)
        self.layers = nn.ModuleList(EncoderLayer(shape) for _ in range(n_layers))

    def forward(self, x: Tensor, pad: Tensor) -> Tensor:
        """Embeddings -> states, (B, S, d_input), (B, S) -> (B, S, D)."""
        mask = attendable(pad)
        x = self.enter(x)
        for layer in self.layers:
            x = layer(x, pad, mask)
        y: Tensor = self.norm(x)
        return y


class Decoder(_Stack):
    """Layers over a response, looking at a memory."""

    def __init__(self, shape: Shape, n_layers: int) -> None:
        super().__init__(shape)
        self.layers = nn.ModuleList(DecoderLayer(shape) for _ in range(n_layers))

    def start(self, memory: Tensor) -> list[LayerCache]:
        """One cache per layer, (B, S, D) -> L caches."""
        return [cast(DecoderLayer, layer).start(memory) for layer in self.layers]

    def forward(self, x: Tensor, caches: list[LayerCache], mask: Tensor) -> Tensor:
        """Embeddings of a whole shifted response -> states, (B, T, D) -> (B, T, D)."""
        return self.through(self.enter(x), caches, mask)

    def step(self, x: Tensor, caches: list[LayerCache], mask: Tensor, position: int) -> Tensor:
        """The embedding of one token -> its state, (B, 1, D) -> (B, 1, D); the caches grow."""
        return self.through_step(self.enter(x, position), caches, mask)

    def through(self, x: Tensor, caches: list[LayerCache], mask: Tensor) -> Tensor:
        """The layers and the last norm over a whole response that has entered, (B, T, D) -> (B, T, D)."""
        for layer, cache in zip(self.layers, caches, strict=True):
            x = layer(x, cache, mask)
        y: Tensor = self.norm(x)
        return y

    def through_step(self, x: Tensor, caches: list[LayerCache], mask: Tensor) -> Tensor:
        """The same over one position, (B, 1, D) -> (B, 1, D)."""
        for layer, cache in zip(self.layers, caches, strict=True):
            x = cast(DecoderLayer, layer).step(x, cache, mask)
        y: Tensor = self.norm(x)
        return y
