"""What a reader is: a function from a path to Dialogue records.

A reader yields dialogues in the order of the files. A record it cannot use (empty, a broken row) it hands to
`Skips.add` with the place and the reason, and goes on; one that is odd but belongs to the published corpus (a
conversation that broke off after its first turn) it keeps and hands to `Skips.keep`. What makes the whole source
unusable (a foreign archive, wrong columns, bytes that are not UTF-8) it raises as a `HarkenError` naming file and
line. No reader looks at another corpus, and none needs to set `source`: that is done where corpora are added.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harken.dialogue import Dialogue, Split, Turn
from harken.errors import HarkenError

KEPT_PLACES = 3


class WrongSourceError(HarkenError):
    """What was given is not this corpus; whoever knows what the corpus expects adds it to the sentence."""


@dataclass
class Skips:
    """What a reader left out, and what odd things it kept: how many for each reason, and the first few places."""

    counts: Counter[str] = field(default_factory=Counter)
    """Records left out."""
    kept: Counter[str] = field(default_factory=Counter)
    """Records that are odd, and kept because the corpus is published with them."""
    places: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, place: str) -> None:
        """Count one record left out for `reason` at `place` (file:line)."""
        self.counts[reason] += 1
        self._place(reason, place)

    def keep(self, reason: str, place: str) -> None:
        """Count one record that is odd for `reason` at `place` (file:line) and kept."""
        self.kept[reason] += 1
        self._place(reason, place)

    def _place(self, reason: str, place: str) -> None:
        kept = self.places.setdefault(reason, [])
        if len(kept) < KEPT_PLACES:
            kept.append(place)

    def lines(self) -> list[str]:
        """One line per reason, for people: `left out 12 × one-sided dialogue (train.csv:40, train.csv:88, …)`."""
        return [
            f"{verb} {count:,} × {reason} ({', '.join(self.places[reason])}{', …' if count > KEPT_PLACES else ''})"
            for verb, counter in (("left out", self.counts), ("kept", self.kept))
            for reason, count in counter.most_common()
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


@contextmanager
def at(place: str) -> Iterator[None]:
    """Give whatever is wrong inside its place: `unknown label 'hapy'` becomes `train.csv:12: unknown label 'hapy'`."""
    try:
        yield
    except HarkenError as problem:
        raise type(problem)(f"{place}: {problem}") from problem


def one_sided(turns: Iterable[Turn]) -> bool:
    """Whether only one side speaks."""
    return len({turn.role for turn in turns}) < 2


def hash_split(key: str, *, valid: float, test: float) -> Split:
    """A split for a corpus published without one: the same for the same key on every machine and in every order.

    The first 8 bytes of the key's SHA-256, read as a number in [0, 1), fall into test, then valid, then train.
    """
    place = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) / 2**64
    return "test" if place < test else "valid" if place < test + valid else "train"
