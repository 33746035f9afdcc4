"""Words from two places: the vocabulary, and the context to copy from (See et al. 2017).

    symbol    here                shape
    p_vocab   word_terms()        (N, V)      never kept by whoever asks: only what training needs leaves the product
    a         Copying.attention   (B, T, S)   where in the context to copy from
    p_gen     Copying.log_keep    (B, T)      how far the vocabulary speaks; the rest is copied
    P(w)      mixed(), mixture()              p_gen · p_vocab(w) + (1 - p_gen) · sum of a over the places of w

Only words are copied: neither padding, nor the [CLS] in front, nor the unknown word. Where a context has none, p_gen = 1.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from harken.models.layers import Shape
from harken.text.vocabulary import PAD, SPECIALS

TINY = torch.finfo(torch.float32).tiny
"""Stands for a probability of nothing, so that its logarithm is a number."""


class Copying(NamedTuple):
    """How far, and from where, a response is copied."""

    log_keep: Tensor  # (B, T) log p_gen
    log_copy: Tensor  # (B, T) log (1 - p_gen)
    attention: Tensor  # (B, T, S)


def attend(query: Tensor, keys: Tensor, words: Tensor) -> Tensor:
    """a: where each query looks among the words, nowhere where there are none, (B, T, d), (B, S, d), (B, S) -> (B, T, S)."""
    scores = query @ keys.transpose(1, 2) / math.sqrt(query.shape[-1])  # (B, T, S)
    here = words.unsqueeze(1)
    return scores.masked_fill(~here, torch.finfo(scores.dtype).min).softmax(-1) * here


def copied(attention: Tensor, context: Tensor, target: Tensor) -> Tensor:
    """The attention on a target's places in the context, (B, T, S), (B, S), (B, T) -> (B, T)."""
    return (attention * (context.unsqueeze(1) == target.unsqueeze(2))).sum(-1)


def mixed(log_p: Tensor, found: Tensor, log_keep: Tensor, log_copy: Tensor) -> Tensor:
    """log P of words, given what the vocabulary says of them and how far they are found in the context, (N,) each."""
    return torch.logaddexp(log_keep + log_p, log_copy + found.clamp(min=TINY).log())  # p_gen p_vocab + (1 - p_gen) a


def mixture(logits: Tensor, copying: Copying, context: Tensor) -> Tensor:
    """log P over the vocabulary after the one position of `copying`, (B, V), (B, S) -> (B, V)."""
    p = logits.softmax(-1) * copying.log_keep.exp()
    return p.scatter_add(1, context, copying.attention.squeeze(1) * copying.log_copy.exp()).clamp(min=TINY).log()


def soft_tokens(expected: Tensor, vectors: Tensor, copying: Copying) -> Tensor:
    """The mean vector under P, from that under p_vocab and those of the context, (B, T, D), (B, S, D) -> (B, T, D)."""
    keep, copy = copying.log_keep.exp().unsqueeze(-1), copying.log_copy.exp().unsqueeze(-1)
    return keep * expected + copy * (copying.attention @ vectors)  # sum of P(w) · vector of w


class Pointer(nn.Module):
    """Looks from the decoder's states at the context, and decides how far to copy."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        depth = shape.depth or shape.d_model
        self.query = nn.Linear(shape.d_model, depth, bias=False)
        self.key = nn.Linear(shape.d_model, depth, bias=False)
        self.gate = nn.Linear(shape.d_model, 1)

    def forward(self, hidden: Tensor, keys: Tensor, context: Tensor) -> Copying:
        """(B, T, D), (B, S, d), (B, S) -> Copying."""
        words = context >= len(SPECIALS)
        gate = self.gate(hidden).squeeze(-1)  # (B, T)
        nothing = ~words.any(1, keepdim=True)
        log_keep = F.logsigmoid(gate).masked_fill(nothing, 0.0)
        log_copy = F.logsigmoid(-gate).masked_fill(nothing, -math.inf)
        return Copying(log_keep, log_copy, attend(self.query(hidden), keys, words))


def word_terms(
    states: Tensor, output: nn.Linear, target: Tensor, table: Tensor, heard: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """What training needs of p_vocab: log p of the target, the mean log p of all others but padding, expected vectors.

    (N, D), (N,), (V, D), (N,) -> (N,), (N,), (M, D): row m is the mean row of `table` under p_vocab at the m-th state that
    is `heard`. The vocabulary product is most of a training step, so its gradient is written over the probabilities: one
    (N, V) matrix for all three. `table` gets no gradient.
    """
    found = _WordTerms.apply(states, output.weight, output.bias, target, table, heard)  # type: ignore[no-untyped-call]
    gold, others, soft = found
    return gold, others, soft


class _WordTerms(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor, target: Tensor, table: Tensor, heard: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        p = torch.addmm(bias, states, weight.t())  # (N, V), logits as yet
        rows = torch.arange(len(target), device=target.device)
        gold = p[rows, target]  # (N,)
        others = (p.sum(1) - p[:, PAD] - gold) / (p.shape[1] - 2)  # (N,)
        largest = p.amax(1, keepdim=True)  # (N, 1)
        total = p.sub_(largest).exp_().sum(1, keepdim=True)  # (N, 1)
        p.div_(total)
        log_total = (total.log() + largest).squeeze(1)  # (N,)
        soft = p[heard] @ table  # (M, D)
        ctx.save_for_backward(states, weight, target, table, heard, p)
        return gold - log_total, others - log_total, soft

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        states, weight, target, table, heard, slope = ctx.saved_tensors  # slope: p as yet
        gold, others, soft = upstream
        rows, each = torch.arange(len(target), device=target.device), others / (slope.shape[1] - 2)
        p = slope[heard]  # (M, V)
        slope.mul_(-(gold + others).unsqueeze(1)).add_(each.unsqueeze(1))
        slope[rows, target] += gold - each
        slope[:, PAD] -= each
        if len(p):
            lean = soft @ table.t()  # (M, V)
            slope[heard] += p.mul_(lean.sub_((p * lean).sum(1, keepdim=True)))
        return slope @ weight, slope.t() @ states, slope.sum(0), None, None, None
