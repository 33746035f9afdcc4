"""Adam and AdamW with the schedules of their learning rates."""

from __future__ import annotations

import math

import torch
from torch import nn

from harken.training.config import TrainingConfig


def learning_rate(step: int, config: TrainingConfig, d_model: int) -> float:
    """The rate of optimiser step `step`, counted from 1.

    Noam is Vaswani et al.'s: factor · d^-0.5 · min(step^-0.5, step · warmup^-1.5). The others rise over the warm-up,
    then stay (constant), or fall to zero at `max_steps` along a line or half a cosine.
    """
    peak, warmup = config.learning_rate, config.warmup
    if config.schedule == "noam":
        return float(peak * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))
    if step <= warmup:
        return peak * step / warmup
    if config.schedule == "constant":
        return peak
    share = min(1.0, (step - warmup) / (config.max_steps - warmup))
    return peak * (1 - share if config.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * share)))


def optimiser(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """Adam in one fused pass; AdamW decays matrices, not norms and biases."""
    if config.optimiser == "adam":
        return torch.optim.Adam(model.parameters(), lr=0.0, betas=config.betas, eps=config.epsilon, fused=True)
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=0.0, betas=config.betas, eps=config.epsilon, fused=True)
