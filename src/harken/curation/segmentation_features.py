"""What is read off two consecutive lines to tell whether one person says both (after Lison and Meena 2016).

Each line has a few *facts*, each one of a small number of values: how it begins and ends, its length, its first and last
words, whom it speaks of, whether it calls someone by name. A pair has two more: the pause between its lines and the words
they share. A *template* joins one to three facts, `a.` of the first line and `b.` of the second, and every combination of
values is one feature, so the classifier can learn that `a.end=? b.first=no` is an answer by someone else. Beside the
templates stand the bags of words of both lines.

How long a line is shown is left out: a corpus of utterances does not tell it for their sentences, and a share of the
utterance's time would teach that short times mean one speaker, which holds in no subtitle.

Every pair has exactly one feature of each template, so the score of a whole file is a handful of table look-ups over
integer arrays; training reads the very same integers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import prod

import numpy as np
from numpy.typing import NDArray

from harken.curation.records import Line

Ints = NDArray[np.int64]
Lists = Mapping[str, Sequence[str]]
"""The words a segmenter knows, per kind of word fact and for the bags; learnt from its corpus."""

OTHER = "*"
"""The value of a word outside the lists."""
UNKNOWN = "unknown"
_GAPS = (-0.5, 0.1, 0.3, 0.6, 1.0, 2.0, 3.0, 5.0)
"""Borders in seconds between the classes of pauses; before the first, two lines overlap."""
_LENGTHS = (1, 2, 3, 4, 6, 9, 14)
"""Borders in words."""


def _classes(borders: Sequence[float]) -> tuple[str, ...]:
    return (f"<{borders[0]}", *(f">={border}" for border in borders))


FACTS: dict[str, tuple[str, ...]] = {
    "end": ("letter", ".", "?", "!", "...", ",", "-", ":", '"'),
    "start": ("capital", "lower", "...", "other"),
    "length": _classes(_LENGTHS),
    "who": ("nobody", "i", "you", "i+you"),
    "call": ("none", "first", "last"),
}
PAIR_FACTS: dict[str, tuple[str, ...]] = {
    "gap": (*_classes(_GAPS), UNKNOWN),
    "shared": ("none", "one", "some", "all"),
}
WORD_FACTS = ("first", "opening", "last")
"""The first word, the first two and the last; their values are the lists."""
BAG = "bag"
"""The list of the words that count wherever they stand."""
TEMPLATES: tuple[tuple[str, ...], ...] = (
    ("gap",),
    ("gap", "a.end"),
    ("gap", "b.start"),
    ("a.end", "b.start"),
    ("a.end", "b.end"),
    ("a.length", "b.length"),
    ("a.end", "a.length"),
    ("b.end", "b.length"),
    ("a.end", "a.who", "b.who"),
    ("a.end", "shared"),
    ("a.call", "b.call"),
    ("a.end", "a.call"),
    ("a.end", "a.first"),
    ("a.opening",),
    ("a.last",),
    ("a.end", "b.first"),
    ("b.end", "b.first"),
    ("b.opening",),
    ("b.last",),
)
BAGS = (("a.bag",), ("b.bag",))

_END = {"?": 2, "!": 3, "…": 4, ",": 5, "-": 6, "–": 6, "—": 6, ":": 7, ";": 7, '"': 8, "”": 8, ".": 1}
_WORD = re.compile(r"\n|'(?:ll|re|ve|s|m|d|t)\b|[^\W_]+")
"""A clitic is a word of its own, so that the spaced tokens of OPUS (`he 'll`) read like ordinary text (`he'll`)."""
_BREAK = "\n"
_I = frozenset("i me my mine myself".split())
_YOU = frozenset("you your yours yourself ya".split())
_NOT_NAMES = (
    "Ah And But Come God Hello Hey Hi Huh Listen Look Man No Now Oh Ok Okay Please Right So Sorry Sure Uh Um Wait Well "
    "Yeah Yes"
)
_CALL_FIRST = re.compile(rf"(?!(?:{_NOT_NAMES.replace(' ', '|')})\b)[A-Z][a-z]+ ?,")
_CALL_LAST = re.compile(r", ?[A-Z][a-z]+ ?[.!?]*$")


@dataclass(frozen=True, slots=True)
class Reading:
    """The facts of n lines and of their n - 1 pairs, as numbers of values; and the words with the lines they stand in."""

    lines: Mapping[str, Ints]
    pairs: Mapping[str, Ints]
    word: Ints
    """Numbers in the list of the bags, from 1; only of words that stand there."""
    row: Ints
    """The line of each word."""

    def codes(self, template: tuple[str, ...], lists: Lists) -> Ints:
        """The feature of every pair: its values as the digits of one number."""
        code: Ints = np.zeros(len(self.pairs["gap"]), dtype=np.int64)
        for name in template:
            side, dot, fact = name.rpartition(".")
            values = self.pairs[name] if not dot else self.lines[fact][:-1] if side == "a" else self.lines[fact][1:]
            code = code * len(values_of(name, lists)) + values
        return code


def values_of(name: str, lists: Lists) -> tuple[str, ...]:
    """The names of a fact's values, in the order of their numbers."""
    fact = name.rpartition(".")[2]
    return PAIR_FACTS.get(fact) or FACTS.get(fact) or (OTHER, *lists[fact])


def size(template: tuple[str, ...], lists: Lists) -> int:
    """How many features a template has."""
    return prod(len(values_of(name, lists)) for name in template)


def words(text: str) -> list[str]:
    """The words of a text in lower case, as facts and bags see them."""
    return _WORD.findall(text.replace("’", "'").lower())


def read(lines: Sequence[Line], lists: Lists) -> Reading:
    """The facts of consecutive lines; a word is looked at once per different word, not once per occurrence."""
    n = len(lines)
    texts = [line.text for line in lines]
    joined = _BREAK.join(texts)
    if joined.count(_BREAK) != n - 1:
        joined = _BREAK.join(text.replace(_BREAK, " ") for text in texts)
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    numbers[_BREAK]  # is number 0
    found = words(joined)
    ids = np.fromiter(map(numbers.__getitem__, found), dtype=np.int64, count=len(found))
    known = list(numbers)
    breaks = ids == 0
    row = np.cumsum(breaks)[~breaks]
    ids = ids[~breaks]
    length = np.bincount(row, minlength=n)
    begins = np.cumsum(length) - length
    first = _at(ids, begins, length > 0)
    second = _at(ids, begins + 1, length > 1)
    last = _at(ids, begins + length - 1, length > 0)
    start, end = _times(line.start for line in lines), _times(line.end for line in lines)
    opening = {pair: number for number, pair in enumerate(lists["opening"], start=1)}
    bag = _lookup(known, lists[BAG])[ids]
    return Reading(
        lines={
            "end": np.array([4 if text.endswith("..") else _END.get(text[-1:], 0) for text in texts], dtype=np.int64),
            "start": np.array([_start(text[:1]) for text in texts], dtype=np.int64),
            "length": np.digitize(length, _LENGTHS),
            "who": _says(known, _I, ids, row, n) + 2 * _says(known, _YOU, ids, row, n),
            "call": np.array([_call(text) for text in texts], dtype=np.int64),
            "first": _lookup(known, lists["first"])[first],
            "opening": np.array(
                [
                    opening.get(f"{known[x]} {known[y]}", 0)
                    for x, y in zip(first.tolist(), second.tolist(), strict=True)
                ],
                dtype=np.int64,
            ),
            "last": _lookup(known, lists["last"])[last],
        },
        pairs={"gap": _binned(start[1:] - end[:-1], _GAPS), "shared": _shared(ids, row, length, len(known))},
        word=bag[bag > 0],
        row=row[bag > 0],
    )


def _start(character: str) -> int:
    return 0 if character.isupper() else 1 if character.islower() else 2 if character in {".", "…"} else 3


def _call(text: str) -> int:
    if "," not in text:
        return 0
    return 2 if _CALL_LAST.search(text) else 1 if _CALL_FIRST.match(text) else 0


def _at(ids: Ints, places: Ints, there: NDArray[np.bool_]) -> Ints:
    """The words at `places`, the line break (number 0) where there is none."""
    result: Ints = np.zeros(len(places), dtype=np.int64)
    result[there] = ids[places[there]]
    return result


def _lookup(known: Sequence[str], listed: Sequence[str]) -> Ints:
    """For each known word its number in a list, from 1, and 0 for any other."""
    number = {word: place for place, word in enumerate(listed, start=1)}
    return np.array([number.get(word, 0) for word in known], dtype=np.int64)


def _says(known: Sequence[str], pronouns: frozenset[str], ids: Ints, row: Ints, n: int) -> Ints:
    is_one = np.array([word in pronouns for word in known])
    return (np.bincount(row[is_one[ids]], minlength=n) > 0).astype(np.int64)


def _times(values: Iterable[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _binned(values: NDArray[np.float64], borders: Sequence[float]) -> Ints:
    """The class of each value; not-a-number sorts behind every border, and one class further marks it unknown."""
    return np.where(np.isnan(values), len(borders) + 1, np.digitize(values, borders)).astype(np.int64)


def _shared(ids: Ints, row: Ints, length: Ints, n_words: int) -> Ints:
    """How many different words of each line stood in the line before: none, one, some, or all of them."""
    there = np.unique(row * n_words + ids)
    line = there // n_words
    before = np.searchsorted(there, there - n_words)  # where the same word of the line before would stand
    twice = (there[np.minimum(before, len(there) - 1)] == there - n_words) & (line > 0)
    different, common = (np.bincount(line[which], minlength=len(length)) for which in (slice(None), twice))
    kinds = np.minimum(common, 2)
    kinds[(common > 0) & (common == different)] = 3
    return kinds[1:]
