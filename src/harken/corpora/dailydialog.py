"""DailyDialog (Li et al., IJCNLP 2017): everyday conversations, with an act and an emotion for each turn.

Reads the authors' layout, `train/dialogues_train.txt` beside `dialogues_act_train.txt` and
`dialogues_emotion_train.txt` (turns closed by `__eou__`; one number a turn), or ParlAI's `dailydialog.tar.gz`
(`train.json`, one JSON object a line).

Roles: the two sides take turns and neither is told apart, so the one who begins is the speaker. Acts and emotions are
in a turn's `extra` under their names; the six emotions are not the 32, so `emotion` stays empty. Text is as
published, with spaces around punctuation. Where the numbers do not match the turns, the dialogue is kept without them
and counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from harken.corpora.base import Skips, at, one_sided
from harken.corpora.source import Source
from harken.dialogue import ROLES, SPLITS, Dialogue, Split, Turn
from harken.errors import HarkenError

EMOTIONS = ("none", "anger", "disgust", "fear", "happiness", "sadness", "surprise")
ACTS = ("", "inform", "question", "directive", "commissive")
"""Numbered from 1."""
_FOLDERS: dict[Split, str] = {"train": "train", "valid": "validation", "test": "test"}

Marks = tuple[str, str]
"""A turn's act and emotion."""


def read_dailydialog(path: Path, skips: Skips) -> Iterator[Dialogue]:
    """The dialogues of the three splits."""
    with Source(path) as source:
        parlai = source.find("train.json") is not None
        for split in SPLITS:
            yield from (_objects if parlai else _texts)(source, split, skips)


def _texts(source: Source, split: Split, skips: Skips) -> Iterator[Dialogue]:
    """The authors' three files of a split, line by line."""
    folder = _FOLDERS[split]
    member = source.need(f"dialogues_{folder}.txt")
    acts = source.lines(source.need(f"dialogues_act_{folder}.txt"))
    emotions = source.lines(source.need(f"dialogues_emotion_{folder}.txt"))
    for number, line in source.lines(member):
        place = f"{source.place(member)}:{number}"
        texts = [text.strip() for text in line.split("__eou__") if text.strip()]
        act, emotion = next(acts, (0, ""))[1].split(), next(emotions, (0, ""))[1].split()
        marks: list[Marks] | None = None
        if len(act) == len(emotion) == len(texts):
            with at(place):
                marks = [
                    (_named(a, ACTS, "act"), _named(e, EMOTIONS, "emotion")) for a, e in zip(act, emotion, strict=True)
                ]
        elif texts:
            skips.keep("dialogue whose labels do not match its turns, kept without them", f"{member}:{number}")
        yield from _dialogue(f"{split}:{number}", texts, marks, split, f"{member}:{number}", skips)


def _objects(source: Source, split: Split, skips: Skips) -> Iterator[Dialogue]:
    """ParlAI's file of a split, one `{"dialogue": [{"text", "act", "emotion"}], "topic"}` a line."""
    member = source.need(f"{split}.json")
    for number, line in source.lines(member):
        place = f"{source.place(member)}:{number}"
        try:
            record = json.loads(line)
            turns, topic = record["dialogue"], record.get("topic")
            texts = [turn["text"].strip() for turn in turns]
            marks = [(turn["act"], turn["emotion"].replace("no_emotion", "none")) for turn in turns]
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise HarkenError(f"{place}: not a dialogue with text, act and emotion for each turn") from problem
        extra = {"topic": topic} if topic else {}
        yield from _dialogue(f"{split}:{number}", texts, marks, split, f"{member}:{number}", skips, extra)


def _dialogue(
    name: str,
    texts: list[str],
    marks: list[Marks] | None,
    split: Split,
    place: str,
    skips: Skips,
    extra: dict[str, str] | None = None,
) -> Iterator[Dialogue]:
    turns = tuple(
        Turn(ROLES[i % 2], text, extra={} if marks is None else {"act": marks[i][0], "emotion": marks[i][1]})
        for i, text in enumerate(texts)
        if text
    )
    if one_sided(turns):
        skips.add("one-sided dialogue" if turns else "empty dialogue", place)
    else:
        yield Dialogue(name, turns, split=split, extra=extra or {})


def _named(number: str, names: tuple[str, ...], what: str) -> str:
    if not number.isdigit() or int(number) >= len(names) or not names[int(number)]:
        raise HarkenError(f"there is no {what} number '{number}'")
    return names[int(number)]
