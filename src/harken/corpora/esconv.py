"""ESConv (Liu et al., ACL 2021): emotional support conversations with strategies and survey scores.

Reads a folder with `train.txt`, `valid.txt` and `test.txt` (one JSON object a line), or a single file in the layout
of `ESConv.json` or `FailedESConv.json` (one JSON list). `ESConv.json` has no splits: 70 % train, 15 % valid and 15 %
test, the ratio of the published ones, by the hash of the conversation. Failed conversations, whose supporter did not
help, are never mixed with the others: they are read only when `FailedESConv.json` itself is named, carry
`extra["failed"]`, and are all train.

Roles: the seeker (`usr`, `seeker`, `speaker`) is the speaker, the supporter (`sys`, `supporter`, `listener`) the
listener. One side often writes several turns in a row; they stay separate turns. A turn's strategy and the seeker's
feedback are in its `extra`, as are emotion type, problem type, experience type and survey scores in the dialogue's:
ESConv's eleven emotion words (anxiety, depression, …) are not the 32 emotions, so `emotion` stays empty.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from harken.corpora.base import Skips, WrongSourceError, at, hash_split, one_sided
from harken.corpora.source import Source
from harken.dialogue import SPLITS, Dialogue, Role, Turn
from harken.errors import HarkenError

_ROLES: dict[str, Role] = {
    "usr": "speaker",
    "seeker": "speaker",
    "speaker": "speaker",
    "sys": "listener",
    "supporter": "listener",
    "listener": "listener",
}
_ABOUT = ("emotion_type", "problem_type", "experience_type", "survey_score")
_FAILED = "FailedESConv.json"


def read_esconv(path: Path, skips: Skips) -> Iterator[Dialogue]:
    """The conversations of the folder's three splits, or of the one file named."""
    with Source(path) as source:
        if source.find("train.txt") is None:
            whole = source.find("ESConv.json") or source.find(_FAILED) or source.need("train.txt")
            yield from _whole(source, whole, skips)
            return
        for split in SPLITS:
            member = source.need(f"{split}.txt")
            for number, line in source.lines(member):
                if line.strip():
                    place = f"{source.place(member)}:{number}"
                    turns, fields = _conversation(_parse(line, place), place, skips)
                    if turns:
                        yield Dialogue(f"{split}:{number}", turns, split=split, **fields)


def _whole(source: Source, member: str, skips: Skips) -> Iterator[Dialogue]:
    """The conversations of a JSON list."""
    place = source.place(member)
    records = _parse("\n".join(line for _, line in source.lines(member)), place)
    if not isinstance(records, list):
        raise WrongSourceError(f"{place}: must hold a JSON list of conversations, not a {type(records).__name__}")
    failed = PurePosixPath(member).name == _FAILED
    for number, record in enumerate(records, start=1):
        turns, fields = _conversation(record, f"{place}, conversation {number}", skips)
        if not turns:
            continue
        if failed:
            fields["extra"]["failed"] = True
            yield Dialogue(f"failed:{number}", turns, **fields)
        else:
            split = hash_split("\n".join(turn.text for turn in turns), valid=0.15, test=0.15)
            yield Dialogue(f"all:{number}", turns, split=split, **fields)


def _parse(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as problem:
        raise HarkenError(f"{place}: not JSON ({problem})") from problem


def _conversation(record: Any, place: str, skips: Skips) -> tuple[tuple[Turn, ...], dict[str, Any]]:
    """Turns, and the other fields of the dialogue; no turns for one that is left out."""
    if not isinstance(record, dict) or not isinstance(record.get("dialog"), list):
        raise WrongSourceError(f"{place}: is not a conversation with a list 'dialog'")
    with at(place):
        turns = tuple(_turns(record["dialog"]))
    if one_sided(turns):
        skips.add("one-sided conversation", place)
        return (), {}
    situation = record.get("situation")
    extra = {name: record[name] for name in _ABOUT if record.get(name)}
    return turns, {"situation": str(situation).strip() if situation else None, "extra": extra}


def _turns(entries: Iterable[Any]) -> Iterator[Turn]:
    for entry in entries:
        if not isinstance(entry, dict):
            raise HarkenError(f"a turn is {entry!r}; expected a JSON object with speaker and text")
        text, side = entry.get("text", entry.get("content")), str(entry.get("speaker"))
        if side not in _ROLES or not isinstance(text, str):
            raise HarkenError(f"a turn has speaker '{side}'; expected one of {', '.join(_ROLES)}, and a text")
        about = {"strategy": entry.get("strategy"), **(entry.get("annotation") or {})}
        if text.strip():
            yield Turn(_ROLES[side], text.strip(), extra={name: value for name, value in about.items() if value})
