"""Counts and words worked out by hand, then laws, then the paper's own Figure 3."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harken.corpora import library
from harken.corpora.base import Skips
from harken.corpora.empatheticdialogues import read_empatheticdialogues
from harken.corpora.stats import contrast, corpus_stats
from harken.corpora.stats_plot import plot_stats
from harken.corpora.words import content_words, count_tokens
from harken.dialogue import Dialogue, Split, Turn
from harken.errors import HarkenError


def talk(emotion: str | None, told: str, answered: str, split: Split = "train") -> Dialogue:
    return Dialogue(
        f"{emotion} {told}", (Turn("speaker", told), Turn("listener", answered)), emotion=emotion, split=split
    )


TALKS = [
    talk("sad", "My dog died. My good old dog.", "I'm so sorry!"),
    talk("sad", "Grandma’s dog died", "Sorry to hear that"),
    talk("joyful", "A puppy! A good puppy.", "How good!", "valid"),
    talk(None, "Hello", "Hi", "valid"),
]


def test_tokens_are_words_and_marks() -> None:
    """That's | great | ! and I | didn’t | know | , | 3 | times | …"""
    assert count_tokens("That's great!") == 3
    assert count_tokens("I didn’t know, 3 times…") == 7


def test_content_words_leave_grammar_and_clitics_out() -> None:
    assert list(content_words("I'm sure Mom’s DOG didn't bite the 2 of us, oh well")) == ["mom", "dog", "bite"]


def test_statistics_by_hand() -> None:
    """Train: 9 + 4 and 3 + 4 tokens are 20 in 4 turns; valid: 7 + 3 and 1 + 1 are 12. The sad say 'dog' three times."""
    stats = corpus_stats(TALKS, top=2).to_json()
    assert stats["splits"] == {
        "train": {"dialogues": 2, "turns": 4, "listener_turns": 2, "tokens_per_turn": 5.0},
        "valid": {"dialogues": 2, "turns": 4, "listener_turns": 2, "tokens_per_turn": 3.0},
    }
    assert stats["emotions"] == {
        "sad": {"share": 0.6667, "dialogues": 2, "speaker": ["dog", "died"], "listener": ["sorry", "hear"]},
        "joyful": {"share": 0.3333, "dialogues": 1, "speaker": ["puppy", "good"], "listener": ["good"]},
    }


def test_contrast_prefers_what_sets_an_emotion_apart() -> None:
    """'good' is used in both emotions and twice as often as 'dog', which only one of them uses."""
    here, everywhere = Counter(good=20, dog=10), Counter(good=60, dog=10, cat=30)
    scores = contrast(here, everywhere)
    assert scores["dog"] > 0 > scores["good"] - scores["dog"]


def test_contrast_by_hand() -> None:
    """One word of two, 3 of 4 here and 1 of 4 elsewhere; the prior weighs 1000 words, half of each.

    Odds here (3 + 500) / (1 + 500), elsewhere (1 + 500) / (3 + 500); variance 1/503 + 1/501.
    """
    score = contrast(Counter(a=3, b=1), Counter(a=4, b=4))["a"]
    assert score == pytest.approx(2 * math.log(503 / 501) / math.sqrt(1 / 503 + 1 / 501))


@given(st.lists(st.sampled_from(TALKS)))
def test_shares_sum_to_one_and_splits_to_all(talks: list[Dialogue]) -> None:
    stats = corpus_stats(talks)
    assert sum(split.dialogues for split in stats.splits.values()) == len(talks)
    assert sum(emotion.share for emotion in stats.emotions.values()) == pytest.approx(
        1 if stats.emotions else 0, abs=1e-3
    )


@pytest.mark.parametrize(("name", "magic"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")])
def test_a_plot_is_a_picture_of_its_kind(name: str, magic: bytes, tmp_path: Path) -> None:
    plot_stats(corpus_stats(TALKS), tmp_path / name, "Four talks")
    content = (tmp_path / name).read_bytes()
    assert content.startswith(magic)
    if name.endswith("svg"):
        assert all(word in content.decode() for word in ("Four talks", "joyful", "dog, died", "66.7%"))


def test_plots_that_cannot_be_drawn(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match=r"a\.txt: cannot draw '\.txt' files; end the name in \.png, \.svg, \.pdf"):
        plot_stats(corpus_stats(TALKS), tmp_path / "a.txt", "x")
    with pytest.raises(HarkenError, match="no dialogue with an emotion"):
        plot_stats(corpus_stats(TALKS[3:]), tmp_path / "a.png", "x")


def test_the_starter_corpus_is_counted_without_being_added(home: Path) -> None:
    stats = corpus_stats(library.iterate("starter"))
    assert len(stats.emotions) == 32
    assert sum(split.dialogues for split in stats.splits.values()) == library.manifest("starter").total
    assert not home.exists()


FIGURE_3 = {
    "surprised": (5.1, "shocked"), "excited": (3.8, "wait"), "angry": (3.6, "mad"), "proud": (3.5, "happy"),
    "annoyed": (3.4, "work"), "lonely": (3.3, "alone"), "afraid": (3.3, "scared"), "terrified": (3.2, "night"),
    "guilty": (3.2, "felt"), "disgusted": (3.2, "gross"), "furious": (3.2, "car"), "anxious": (3.1, "nervous"),
    "anticipating": (3.1, "wait"), "nostalgic": (3.1, "old"), "prepared": (3.0, "ready"), "jealous": (3.0, "friend"),
    "content": (2.9, "life"), "devastated": (2.9, "sad"), "caring": (2.7, "care"), "sentimental": (2.7, "old"),
    "trusting": (2.6, "trust"), "ashamed": (2.5, "bad"), "apprehensive": (2.4, "nervous"), "faithful": (1.9, "years"),
}  # fmt: skip
"""The paper's share in percent, and one of the three words it prints for the speaker."""


@pytest.mark.slow
def test_figure_3_of_the_paper(shared_data: Path) -> None:
    """15.2 words an utterance, the printed shares, and for every emotion the printed word among our first three."""
    read = read_empatheticdialogues(shared_data / "empatheticdialogues", Skips())
    stats = corpus_stats(dialogue for dialogue in read if dialogue.split == "train")
    assert stats.splits["train"].tokens_per_turn == pytest.approx(15.2, abs=0.1)
    assert next(iter(stats.emotions)) == "surprised"
    for name, (percent, word) in FIGURE_3.items():
        assert stats.emotions[name].share * 100 == pytest.approx(percent, abs=0.06), name
        assert word in stats.emotions[name].speaker, name
    assert stats.emotions["sad"].listener[:2] == ["sorry", "hear"]
    assert "scary" in stats.emotions["afraid"].listener
