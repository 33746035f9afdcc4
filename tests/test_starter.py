"""The starter corpus: balance, shape, and no copies of itself."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from harken.corpora.starter import starter_dialogues
from harken.dialogue import Dialogue
from harken.labels import EMOTIONS, INTENTS

STOCK = (
    "sorry to hear that", "that must be", "that must have been", "that sounds", "i can only imagine",
    "i understand how you", "completely understandable", "thank you for sharing",
    "i'm here for you", "feelings are valid", "as an ai",
)  # fmt: skip


@pytest.fixture(scope="module")
def corpus() -> list[Dialogue]:
    return starter_dialogues()


def replies(dialogues: list[Dialogue]) -> list[str]:
    return [turn.text for dialogue in dialogues for turn in dialogue.turns if turn.role == "listener"]


def words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def test_every_emotion_has_at_least_twenty_dialogues_and_splits(corpus: list[Dialogue]) -> None:
    for emotion in EMOTIONS:
        of = [dialogue for dialogue in corpus if dialogue.emotion == emotion]
        assert len(of) >= 20
        assert {dialogue.split for dialogue in of} == {"train", "valid", "test"}
        assert all(dialogue.situation for dialogue in of if not dialogue.extra.get("anywhere"))


def test_turns_alternate_from_speaker_to_listener_two_to_six(corpus: list[Dialogue]) -> None:
    for dialogue in corpus:
        assert 2 <= len(dialogue.turns) <= 6, dialogue.id
        assert dialogue.turns[0].role == "speaker" and dialogue.turns[-1].role == "listener", dialogue.id
        assert all(a.role != b.role for a, b in pairwise(dialogue.turns)), dialogue.id


def test_ids_are_unique(corpus: list[Dialogue]) -> None:
    assert len({dialogue.id for dialogue in corpus}) == len(corpus)


def test_every_listener_turn_has_an_intent_and_all_nine_are_well_used(corpus: list[Dialogue]) -> None:
    used = Counter(turn.label for dialogue in corpus for turn in dialogue.turns if turn.role == "listener")
    assert set(used) == set(INTENTS)
    assert min(used.values()) >= 0.04 * sum(used.values()), used
    assert all(turn.label is None for dialogue in corpus for turn in dialogue.turns if turn.role == "speaker")


def test_no_near_duplicates(corpus: list[Dialogue]) -> None:
    """No two stories share half of their five-letter pieces."""
    stories = [dialogue for dialogue in corpus if dialogue.emotion]
    texts = [" ".join(words(" ".join(turn.text for turn in dialogue.turns))) for dialogue in stories]
    pieces = CountVectorizer(analyzer="char", ngram_range=(5, 5), binary=True).fit_transform(texts)
    sizes = np.asarray(pieces.sum(axis=1)).ravel()
    shared = (pieces.astype(np.int32) @ pieces.T.astype(np.int32)).tocoo()
    near = [
        (stories[i].id, stories[j].id)
        for i, j, n in zip(shared.row, shared.col, shared.data, strict=True)
        if i < j and n > 0.5 * min(sizes[i], sizes[j])
    ]
    assert not near


def test_no_reply_is_said_twice(corpus: list[Dialogue]) -> None:
    twice = [text for text, n in Counter(" ".join(words(text)) for text in replies(corpus)).items() if n > 1]
    assert not twice


def test_no_template_phrases(corpus: list[Dialogue]) -> None:
    """Stock phrases in at most one reply of a hundred together, no three opening words in more than one of fifty."""
    said = replies(corpus)
    stock = [text for text in said if any(phrase in text.lower() for phrase in STOCK)]
    assert len(stock) <= len(said) / 100, stock[:5]
    opening, times = Counter(" ".join(words(text)[:3]) for text in said).most_common(1)[0]
    assert times <= len(said) / 50, (opening, times)


def test_registers_and_lengths_vary(corpus: list[Dialogue]) -> None:
    openings = [dialogue.turns[0].text for dialogue in corpus if dialogue.emotion]
    lengths = sorted(len(words(text)) for text in openings)
    assert lengths[len(lengths) // 10] <= 8, "a tenth of the openings are short"
    assert lengths[-len(lengths) // 10] >= 22, "a tenth are long"
    lower = sum(text[0].islower() for text in openings)
    assert 0.1 < lower / len(openings) < 0.6, "some people type without capitals"
