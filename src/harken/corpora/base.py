"""What a reader is: a function from a path to Dialogue records.

A reader yields dialogues in the order of the files. A record it cannot use (empty, one-sided, a broken row) it hands to
`Skips.add` with the place and the reason, and goes on; what makes the whole source unusable (a foreign archive, wrong
columns, bytes that are not UTF-8) it raises as a `HarkenError` naming file and line. No reader looks at another corpus.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harken.dialogue import Dialogue

KEPT_PLACES = 3


@dataclass
class Skips:
    """Records left out while reading: how many for each reason, and the first few places."""

    counts: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, place: str) -> None:
        """Count one record left out for `reason` at `place` (file:line)."""
        self.counts[reason] += 1
        kept = self.places.setdefault(reason, [])
        if len(kept) < KEPT_PLACES:
            kept.append(place)

    def lines(self) -> list[str]:
        """One line per reason, for people: `12 × one-sided dialogue (train.csv:40, train.csv:88, …)`."""
        return [
            f"{count} × {reason} ({', '.join(self.places[reason])}{', …' if count > KEPT_PLACES else ''})"
            for reason, count in self.counts.most_common()
        ]


Reader = Callable[[Path, Skips], Iterator[Dialogue]]


@dataclass(frozen=True, kw_only=True)
class Download:
    """An official archive: where it lies and what its bytes must hash to."""

    url: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """One line of the table of corpora."""

    name: str
    title: str
    citation: str
    licence: str
    read: Reader
    expects: str
    """What `--from` should point at, in a few words."""
    download: Download | None = None
