"""The user's own dialogues, as JSON lines or CSV (`own_csv.py`), told apart by the file's name.

JSON lines: one dialogue a line, `{"id", "turns": [{"role", "text", "label"?}], "emotion"?, "situation"?, "split"?,
"persona"?, "extra"?}`: what `harken data export` writes.

A dialogue in which one side never speaks is left out and counted, unless it names its `source`: then it was exported
from a corpus that has such dialogues on purpose, and an export must come back whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from harken.corpora.base import Skips, at, one_sided
from harken.corpora.own_csv import read_csv
from harken.dialogue import Dialogue, dialogue_from_json
from harken.errors import HarkenError
from harken.files import read_lines

_JSON_LINES = (".jsonl", ".json", ".ndjson")
_CSV = (".csv", ".tsv")


def is_own(path: Path) -> bool:
    """Whether a file's name says that it may hold a user's own dialogues."""
    return path.suffix.lower() in (*_JSON_LINES, *_CSV)


def read_own(path: Path, skips: Skips, columns: Mapping[str, str] | None = None) -> Iterator[Dialogue]:
    """The dialogues of a JSON lines or CSV file; `columns` names the columns of a CSV file that have other names."""
    if path.is_dir() or not is_own(path):
        raise HarkenError(f"{path}: must be one file whose name ends in {', '.join((*_JSON_LINES, *_CSV))}")
    if path.suffix.lower() in _CSV:
        dialogues = read_csv(path, skips, columns)
    elif columns:
        raise HarkenError(f"{path}: is not CSV, so it has no columns to name")
    else:
        dialogues = read_json_lines(path, skips)
    return dialogues


def read_json_lines(path: Path, skips: Skips) -> Iterator[Dialogue]:
    """The dialogues of a JSON lines file; a broken line or field is an error naming the line."""
    seen: dict[str, int] = {}
    for number, line in read_lines(path):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            record = json.loads(line)
            if "\\u" in line:
                json.dumps(record, ensure_ascii=False).encode()  # half of a surrogate pair is no text
        except ValueError as problem:
            raise HarkenError(f"{place}: not a JSON object ({problem})") from problem
        with at(place):
            dialogue = dialogue_from_json(record)
            if dialogue.id in seen:
                raise HarkenError(
                    f"the id '{dialogue.id}' stands on line {seen[dialogue.id]} already; give each its own"
                )
        seen[dialogue.id] = number
        if one_sided(dialogue.turns) and not dialogue.source:
            skips.add("one-sided dialogue", f"{path.name}:{number}")
            continue
        yield dialogue
