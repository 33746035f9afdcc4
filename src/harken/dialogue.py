"""The records everything else speaks: Turn, Dialogue, Example.

A dialogue has two sides, the *speaker*, who tells what happened and how it feels, and the *listener*, who answers.
Corpora with other roles are mapped onto these two by their readers; what else a corpus knows about a turn (strategy,
act, times, names) waits in `extra` under the corpus's own names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from harken.errors import HarkenError, did_you_mean
from harken.labels import emotion, label

Role = Literal["speaker", "listener"]
Split = Literal["train", "valid", "test"]
Extra = Mapping[str, Any]

ROLES: tuple[Role, ...] = ("speaker", "listener")
SPLITS: tuple[Split, ...] = ("train", "valid", "test")
_SPLIT_ALIASES: dict[str, Split] = {"validation": "valid", "val": "valid", "dev": "valid", "training": "train"}


def split(name: str) -> Split:
    """`train`, `valid` or `test`, under any of its usual names."""
    plain = name.strip().lower()
    plain = _SPLIT_ALIASES.get(plain, plain)
    if plain not in SPLITS:
        raise HarkenError(f"unknown split '{name}'; use train, valid or test")
    return plain


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said, with its emotion or intent label where one is known."""

    role: Role
    text: str
    label: str | None = None
    extra: Extra = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The turn as plain JSON, absent fields left out."""
        record: dict[str, Any] = {"role": self.role, "text": self.text}
        if self.label is not None:
            record["label"] = self.label
        if self.extra:
            record["extra"] = dict(self.extra)
        return record


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation with its id, situation, emotion, split and source."""

    id: str
    turns: tuple[Turn, ...]
    emotion: str | None = None
    situation: str | None = None
    split: Split = "train"
    source: str = ""
    persona: tuple[str, ...] = ()
    """Sentences in which the listener describes itself (PEC)."""
    extra: Extra = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The dialogue as plain JSON, absent fields left out; `from_json` reads it back."""
        record: dict[str, Any] = {"id": self.id, "split": self.split}
        for name in ("source", "emotion", "situation"):
            if getattr(self, name):
                record[name] = getattr(self, name)
        if self.persona:
            record["persona"] = list(self.persona)
        if self.extra:
            record["extra"] = dict(self.extra)
        record["turns"] = [turn.to_json() for turn in self.turns]
        return record


_TURN_KEYS = ("role", "text", "label", "extra")
_DIALOGUE_KEYS = ("id", "turns", "emotion", "situation", "split", "source", "persona", "extra")


def turn_from_json(record: object) -> Turn:
    """A turn from plain JSON, every field checked."""
    fields = _fields(record, "turn", _TURN_KEYS, required=("role", "text"))
    role = fields["role"]
    if role not in ROLES:
        raise HarkenError(f"a turn's role is '{role}'; use speaker or listener")
    text = _string(fields["text"], "text")
    if not text.strip():
        raise HarkenError("a turn's text is empty")
    name = fields.get("label")
    return Turn(role, text, None if name is None else label(_string(name, "label")).name, _extra(fields))


def dialogue_from_json(record: object) -> Dialogue:
    """A dialogue from plain JSON, every field checked; the message says which field is wrong, the caller adds the line."""
    fields = _fields(record, "dialogue", _DIALOGUE_KEYS, required=("id", "turns"))
    turns = fields["turns"]
    if not isinstance(turns, list) or not turns:
        raise HarkenError("'turns' must be a list of at least one turn")
    persona = fields.get("persona") or []
    if not isinstance(persona, list) or not all(isinstance(line, str) for line in persona):
        raise HarkenError("'persona' must be a list of sentences")
    feeling = fields.get("emotion")
    return Dialogue(
        id=_string(fields["id"], "id"),
        turns=tuple(turn_from_json(turn) for turn in turns),
        emotion=None if feeling is None else emotion(_string(feeling, "emotion")),
        situation=None if fields.get("situation") is None else _string(fields["situation"], "situation"),
        split=split(_string(fields.get("split", "train"), "split")),
        source=_string(fields.get("source", ""), "source"),
        persona=tuple(persona),
        extra=_extra(fields),
    )


def _fields(record: object, what: str, known: tuple[str, ...], required: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise HarkenError(f"a {what} must be a JSON object, not {type(record).__name__}")
    for key in record:
        if key not in known:
            raise HarkenError(f"unknown field '{key}' of a {what}{did_you_mean(str(key), known)}")
    for key in required:
        if key not in record:
            raise HarkenError(f"a {what} lacks its field '{key}'")
    return record


def _string(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise HarkenError(f"'{name}' must be a string, not {type(value).__name__}")
    return value


def _extra(fields: Mapping[str, Any]) -> Extra:
    extra = fields.get("extra") or {}
    if not isinstance(extra, dict):
        raise HarkenError("'extra' must be a JSON object")
    return extra


@dataclass(frozen=True, slots=True)
class Levels:
    """How much of each empathy mechanism (0 no, 1 weak, 2 strong) a response has, and its sentiment (-1..1)."""

    emotional: int
    interpretation: int
    exploration: int
    sentiment: float


@dataclass(frozen=True, slots=True)
class Example:
    """One listener turn to be produced: the turns before it and the gold response."""

    id: str
    context: tuple[Turn, ...]
    response: Turn
    dialogue: Dialogue
    labels: tuple[str, ...] = ()
    """Predicted labels that stand before the context, where a model was trained so (prepend-k)."""
    exemplars: tuple[tuple[str, float], ...] = ()
    """Responses people gave in like moments, each with its relevance, the best first (LEMPEx)."""
    levels: Levels | None = None
    """What classifiers read in the gold response: for training losses and scores, never shown to a model."""

    @property
    def emotion(self) -> str | None:
        """The dialogue's emotion: gold, so never shown to a model at test time under the honest protocol."""
        return self.dialogue.emotion


def opened_by_situation(dialogue: Dialogue) -> Dialogue | None:
    """The situation and the listener's answer to the first turn, which tells the same in other words; None without."""
    if not dialogue.situation or [turn.role for turn in dialogue.turns[:2]] != ["speaker", "listener"]:
        return None
    opening = replace(dialogue.turns[0], text=dialogue.situation)
    return replace(dialogue, id=f"{dialogue.id}:situation", turns=(opening, dialogue.turns[1]))


def examples(
    dialogue: Dialogue, history: int | None = None, roles: Collection[str] = ("listener",)
) -> Iterator[Example]:
    """The papers' way: one example per listener turn that follows something, with the last `history` turns before it.

    Other `roles` make examples of the speaker's turns too, which some models train on.
    """
    if history is not None and history < 1:
        raise HarkenError(f"history = {history} must be at least 1 turn, or none for all turns")
    for position, turn in enumerate(dialogue.turns):
        if turn.role in roles and position > 0:
            start = 0 if history is None else max(0, position - history)
            yield Example(f"{dialogue.id}:{position}", dialogue.turns[start:position], turn, dialogue)
