"""What replies owe to their context: maximum mutual information (Li et al., NAACL 2016).

A beam likes what fits every context ("I am so sorry to hear that."). Ranked by mutual information, a reply pays for being
likely anyway: argmax log p(T | S) - λ log p(T) (their Eq. 9), over the hypotheses of a beam. They take p(T) from a language
model; here it is the generator's own probability of the words when it has heard nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from harken.models.contract import Generator, State
from harken.text.batches import NO_LABEL, Batch, Encoded, in_order_of_length
from harken.text.vocabulary import CLS

BATCH = 64


@torch.inference_mode()
def unheard(
    generator: Generator, state: State, batch: Batch, rows: Sequence[int], said: Sequence[list[int]]
) -> list[float]:
    """log p(T) of what was said to these rows of `batch`, without their contexts, in the label it was written in."""
    labels = [NO_LABEL] * len(batch) if state.label is None else state.label.tolist()
    answerers = batch.answerer.tolist()
    replies = [
        Encoded(context=[CLS], roles=[CLS], target=tokens, asked=labels[row], answerer=answerers[row])
        for row, tokens in zip(rows, said, strict=True)
    ]
    found = [0.0] * len(replies)
    for chosen, on_cpu in in_order_of_length(replies, BATCH):
        alone = on_cpu.to(batch.context.device)
        likely = -generator.nll(alone, generator.encode(alone)).double().sum(1)
        for place, value in zip(chosen, likely.tolist(), strict=True):
            found[place] = value
    return found
