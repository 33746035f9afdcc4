"""MELD (Poria et al., ACL 2019): scenes of a television series, with emotion, sentiment and times.

Reads `train_sent_emo.csv`, `dev_sent_emo.csv` and `test_sent_emo.csv`.

Roles: a scene has any number of people; the first to speak is the speaker, everyone else a listener. A turn's `extra`
has the person's `name`, `emotion`, `sentiment`, and `start` and `end` in seconds, from which turn segmentation
learns; the dialogue's has `season` and `episode`. MELD's seven emotions are not the 32, so `emotion` stays empty.
Scenes in which one person speaks are part of the published counts: kept, and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harken.corpora.base import Skips, at, one_sided
from harken.corpora.source import Source
from harken.dialogue import Dialogue, Split, Turn
from harken.errors import HarkenError

_FILES: dict[Split, str] = {
    "train": "train_sent_emo.csv",
    "valid": "dev_sent_emo.csv",
    "test": "test_sent_emo.csv",
}
_COLUMNS = ("Utterance", "Speaker", "Emotion", "Sentiment", "Dialogue_ID", "Season", "Episode", "StartTime", "EndTime")


def read_meld(path: Path, skips: Skips) -> Iterator[Dialogue]:
    """The scenes of the three splits."""
    with Source(path) as source:
        for split, file in _FILES.items():
            member = source.need(file)
            scenes: dict[str, list[tuple[int, dict[str, str]]]] = {}
            for number, row in source.table(member, _COLUMNS):
                if row["Utterance"].strip():
                    scenes.setdefault(row["Dialogue_ID"], []).append((number, row))
                else:
                    skips.add("empty turn", f"{member}:{number}")
            for scene, rows in scenes.items():
                first_line, first = rows[0]
                turns = tuple(_turn(row, first["Speaker"], f"{source.place(member)}:{line}") for line, row in rows)
                if one_sided(turns):
                    skips.keep("one-sided scene", f"{member}:{first_line}")
                extra = {"season": first["Season"], "episode": first["Episode"]}
                yield Dialogue(f"{split}:{scene}", turns, split=split, extra=extra)


def _turn(row: dict[str, str], first: str, place: str) -> Turn:
    with at(place):
        extra = {
            "name": row["Speaker"],
            "emotion": row["Emotion"],
            "sentiment": row["Sentiment"],
            "start": seconds(row["StartTime"]),
            "end": seconds(row["EndTime"]),
        }
    return Turn("speaker" if row["Speaker"] == first else "listener", row["Utterance"].strip(), extra=extra)


def seconds(time: str) -> float:
    """`00:16:16,059` is 976.059 seconds."""
    try:
        hours, minutes, rest = time.split(":")
        return round(int(hours) * 3600 + int(minutes) * 60 + float(rest.replace(",", ".")), 3)
    except ValueError as problem:
        raise HarkenError(f"the time '{time}' is not hours:minutes:seconds,milliseconds") from problem
