"""Corpora at rest: one Parquet file each under the data home, its manifest inside it.

One file means one rename: an `add` that is killed, or runs out of disk, leaves the home as it was.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import harken
from harken.corpora.base import Skips
from harken.dialogue import SPLITS, Dialogue, Turn
from harken.dialogue import split as split_named
from harken.errors import HarkenError, did_you_mean
from harken.files import atomic
from harken.runtime import home

_BATCH = 2_000
_MANIFEST_KEY = "harken"
_TURN = pa.struct([("role", pa.string()), ("text", pa.string()), ("label", pa.string()), ("extra", pa.string())])
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("split", pa.string()),
        ("source", pa.string()),
        ("emotion", pa.string()),
        ("situation", pa.string()),
        ("persona", pa.list_(pa.string())),
        ("extra", pa.string()),
        ("turns", pa.list_(_TURN)),
    ]
)
"""One dialogue a row; `extra` is JSON."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a stored corpus is, where it came from, and what its content hashes to."""

    name: str
    title: str
    citation: str
    licence: str
    origin: str
    added: str
    version: str
    dialogues: dict[str, int]
    """Dialogues per split."""
    turns: dict[str, int]
    listener_turns: dict[str, int]
    skipped: dict[str, int] = field(default_factory=dict)
    """Records left out, by reason."""
    kept: dict[str, int] = field(default_factory=dict)
    """Records that are odd and kept, by reason."""
    sha256: str
    """Of the dialogues' canonical JSON lines, so independent of Parquet and its version."""

    @property
    def total(self) -> int:
        """Dialogues of all splits."""
        return sum(self.dialogues.values())


class Tally:
    """Counts and hashes dialogues on their way."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._counts = {kind: Counter[str]() for kind in ("dialogues", "turns", "listener_turns")}

    def add(self, dialogue: Dialogue) -> None:
        """Count one dialogue."""
        self._hash.update(canonical(dialogue))
        self._counts["dialogues"][dialogue.split] += 1
        self._counts["turns"][dialogue.split] += len(dialogue.turns)
        self._counts["listener_turns"][dialogue.split] += sum(turn.role == "listener" for turn in dialogue.turns)

    @property
    def dialogues(self) -> int:
        """How many so far."""
        return self._counts["dialogues"].total()

    def manifest(self, *, name: str, title: str, citation: str, licence: str, origin: str, skips: Skips) -> Manifest:
        """The manifest of what was counted."""
        per_split: dict[str, dict[str, int]] = {
            kind: {split: n for split in SPLITS if (n := of[split])} for kind, of in self._counts.items()
        }
        return Manifest(
            name=name,
            title=title,
            citation=citation,
            licence=licence,
            origin=origin,
            added=datetime.now(UTC).isoformat(timespec="seconds"),
            version=harken.__version__,
            dialogues=per_split["dialogues"],
            turns=per_split["turns"],
            listener_turns=per_split["listener_turns"],
            skipped=dict(skips.counts),
            kept=dict(skips.kept),
            sha256=self._hash.hexdigest(),
        )


def corpora_folder() -> Path:
    """Where stored corpora lie."""
    return home() / "corpora"


def path_of(name: str) -> Path:
    """The file of the stored corpus `name`, stored or not."""
    return corpora_folder() / f"{name}.parquet"


def stored() -> list[str]:
    """The names of the corpora in the data home."""
    return sorted(path.stem for path in corpora_folder().glob("*.parquet") if not path.name.startswith("."))


def save(
    name: str,
    dialogues: Iterable[Dialogue],
    *,
    title: str,
    citation: str,
    licence: str,
    origin: str,
    skips: Skips | None = None,
) -> Manifest:
    """Write `dialogues` as the corpus `name`; `skips` is read at the end, when the reader has filled it."""
    target = path_of(name)
    for leftover in target.parent.glob(f".{target.name}.*"):
        leftover.unlink(missing_ok=True)  # of an add that was killed, where files cannot be nameless
    tally = Tally()
    skips = skips or Skips()
    with atomic(target, "wb") as stream, pq.ParquetWriter(stream, SCHEMA, compression="zstd") as writer:
        source = iter(dialogues)
        while batch := list(islice(source, _BATCH)):
            for dialogue in batch:
                tally.add(dialogue)
            writer.write_table(pa.Table.from_pylist([to_row(dialogue) for dialogue in batch], schema=SCHEMA))
        if not tally.dialogues:
            why = f" ({'; '.join(skips.lines())})" if skips.counts else ""
            raise HarkenError(f"{origin}: no usable dialogue was found in it{why}; is it the corpus '{name}'?")
        manifest = tally.manifest(
            name=name, title=title, citation=citation, licence=licence, origin=origin, skips=skips
        )
        writer.add_key_value_metadata({_MANIFEST_KEY: json.dumps(asdict(manifest), ensure_ascii=False)})
    return manifest


def manifest(name: str) -> Manifest:
    """The manifest of a stored corpus."""
    with _whole(name) as path:
        metadata = pq.read_metadata(path).metadata or {}
        try:
            return Manifest(**json.loads(metadata[_MANIFEST_KEY.encode()]))
        except (KeyError, TypeError, ValueError) as problem:
            raise HarkenError(f"{path}: was not written by harken; add the corpus again") from problem


def load(name: str, split: str | None = None) -> list[Dialogue]:
    """The dialogues of a stored corpus, of one split or of all."""
    return list(iterate(name, split))


def iterate(name: str, split: str | None = None) -> Iterator[Dialogue]:
    """The dialogues of a stored corpus one by one, in the order they were read."""
    wanted = None if split is None else split_named(split)
    with _whole(name) as path, pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_BATCH):
            rows = batch if wanted is None else batch.filter(pc.equal(batch["split"], wanted))
            yield from map(from_row, rows.to_pylist())


def parts(name: str) -> int:
    """In how many parts a stored corpus lies; `part` reads one without the others."""
    with _whole(name) as path:
        return int(pq.read_metadata(path).num_row_groups)


def part(name: str, number: int) -> list[Dialogue]:
    """The dialogues of one part, counted from 0."""
    with _whole(name) as path, pq.ParquetFile(path) as file:
        return [from_row(row) for row in file.read_row_group(number).to_pylist()]


def canonical(dialogue: Dialogue) -> bytes:
    """The line that is hashed: JSON with sorted keys and no spaces."""
    return (json.dumps(dialogue.to_json(), ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n").encode()


@contextmanager
def _whole(name: str) -> Iterator[Path]:
    """The file of a stored corpus; one that is absent or damaged is an error."""
    path = path_of(name)
    if not path.exists():
        known = stored()
        have = f"; added so far: {', '.join(known)}" if known else ""
        raise HarkenError(
            f"the corpus '{name}' is not in the data home{did_you_mean(name, known) or have}; "
            f"add it with: harken data add {name} --from PATH"
        )
    try:
        yield path
    except pa.ArrowException as problem:
        raise HarkenError(f"{path}: is damaged ({problem}); add the corpus again") from problem


def to_row(dialogue: Dialogue) -> dict[str, Any]:
    """The dialogue as a row of `SCHEMA`."""
    return {
        "id": dialogue.id,
        "split": dialogue.split,
        "source": dialogue.source,
        "emotion": dialogue.emotion,
        "situation": dialogue.situation,
        "persona": list(dialogue.persona),
        "extra": _pack(dialogue.extra),
        "turns": [
            {"role": turn.role, "text": turn.text, "label": turn.label, "extra": _pack(turn.extra)}
            for turn in dialogue.turns
        ],
    }


def from_row(row: Mapping[str, Any]) -> Dialogue:
    """The dialogue of a row; further columns are ignored."""
    turns = tuple(Turn(turn["role"], turn["text"], turn["label"], _unpack(turn["extra"])) for turn in row["turns"])
    return Dialogue(
        id=row["id"],
        turns=turns,
        emotion=row["emotion"],
        situation=row["situation"],
        split=row["split"],
        source=row["source"],
        persona=tuple(row["persona"]),
        extra=_unpack(row["extra"]),
    )


def _pack(extra: Mapping[str, Any]) -> str | None:
    return json.dumps(dict(extra), ensure_ascii=False) if extra else None


def _unpack(text: str | None) -> dict[str, Any]:
    return json.loads(text) if text else {}
