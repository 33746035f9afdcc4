"""Dialogues from turns: a silence of more than five seconds parts two of them (Xie and Pu 2021, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from harken.curation.records import Source, Spoken
from harken.dialogue import ROLES, Dialogue, Turn

GAP = 5.0
"""Seconds of silence that parts two dialogues, in the paper."""


def split(turns: Sequence[Spoken], source: Source, gap: float = GAP) -> list[Dialogue]:
    """The dialogues of a file, numbered from 1. Nobody knows the speakers, so the two sides alternate."""
    return [
        Dialogue(
            id=f"{source.id}#{number}",
            turns=tuple(alternating(Turn("speaker", spoken.text, extra=_times(spoken)) for spoken in scene)),
            source="opensubtitles",
            extra={"film": source.film},
        )
        for number, scene in enumerate(_scenes(turns, gap), start=1)
    ]


def alternating(turns: Iterable[Turn]) -> Iterator[Turn]:
    """The turns with the speaker first and the two sides in alternation."""
    for number, turn in enumerate(turns):
        yield Turn(ROLES[number % 2], turn.text, turn.label, turn.extra)


def _scenes(turns: Sequence[Spoken], gap: float) -> Iterator[list[Spoken]]:
    scene: list[Spoken] = []
    for turn in turns:
        if scene and _parted(scene[-1], turn, gap):
            yield scene
            scene = []
        scene.append(turn)
    if scene:
        yield scene


def _parted(before: Spoken, after: Spoken, gap: float) -> bool:
    """Whether the silence is too long; where a time is missing the two turns stay together, as in the paper."""
    return before.end is not None and after.start is not None and after.start - before.end > gap


def _times(spoken: Spoken) -> dict[str, float]:
    times = (("start", spoken.start), ("end", spoken.end))
    return {name: time for name, time in times if time is not None}
