"""Figures of parts of a file: by emotion, by the polarity of the context, by turn, by any field.

`emotion` and every other field of the file group by its value. Two more are derived: `polarity` is that of the gold
emotion (MIME's Table 1 sorts the 32 into positive and negative; its Table 4 reports by it), `turn` is which reply
of the conversation it is, counted from 1 (a context of one turn comes before reply 1, of three before reply 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from harken.errors import HarkenError, did_you_mean
from harken.labels import polarity
from harken.scoring.replies import Replies, ReplyRecord
from harken.scoring.score import Measured, Score
from harken.scoring.statistics import Integers
from harken.scoring.uncertainty import Resamples, with_intervals

_DERIVED: dict[str, tuple[str, Callable[[ReplyRecord], object]]] = {
    "polarity": ("emotion", lambda record: None if record.emotion is None else polarity(record.emotion)),
    "turn": ("context", lambda record: (len(record.context or ()) + 1) // 2),
}


@dataclass(frozen=True)
class Group:
    """The examples that share a value of the field, and their figures."""

    value: str
    n: int
    scores: tuple[Score, ...]


def groups(replies: Replies, field: str) -> dict[str, Integers]:
    """Which examples have which value of the field, in the order of the values (numbers by size, the rest by name)."""
    source, value = _DERIVED.get(field, (field, lambda record: record.get(field)))
    known = replies.fields()
    if source not in known:
        near = did_you_mean(field, [*known, *_DERIVED])
        raise HarkenError(f"{replies.name}: no line has the field '{source}'{near or '; it has ' + ', '.join(known)}")
    found: dict[object, list[int]] = {}
    for place, record in enumerate(replies.records):
        here = value(record)
        if isinstance(here, list | dict | tuple):
            raise HarkenError(f"{replies.name}: the field '{field}' holds lists, so nothing can be grouped by it")
        found.setdefault(here, []).append(place)
    return {_name(key): np.array(found[key], dtype=np.int64) for key in sorted(found, key=_rank)}


def _name(value: object) -> str:
    return "none" if value is None else str(value)


def _rank(value: object) -> tuple[int, float, str]:
    is_number = isinstance(value, int | float)
    return (value is None, float(value) if is_number else 0.0, str(value))  # type: ignore[arg-type]


def score_groups(
    measured: Sequence[Measured], parts: dict[str, Integers], resamples: Resamples | None = None
) -> list[Group]:
    """The figures of every group; the groups share what was measured on the whole file."""
    resamples = resamples or Resamples()
    return [
        Group(value, len(examples), tuple(with_intervals([one.take(examples) for one in measured], resamples)))
        for value, examples in parts.items()
    ]
