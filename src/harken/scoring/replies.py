"""Reply files: what a system answered, example by example; read and written here and nowhere else.

JSON lines, one object a line: `{"id", "context": [..], "response", "reply", "emotion"?, "predicted_emotion"?,
"label"?, "predicted_label"?, "run"?}`. Any other field is kept under its name, so that scores can be broken down by
it. Plain text, one reply a line, goes with a file of references, one a line.

`reply` is always needed, `response` unless references are given. `id` and `context` may be absent from a whole file
(ids are then line numbers), but a line may not lack what the lines before it have. A bad line is an error that
names file, line and remedy; with `skip_bad` it is left out and counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harken.corpora.base import Skips
from harken.errors import HarkenError, did_you_mean
from harken.files import read_lines, write_json_lines
from harken.text.moel import expand

FIELDS = ("id", "context", "response", "reply", "emotion", "predicted_emotion", "label", "predicted_label", "run")
_JSON_LINES = (".jsonl", ".json", ".ndjson")


@dataclass(frozen=True, slots=True)
class ReplyRecord:
    """One example: the turns before, the gold response, the reply, and what is known about them."""

    id: str
    reply: str
    context: tuple[str, ...] | None = None
    response: str | None = None
    emotion: str | None = None
    predicted_emotion: str | tuple[str, ...] | Mapping[str, float] | None = None
    """One emotion, several with the likeliest first, or a probability for each."""
    label: str | None = None
    predicted_label: str | None = None
    run: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def get(self, name: str) -> Any:
        """The value of a field of the file, None where it has none."""
        return getattr(self, name) if name in FIELDS else self.extra.get(name)

    def ranked_emotions(self) -> tuple[str, ...]:
        """The predicted emotions, the likeliest first."""
        found = self.predicted_emotion
        if isinstance(found, Mapping):
            return tuple(sorted(found, key=lambda name: (-found[name], name)))
        return (found,) if isinstance(found, str) else found or ()

    def to_json(self) -> dict[str, Any]:
        """The line of the file, absent fields left out."""
        return {**{name: getattr(self, name) for name in FIELDS if getattr(self, name) is not None}, **self.extra}


@dataclass(frozen=True)
class Replies:
    """The records of one file, and what was left out of it."""

    name: str
    records: tuple[ReplyRecord, ...]
    skipped: Skips = field(default_factory=Skips)

    def __len__(self) -> int:
        """How many replies there are."""
        return len(self.records)

    def has(self, name: str) -> bool:
        """Whether every record has that field."""
        return all(record.get(name) is not None for record in self.records)

    def fields(self) -> list[str]:
        """The fields that some record has, the known ones first."""
        extra = dict.fromkeys(name for record in self.records for name in record.extra)
        return [*(name for name in FIELDS if any(record.get(name) is not None for record in self.records)), *extra]


def write_replies(path: Path, records: Iterable[ReplyRecord]) -> int:
    """Write a reply file, whole or not at all; the number of replies comes back."""
    return write_json_lines(path, (record.to_json() for record in records))


def read_replies(
    path: Path, references: Path | None = None, *, skip_bad: bool = False, allow_empty: bool = False
) -> Replies:
    """A reply file, JSON lines or plain text; `references` gives the responses, one a line.

    `skip_bad` leaves bad lines out and counts them; `allow_empty` keeps empty replies and responses, to score a system
    that sometimes says nothing.
    """
    lines = list(read_lines(path))
    as_json = is_json_lines(path, lines)
    if as_json:
        lines = [(number, text) for number, text in lines if text.strip()]
    responses = None if references is None else [text for _, text in read_lines(references)]
    if responses is not None and len(responses) != len(lines):
        raise HarkenError(
            f"{path}: has {len(lines):,} replies but {references} has {len(responses):,} references; "
            "give files with the same lines in the same order"
        )
    if not as_json and responses is None and lines:
        raise HarkenError(f"{path}: is plain text, so it needs the gold responses; name their file with --references")
    check, skipped, records = _Checker(allow_empty), Skips(), []
    for place, (number, text) in enumerate(lines):
        try:
            fields = json_object(text) if as_json else {"reply": text}
            if responses is not None:
                fields["response"] = responses[place]
            records.append(check.record(fields, number))
        except BadLineError as problem:
            if not skip_bad:
                raise problem.at(path, number) from problem
            skipped.add(problem.reason, f"{path}:{number}")
    if not records:
        raise HarkenError(f"{path}: holds no reply, so there is nothing to score; is it the right file?")
    return Replies(str(path), tuple(records), skipped)


def is_json_lines(path: Path, lines: Iterable[tuple[int, str]]) -> bool:
    """By the file's name; a name that says nothing is settled by the first line that is not blank."""
    suffix = path.suffix.lower()
    if suffix in _JSON_LINES or suffix == ".txt":
        return suffix != ".txt"
    return next((text.lstrip().startswith("{") for _, text in lines if text.strip()), False)


class BadLineError(HarkenError):
    """A line that cannot be used: the message says what to do, the reason in few words is what gets counted."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.reason = reason

    def at(self, path: Path, number: int) -> HarkenError:
        """The error to raise where bad lines are not left out."""
        return HarkenError(f"{path}:{number}: {self}, or leave such lines out with --skip-bad")


def json_object(text: str) -> dict[str, Any]:
    """The JSON object written on a line."""
    try:
        value = json.loads(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair is no text
    except ValueError as problem:
        raise BadLineError("broken JSON", f"{problem}: write one JSON object a line") from problem
    if not isinstance(value, dict):
        raise BadLineError("not a JSON object", 'write one object a line, {"id": …, "reply": …}')
    return value


class _Checker:
    """Turns a line's fields into a record; remembers what the lines so far have."""

    def __init__(self, allow_empty: bool) -> None:
        self.allow_empty = allow_empty
        self.needed = ["reply", "response"]
        self.first: int | None = None

    def record(self, fields: dict[str, Any], number: int) -> ReplyRecord:
        """The record of one line."""
        present = {name: value for name, value in fields.items() if value is not None}
        for name in self.needed:
            if name not in present:
                near = did_you_mean(name, present)
                since = (
                    f"line {self.first} has it" if self.first and name in ("id", "context") else "each line needs it"
                )
                raise BadLineError(f"the field '{name}' is missing", f"{since}{near or ', add it'}")
        for name in ("reply", "response"):
            if not isinstance(present[name], str):
                raise BadLineError(f"'{name}' is not text", "write it as a string")
            if not present[name].strip() and not self.allow_empty:
                raise BadLineError(f"the {name} is empty", "fill it in, score it as it is with --allow-empty")
        for name in ("emotion", "label", "predicted_label", "run"):
            if not isinstance(present.get(name, ""), str):
                raise BadLineError(f"'{name}' is not text", "write it as a string")
        if self.first is None:
            self.first = number
            self.needed += [name for name in ("id", "context") if name in present]
        known = {name: present[name] for name in FIELDS if name in present}
        known["id"] = str(known.get("id", number))
        known["context"] = _context(known.get("context"))
        known["predicted_emotion"] = _prediction(known.get("predicted_emotion"))
        return ReplyRecord(**known, extra={name: value for name, value in fields.items() if name not in FIELDS})


def _context(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(turn, str) for turn in value):
        raise BadLineError("'context' is not a list of texts", 'write the turns before the reply as ["…", "…"]')
    return tuple(value)


def _prediction(value: Any) -> str | tuple[str, ...] | dict[str, float] | None:
    if isinstance(value, list) and value and all(isinstance(name, str) for name in value):
        return tuple(value)
    if isinstance(value, dict) and value and all(isinstance(chance, int | float) for chance in value.values()):
        return value
    if value is None or isinstance(value, str):
        return value
    raise BadLineError(
        "'predicted_emotion' cannot be read",
        "write one emotion, a list with the likeliest first, or an object with a probability for each",
    )


def align(files: Sequence[Replies]) -> list[Replies]:
    """The files with their records in the order of the first, matched by id; files that do not fit are an error."""
    first = files[0]
    aligned = [first]
    for other in files[1:]:
        by_id = {record.id: record for record in other.records}
        for file, ids in ((first, {record.id for record in first.records}), (other, set(by_id))):
            if len(ids) != len(file):
                raise HarkenError(f"{file.name}: {len(file) - len(ids):,} ids are repeated; give each example its own")
        missing = next((record.id for record in first.records if record.id not in by_id), None)
        if missing is not None or len(other) != len(first):
            which = f"; the id '{missing}' is only in the first" if missing is not None else ""
            raise HarkenError(
                f"{first.name} has {len(first):,} replies and {other.name} has {len(other):,}{which}; "
                "compare replies to the same examples"
            )
        records = tuple(by_id[record.id] for record in first.records)
        differ = sum(_letters(a) != _letters(b) for a, b in zip(first.records, records, strict=True))
        if differ > len(first) / 10:  # spacing, case and contractions aside, a few odd characters are no other example
            raise HarkenError(
                f"{first.name} and {other.name} have other responses under {differ:,} of the same ids; "
                "compare replies to the same examples"
            )
        aligned.append(replace(other, records=records))
    return aligned


def _letters(record: ReplyRecord) -> str:
    return "".join(filter(str.isalnum, expand(record.response or "")))
