"""The user's own dialogues, as JSON lines or CSV.

JSON lines: one dialogue a line, `{"id", "turns": [{"role", "text", "label"?}], "emotion"?, "situation"?, "split"?,
"persona"?, "extra"?}`: what `harken data export` writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from harken.corpora.base import Skips
from harken.dialogue import Dialogue, dialogue_from_json
from harken.errors import HarkenError
from harken.files import read_lines


def read_json_lines(path: Path, skips: Skips) -> Iterator[Dialogue]:
    """The dialogues of a JSON lines file; a broken line or field is an error naming the line."""
    seen: dict[str, int] = {}
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            dialogue = dialogue_from_json(json.loads(line))
        except ValueError as problem:
            raise HarkenError(f"{path}:{number}: not a JSON object ({problem})") from problem
        except HarkenError as problem:
            raise HarkenError(f"{path}:{number}: {problem}") from problem
        if dialogue.id in seen:
            raise HarkenError(
                f"{path}:{number}: the id '{dialogue.id}' stands on line {seen[dialogue.id]} already; give each its own"
            )
        seen[dialogue.id] = number
        if len({turn.role for turn in dialogue.turns}) < 2:
            skips.add("one-sided dialogue", f"{path.name}:{number}")
            continue
        yield dialogue
