"""The one table of tasks: which labels, learnt from what.

    emotion                  32 emotions of a conversation so far: every context that a listener answers
    emotion-situation        the same of a situation, as its author summed it up
    intent                   the 41 of MEED2: emotions of situations, intents of listener turns
    empathy-emotional        how strong (0 no, 1 weak, 2 strong) each mechanism of EPITOME is in an answer to a post
    empathy-interpretation
    empathy-exploration
    topic                    the topic of a post

What a task learns from is a function of one dialogue, so any corpus that knows the labels will do: the starter corpus
teaches emotions and intents, your own dialogues whatever they are labelled with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from harken.classifiers.base import Item
from harken.dialogue import Dialogue, Turn, examples
from harken.errors import HarkenError, did_you_mean
from harken.labels import EMOTIONS, LABELS, LEVELS

Labelled = tuple[Item, str]
"""An item and the name of its label."""
HISTORY = 4
"""Turns of a long conversation that a pair's first half keeps: the answer is to the last ones."""


@dataclass(frozen=True)
class Task:
    """One line of the table."""

    about: str
    learn: Callable[[Dialogue], Iterator[Labelled]]
    labels: tuple[str, ...] | None = None
    """None takes those of the training split, in alphabetical order."""
    pairs: bool = False
    of: str = "context"
    """What of a reply file or a dialogue `harken label` reads unless told otherwise."""


def context_text(turns: Sequence[Turn]) -> str:
    """A conversation as one text."""
    return " ".join(turn.text for turn in turns)


def _contexts(dialogue: Dialogue) -> Iterator[Labelled]:
    if dialogue.emotion is not None:
        for example in examples(dialogue):
            yield context_text(example.context), dialogue.emotion


def _situations(dialogue: Dialogue) -> Iterator[Labelled]:
    if dialogue.emotion is not None and dialogue.situation:
        yield dialogue.situation, dialogue.emotion


def _utterances(dialogue: Dialogue) -> Iterator[Labelled]:
    yield from _situations(dialogue)
    for turn in dialogue.turns:
        if turn.label is not None:
            yield turn.text, turn.label


def _levels(mechanism: str) -> Callable[[Dialogue], Iterator[Labelled]]:
    def learn(dialogue: Dialogue) -> Iterator[Labelled]:
        for example in examples(dialogue, HISTORY):
            judged = example.response.extra.get(mechanism)
            if judged is None:
                continue
            level = judged.get("level") if isinstance(judged, dict) else judged
            if not isinstance(level, int) or not 0 <= level < len(LEVELS):
                raise HarkenError(f"the level of '{mechanism}' is {level!r}; it must be 0, 1 or 2")
            yield (context_text(example.context), example.response.text), LEVELS[level]

    return learn


def _topics(dialogue: Dialogue) -> Iterator[Labelled]:
    if dialogue.extra.get("topic"):
        yield context_text(dialogue.turns), str(dialogue.extra["topic"])


_ALL = tuple(label.name for label in LABELS)
TASKS: dict[str, Task] = {
    "emotion": Task("32 emotions of a conversation", _contexts, EMOTIONS),
    "emotion-situation": Task("32 emotions of a situation", _situations, EMOTIONS),
    "intent": Task("32 emotions, 8 intents and neutral of an utterance", _utterances, _ALL, of="reply"),
    "empathy-emotional": Task("emotional reaction of an answer", _levels("emotional_reactions"), LEVELS, True, "reply"),
    "empathy-interpretation": Task("interpretation in an answer", _levels("interpretations"), LEVELS, True, "reply"),
    "empathy-exploration": Task("exploration in an answer", _levels("explorations"), LEVELS, True, "reply"),
    "topic": Task("topic of a text", _topics),
}


def task(name: str) -> Task:
    """The task of that name."""
    if name not in TASKS:
        known = f"; use {', '.join(TASKS)}"
        raise HarkenError(f"unknown task '{name}'{did_you_mean(name, TASKS) or known}")
    return TASKS[name]
