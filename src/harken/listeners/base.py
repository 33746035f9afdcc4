"""What a listener is: a conversation goes in, a Reply comes out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from harken.dialogue import Turn
from harken.errors import HarkenError
from harken.labels import label


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A remembered exchange that shaped a reply: what was said to that listener, what it answered, how near it is."""

    source: str
    said: str
    answered: str
    emotion: str | None
    intent: str | None
    score: float


@dataclass(frozen=True, slots=True)
class Reply:
    """What a listener answers, and why."""

    text: str
    emotion: str | None = None
    """The emotion read in the conversation; neutral when there is none to read."""
    intent: str | None = None
    """What the reply does: one of the eight intents, neutral, or, of a model that writes them, an emotion."""
    exemplars: tuple[Exemplar, ...] = ()
    alternatives: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    care: bool = False
    """True when the words come from the care page, not from the listener."""

    def to_json(self) -> dict[str, Any]:
        """The reply as `harken chat --json` prints it."""
        return {
            "reply": self.text,
            "emotion": self.emotion,
            "intent": self.intent,
            "care": self.care,
            "exemplars": [
                {"source": e.source, "said": e.said, "answered": e.answered, "emotion": e.emotion, "intent": e.intent}
                | {"score": round(e.score, 4)}
                for e in self.exemplars
            ],
        }


class Listener(Protocol):
    """Anything that answers a conversation."""

    name: str

    def reply(self, conversation: Sequence[Turn]) -> Reply:
        """Answer the last turn of `conversation`, which is the speaker's."""
        ...


@runtime_checkable
class Steerable(Protocol):
    """A listener that can be asked what its replies shall be."""

    def steered(self, intent: str | None) -> Listener:
        """The same listener, asked for a label of the 41; None leaves the choice to it."""
        ...


def steered(listener: Listener, intent: str | None) -> Listener:
    """The listener asked for `intent`; one that cannot be is an error."""
    if intent is not None:
        label(intent)
    if not isinstance(listener, Steerable):
        if intent is None:
            return listener
        raise HarkenError(
            f"{listener.name} cannot be asked for an intent; a run that can is trained with: "
            "harken train configs/meed2.yaml"
        )
    return listener.steered(intent)


def last_words(conversation: Sequence[Turn]) -> str:
    """What the speaker said last; a conversation that does not end with the speaker is an error."""
    if not conversation or conversation[-1].role != "speaker":
        raise HarkenError("a listener answers a conversation that ends with a turn of the speaker")
    return conversation[-1].text.strip()


def as_heard(text: str) -> str:
    """What an ear keeps of a text: its words, without case and punctuation."""
    return " ".join(re.findall(r"\w+", text.lower()))


def said_before(conversation: Sequence[Turn]) -> frozenset[str]:
    """What the listener has said so far, as heard; good listeners do not say it again."""
    return frozenset(as_heard(turn.text) for turn in conversation if turn.role == "listener")
