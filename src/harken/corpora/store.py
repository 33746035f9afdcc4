"""Corpora at rest: one Parquet file each under the data home, its manifest inside it.

One file means one rename: an `add` that is killed, or runs out of disk, leaves the home as it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet as pq

import harken
from harken.dialogue import SPLITS, Dialogue, Split, Turn
from harken.errors import HarkenError, did_you_mean
from harken.files import atomic
from harken.runtime import home

_BATCH = 2_000
_MANIFEST_KEY = b"harken"
_TURN = pa.struct([("role", pa.string()), ("text", pa.string()), ("label", pa.string()), ("extra", pa.string())])
_SCHEMA = pa.schema(
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
    sha256: str
    """Of the dialogues' canonical JSON lines, so independent of Parquet and its version."""


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
    skipped: dict[str, int] | None = None,
) -> Manifest:
    """Write `dialogues` as the corpus `name`; `skipped` is read at the end, when the reader has filled it."""
    target = path_of(name)
    for leftover in target.parent.glob(f".{target.name}.*"):
        leftover.unlink(missing_ok=True)  # of an add that was killed
    digest = hashlib.sha256()
    counts = {kind: dict.fromkeys(get_args(Split), 0) for kind in ("dialogues", "turns", "listener_turns")}
    with atomic(target, "wb") as stream, pq.ParquetWriter(stream, _SCHEMA, compression="zstd") as writer:
        for batch in _batches(dialogues):
            for dialogue in batch:
                digest.update(canonical(dialogue))
                counts["dialogues"][dialogue.split] += 1
                counts["turns"][dialogue.split] += len(dialogue.turns)
                counts["listener_turns"][dialogue.split] += sum(turn.role == "listener" for turn in dialogue.turns)
            writer.write_table(pa.Table.from_pylist([_row(dialogue) for dialogue in batch], schema=_SCHEMA))
        if not sum(counts["dialogues"].values()):
            raise HarkenError(f"{origin}: no usable dialogue was found in it; is it the corpus '{name}'?")
        manifest = Manifest(
            name=name,
            title=title,
            citation=citation,
            licence=licence,
            origin=origin,
            added=datetime.now(UTC).isoformat(timespec="seconds"),
            version=harken.__version__,
            skipped=dict(skipped or {}),
            sha256=digest.hexdigest(),
            **{kind: {split: n for split, n in per.items() if n} for kind, per in counts.items()},
        )
        writer.add_key_value_metadata({_MANIFEST_KEY.decode(): json.dumps(asdict(manifest), ensure_ascii=False)})
    return manifest


def manifest(name: str) -> Manifest:
    """The manifest of a stored corpus."""
    metadata = pq.read_metadata(_existing(name)).metadata or {}
    try:
        return Manifest(**json.loads(metadata[_MANIFEST_KEY]))
    except (KeyError, TypeError, ValueError) as problem:
        raise HarkenError(f"{path_of(name)}: was not written by harken; add the corpus again") from problem


def load(name: str, split: str | None = None) -> list[Dialogue]:
    """The dialogues of a stored corpus, of one split or of all."""
    return list(iterate(name, split))


def iterate(name: str, split: str | None = None) -> Iterator[Dialogue]:
    """The dialogues of a stored corpus one by one, in the order they were read."""
    if split is not None and split not in SPLITS:
        raise HarkenError(f"unknown split '{split}'; use train, valid or test")
    with pq.ParquetFile(_existing(name)) as file:
        for batch in file.iter_batches(_BATCH):
            for row in batch.to_pylist():
                if split is None or row["split"] == split:
                    yield _dialogue(row)


def canonical(dialogue: Dialogue) -> bytes:
    """The line that is hashed: JSON with sorted keys and no spaces."""
    return (json.dumps(dialogue.to_json(), ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n").encode()


def _existing(name: str) -> Path:
    path = path_of(name)
    if not path.exists():
        known = stored()
        have = f"; added so far: {', '.join(known)}" if known else ""
        raise HarkenError(
            f"the corpus '{name}' is not in the data home{did_you_mean(name, known) or have}; "
            f"add it with: harken data add {name} --from PATH"
        )
    return path


def _batches(dialogues: Iterable[Dialogue]) -> Iterator[list[Dialogue]]:
    batch: list[Dialogue] = []
    for dialogue in dialogues:
        batch.append(dialogue)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _row(dialogue: Dialogue) -> dict[str, Any]:
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


def _dialogue(row: dict[str, Any]) -> Dialogue:
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


def _pack(extra: Any) -> str | None:
    return json.dumps(dict(extra), ensure_ascii=False) if extra else None


def _unpack(text: str | None) -> dict[str, Any]:
    return json.loads(text) if text else {}
