"""WordNet's synonyms, read from its own dictionary files (`index.*`, `data.*`, `*.exc`), as Debian and Princeton ship
them.

Only what METEOR asks for: the sets of synonyms a word stands in, after WordNet's morphy has found its base forms
(the exception lists, or one of the endings below taken off; see wninput(5WN) and morphy(7WN)).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from harken.errors import HarkenError

_ENDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "noun": (
        ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"),
        ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y"),
    ),
    "verb": (
        ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip


@dataclass(frozen=True)
class Lemma:
    """A word of a set of synonyms."""

    word: str

    def name(self) -> str:
        """The word; spaces are written as underscores."""
        return self.word


@dataclass(frozen=True)
class Synset:
    """Words that share a meaning."""

    words: tuple[Lemma, ...]

    def lemmas(self) -> tuple[Lemma, ...]:
        """The words."""
        return self.words


class WordNet:
    """A folder of dictionary files, with the one method NLTK's METEOR calls."""

    def __init__(self, folder: Path) -> None:
        for name in (f"{kind}.{part}" for part in _ENDINGS for kind in ("index", "data")):
            if not (folder / name).is_file():
                raise HarkenError(f"{folder}: is no WordNet dictionary, {name} is missing; name the folder that has it")
        self.folder = folder

    @cached_property
    def _index(self) -> dict[str, dict[str, list[int]]]:
        """For each part of speech, where in its data file the meanings of each word stand."""
        index: dict[str, dict[str, list[int]]] = {}
        for part in _ENDINGS:
            entries = index.setdefault(part, {})
            for line in (self.folder / f"index.{part}").read_text(encoding="utf-8").splitlines():
                if not line.startswith(" "):  # the licence at the top is indented
                    fields = line.split()
                    entries[fields[0]] = [int(offset) for offset in fields[-int(fields[2]) :]]
        return index

    @cached_property
    def _exceptions(self) -> dict[str, dict[str, list[str]]]:
        """For each part of speech, the base forms of irregular words."""
        found: dict[str, dict[str, list[str]]] = {part: {} for part in _ENDINGS}
        for part, entries in found.items():
            path = self.folder / f"{part}.exc"
            for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
                irregular, *bases = line.split()
                entries[irregular] = bases
        return found

    @cached_property
    def _data(self) -> dict[str, bytes]:
        return {part: (self.folder / f"data.{part}").read_bytes() for part in _ENDINGS}

    @lru_cache(maxsize=50_000)  # noqa: B019 - one reader lives as long as the scoring that made it
    def synsets(self, word: str) -> list[Synset]:
        """Every set of synonyms the word, or a base form of it, stands in."""
        word = word.lower()
        found = []
        for part, endings in _ENDINGS.items():
            bases = self._exceptions[part].get(word)
            if bases is None:
                bases = [word[: -len(old)] + new for old, new in endings if word.endswith(old)]
            forms = [form for form in dict.fromkeys([word, *bases]) if form in self._index[part]]
            found += [self._synset(part, offset) for form in forms for offset in self._index[part][form]]
        return found

    def _synset(self, part: str, offset: int) -> Synset:
        data = self._data[part]
        fields = data[offset : data.index(b"\n", offset)].decode().split(" ")
        words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
        return Synset(tuple(Lemma(word.partition("(")[0]) for word in words))  # adjectives carry (p), (a) or (ip)
