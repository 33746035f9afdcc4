"""The gradient of one batch of contexts and candidates, encoded in chunks of like length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from harken.models.losses import emotion_terms
from harken.retrieval.config import RankerRunConfig
from harken.retrieval.losses import cached_backward, in_batch_nll, own_negatives_nll
from harken.retrieval.multitask import emotion_numbers, joint_loss
from harken.retrieval.rankers import Context, Ranker, Side, in_order_of_length


def batch_backward(
    ranker: Ranker,
    contexts: Sequence[Context],
    candidates: Sequence[str],
    config: RankerRunConfig,
    seed: int,
    emotions: Sequence[str | None] = (),
) -> dict[str, Tensor]:
    """Accumulate the gradient of the mean loss of a batch; gives the losses: `nll`, and with multitask `emotion` and its
    `accuracy`.

    The B responses come first among the candidates; behind them, where LEMPEx's negatives are drawn, two for each.
    `emotions` are those of the contexts' dialogues, which only multitask needs.
    """
    training, scale, size = config.training, config.network.scale, len(contexts)
    weight = config.network.emotion_weight
    sides: dict[Side, list[Context]] = {
        "context": list(contexts),
        "candidate": [(c,) for c in candidates],
    }
    orders = {side: in_order_of_length(texts) for side, texts in sides.items()}
    plan: list[tuple[Side, list[int]]] = [
        (side, order[first : first + training.chunk])
        for side, order in orders.items()
        for first in range(0, len(order), training.chunk)
    ]  # contexts, the longest first: what is dearest to encode twice is kept

    def encoded(side: Side, rows: Sequence[int]) -> Tensor:
        emotional = side == "context" and weight is not None
        vectors: Tensor = ranker(side, [sides[side][i] for i in rows], emotions=emotional)
        return vectors

    def in_place(vectors: Sequence[Tensor], side: Side) -> Tensor:
        rows = torch.cat([part for part, (where, _) in zip(vectors, plan, strict=True) if where == side])
        return rows[torch.tensor(orders[side], device=rows.device).argsort()]

    words = {text: number for number, text in enumerate(dict.fromkeys(map(str.strip, candidates)))}
    said = torch.tensor([words[text.strip()] for text in candidates], device=ranker.device)
    same = said[:size].unsqueeze(1) == said  # (B, N)

    def ranking(x: Tensor, y: Tensor) -> Tensor:  # (B, D), (N, D)
        if training.negatives == "own":
            return own_negatives_nll(x, y[:size], y[size:].view(size, -1, y.shape[1]), scale=scale).mean
        loss = in_batch_nll(x, y, scale=scale, same=same).mean
        if training.both_ways:
            loss = (loss + in_batch_nll(y[:size], x, scale=scale, same=same[:, :size]).mean) / 2
        return loss

    told: dict[str, Tensor] = {}

    def loss_of(vectors: list[Tensor]) -> Tensor:
        x, y = in_place(vectors, "context"), in_place(vectors, "candidate")  # (B, D) or (B, D + E), (N, D)
        told["nll"] = ranking(x[:, : ranker.width].contiguous(), y)
        if weight is None:
            return told["nll"]
        terms = emotion_terms(x[:, ranker.width :], emotion_numbers(emotions).to(x.device))
        told.update({name: term.mean for name, term in terms.items() if term.count})
        return joint_loss(told["nll"], terms["emotion"].mean, weight)

    chunks: list[Callable[[], Tensor]] = [partial(encoded, side, rows) for side, rows in plan]
    cached_backward(chunks, loss_of, kept=training.kept, seed=seed)
    return {name: value.detach() for name, value in told.items()}
