"""The starter corpus: dialogues written for harken, inside the package, under CC BY 4.0.

One file per emotion and two beside them, in the format of `own.py`. Of every thirteen dialogues of a file the twelfth is for
validation and the thirteenth for testing; the built-in listener draws on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

from harken.corpora.base import Skips
from harken.corpora.own import read_json_lines
from harken.dialogue import Dialogue, Split
from harken.labels import EMOTIONS

BESIDES = ("anywhere", "smalltalk")
"""Two files beside the 32: replies that fit anyone with an emotion, whatever the story (`extra: {"anywhere": true}`), and
greetings, thanks, questions about the listener itself, whose dialogues carry no emotion."""
PARTS = (*EMOTIONS, *BESIDES)
"""The files, by the names of their stems."""


def folder() -> Path:
    """Where the package keeps the starter files."""
    with as_file(files("harken") / "starter") as path:
        return path


def read_starter(path: Path, skips: Skips) -> Iterator[Dialogue]:
    """The dialogues of the 32 emotions, then those of the two files beside them."""
    for name in PARTS:
        yield from _read(path / f"{name}.jsonl", skips)


def starter_part(name: str) -> list[Dialogue]:
    """The dialogues of one file."""
    return list(_read(folder() / f"{name}.jsonl", Skips()))


def _read(path: Path, skips: Skips) -> Iterator[Dialogue]:
    for number, dialogue in enumerate(read_json_lines(path, skips)):
        yield replace(dialogue, split=_split(number), source="starter")


def _split(number: int) -> Split:
    place = number % 13
    return "valid" if place == 11 else "test" if place == 12 else "train"


def starter_dialogues() -> list[Dialogue]:
    """All of the starter corpus."""
    return list(read_starter(folder(), Skips()))
