"""Exemplar files: responses people gave in like moments, found for each example; read and written here and nowhere else.

JSON lines. The first line says what made the rest: the index, the corpus with its hash, the split, the emotion filter and
how many were asked for. A line each follows, under the example's id (dialogue:position of the answer):

    {"id": "hit:0_conv:1:1", "emotion": "sad", "exemplars": ["I am so sorry.", …], "scores": [0.71, …]}
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from harken.errors import HarkenError
from harken.files import read_lines, write_json_lines

Filter = Literal["none", "predicted", "gold"]
FILTERS: tuple[Filter, ...] = ("none", "predicted", "gold")
NOTES: dict[Filter, str] = {
    "none": "no emotion filter",
    "predicted": "filtered by the predicted emotion",
    "gold": "filtered by the GOLD emotion, which leaks the label of the item (LEMPEx's published protocol)",
}


@dataclass(frozen=True, kw_only=True)
class Header:
    """All that decides what the other lines hold."""

    index: str
    corpus: str
    corpus_sha256: str
    split: str
    filter: Filter
    emotions: str | None
    """What predicted the emotions: a classifier's hash, the ranker itself, or the vote."""
    q: int
    note: str


@dataclass(frozen=True)
class Guidance:
    """What was found for one example, the best first."""

    id: str
    emotion: str | None
    """The emotion the context was read as: predicted, or gold where the filter is."""
    texts: tuple[str, ...]
    scores: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """A line of the file."""
        scores = [round(score, 4) for score in self.scores]
        return {"id": self.id, "emotion": self.emotion, "exemplars": list(self.texts), "scores": scores}


def write_exemplars(path: Path, header: Header, found: Iterable[Guidance]) -> int:
    """Write a whole exemplar file; the number of examples comes back."""

    def lines() -> Iterable[dict[str, Any]]:
        yield asdict(header)
        yield from (one.to_json() for one in found)

    return write_json_lines(path, lines()) - 1


def read_exemplars(path: Path) -> tuple[Header, dict[str, Guidance]]:
    """The header of an exemplar file, and what was found by example id."""
    header: Header | None = None
    found: dict[str, Guidance] = {}
    for number, line in read_lines(path):
        try:
            record = json.loads(line)
            if header is None:
                header = Header(**record)
                continue
            texts, scores = map(str, record["exemplars"]), map(float, record["scores"])
            one = Guidance(str(record["id"]), record["emotion"], tuple(texts), tuple(scores))
        except (ValueError, TypeError, KeyError) as problem:
            raise HarkenError(
                f"{path}:{number}: is not a line of an exemplar file ({problem}); write it again"
            ) from problem
        found[one.id] = one
    if header is None:
        raise HarkenError(f"{path}: is empty; write it with: harken retrieve INDEX --split train --out {path}")
    return header, found
