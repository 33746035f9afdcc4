"""EmpatheticDialogues (Rashkin et al., ACL 2019): someone describes a situation and its emotion, another answers.

Reads `train.csv`, `valid.csv` and `test.csv` from the official `empatheticdialogues.tar.gz` or from a folder. They
look like CSV and are not: commas are written `_comma_`, quotation marks are not balanced, so a line is split at its
commas. The columns `context` and `prompt` hold the emotion and the situation. A line has 8 fields, or 9 where ranking
candidates follow, which are left alone.

Roles: `speaker_idx` is a worker's number; whoever writes a conversation's first turn is its speaker, the other the
listener. If `utterance_labels.csv` (`conv_id,utterance_idx,label`: Welivita and Pu 2020, by classifier) lies beside
the files or beside the archive, every turn it names gets its label.

A few conversations broke off before the listener spoke. They are part of the published counts, so they are kept and
counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from harken.corpora.base import Skips, WrongSourceError, at, one_sided
from harken.corpora.source import Source
from harken.dialogue import SPLITS, Dialogue, Split, Turn
from harken.labels import emotion, label

_COLUMNS = ["conv_id", "utterance_idx", "context", "prompt", "speaker_idx", "utterance"]
_LABELS = "utterance_labels.csv"

TurnLabels = dict[tuple[str, str], str]
"""(conversation, utterance number) → label."""


class _Row(NamedTuple):
    line: int
    number: str
    emotion: str
    situation: str
    person: str
    text: str
    self_rating: str


def read_empatheticdialogues(path: Path, skips: Skips) -> Iterator[Dialogue]:
    """The conversations of the three splits."""
    with Source(path) as source:
        labels = _labels(source)
        members: dict[Split, str] = {split: source.need(f"{split}.csv") for split in SPLITS}
        for split, member in members.items():
            yield from _conversations(source, member, split, labels, skips)


def _conversations(source: Source, member: str, split: Split, labels: TurnLabels, skips: Skips) -> Iterator[Dialogue]:
    place = source.place(member)
    for conversation, rows in _grouped(source, member, skips).items():
        first = rows[0]
        with at(f"{place}:{first.line}"):
            feeling = emotion(first.emotion)
        turns = tuple(
            Turn(
                "speaker" if row.person == first.person else "listener",
                row.text,
                labels.get((conversation, row.number)),
            )
            for row in rows
        )
        if one_sided(turns):
            skips.keep("one-sided conversation", f"{member}:{first.line}")
        yield Dialogue(
            id=conversation,
            turns=turns,
            emotion=feeling,
            situation=first.situation or None,
            split=split,
            extra={"selfeval": first.self_rating} if first.self_rating else {},
        )


def _grouped(source: Source, member: str, skips: Skips) -> dict[str, list[_Row]]:
    """The usable rows of each conversation, in the order of the file."""
    conversations: dict[str, list[_Row]] = {}
    lines = source.lines(member)
    header = next(lines, (1, ""))[1].split(",")
    if header[: len(_COLUMNS)] != _COLUMNS:
        raise WrongSourceError(
            f"{source.place(member)}:1: the columns are {', '.join(header)}, not {', '.join(_COLUMNS)}, selfeval, tags"
        )
    for number, line in lines:
        fields = line.split(",")
        if len(fields) not in (8, 9):
            skips.add("row without 8 or 9 fields", f"{member}:{number}")
            continue
        text = _commas(fields[5])
        if not text:
            skips.add("empty turn", f"{member}:{number}")
            continue
        row = _Row(number, fields[1], fields[2], _commas(fields[3]), fields[4], text, fields[6].strip())
        conversations.setdefault(fields[0], []).append(row)
    return conversations


def _commas(text: str) -> str:
    return text.replace("_comma_", ",").strip()


def _labels(source: Source) -> TurnLabels:
    """The labels beside the conversations, if they are there."""
    if source.find(_LABELS) is not None:
        return _read_labels(source)
    beside = source.path.parent / _LABELS
    if source.path.is_file() and beside.is_file():
        with Source(beside) as single:
            return _read_labels(single)
    return {}


def _read_labels(source: Source) -> TurnLabels:
    member = source.need(_LABELS)
    place = source.place(member)
    labels: TurnLabels = {}
    for number, row in source.table(member, ("conv_id", "utterance_idx", "label")):
        with at(f"{place}:{number}"):
            labels[row["conv_id"], row["utterance_idx"]] = label(row["label"]).name
    return labels
