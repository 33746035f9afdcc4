"""Pairs of lines with a known answer, from any corpus that names its speakers.

Two protocols, because a corpus of utterances is not yet a subtitle:

    utterances   pairs of consecutive utterances as the corpus gives them, with their times. Most utterances are whole turns,
                 so the speaker usually changes.
    sentences    utterances cut into sentences, as subtitles come. Inside an utterance no times are known, and times only
                 at its borders would give the answer away, so all are hidden: the words alone decide.

Subtitles have both kinds of pairs, so the protocol of sentences trains on both: with times, where a pause inside an utterance
is drawn from the pauses between utterances of one speaker; and without, where what is longer than a subtitle (two rows of
42 characters) is cut again, to know a sentence that runs on. It is measured without times and without the cuts.
"""

from __future__ import annotations

import random
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harken.curation.records import Line
from harken.dialogue import Dialogue, Turn

Protocol = Literal["sentences", "utterances"]
PROTOCOLS: tuple[Protocol, ...] = ("sentences", "utterances")
Bools = NDArray[np.bool_]
Passage = tuple[list[Line], Bools]
"""Consecutive lines, and for each pair of them whether one person says both."""
_BLOCK = 84
_SENTENCE = re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"”'’)]))\s+(?=[\"“'‘(]?[A-Z0-9])")


def speaker(turn: Turn) -> str:
    """Who says a turn: the person's name where the corpus has one, else the role."""
    return str(turn.extra.get("name") or turn.role)


def sentences(text: str) -> list[str]:
    """The sentences of a text, cut where a capital follows the end of one."""
    return [part for part in _SENTENCE.split(text) if part.strip()] or [text]


def _passage(dialogue: Dialogue, lines: Callable[[Turn], list[Line]]) -> Passage:
    spoken = [(line, speaker(turn)) for turn in dialogue.turns for line in lines(turn)]
    return [line for line, _ in spoken], np.array([a == b for (_, a), (_, b) in pairwise(spoken)], dtype=np.bool_)


def measured_passages(dialogues: Iterable[Dialogue], protocol: Protocol) -> list[Passage]:
    """The pairs a protocol is measured on."""

    def lines(turn: Turn) -> list[Line]:
        if protocol == "utterances":
            return [Line(turn.text, turn.extra.get("start"), turn.extra.get("end"))]
        return [Line(part) for part in sentences(turn.text)]

    return [_passage(dialogue, lines) for dialogue in dialogues]


def training_passages(dialogues: Sequence[Dialogue], protocol: Protocol, seed: int = 0) -> list[Passage]:
    """The pairs a protocol is trained on."""
    if protocol == "utterances":
        return measured_passages(dialogues, protocol)
    pauses = [
        after.extra["start"] - before.extra["end"]
        for dialogue in dialogues
        for before, after in pairwise(dialogue.turns)
        if speaker(before) == speaker(after) and "end" in before.extra and "start" in after.extra
    ]
    rng = random.Random(seed)
    timed = [timed_sentences(dialogue, pauses, rng) for dialogue in dialogues] if pauses else []
    return timed + [_passage(dialogue, _blocks) for dialogue in dialogues]


def _blocks(turn: Turn) -> list[Line]:
    return [Line(block) for part in sentences(turn.text) for block in textwrap.wrap(part, _BLOCK)]


def timed_sentences(dialogue: Dialogue, pauses: Sequence[float], rng: random.Random) -> Passage:
    """Sentences on a clock: each has its share of the utterance's time by letters, a drawn pause stands between two."""
    clock, before = 0.0, None

    def lines(turn: Turn) -> list[Line]:
        nonlocal clock, before
        start, end = turn.extra.get("start"), turn.extra.get("end")
        parts = sentences(turn.text)
        if start is None or end is None:
            before = None
            return [Line(part) for part in parts]
        clock += 0.0 if before is None else start - before
        before, made = end, []
        for number, part in enumerate(parts):
            clock += rng.choice(pauses) if number else 0.0
            begin, clock = clock, clock + (end - start) * len(part) / sum(map(len, parts))
            made.append(Line(part, begin, clock))
        return made

    return _passage(dialogue, lines)
