"""Losses as sums with their counts, so that a mean is taken once and batch size never changes a figure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from harken.text.batches import NO_EMOTION
from harken.text.vocabulary import PAD


@dataclass(frozen=True, slots=True)
class Term:
    """A sum and its count. A sum with a gradient is trained on; one without is only measured."""

    sum: Tensor  # ()
    count: Tensor  # ()

    @property
    def mean(self) -> Tensor:
        """The sum over the count; 0 for a count of 0."""
        return self.sum / self.count.clamp(min=1)

    def __add__(self, other: Term) -> Term:
        """Two parts of one whole."""
        return Term(self.sum + other.sum, self.count + other.count)


def perplexity(nll: Term) -> float:
    """exp of the mean negative log-likelihood per token."""
    return math.exp(min(nll.mean.item(), 700.0))


def token_nll(logits: Tensor, target: Tensor, pad: Tensor, *, smoothing: float = 0.0) -> Term:
    """Cross-entropy with the smoothed target, (B, T, V), (B, T), (B, T) -> Term over real tokens.

    Smoothing is the MoEL family's: 1 - ε on the target, ε / (V - 2) on every other token but padding, which gets none.
    """
    real = ~pad
    log_p = F.log_softmax(logits[real], dim=-1)  # (N, V)
    gold = log_p.gather(1, target[real].unsqueeze(1)).squeeze(1)  # (N,)
    loss = -gold
    if smoothing:
        spread = smoothing / (logits.shape[-1] - 2)
        others = log_p.sum(1) - log_p[:, PAD] - gold
        loss = -((1 - smoothing) * gold + spread * others)
    return Term(loss.sum(), real.sum())


def projected_nll(
    states: Tensor, weight: Tensor, bias: Tensor, target: Tensor, *, smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """`token_nll` of `states @ weight.T + bias`, and the plain NLL, (N, D), (V, D), (V,), (N,) -> (), (N,).

    The vocabulary product is most of a training step, so the gradient of the logits is written over the logits at once:
    one (N, V) matrix instead of five. The plain NLL carries no gradient.
    """
    loss, nll = _ProjectedNll.apply(states, weight, bias, target, smoothing)  # type: ignore[no-untyped-call]
    return loss, nll


class _ProjectedNll(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor, target: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        logits = torch.addmm(bias, states, weight.t())  # (N, V)
        rows = torch.arange(len(target), device=target.device)
        spread = smoothing / (logits.shape[1] - 2)
        gold = logits[rows, target]  # (N,)
        others = logits.sum(1) - logits[:, PAD] - gold if smoothing else torch.zeros_like(gold)
        largest = logits.amax(1)  # (N,)
        logits.sub_(largest.unsqueeze(1)).exp_()
        total = logits.sum(1)  # (N,)
        log_total = total.log() + largest
        loss = (log_total - (1 - smoothing) * gold - spread * others).sum()
        if any(ctx.needs_input_grad[:3]):
            logits.div_(total.unsqueeze(1)).sub_(spread)  # softmax - smoothed target
            logits[rows, target] -= 1 - smoothing - spread
            logits[:, PAD] += spread
            ctx.save_for_backward(states, weight, logits)
        nll = log_total - gold
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        states, weight, slope = ctx.saved_tensors
        scale = upstream[0]
        return (slope @ weight) * scale, slope.t() @ (states * scale), slope.sum(0) * scale, None, None


def emotion_nll(logits: Tensor, emotion: Tensor) -> Term:
    """Cross-entropy of the emotion, (B, E), (B,) -> Term over the examples that have one."""
    known = emotion != NO_EMOTION
    return Term(F.cross_entropy(logits[known], emotion[known], reduction="sum"), known.sum())


def emotion_hits(logits: Tensor, emotion: Tensor, top: int = 1) -> Term:
    """How often the emotion is among the `top` likeliest, (B, E), (B,) -> Term over the examples that have one."""
    known = emotion != NO_EMOTION
    best = logits[known].detach().topk(top, dim=-1).indices  # (N, top)
    return Term((best == emotion[known].unsqueeze(1)).any(1).sum().float(), known.sum())


def emotion_terms(logits: Tensor, emotion: Tensor) -> dict[str, Term]:
    """`emotion`, the loss, and `accuracy`, how often the first choice is right."""
    return {"emotion": emotion_nll(logits, emotion), "accuracy": emotion_hits(logits, emotion)}


def label_terms(logits: Tensor, label: Tensor) -> dict[str, Term]:
    """`label`, the loss of the reply's label, and `label_accuracy`, how often the first choice is right."""
    return {"label": emotion_nll(logits, label), "label_accuracy": emotion_hits(logits, label)}
