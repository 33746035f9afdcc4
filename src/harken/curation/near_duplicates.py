"""Dialogues that tell again what earlier ones told: several subtitle files of one film, and scenes shown twice.

The versions of a film differ in spelling, in line breaks, and so in where dialogues begin. A dialogue is therefore not
compared with single others but with all that was kept before it: it is a near duplicate when most of its shingles (runs of
four words, across turns) have been seen. One set, one look-up per word: linear in the length of the film.
"""

from __future__ import annotations

from collections.abc import Sequence

_RUN = 4
Shingle = tuple[str, ...]


def shingles(words: Sequence[str]) -> set[Shingle]:
    """All runs of four words; what is shorter is one shingle as a whole.

    >>> sorted(shingles("a b c d e".split()))
    [('a', 'b', 'c', 'd'), ('b', 'c', 'd', 'e')]
    """
    return set(zip(*(words[start:] for start in range(_RUN)), strict=False)) or {tuple(words)}


class Told:
    """What has been told so far in a film."""

    def __init__(self) -> None:
        self._seen: set[Shingle] = set()

    def again(self, words: Sequence[str], share: float) -> bool:
        """Whether at least `share` of the shingles were told before; a dialogue that is new is remembered."""
        own = shingles(words)
        if len(own & self._seen) >= share * len(own):
            return True
        self._seen |= own
        return False
