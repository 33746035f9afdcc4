"""Transformer layers with key/value caches: the MoEL family's, and the ordinary ones.

The family's layer (torchnlp's, which MoEL, MIME and EmpDG share): norms in front and one at the end, keys and values of
40 dimensions for two heads, and a feed-forward of two convolutions of width 3 with 50 filters, ReLU also after the
second. The ordinary layer has keys and values as wide as the model and two linear maps. `Shape` chooses; one code runs
both. A layer decodes a whole response (`forward`, for training) or one position (`step`, on a `LayerCache`) alike.

Where we differ from the releases: padding is kept out of the encoder's convolutions, so that it never changes a reply,
and norms divide by the biased deviation, as torch does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from harken.text.vocabulary import PAD, TextConfig

KeyValue = tuple[Tensor, Tensor]  # (B, H, S, d) each


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The measures of a layer, by default the MoEL family's; a model's config adds its own fields to these."""

    d_model: int = 300
    n_heads: int = 2
    depth: int | None = 40
    """Width of keys and values over all heads; null is d_model."""
    feed_forward: Literal["conv", "relu", "gelu"] = "conv"
    """Two convolutions of width 3 with ReLU, or two linear maps with ReLU or GELU between."""
    d_inner: int = 50
    """Filters of the convolutions, or the inner width of the linear maps."""
    dropout: float = 0.0
    """Of what enters and leaves the layers and of inner states; attention weights stay whole, for the fused kernel."""
    project: bool = True
    """A linear map between embeddings and layers, as in the family."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        for name in ("d_model", "n_heads", "d_inner"):
            if getattr(self, name) < 1:
                yield f"{name} = {getattr(self, name)} must be at least 1"
        depth = self.d_model if self.depth is None else self.depth
        if self.n_heads >= 1 and (depth < 1 or depth % self.n_heads):
            name = "d_model" if self.depth is None else "depth"
            yield f"{name} = {depth} must be a multiple of n_heads = {self.n_heads}"
        if not 0 <= self.dropout < 1:
            yield f"dropout = {self.dropout} must lie in 0..1"

    def wants(self, text: TextConfig) -> Iterator[str]:
        """What a text config lacks that training this network would miss; nothing for most."""
        yield from ()


def attendable(pad: Tensor) -> Tensor:
    """The attention mask of a padded sequence, True where one may look, (B, S) -> (B, 1, 1, S)."""
    return ~pad[:, None, None, :]


def timing_signal(length: int, width: int, start: int = 0) -> Tensor:
    """tensor2tensor's positions, (length, width): sines, then cosines, wavelengths from 2π to 20,000π."""
    scales = width // 2
    rates = torch.exp(torch.arange(scales) * (-math.log(10_000.0) / max(1, scales - 1)))  # (scales,)
    angles = torch.arange(start, start + length).unsqueeze(1) * rates  # (length, scales)
    return F.pad(torch.cat([angles.sin(), angles.cos()], dim=1), (0, width % 2))


class Positions(nn.Module):
    """Adds the timing signal, kept for the lengths that occur."""

    table: Tensor

    def __init__(self, width: int, length: int = 512) -> None:
        super().__init__()
        self.register_buffer("table", timing_signal(length, width), persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """(B, T, D) at positions start … start + T - 1 -> (B, T, D)."""
        stop = start + x.shape[1]
        if stop > self.table.shape[0]:
            self.table = timing_signal(2 * stop, self.table.shape[1]).to(self.table)
        return x + self.table[start:stop]


class Embedding(nn.Embedding):
    """Word vectors scaled by the square root of their width, as the family and Vaswani et al. have them.

    They start small (deviation 0.01, the family's); a table that also makes the logits (`tied`) starts at 1 / sqrt(D).
    """

    def __init__(self, n_tokens: int, width: int, *, tied: bool = False) -> None:
        super().__init__(n_tokens, width, padding_idx=PAD)
        nn.init.normal_(self.weight, std=width**-0.5 if tied else 0.01)
        self.weight.data[PAD] = 0.0

    def forward(self, ids: Tensor) -> Tensor:
        """(…) -> (…, D)."""
        return super().forward(ids) * math.sqrt(self.embedding_dim)


class Dropout(nn.Dropout):
    """Dropout that on a CPU takes a third of the time: eight elements share one random number, a byte each.

    The rate is then a multiple of 1/256; what stays is scaled by just that rate, so the mean is kept.
    """

    def forward(self, x: Tensor) -> Tensor:
        """(…) -> (…)."""
        if not self.training or self.p == 0 or x.device.type != "cpu":
            return super().forward(x)
        dropped = round(256 * self.p)
        draws = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None).view(torch.uint8)
        kept = (draws[: x.numel()] >= dropped).view(x.shape).to(x.dtype)
        return x * kept.mul_(256 / (256 - dropped))


class Attention(nn.Module):
    """Multi-head attention; keys and values are projected apart from the queries, so that they can be kept."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        depth = shape.depth or shape.d_model
        self.heads = shape.n_heads
        self.query = nn.Linear(shape.d_model, depth, bias=False)
        self.key = nn.Linear(shape.d_model, depth, bias=False)
        self.value = nn.Linear(shape.d_model, depth, bias=False)
        self.output = nn.Linear(depth, shape.d_model, bias=False)

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)  # (B, S, H·d) -> (B, H, S, d)

    def keys_and_values(self, x: Tensor) -> KeyValue:
        """(B, S, D) -> two of (B, H, S, d)."""
        return self._split(self.key(x)), self._split(self.value(x))

    def forward(self, x: Tensor, seen: KeyValue, *, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        """Look from x at `seen`, (B, T, D) -> (B, T, D); `mask` is True where one may look."""
        found = F.scaled_dot_product_attention(
            self._split(self.query(x)), *seen, attn_mask=mask, is_causal=causal
        )  # (B, H, T, d)
        mixed: Tensor = self.output(found.transpose(1, 2).flatten(2))
        return mixed


class LinearFeedForward(nn.Module):
    """Two linear maps with an activation between."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.inner = nn.Linear(shape.d_model, shape.d_inner)
        self.outer = nn.Linear(shape.d_inner, shape.d_model)
        self.activation = F.gelu if shape.feed_forward == "gelu" else F.relu
        self.dropout = Dropout(shape.dropout)

    def forward(self, x: Tensor, pad: Tensor | None = None) -> Tensor:
        """(B, T, D) -> (B, T, D); each position by itself, so padding cannot matter."""
        y: Tensor = self.outer(self.dropout(self.activation(self.inner(x))))
        return y

    def step(self, x: Tensor, windows: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """One position needs no other."""
        return self(x), windows


class Window(nn.Module):
    """A convolution of width 3 as a linear map of the three neighbours laid side by side."""

    def __init__(self, d_in: int, d_out: int, *, causal: bool) -> None:
        super().__init__()
        self.before, self.after = (2, 0) if causal else (1, 1)
        self.weight = nn.Parameter(torch.empty(d_out, 3 * d_in))
        self.bias = nn.Parameter(torch.zeros(d_out))
        bound = math.sqrt(6 / (3 * d_in + 3 * d_out))  # Xavier's for a convolution
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, x: Tensor, pad: Tensor | None = None) -> Tensor:
        """(B, T, d_in) -> (B, T, d_out); padding counts as zero, as beyond the ends."""
        if pad is not None:
            x = x.masked_fill(pad.unsqueeze(-1), 0.0)
        length = x.shape[1]
        x = F.pad(x, (0, 0, self.before, self.after))
        return F.linear(torch.cat([x[:, i : i + length] for i in range(3)], dim=-1), self.weight, self.bias)

    def step(self, x: Tensor, before: Tensor | None) -> tuple[Tensor, Tensor]:
        """One position after the two of `before`, (B, 1, d_in), (B, 2, d_in) -> (B, 1, d_out), the next `before`."""
        before = x.new_zeros(x.shape[0], 2, x.shape[2]) if before is None else before
        window = torch.cat([before, x], dim=1)  # (B, 3, d_in)
        return F.linear(window.flatten(1).unsqueeze(1), self.weight, self.bias), window[:, 1:]


class ConvFeedForward(nn.Module):
    """The family's feed-forward: two convolutions of width 3, ReLU after each."""

    def __init__(self, shape: Shape, *, causal: bool) -> None:
        super().__init__()
        self.inner = Window(shape.d_model, shape.d_inner, causal=causal)
        self.outer = Window(shape.d_inner, shape.d_model, causal=causal)
        self.dropout = Dropout(shape.dropout)

    def forward(self, x: Tensor, pad: Tensor | None = None) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        return F.relu(self.outer(self.dropout(F.relu(self.inner(x, pad))), pad))

    def step(self, x: Tensor, windows: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """One position, with what each convolution saw before."""
        inner, outer = windows or (None, None)
        hidden, inner = self.inner.step(x, inner)
        y, outer = self.outer.step(F.relu(hidden), outer)
        return F.relu(y), [inner, outer]


def feed_forward(shape: Shape, *, causal: bool) -> LinearFeedForward | ConvFeedForward:
    """The feed-forward the shape asks for."""
    return ConvFeedForward(shape, causal=causal) if shape.feed_forward == "conv" else LinearFeedForward(shape)


def norm(width: int) -> nn.LayerNorm:
    """Layer normalisation with the family's epsilon."""
    return nn.LayerNorm(width, eps=1e-6)


def xavier(module: nn.Module) -> None:
    """Xavier's uniform start for every linear map, as the family has it; the other parts start themselves."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)
