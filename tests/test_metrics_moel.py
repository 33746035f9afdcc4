"""The MoEL family's text preparation, and what it makes of real responses."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from harken.corpora import CORPORA
from harken.corpora.base import Skips
from harken.dialogue import examples
from harken.scoring.material import Material, Settings
from harken.scoring.metrics import metric
from harken.scoring.replies import ReplyRecord
from harken.text.moel import CONTRACTIONS, expand, words

pytest.importorskip("nltk")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("That's great!", "that is great !"),
        ("I can't. I won't, OK?", "i can not . i will not , ok ?"),
        ('She said "hi"...', "she said `` hi '' ..."),
        ("He shouldn't, I'd say; they'd agree.", "he should n't , i would say ; they 'd agree ."),
        ("I saw Dr. Smith. He helped.", "i saw dr. smith . he helped ."),
        ("at 5 p.m. today", "at 5 p.m. today"),
        (
            "I turned 30. It was fun",
            "i turned 30. it was fun",
        ),  # Punkt takes a number before a small letter for an ordinal
        ("the bandit's horse", "the bandit is horse"),  # plain substrings, as the releases replace them
        ("", ""),
    ],
)
def test_words_by_hand(text: str, tokens: str) -> None:
    assert words(text) == tokens.split()


def test_there_are_23_contractions_and_expanding_leaves_none() -> None:
    assert len(CONTRACTIONS) == 23
    assert not any(short in expand(f"So {short} here") for short in CONTRACTIONS)


@pytest.mark.slow
def test_human_responses_have_the_recorded_variety(shared_data: Path) -> None:
    """Distinct-1 of the gold responses: 6.0 % on the test set, about 17 % on 500 of them."""
    corpus = CORPORA["empatheticdialogues"]
    said = [
        ReplyRecord(example.id, example.response.text)
        for dialogue in corpus.read(shared_data / "empatheticdialogues", Skips())
        if dialogue.split == "test"
        for example in examples(dialogue)
    ]
    assert len(said) == pytest.approx(5255, abs=5)

    def distinct(records: list[ReplyRecord]) -> float:
        return metric("distinct-1").measure(Material(records, Settings(tokenize="moel"))).value

    assert distinct(said) == pytest.approx(6.0, abs=0.1)
    assert distinct(random.Random(0).sample(said, 500)) == pytest.approx(16.9, abs=0.5)
