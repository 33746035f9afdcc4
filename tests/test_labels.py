"""The table of 41 labels against what the papers print."""

from __future__ import annotations

import pytest

from harken.errors import HarkenError
from harken.labels import EMOTIONS, GROUPS, INTENTS, LABELS, NEGATIVE, POSITIVE, emotion, label, polarity


def test_meed2_counts_32_emotions_8_intents_and_neutral() -> None:
    assert len(LABELS) == 41
    assert len(EMOTIONS) == 32
    assert len(INTENTS) == 9
    assert INTENTS[-1] == "neutral"


def test_order_is_the_class_number() -> None:
    """Emotions alphabetically 0-31, intents from 32, questioning 38, wishing 39, neutral 40."""
    assert [entry.index for entry in LABELS] == list(range(41))
    assert list(EMOTIONS) == sorted(EMOTIONS)
    assert [label(name).index for name in ("afraid", "trusting", "agreeing", "questioning", "wishing", "neutral")] == [
        0, 31, 32, 38, 39, 40,
    ]  # fmt: skip


def test_polarity_is_table_1_of_mime() -> None:
    """13 positive, 19 negative; surprised is positive, anticipating and nostalgic negative, as printed."""
    assert set(POSITIVE) == {
        "confident", "joyful", "grateful", "impressed", "proud", "excited", "trusting", "hopeful", "faithful", "prepared",
        "content", "surprised", "caring",
    }  # fmt: skip
    assert len(NEGATIVE) == 19
    assert polarity("anticipating") == polarity("nostalgic") == "negative"
    assert polarity("questioning") is None
    assert set(POSITIVE) | set(NEGATIVE) == set(EMOTIONS)


def test_sixteen_groups_cover_every_emotion_and_no_intent() -> None:
    assert len(GROUPS) == 16
    assert {entry.group for entry in LABELS if entry.kind == "emotion"} == set(GROUPS)
    assert {entry.group for entry in LABELS if entry.kind != "emotion"} == {None}


def test_names_are_found_whatever_their_case_and_typos_are_answered() -> None:
    assert label(" Wishing ").name == "wishing"
    with pytest.raises(HarkenError, match="did you mean 'nostalgic'"):
        label("nostalgc")
    with pytest.raises(HarkenError, match="response intent"):
        emotion("questioning")
