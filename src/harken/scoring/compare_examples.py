"""Whether files answer the same examples, line by line; figures of different examples say nothing about systems.

Ids must agree, and the letters of responses and contexts: spacing, case, punctuation and contractions may differ, as
they do between raw and prepared text, and a file may keep fewer turns of the context. Files without ids of their own
are matched by their lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from harken.errors import HarkenError
from harken.files import read_lines
from harken.scoring.replies import Replies, ReplyRecord, is_json_lines
from harken.text.moel import expand

Read = Callable[[Path], Replies]
_REMEDY = "give files with the same examples in the same order, or keep what they share with --skip-bad"


@dataclass(frozen=True)
class Examples:
    """What all files answer."""

    first: Replies
    """The first file, filled in from the others where it lacks context or fields."""
    kept: tuple[int, ...]
    """The places in it of the examples that every file has."""
    as_written: bool
    """Whether all files write every response exactly alike, so that tokens as given are the same everywhere."""

    def of(self, replies: Replies) -> Replies:
        """The file's records that all files have, in the order of the first."""
        matches = _matches(self.first, replies)
        return replace(replies, records=tuple(record for place in self.kept if (record := matches[place]) is not None))

    @property
    def shared(self) -> Replies:
        """The first file's records that all files have."""
        return replace(self.first, records=tuple(self.first.records[place] for place in self.kept))


def same_examples(paths: Sequence[Path], read: Read, *, skip_bad: bool = False) -> Examples:
    """Read the files one after the other and make sure they fit together; with `skip_bad` keep what they share."""
    first = read(paths[0])
    shared = list(first.records)
    kept = set(range(len(first)))
    as_written = True
    for path in paths[1:]:
        other = read(path)
        if not skip_bad:
            _refuse_misfits(paths[0], first, path, other)
        ids = _by_id(first, other)
        for place, match in enumerate(_matches(first, other)):
            if match is None or _difference(first.records[place], match, ids=ids):
                kept.discard(place)
            else:
                as_written = as_written and match.response == first.records[place].response
                shared[place] = _filled(shared[place], match)
    if not kept:
        raise HarkenError(f"{', '.join(map(str, paths))}: have no example in common; compare replies to the same ones")
    return Examples(replace(first, records=tuple(shared)), tuple(sorted(kept)), as_written)


def _filled(record: ReplyRecord, other: ReplyRecord) -> ReplyRecord:
    """The record with what only the other knows."""
    longer = len(other.context or ()) > len(record.context or ())
    return replace(
        record,
        context=other.context if longer else record.context,
        emotion=record.emotion or other.emotion,
        label=record.label or other.label,
        extra={**other.extra, **record.extra},
    )


def _matches(first: Replies, other: Replies) -> list[ReplyRecord | None]:
    """The other file's record for each of the first's: by id, or by line where one of them has no ids of its own."""
    if _by_id(first, other):
        found = dict(zip(_keys(other), other.records, strict=True))
        return [found.get(key) for key in _keys(first)]
    if len(first) == len(other) and not first.skipped.counts and not other.skipped.counts:
        return list(other.records)
    raise HarkenError(
        f"{first.name} and {other.name}: only one of them has ids, so lines cannot be matched once bad ones are left "
        "out; give both files ids"
    )


def _by_id(first: Replies, other: Replies) -> bool:
    """Whether the ids of the two files mean the same."""
    if _numbered(first) == _numbered(other):
        return True
    return {record.id for record in first.records} == {record.id for record in other.records}


def _keys(replies: Replies) -> list[tuple[str, int]]:
    """Each id, and how often it came before in the file."""
    seen: Counter[str] = Counter()
    keys = []
    for record in replies.records:
        keys.append((record.id, seen[record.id]))
        seen[record.id] += 1
    return keys


def _numbered(replies: Replies) -> bool:
    """Whether the ids are no more than line numbers."""
    if not all(record.id.isdecimal() for record in replies.records):
        return False
    numbers = [0, *(int(record.id) for record in replies.records)]
    return all(a < b for a, b in pairwise(numbers))


def _refuse_misfits(path: Path, first: Replies, other_path: Path, other: Replies) -> None:
    """Name the first line at which two files differ in their examples."""
    ids = _by_id(first, other)
    for place, (a, b) in enumerate(zip(first.records, other.records, strict=False)):
        if differs := _difference(a, b, ids=ids):
            here, there = f"{other_path}:{_line(other_path, place)}", f"{path}:{_line(path, place)}"
            counts = f" ({len(other):,} and {len(first):,} replies)" if len(other) != len(first) else ""
            raise HarkenError(f"{here}: {differs.format(there=there)}{counts}; {_REMEDY}")
    if len(first) != len(other):
        (long, more), (short, fewer) = sorted(((path, first), (other_path, other)), key=lambda one: -len(one[1]))
        raise HarkenError(
            f"{long}:{_line(long, len(fewer))}: answers an example that {short} lacks "
            f"({len(more):,} and {len(fewer):,} replies); {_REMEDY}"
        )


def _difference(a: ReplyRecord, b: ReplyRecord, *, ids: bool = True) -> str | None:
    """What tells that b answers another example than a, in words; None if nothing does."""
    if ids and a.id != b.id:
        return f"its id is '{_short(b.id)}' where {{there}} has '{_short(a.id)}'"
    if a.response != b.response and _letters(a.response) != _letters(b.response):
        return f"its response is “{_short(b.response)}” where {{there}} has “{_short(a.response)}”"
    if a.context is not None and b.context is not None and a.context != b.context:
        long, short = sorted((_letters(" ".join(a.context)), _letters(" ".join(b.context))), key=len, reverse=True)
        if not long.endswith(short):
            return "its context is not that of {there}"
    return None


def _letters(text: str | None) -> str:
    return "".join(filter(str.isalnum, expand(text or "")))


def _short(text: str | None) -> str:
    whole = text or ""
    return (whole if len(whole) <= 40 else whole[:39] + "…").replace("{", "{{").replace("}", "}}")


def _line(path: Path, place: int) -> int:
    """The line of the file on which its record number `place` (from 0) stands; blank lines of JSON hold none."""
    lines = list(read_lines(path))
    blank_counts = not is_json_lines(path, lines)
    return [number for number, text in lines if blank_counts or text.strip()][place]
