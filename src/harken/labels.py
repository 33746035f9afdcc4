"""The one table of labels: 32 emotions, 8 response intents and neutral.

The order is MEED2's (Xie and Pu 2021, after Welivita and Pu 2020): emotions alphabetically, then the intents, then
neutral, so that `label.index` is the class number of every 41-way model. Polarity is MIME's Table 1 (Majumder et al. 2020):
13 positive and 19 negative emotions, *surprised* counted positive and *anticipating* negative, as printed; intents and
neutral have none. The 16 groups join emotions that people use for one another, for scores that forgive such confusions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harken.errors import HarkenError, did_you_mean

Polarity = Literal["positive", "negative"]
Kind = Literal["emotion", "intent", "neutral"]

MECHANISMS = ("emotional", "interpretation", "exploration")
"""EPITOME's mechanisms of empathy, in LEMPEx's order."""
LEVELS = ("no", "weak", "strong")
"""How much of a mechanism an answer has: EPITOME's 0, 1 and 2; LEMPEx calls them low, mid and high."""


@dataclass(frozen=True, slots=True)
class Label:
    """One of the 41: its class number, and for emotions the polarity and the group of near synonyms."""

    index: int
    name: str
    kind: Kind
    polarity: Polarity | None = None
    group: str | None = None


_EMOTIONS: tuple[tuple[str, Polarity, str], ...] = (
    ("afraid", "negative", "fear"),
    ("angry", "negative", "anger"),
    ("annoyed", "negative", "annoyance"),
    ("anticipating", "negative", "hope"),
    ("anxious", "negative", "worry"),
    ("apprehensive", "negative", "worry"),
    ("ashamed", "negative", "shame"),
    ("caring", "positive", "devotion"),
    ("confident", "positive", "assurance"),
    ("content", "positive", "joy"),
    ("devastated", "negative", "grief"),
    ("disappointed", "negative", "disappointment"),
    ("disgusted", "negative", "disgust"),
    ("embarrassed", "negative", "shame"),
    ("excited", "positive", "joy"),
    ("faithful", "positive", "devotion"),
    ("furious", "negative", "anger"),
    ("grateful", "positive", "devotion"),
    ("guilty", "negative", "shame"),
    ("hopeful", "positive", "hope"),
    ("impressed", "positive", "wonder"),
    ("jealous", "negative", "envy"),
    ("joyful", "positive", "joy"),
    ("lonely", "negative", "loneliness"),
    ("nostalgic", "negative", "longing"),
    ("prepared", "positive", "assurance"),
    ("proud", "positive", "assurance"),
    ("sad", "negative", "grief"),
    ("sentimental", "negative", "longing"),
    ("surprised", "positive", "wonder"),
    ("terrified", "negative", "fear"),
    ("trusting", "positive", "devotion"),
)
_INTENTS = (
    "agreeing",
    "acknowledging",
    "encouraging",
    "consoling",
    "sympathizing",
    "suggesting",
    "questioning",
    "wishing",
)

LABELS: tuple[Label, ...] = (
    *(Label(i, name, "emotion", polarity, group) for i, (name, polarity, group) in enumerate(_EMOTIONS)),
    *(Label(len(_EMOTIONS) + i, name, "intent") for i, name in enumerate(_INTENTS)),
    Label(len(_EMOTIONS) + len(_INTENTS), "neutral", "neutral"),
)
BY_NAME: dict[str, Label] = {label.name: label for label in LABELS}

EMOTIONS: tuple[str, ...] = tuple(label.name for label in LABELS if label.kind == "emotion")
INTENTS: tuple[str, ...] = tuple(label.name for label in LABELS if label.kind != "emotion")
"""The nine things a listener's turn may do: the eight intents and neutral."""
POSITIVE: tuple[str, ...] = tuple(label.name for label in LABELS if label.polarity == "positive")
NEGATIVE: tuple[str, ...] = tuple(label.name for label in LABELS if label.polarity == "negative")
GROUPS: tuple[str, ...] = tuple(sorted({label.group for label in LABELS if label.group}))


def label(name: str) -> Label:
    """The label of that name, whatever its case; an unknown name is an error that suggests the nearest one."""
    found = BY_NAME.get(name.strip().lower())
    if found is None:
        raise HarkenError(
            f"unknown label '{name}'{did_you_mean(name.strip().lower(), BY_NAME) or '; see harken.labels'}"
        )
    return found


def emotion(name: str) -> str:
    """The canonical name of an emotion; an intent or an unknown name is an error."""
    found = label(name)
    if found.kind != "emotion":
        raise HarkenError(f"'{found.name}' is a response intent, not one of the 32 emotions")
    return found.name


def polarity(name: str) -> Polarity | None:
    """MIME's Table 1: positive or negative for an emotion, None for an intent or neutral."""
    return label(name).polarity
