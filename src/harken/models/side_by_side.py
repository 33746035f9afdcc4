"""Decoder layers side by side: each row of a batch goes through a few of them, and all of that is one computation.

A (row, layer) pair is seated with its layer, every layer having as many seats as the fullest one needs; then a linear
map of all layers is one batched product over the seats, and attention is one call over the rows. A layer that no row
chose is not computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from harken.models.layers import ConvFeedForward, KeyValue, Window
from harken.models.stacks import DecoderLayer, LayerCache, extended


class Seats:
    """The N = B · K pairs of rows and layers, at C seats for each of the U layers that somebody chose."""

    def __init__(self, chosen: Tensor) -> None:
        self.shape, self.layer = chosen.shape, chosen.flatten()  # (B, K), (N,)
        counts = self.layer.bincount()
        self.used = counts.nonzero().squeeze(1)  # (U,)
        size = int(counts.max())
        row = ((counts > 0).cumsum(0) - 1)[self.layer]  # (N,) the place of each pair's layer in `used`
        order = self.layer.argsort(stable=True)
        pairs = torch.arange(len(order), device=order.device)
        earlier = (counts.cumsum(0) - counts)[self.layer[order]]  # pairs of the layers before
        self.seat = torch.empty_like(pairs).index_copy_(0, order, row[order] * size + pairs - earlier)  # (N,)
        self.pair = pairs.new_zeros(len(self.used) * size).index_copy_(0, self.seat, pairs)  # (U · C,), 0 if empty

    def rows(self, x: Tensor) -> Tensor:
        """Pairs as rows of K, (N, …) -> (B, K, …)."""
        return x.reshape(*self.shape, *x.shape[1:])

    def pairs(self, x: Tensor) -> Tensor:
        """Each row once for every layer it chose, (B, …) -> (N, …)."""
        return x.repeat_interleave(self.shape[1], dim=0)


class Maps(nn.Module):
    """A linear map per layer; several maps of the same input lie behind each other."""

    def __init__(self, *parts: Sequence[nn.Linear | Window]) -> None:
        super().__init__()
        weights = [torch.stack([one.weight.detach() for one in part]) for part in parts]
        biases = [cast(Tensor, one.bias).detach() for one in parts[0] if one.bias is not None]
        self.weight = nn.Parameter(torch.cat(weights, dim=1))  # (n, d_out, d_in)
        self.bias = nn.Parameter(torch.stack(biases)) if biases else None  # (n, d_out)

    def forward(self, x: Tensor, seats: Seats) -> Tensor:
        """(N, T, d_in) -> (N, T, d_out)."""
        length = x.shape[1]
        weight: Tensor = self.weight
        bias: Tensor | None = self.bias
        if len(seats.used) < len(weight):
            weight = weight.index_select(0, seats.used)  # (U, d_out, d_in)
            bias = None if bias is None else bias.index_select(0, seats.used)
        x = x.index_select(0, seats.pair).view(len(weight), -1, x.shape[2])  # (U, C · T, d_in)
        weight = weight.transpose(1, 2)
        y = torch.bmm(x, weight) if bias is None else torch.baddbmm(bias.unsqueeze(1), x, weight)
        return y.view(len(seats.pair), length, -1).index_select(0, seats.seat)


class Norms(nn.Module):
    """A layer norm per layer."""

    def __init__(self, norms: Sequence[nn.LayerNorm]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.stack([norm.weight.detach() for norm in norms]))  # (n, D)
        self.bias = nn.Parameter(torch.stack([norm.bias.detach() for norm in norms]))
        self.eps = norms[0].eps

    def forward(self, x: Tensor, seats: Seats) -> Tensor:
        """(N, T, D) -> (N, T, D)."""
        weight, bias = (part.index_select(0, seats.layer).unsqueeze(1) for part in (self.weight, self.bias))
        return torch.addcmul(bias, F.layer_norm(x, x.shape[-1:], eps=self.eps), weight)


class SideBySide(nn.Module):
    """n decoder layers in one; what a cache holds of a row is that of the K layers the row chose."""

    def __init__(self, layers: Sequence[DecoderLayer]) -> None:
        super().__init__()

        def every(name: str) -> list[nn.Linear | Window]:
            return [attrgetter(name)(layer) for layer in layers]

        self.own = Maps(every("attention.query"), every("attention.key"), every("attention.value"))
        self.own_output = Maps(every("attention.output"))
        self.cross = Maps(every("cross.query"))
        self.cross_memory = Maps(every("cross.key"), every("cross.value"))
        self.cross_output = Maps(every("cross.output"))
        self.inner = Maps(every("feed_forward.inner"))
        self.outer = Maps(every("feed_forward.outer"))
        self.own_norm = Norms([layer.attention_norm for layer in layers])
        self.cross_norm = Norms([layer.cross_norm for layer in layers])
        self.feed_forward_norm = Norms([layer.feed_forward_norm for layer in layers])
        like = layers[0]
        self.heads, self.dropout = like.attention.heads, like.dropout
        self.conv = isinstance(like.feed_forward, ConvFeedForward)
        self.activation = F.relu if isinstance(like.feed_forward, ConvFeedForward) else like.feed_forward.activation

    def start(self, memory: Tensor, chosen: Tensor) -> LayerCache:
        """The cache before the first token, (B, S, D), (B, K) -> LayerCache."""
        seats = Seats(chosen)
        keys, values = self.cross_memory(seats.pairs(memory), seats).chunk(2, dim=-1)
        return LayerCache((self._heads(keys, seats), self._heads(values, seats)))

    def forward(self, x: Tensor, cache: LayerCache, chosen: Tensor, mask: Tensor) -> Tensor:
        """A whole response, (B, T, D), (B, K) -> (B, K, T, D); the cache gives the context and stays as it is."""
        return self.step(x, LayerCache(cache.memory), chosen, mask)

    def step(self, x: Tensor, cache: LayerCache, chosen: Tensor, mask: Tensor) -> Tensor:
        """The next position or, to begin with, several, (B, T, D), (B, K) -> (B, K, T, D); the cache grows."""
        seats, causal = Seats(chosen), x.shape[1] > 1
        x = seats.pairs(x)  # (N, T, D)
        parts = self.own(self.own_norm(x, seats), seats).chunk(3, dim=-1)
        query, key, value = (self._heads(part, seats) for part in parts)
        cache.own = extended(cache.own, (key, value))
        x = x + self.dropout(self.own_output(self._look(query, cache.own, None, causal), seats))
        query = self._heads(self.cross(self.cross_norm(x, seats), seats), seats)
        x = x + self.dropout(self.cross_output(self._look(query, cache.memory, mask, False), seats))
        before = [window.flatten(0, 1) for window in cache.windows]
        y, windows = self._feed_forward(self.feed_forward_norm(x, seats), before, seats)
        cache.windows = [seats.rows(window) for window in windows]  # (B, K, 2, …)
        return seats.rows(x + self.dropout(y))

    def _heads(self, x: Tensor, seats: Seats) -> Tensor:
        """To attention, K layers of H heads are K · H heads, (N, T, H · d) -> (B, K · H, T, d)."""
        return x.reshape(*seats.shape, x.shape[1], self.heads, -1).transpose(2, 3).flatten(1, 2)

    def _look(self, query: Tensor, seen: KeyValue, mask: Tensor | None, causal: bool) -> Tensor:
        """From (B, K · H, T, d) at two of (B, K · H, S, d) -> (N, T, H · d)."""
        found = F.scaled_dot_product_attention(query, *seen, attn_mask=mask, is_causal=causal)
        return found.reshape(-1, self.heads, *found.shape[2:]).transpose(1, 2).flatten(2)

    def _feed_forward(self, x: Tensor, before: list[Tensor], seats: Seats) -> tuple[Tensor, list[Tensor]]:
        """(N, T, D) and what each convolution saw before, (N, 2, …) -> the same after these positions."""
        if not self.conv:
            return self.outer(self.dropout(self.activation(self.inner(x, seats))), seats), []
        inner, outer = before or (None, None)
        x, inner = _neighbours(x, inner)
        x, outer = _neighbours(self.dropout(F.relu(self.inner(x, seats))), outer)
        return F.relu(self.outer(x, seats)), [inner, outer]


def _neighbours(x: Tensor, before: Tensor | None) -> tuple[Tensor, Tensor]:
    """Each position behind its two predecessors, (N, T, d) -> (N, T, 3d), and the last two, (N, 2, d)."""
    length = x.shape[1]
    before = x.new_zeros(x.shape[0], 2, x.shape[2]) if before is None else before
    x = torch.cat([before, x], dim=1)
    return torch.cat([x[:, i : i + length] for i in range(3)], dim=-1), x[:, -2:]
