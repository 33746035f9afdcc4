"""The user's own dialogues as CSV: a header, then one row per turn, in order, the rows of a dialogue sharing its id.

    dialogue,role,text,emotion
    1,speaker,"My cat had kittens, five of them.",joyful
    1,listener,Five! Have you named them yet?,joyful

Three columns are needed: `dialogue`, `text` and `role`. The others are read where they are there; each goes by one of
the usual names below, or by the one given with `--columns text=body,role=from`. What belongs to a dialogue (emotion,
situation, split, …) is read from its first row. `extra` columns hold JSON, and `persona` a JSON list, as `harken data
export` writes.

Roles: `speaker` and `listener` under any of their usual names; where the column holds people's names instead, whoever
begins a dialogue is its speaker and everyone else a listener.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from harken.corpora.base import Skips, WrongSourceError, at
from harken.corpora.source import Source
from harken.dialogue import Dialogue, Role, dialogue_from_json, turn_from_json
from harken.errors import HarkenError, did_you_mean

COLUMNS: dict[str, tuple[str, ...]] = {
    "dialogue": ("dialogue", "dialogue_id", "dialog_id", "conv_id", "conversation_id", "conversation", "id"),
    "role": ("role", "speaker", "author", "who", "from"),
    "text": ("text", "utterance", "message", "content"),
    "label": ("label", "intent"),
    "extra": ("extra",),
    "emotion": ("emotion",),
    "situation": ("situation", "prompt"),
    "split": ("split",),
    "source": ("source",),
    "persona": ("persona",),
    "dialogue_extra": ("dialogue_extra",),
}
"""What a row can hold, and the names its column usually has, best first."""
_NEEDED = ("dialogue", "role", "text")
_ROLE_NAMES: dict[Role, tuple[str, ...]] = {
    "speaker": ("speaker", "user", "usr", "seeker", "human", "client"),
    "listener": ("listener", "assistant", "bot", "sys", "supporter", "helper"),
}
_ROLES = {name: role for role, names in _ROLE_NAMES.items() for name in names}

Row = dict[str, str]


def parse_columns(text: str) -> dict[str, str]:
    """`text=utterance,role=who` as a mapping from what a row can hold to the column that holds it."""
    columns: dict[str, str] = {}
    for pair in text.split(","):
        name, equals, column = (part.strip() for part in pair.partition("="))
        if not equals or not column:
            raise HarkenError(f"--columns {pair}: write it as text=NAME,role=NAME,dialogue=NAME")
        if name not in COLUMNS:
            raise HarkenError(
                f"--columns {pair}: a row has no '{name}'{did_you_mean(name, COLUMNS)}; use {', '.join(COLUMNS)}"
            )
        columns[name] = column
    return columns


def read_csv(path: Path, skips: Skips, columns: Mapping[str, str] | None = None) -> Iterator[Dialogue]:
    """The dialogues of a CSV file; a wrong column, role or label is an error naming the line."""
    with Source(path) as source:
        (member,) = source.members
        dialogues: dict[str, list[tuple[int, Row]]] = {}
        place: dict[str, str] | None = None
        for number, row in source.table(member):
            if place is None:
                place = _columns(list(row), columns or {}, f"{path}:1")
            fields = {name: row[column].strip() for name, column in place.items()}
            if not fields["dialogue"]:
                raise HarkenError(f"{path}:{number}: the row does not say to which dialogue it belongs")
            if fields["text"]:
                dialogues.setdefault(fields["dialogue"], []).append((number, fields))
            else:
                skips.add("empty turn", f"{path.name}:{number}")
    for rows in dialogues.values():
        yield from _dialogue(rows, path, skips)


def _columns(found: Sequence[str], chosen: Mapping[str, str], place: str) -> dict[str, str]:
    """What a row can hold → the column that holds it, for what this file has."""
    listed = f"(columns found: {', '.join(found)})"
    for name, column in chosen.items():
        if column not in found:
            raise WrongSourceError(
                f"{place}: there is no column '{column}' for the {name}{did_you_mean(column, found)} {listed}"
            )
    lower = {column.lower(): column for column in found if column not in chosen.values()}
    usual = {name: [lower[alias] for alias in aliases if alias in lower] for name, aliases in COLUMNS.items()}
    result = {name: aliases[0] for name, aliases in usual.items() if aliases} | dict(chosen)
    missing = [name for name in _NEEDED if name not in result]
    if missing:
        example = ",".join(f"{name}=NAME" for name in missing)
        raise WrongSourceError(
            f"{place}: no column for the {' and the '.join(missing)} {listed}; name it with --columns {example}"
        )
    return result


def _dialogue(rows: Sequence[tuple[int, Row]], path: Path, skips: Skips) -> Iterator[Dialogue]:
    number, first = rows[0]
    roles = _roles(rows, path)
    turns = []
    for (line, row), role in zip(rows, roles, strict=True):
        with at(f"{path}:{line}"):
            turn = {
                "role": role,
                "text": row["text"],
                "label": row.get("label") or None,
                "extra": _json(row, "extra", {}),
            }
            turns.append(turn_from_json(turn))
    with at(f"{path}:{number}"):
        record: dict[str, Any] = {"id": first["dialogue"], "turns": [turns[0].to_json()]}
        for name in ("emotion", "situation", "split", "source"):
            if first.get(name):
                record[name] = first[name]
        record["persona"] = _json(first, "persona", [])
        record["extra"] = _json(first, "dialogue_extra", {})
        dialogue = replace(dialogue_from_json(record), turns=tuple(turns))
    if len(set(roles)) < 2 and not dialogue.source:
        skips.add("one-sided dialogue", f"{path.name}:{number}")
    else:
        yield dialogue


def _roles(rows: Sequence[tuple[int, Row]], path: Path) -> list[Role]:
    """The role in each row of a dialogue: by its usual name, or, for people's names, by who begins."""
    names = [row["role"] for _, row in rows]
    unknown = [(line, row["role"]) for line, row in rows if row["role"].lower() not in _ROLES]
    if len(unknown) == len(rows):
        return ["speaker" if name == names[0] else "listener" for name in names]
    for line, name in unknown:
        raise HarkenError(
            f"{path}:{line}: unknown role '{name}'{did_you_mean(name.lower(), _ROLES)}; use speaker or listener"
        )
    return [_ROLES[name.lower()] for name in names]


def _json(row: Row, name: str, default: object) -> object:
    if not row.get(name):
        return default
    try:
        return json.loads(row[name])
    except ValueError as problem:
        raise HarkenError(f"the column '{name}' does not hold JSON ({problem})") from problem


def write_csv(dialogues: Iterable[Dialogue], stream: IO[str]) -> int:
    """One row per turn, every field of a dialogue on each of its rows, so that `read_csv` reads the same dialogues."""
    writer = csv.DictWriter(stream, tuple(COLUMNS), lineterminator="\n")
    writer.writeheader()
    count = 0
    for dialogue in dialogues:
        whole = {
            "dialogue": dialogue.id,
            "emotion": dialogue.emotion,
            "situation": dialogue.situation,
            "split": dialogue.split,
            "source": dialogue.source,
            "persona": json.dumps(dialogue.persona, ensure_ascii=False) if dialogue.persona else None,
            "dialogue_extra": _packed(dialogue.extra),
        }
        for turn in dialogue.turns:
            writer.writerow(
                whole | {"role": turn.role, "text": turn.text, "label": turn.label, "extra": _packed(turn.extra)}
            )
        count += 1
    return count


def _packed(extra: Mapping[str, Any]) -> str | None:
    return json.dumps(extra, ensure_ascii=False) if extra else None
