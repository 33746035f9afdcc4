"""Which files make which shard.

All versions of a film lie in one shard, named by the leading bits of a hash of the film, as many bits as the number of
files asks for. So a shard's work depends on nothing but its own films, and files added later change only the shards of
their films (until there are twice as many files, when every shard is divided in two).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from harken.curation.records import Source

_BITS = 32
_CHUNK = 10_000
_SCHEMA = pa.schema(
    [
        ("place", pa.uint32()),
        ("film", pa.string()),
        ("id", pa.string()),
        ("path", pa.string()),
        ("member", pa.string()),
        ("stamp", pa.string()),
    ]
)


@dataclass(frozen=True)
class Planned:
    """One shard to be: its sources, film by film, and what tells whether one of them has changed since."""

    shard: str
    sources: tuple[Source, ...]
    stamps: tuple[str, ...]


class Plan:
    """All sources, in columns of some hundred bytes a file: the one thing that grows with the input."""

    def __init__(self, sources: Iterable[Source], shard_size: int) -> None:
        coming, batches = iter(sources), []
        while chunk := list(islice(coming, _CHUNK)):
            batches.append(pa.RecordBatch.from_pylist([_row(source) for source in chunk], schema=_SCHEMA))
        table = pa.Table.from_batches(batches, schema=_SCHEMA)
        self._table = table.sort_by([("place", "ascending"), ("film", "ascending"), ("id", "ascending")])
        bits = max(0, -(-len(table) // shard_size) - 1).bit_length()
        places = self._table["place"].to_numpy().astype(np.int64)
        self._shard = places >> (_BITS - bits)
        self._begin = np.flatnonzero(np.diff(self._shard, prepend=-1)) if len(table) else np.zeros(0, dtype=np.int64)

    @property
    def files(self) -> int:
        """How many sources there are."""
        return len(self._table)

    @property
    def shards(self) -> list[str]:
        """The names of the shards that have a source."""
        return [_name(self._shard[begin]) for begin in self._begin]

    def __iter__(self) -> Iterator[Planned]:
        for begin, end in zip(self._begin, [*self._begin[1:], self.files], strict=True):
            rows = self._table.slice(begin, end - begin).to_pylist()
            sources = tuple(Source(row["id"], row["path"], row["member"], row["film"]) for row in rows)
            yield Planned(_name(self._shard[begin]), sources, tuple(row["stamp"] for row in rows))


def by_film(sources: Sequence[Source]) -> Iterator[tuple[str, list[Source]]]:
    """The versions of each film together; a source that names no film is one of its own."""
    films: dict[str, list[Source]] = {}
    for source in sources:
        films.setdefault(film_of(source), []).append(source)
    yield from films.items()


def film_of(source: Source) -> str:
    """What the versions of a film share."""
    return source.film or source.id


def _name(shard: int) -> str:
    return f"{int(shard):05d}"


def _row(source: Source) -> dict[str, object]:
    place = int.from_bytes(hashlib.sha256(film_of(source).encode()).digest()[: _BITS // 8])
    stamp = _archive_stamp(source.path) if source.member is not None else _stamp(source.path)
    return {
        "place": place,
        "film": source.film,
        "id": source.id,
        "path": source.path,
        "member": source.member,
        "stamp": stamp,
    }


def _stamp(path: str) -> str:
    """Size and time of a file; one that has vanished since it was found is read, and counted, as unreadable."""
    try:
        status = Path(path).stat()
    except OSError:
        return "gone"
    return f"{status.st_size}:{status.st_mtime_ns}"


_archive_stamp = lru_cache(maxsize=64)(_stamp)
"""An archive has hundreds of thousands of members and is looked at once."""
