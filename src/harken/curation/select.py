"""The most emotional dialogues (EDOS) and the rest (OS).

What is selected is said by one *cut*, the last dialogue that still belongs to the selection: a dialogue ranks before it by
higher emotionality, or by id where emotionalities are equal. So each shard can be divided without looking at another, and
finding the cut needs eight bytes a dialogue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harken.errors import HarkenError

Ranked = tuple[list[str], NDArray[np.float64]]
"""Ids and emotionalities of some dialogues."""


@dataclass(frozen=True)
class Cut:
    """The last dialogue selected."""

    emotionality: float
    id: str

    def keeps(self, emotionality: float, name: str) -> bool:
        """Whether a dialogue is selected."""
        return emotionality > self.emotionality or (emotionality == self.emotionality and name <= self.id)


NOTHING = Cut(float("inf"), "")


def find_cut(shards: Callable[[], Iterable[Ranked]], top: int) -> Cut:
    """The cut below the `top` most emotional dialogues; `shards` is gone through twice, one in memory at a time."""
    if top < 0:
        raise HarkenError(f"top = {top} must be at least 0")
    values = np.concatenate([np.zeros(0), *(emotionality for _, emotionality in shards())])
    top = min(top, len(values))
    if top == 0:
        return NOTHING
    last = float(np.partition(values, len(values) - top)[len(values) - top])
    level = sorted(ids[i] for ids, emotionality in shards() for i in np.flatnonzero(emotionality == last))
    return Cut(last, level[top - int((values > last).sum()) - 1])
