"""Candidate pools: the turns of any mix of corpora, each text once, as an Arrow table that is read by memory map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from harken.corpora.library import iterate
from harken.dialogue import ROLES, Dialogue
from harken.errors import HarkenError
from harken.files import atomic

_SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("said", pa.string()),
        ("dialogues", pa.list_(pa.string())),
        ("emotions", pa.list_(pa.string())),
    ]
)


def plain(text: str) -> str:
    """What makes two texts the same candidate: neither capitals nor spaces."""
    return " ".join(text.split()).casefold()


@dataclass(slots=True)
class Candidate:
    """A text one may answer with, and every place it was said at."""

    text: str
    said: str
    """What it first answered."""
    dialogues: list[str]
    """`source/id` of each dialogue that has it."""
    emotions: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Pool:
    """Candidates, and how many turns were left out on the way."""

    candidates: list[Candidate]
    duplicates: int = 0
    empty: int = 0


def gather(dialogues: Iterable[Dialogue], *, both_sides: bool = False) -> Pool:
    """Every listener turn that answers something (with `both_sides`, as the benchmark has it, the speaker's too)."""
    roles = ROLES if both_sides else ("listener",)
    found: dict[str, Candidate] = {}
    duplicates = empty = 0
    for dialogue in dialogues:
        key = f"{dialogue.source}/{dialogue.id}"
        for before, turn in zip(dialogue.turns, dialogue.turns[1:], strict=False):
            if turn.role not in roles:
                continue
            same = plain(turn.text)
            if not same:
                empty += 1
            elif same in found:
                duplicates += 1
                if key not in found[same].dialogues:
                    found[same].dialogues.append(key)
                if dialogue.emotion and dialogue.emotion not in found[same].emotions:
                    found[same].emotions.append(dialogue.emotion)
            else:
                emotions = [dialogue.emotion] if dialogue.emotion else []
                found[same] = Candidate(turn.text.strip(), before.text, [key], emotions)
    return Pool(list(found.values()), duplicates, empty)


def read_pool(corpora: Sequence[str], *, split: str = "train", both_sides: bool = False) -> Pool:
    """The pool of a split of some corpora."""
    pool = gather((one for name in corpora for one in iterate(name, split)), both_sides=both_sides)
    if not pool.candidates:
        raise HarkenError(
            f"{', '.join(corpora)}: no listener turn in the {split} split; choose another corpus or split"
        )
    return pool


def write_table(path: Path, candidates: Sequence[Candidate]) -> None:
    """Write the candidates as an Arrow file."""
    columns = {name: [getattr(one, name) for one in candidates] for name in _SCHEMA.names}
    with atomic(path, "wb") as stream, pa.ipc.new_file(stream, _SCHEMA) as writer:
        writer.write_table(pa.table(columns, schema=_SCHEMA), max_chunksize=65_536)


class Table:
    """The candidates of an index: rows are read from the disk when they are asked for."""

    def __init__(self, path: Path) -> None:
        self.table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, row: int) -> Candidate:
        return Candidate(**{name: self.table.column(name)[row].as_py() for name in _SCHEMA.names})

    def column(self, name: str) -> list[list[str]]:
        """One column as Python values."""
        values: list[list[str]] = self.table.column(name).to_pylist()
        return values
