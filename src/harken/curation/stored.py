"""Corpora as a source of dialogues, where subtitles are too few: they enter after reading and segmentation.

A part of a stored corpus stands in the plan as a file of an archive does. Its dialogues keep their splits and ids, and are
cleaned, labelled and selected like all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from harken.corpora import store
from harken.curation.records import Source
from harken.dialogue import Dialogue

_PREFIX = "corpus:"


def corpus_sources(names: Iterable[str]) -> Iterator[Source]:
    """The parts of stored corpora; each is a film of its own."""
    for name in names:
        for number in range(store.parts(name)):
            part = f"{_PREFIX}{name}/{number}"
            yield Source(part, str(store.path_of(name)), str(number), part)


def is_corpus(source: Source) -> bool:
    """Whether a source is a part of a corpus rather than a subtitle file."""
    return source.id.startswith(_PREFIX)


def read_part(source: Source) -> list[Dialogue]:
    """The dialogues of a part, under ids that tell the corpus; labels are for the classifier to give."""
    name, _, number = source.id.removeprefix(_PREFIX).rpartition("/")
    return [
        replace(one, id=f"{name}/{one.id}", turns=tuple(replace(turn, label=None) for turn in one.turns))
        for one in store.part(name, int(number))
    ]
