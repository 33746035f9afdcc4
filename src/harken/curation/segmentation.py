"""Turns from lines: a linear SVM on pairs of consecutive lines decides whether the speaker stays (Lison and Meena 2016).

What the subtitle itself says comes first: a line opened by a dialogue dash starts a turn, and so does one opened by a
name, unless that person is speaking already. A file that uses dashes says something where it has none, too: two lines
shown at once, in one block, are one person's. The classifier decides the rest. The shipped one was trained on MELD;
`harken curate train-segmenter` makes another from any corpus that knows its speakers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harken.curation.records import Line, Spoken, Subtitle
from harken.curation.segmentation_features import BAG, BAGS, TEMPLATES, WORD_FACTS, Lists, read, values_of
from harken.errors import HarkenError, did_you_mean
from harken.files import write_json

SHIPPED = Path(__file__).with_name("segmenter.json")
_FORMAT = "harken segmenter 1"
_DASHES = 0.02
"""Share of lines with a dash that makes it the custom of a file, not a stray mark."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Segmenter:
    """The weights of the features; a positive sum means that one person says both lines."""

    bias: float
    lists: Lists
    weights: Mapping[str, Floats]
    """By title of the template, one for each feature; the bags are templates too, whose number 0, no listed word, is 0."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """What the model was made from, and how well it does."""

    def scores(self, lines: Sequence[Line]) -> Floats:
        """For each pair of consecutive lines, how far it lies on the side of one speaker; n lines -> (n - 1,)."""
        n = len(lines)
        if n < 2:
            return np.zeros(0)
        reading = read(lines, self.lists)
        total = np.full(n - 1, self.bias)
        for template in TEMPLATES:
            total += self.weights[title(template)][reading.codes(template, self.lists)]
        for (side,), pairs in zip(BAGS, (slice(0, -1), slice(1, None)), strict=True):
            total += np.bincount(reading.row, self.weights[side][reading.word], minlength=n)[pairs]
        return total

    def same_speaker(self, lines: Sequence[Line]) -> NDArray[np.bool_]:
        """For each pair of consecutive lines, whether one person says both."""
        same: NDArray[np.bool_] = self.scores(lines) > 0
        silence_tells = marks_changes(lines)
        speaking = lines[0].name if lines else None
        for place, (before, line) in enumerate(pairwise(lines)):
            if line.dash or line.name is not None:
                same[place] = not line.dash and line.name == speaking
            elif silence_tells and before.end is None and line.start is None:  # in one block
                same[place] = True
            if line.name is not None or not same[place]:
                speaking = line.name
        return same

    @classmethod
    def load(cls, path: Path | None = None) -> Segmenter:
        """The segmenter in a file, or the shipped one."""
        path = path or SHIPPED
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as problem:
            raise HarkenError(
                f"{path}: there is no such segmenter; `harken curate train-segmenter` makes one"
            ) from problem
        except ValueError as problem:
            raise HarkenError(f"{path}: not a segmenter (not JSON); name what train-segmenter wrote") from problem
        if not isinstance(record, dict) or record.get("format") != _FORMAT:
            raise HarkenError(f"{path}: not a segmenter of this version; train it again with train-segmenter")
        try:
            lists = {name: tuple(record["lists"][name]) for name in (*WORD_FACTS, BAG)}
            weights = {title(template): np.zeros(0) for template in (*TEMPLATES, *BAGS)}
            for name in record["weights"]:
                if name not in weights:
                    raise HarkenError(f"{path}: unknown template '{name}'{did_you_mean(name, weights)}")
            for template in (*TEMPLATES, *BAGS):
                named = record["weights"].get(title(template), {})
                weights[title(template)] = _filled(template, lists, named, path)
            return cls(float(record["bias"]), lists, weights, record.get("provenance", {}))
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise HarkenError(f"{path}: a segmenter with a part missing ({problem}); train it again") from problem

    def save(self, path: Path) -> None:
        """Write the model as JSON, each weight by the name of its feature, weights of zero left out."""
        templates = (*TEMPLATES, *BAGS)
        named = {
            title(template): {
                name: float(weight)
                for name, weight in zip(names(template, self.lists), self.weights[title(template)], strict=True)
                if weight
            }
            for template in templates
        }
        lists = {name: list(listed) for name, listed in self.lists.items()}
        provenance = dict(self.provenance)
        write_json(
            path, {"format": _FORMAT, "provenance": provenance, "bias": self.bias, "lists": lists, "weights": named}
        )


def marks_changes(lines: Sequence[Line]) -> bool:
    """Whether a file has times, so that blocks can be told, and marks changes of speaker inside them by dashes."""
    return sum(line.dash for line in lines) >= _DASHES * len(lines) and any(line.start is not None for line in lines)


def title(template: tuple[str, ...]) -> str:
    """What a template is called in a model file: `a.end b.first`."""
    return " ".join(template)


def names(template: tuple[str, ...], lists: Lists) -> Iterator[str]:
    """What the features of a template are called, in the order of their codes: `?|no`."""
    return map("|".join, product(*(values_of(name, lists) for name in template)))


def _filled(template: tuple[str, ...], lists: Lists, named: Mapping[str, float], path: Path) -> Floats:
    filled = np.array([named.get(name, 0.0) for name in names(template, lists)], dtype=np.float64)
    if np.count_nonzero(filled) != sum(1 for weight in named.values() if weight):
        unknown = next(iter(named.keys() - set(names(template, lists))))
        raise HarkenError(f"{path}: '{title(template)}' has no value '{unknown}'; train the segmenter again")
    return filled


def segment(subtitle: Subtitle, segmenter: Segmenter) -> tuple[Spoken, ...]:
    """The turns of a file: lines of one speaker joined, from the first one's start to the last one's end."""
    lines = subtitle.lines
    if not lines:
        return ()
    borders = [0, *(np.flatnonzero(~segmenter.same_speaker(lines)) + 1).tolist(), len(lines)]
    return tuple(_joined(lines[begin:end]) for begin, end in pairwise(borders))


def _joined(lines: Sequence[Line]) -> Spoken:
    return Spoken(" ".join(line.text for line in lines), lines[0].start, lines[-1].end)
