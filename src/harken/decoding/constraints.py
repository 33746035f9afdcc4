"""What a reply must not say, written as -inf over the logits."""

from __future__ import annotations

import torch
from torch import Tensor

from harken.text.vocabulary import EOS, SPECIALS

NEVER = [number for number in range(len(SPECIALS)) if number != EOS]
"""Padding, unknown word, roles and the like are no words."""
LEAST = float("-inf")


def constrain(logits: Tensor, history: Tensor, *, min_length: int, no_repeat: int) -> Tensor:
    """Forbid in place specials, an end before `min_length` tokens, any n-gram twice. (R, V), (R, t) -> (R, V)."""
    logits[:, NEVER] = LEAST
    if history.shape[1] < min_length:
        logits[:, EOS] = LEAST
    if no_repeat and history.shape[1] >= no_repeat:
        rows, tokens = repeats(history, no_repeat)
        logits[rows, tokens] = LEAST
    return logits


def log_total(logits: Tensor) -> Tensor:
    """`logits.logsumexp(1)` in half its time, (R, V) -> (R,)."""
    largest = logits.amax(1)
    return (logits - largest.unsqueeze(1)).exp_().sum(1).log_() + largest


def repeats(history: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """The (row, token) pairs that would write an n-gram of the row a second time, (R, t) -> two of (P,)."""
    grams = history.unfold(1, n, 1)  # (R, t - n + 1, n)
    last = history[:, history.shape[1] - n + 1 :].unsqueeze(1)  # (R, 1, n - 1)
    rows, places = (grams[:, :, :-1] == last).all(-1).nonzero(as_tuple=True)
    return rows, grams[rows, places, -1]


def top(values: Tensor, k: int, block: int = 128) -> tuple[Tensor, Tensor]:
    """`values.topk(k)` of each row, (R, V) -> two of (R, k), by blocks.

    The k largest lie in the k blocks whose maxima are largest. Finding those takes one quick pass, and the slow
    selection then reads k blocks instead of the whole vocabulary.
    """
    rows, width = values.shape
    whole = width // block * block
    if whole < 4 * k * block:
        found = values.topk(min(k, width), dim=1)
        return found.values, found.indices
    maxima = values[:, :whole].view(rows, -1, block).amax(-1)  # (R, V / block)
    starts = maxima.topk(k, dim=1).indices * block  # (R, k)
    places = (starts.unsqueeze(-1) + torch.arange(block, device=values.device)).flatten(1)  # (R, k · block)
    rest = torch.arange(whole, width, device=values.device).expand(rows, -1)
    places = torch.cat([places, rest], dim=1)
    found = values.gather(1, places).topk(k, dim=1)
    return found.values, places.gather(1, found.indices)
