"""Shards: one Parquet file each, and a receipt that says what it was made of.

    FOLDER/dialogues/00042.parquet             the data, the same bytes whoever made it
    FOLDER/receipts/dialogues/00042.json       key of its inputs and settings, checksums, counts

A file is written whole or not at all, the receipt after it. Whoever finds a receipt with the key it would write itself
need not do the work again; whoever is killed in between leaves a shard without a receipt, which is made anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harken.corpora.store import SCHEMA, from_row, to_row
from harken.dialogue import Dialogue
from harken.errors import HarkenError
from harken.files import atomic, write_json

RECEIPTS = "receipts"
Counts = dict[str, Any]
"""Numbers, lists and such dictionaries: what can be added up over shards."""


@dataclass(frozen=True)
class Receipt:
    """What was made, out of what."""

    key: str
    """Of inputs and settings: another key means other work."""
    files: dict[str, str]
    """SHA-256 of each file, by its place in the folder."""
    counts: Counts = field(default_factory=dict)


def key_of(*parts: object) -> str:
    """One name for everything a shard depends on; the parts are plain JSON."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False, sort_keys=True).encode()).hexdigest()[:32]


def place(folder: Path, stage: str, shard: str) -> Path:
    """Where a shard lies."""
    return folder / stage / f"{shard}.parquet"


def write_shard(folder: Path, stage: str, shard: str, table: pa.Table) -> dict[str, str]:
    """Write a shard with fixed settings; gives its place in the folder and its checksum."""
    content = pa.BufferOutputStream()
    pq.write_table(table, content, compression="zstd", compression_level=3, row_group_size=16_384, store_schema=False)
    path, data = place(folder, stage, shard), content.getvalue().to_pybytes()
    with atomic(path, "wb") as stream:
        stream.write(data)
    return {path.relative_to(folder).as_posix(): hashlib.sha256(data).hexdigest()}


def write_receipt(folder: Path, stage: str, shard: str, receipt: Receipt) -> None:
    """The last thing a shard needs to be finished."""
    write_json(_receipt(folder, stage, shard), asdict(receipt))


def finished(folder: Path, stage: str, shard: str) -> Receipt | None:
    """The receipt of a shard if it and its files are there."""
    try:
        found = Receipt(**json.loads(_receipt(folder, stage, shard).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return found if all((folder / name).is_file() for name in found.files) else None


def _receipt(folder: Path, stage: str, shard: str) -> Path:
    return folder / RECEIPTS / stage / f"{shard}.json"


def dialogues_table(dialogues: Iterable[Dialogue]) -> pa.Table:
    """Dialogues as the rows that corpora are stored in."""
    return pa.Table.from_pylist([to_row(dialogue) for dialogue in dialogues], schema=SCHEMA)


def read_table(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """A shard, or some columns of it; what cannot be read is to be made again."""
    try:
        return pq.ParquetFile(path).read(columns=columns)
    except (OSError, pa.ArrowException) as problem:
        raise HarkenError(f"{path}: is damaged ({problem}); delete it and run the command again") from problem


def dialogues_of(table: pa.Table) -> list[Dialogue]:
    """The dialogues of a shard."""
    return [from_row(row) for row in table.select(SCHEMA.names).to_pylist()]


def read_dialogues(folder: Path) -> Iterator[Dialogue]:
    """The dialogues of all shards in a folder such as `OUT/edos`, a shard in memory at a time."""
    for path in sorted(folder.glob("*.parquet")):
        yield from dialogues_of(read_table(path))


def add_up(total: Counts, more: Mapping[str, Any]) -> None:
    """Add counts to counts, however deep: numbers are summed and lists joined."""
    for name, value in more.items():
        if isinstance(value, Mapping):
            add_up(total.setdefault(name, {}), value)
        else:
            total[name] = total[name] + value if name in total else value


def tidy(folder: Path, stages: Mapping[str, Collection[str]]) -> None:
    """Remove shards that an earlier run with other inputs or settings left; `stages` says which ones belong here."""
    for stage, wanted in stages.items():
        for path in (*(folder / stage).glob("*.parquet"), *(folder / RECEIPTS / stage).glob("*.json")):
            if path.stem not in wanted:
                path.unlink(missing_ok=True)
