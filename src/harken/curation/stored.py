"""Corpora as a source of dialogues, where subtitles are too few: they enter after reading and segmentation.

A part of a corpus (of the starter corpus a file) stands in the plan as a file of an archive does. Its dialogues keep
their splits and ids, and are cleaned, labelled and selected like all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from harken.corpora import STARTER, starter, store
from harken.curation.records import Source
from harken.dialogue import Dialogue

_PREFIX = "corpus:"


def corpus_sources(names: Iterable[str]) -> Iterator[Source]:
    """The parts of corpora; each is a film of its own."""
    for name in names:
        for number, path in _parts(name):
            part = f"{_PREFIX}{name}/{number}"
            yield Source(part, str(path), number, part)


def _parts(name: str) -> Iterator[tuple[str, Path]]:
    if name == STARTER:
        yield from ((part, starter.folder() / f"{part}.jsonl") for part in starter.PARTS)
    else:
        yield from ((str(number), store.path_of(name)) for number in range(store.parts(name)))


def is_corpus(source: Source) -> bool:
    """Whether a source is a part of a corpus rather than a subtitle file."""
    return source.id.startswith(_PREFIX)


def read_part(source: Source) -> list[Dialogue]:
    """The dialogues of a part, under ids that tell the corpus; labels are for the classifier to give."""
    name, _, number = source.id.removeprefix(_PREFIX).rpartition("/")
    dialogues = starter.starter_part(number) if name == STARTER else store.part(name, int(number))
    return [
        replace(one, id=f"{name}/{one.id}", turns=tuple(replace(turn, label=None) for turn in one.turns))
        for one in dialogues
    ]
