"""Exemplars: LEMPEx's negatives (Algorithm 2) and retrieval (Algorithm 3) on dialogues small enough to see through."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from harken.classifiers.base import Advance, Classifier, Item
from harken.corpora import store
from harken.dialogue import Dialogue, Turn
from harken.errors import HarkenError
from harken.exemplar_files import Filter, read_exemplars
from harken.retrieval.compare import compare
from harken.retrieval.exemplars import Finder, vote, write_exemplars
from harken.retrieval.index import build_index
from harken.retrieval.pairs import Negatives, Pair, pairs_of
from harken.retrieval.pool import gather
from harken.retrieval.rankers import Context, Side, TransformerRanker
from harken.text.encoder import Vectors
from retrieval_parts import small_transformer

AXES = ("dog", "cat", "race")
TALKS = {
    "a": ("sad", ["my dog died", "oh no the dog", "the dog was old", "so sorry"]),
    "b": ("sad", ["i lost my dog", "poor dog"]),
    "c": ("proud", ["my dog won the race", "well done dog"]),
    "d": ("proud", ["i won the race", "well done", "the race was long", "So  sorry"]),
    "e": ("angry", ["the cat bit me", "bad cat"]),
    "f": ("angry", ["a cat again", "oh cat"]),
}


def talk(name: str) -> Dialogue:
    emotion, said = TALKS[name]
    turns = tuple(Turn("listener" if i % 2 else "speaker", text) for i, text in enumerate(said))
    return Dialogue(name, turns, emotion=emotion, source="own")


class Counting(TransformerRanker):
    """A ranker one can follow by hand: a text's vector counts dogs, cats and races, and then its words in hundredths."""

    def encode(self, side: Side, texts: Sequence[Context], **_: object) -> Vectors:
        rows = [" ".join(turns).lower() for turns in texts]
        return np.array([[*(row.count(a) for a in AXES), 0.01 * len(row.split())] for row in rows], dtype=np.float32)


@pytest.fixture
def finder(home: Path, tmp_path: Path) -> Finder:
    store.save("own", map(talk, TALKS), title="", citation="", licence="", origin="here")
    plain = small_transformer()
    ranker = Counting(plain.config, plain.vocabulary)
    return Finder(build_index(ranker, "run", gather(map(talk, TALKS)), tmp_path / "index", corpora=["own"]))


def first(finder: Finder, pair: Pair, emotions: Filter, q: int = 9) -> list[str]:
    return [one.text for one in next(finder.find([pair], q, emotions)).exemplars]


def test_negatives_are_of_the_same_and_of_another_emotion_and_of_another_dialogue() -> None:
    """For `a` (sad) D1 holds one response, b's; D2 the five of c, d, e and f."""
    pairs = [pair for name in TALKS for pair in pairs_of(talk(name), 4)]
    negatives, chance = Negatives(pairs), random.Random(0)
    drawn = [negatives.draw(0, chance) for _ in range(200)]
    assert {same for same, _ in drawn} == {"poor dog"}
    assert {other for _, other in drawn} == {"well done dog", "well done", "So  sorry", "bad cat", "oh cat"}


def test_negatives_that_cannot_be_drawn() -> None:
    with pytest.raises(HarkenError, match="at least two emotions"):
        Negatives([pair for name in "ab" for pair in pairs_of(talk(name), 4)])
    with pytest.raises(HarkenError, match="only one dialogue has the emotion 'proud'"):
        Negatives([pair for name in "abc" for pair in pairs_of(talk(name), 4)])


def test_algorithm_3_by_hand(finder: Finder) -> None:
    """`my dog died` is (1, 0, 0, .03): dogs score 1 and the more the longer; without an emotion filter in this order."""
    pair = Pair("x", ("my dog died",), "never said", "own/x", "sad")
    found = next(finder.find([pair], 3, "none")).exemplars
    assert [one.text for one in found] == ["oh no the dog", "well done dog", "poor dog"]
    assert [one.score for one in found] == pytest.approx([1 + 0.03 * 0.04, 1 + 0.03 * 0.03, 1 + 0.03 * 0.02])
    assert found[0].said == "my dog died"
    assert found[0].dialogue == "own/a"


def test_never_the_same_dialogue_nor_the_gold_response(finder: Finder) -> None:
    """`a` loses its own two, of which `So  sorry` was said in `d` as well; a gold response goes by its words."""
    own = pairs_of(talk("a"), 4)[0]
    found = first(finder, own, "none")
    assert "oh no the dog" not in found
    assert "so sorry" not in found
    assert found[0] == "well done dog"
    gold = Pair("x", ("my dog died",), "WELL done  dog", "own/x", "sad")
    assert first(finder, gold, "none")[:2] == ["oh no the dog", "poor dog"]


def test_filters(finder: Finder) -> None:
    """Gold lets only proud candidates through; the vote for a dog is sad (2 shares of e^1 against 1), so predicted too."""
    pair = Pair("x", ("my dog died",), "", "own/x", "proud")
    assert first(finder, pair, "gold") == ["well done dog", "well done", "so sorry"]
    predicted = next(finder.find([pair], 9, "predicted"))
    assert predicted.emotion == "sad"
    assert [one.text for one in predicted.exemplars] == ["oh no the dog", "poor dog", "so sorry"]
    assert set(first(finder, pair, "none")) == {
        "oh no the dog", "poor dog", "so sorry", "well done dog", "well done", "bad cat", "oh cat"
    }  # fmt: skip
    with pytest.raises(HarkenError, match="'x' has no gold emotion"):
        first(finder, Pair("x", ("dog",), "", "own/x", None), "gold")


def test_a_vote_by_hand() -> None:
    """Shares 1 for sad; e^-ln 2 / 2 = 1/4 each for sad and proud; e^0 for proud: 5/4 against 5/4 is a tie, by name."""
    ln2 = float(np.log(2))
    nearest = [(1.0, ["sad"]), (1.0 - ln2, ["sad", "proud"]), (1.0, ["proud"])]
    assert vote(nearest, 1.0) == "proud"
    assert vote([*nearest, (1.0 - ln2, ["sad"])], 1.0) == "sad"
    assert vote([(1.0, [])], 1.0) is None


def test_a_dialogue_has_no_vote_on_itself(finder: Finder) -> None:
    """With its own candidates `a cat again` is angry twice; `f` asked as itself still has e's vote."""
    own = pairs_of(talk("f"), 4)[0]
    assert next(finder.find([own], 1, "predicted")).emotion == "angry"
    assert first(finder, own, "predicted") == ["bad cat"]


class Says:
    """A scorer that is sure of one label."""

    def __init__(self, label: int) -> None:
        self.label = label

    def scores(self, items: Sequence[Item], advance: Advance | None = None) -> Vectors:
        return np.eye(3, dtype=np.float32)[[self.label] * len(items)]


def test_a_classifier_takes_the_place_of_the_vote(finder: Finder) -> None:
    labels = ("angry", "proud", "sad")
    asked = Pair("x", ("my dog died",), "", "own/x", "sad")
    led = Finder(finder.index, Classifier("emotion", labels, Says(0), "abc"))
    assert led.predictor == "abc"
    assert set(first(led, asked, "predicted")) == {"bad cat", "oh cat"}
    assert first(led, asked, "gold") == first(finder, asked, "gold")
    with pytest.raises(HarkenError, match="a classifier of 'empathy-exploration' predicts no emotions"):
        Finder(finder.index, Classifier("empathy-exploration", ("no", "weak", "strong"), Says(0), "abc"))


def test_files_say_what_they_were_made_of(finder: Finder, tmp_path: Path) -> None:
    path = tmp_path / "exemplars.jsonl"
    write_exemplars(finder, path, corpus="own", split="train", q=2)
    header, found = read_exemplars(path)
    assert header.index == finder.index.manifest.hash
    assert header.corpus_sha256 == store.manifest("own").sha256
    assert (header.filter, header.emotions, header.q) == ("predicted", "vote-of-50", 2)
    assert "LEAK" not in header.note.upper()
    assert list(found) == ["a:1", "a:3", "b:1", "c:1", "d:1", "d:3", "e:1", "f:1"]
    assert found["a:1"].texts == ("well done dog", "well done")  # without its own, proud has most of the dogs' vote
    assert found["e:1"].texts == ("oh cat",)
    gold = write_exemplars(finder, path, corpus="own", split="train", q=2, emotions="gold", limit=1)
    assert "GOLD" in gold.note
    assert "leak" in gold.note
    assert [json.loads(line).get("emotion") for line in path.read_text(encoding="utf-8").splitlines()][1:] == ["sad"]


def test_live_exemplars(finder: Finder) -> None:
    found = finder.live(["hello", "oh hi", "the cat bit my cat"], 2)
    assert found.emotion == "angry"
    assert {one.text for one in found.exemplars} == {"bad cat", "oh cat"}
    with pytest.raises(HarkenError, match="no gold emotion"):
        finder.live(["hello"], emotions="gold")


def test_broken_files(tmp_path: Path) -> None:
    path = tmp_path / "exemplars.jsonl"
    path.write_text("", encoding="utf-8")
    with pytest.raises(HarkenError, match="is empty"):
        read_exemplars(path)
    path.write_text('{"id": "a:1", "exemplars": []}\n', encoding="utf-8")
    with pytest.raises(HarkenError, match=r"exemplars.jsonl:1: is not a line of an exemplar file"):
        read_exemplars(path)


def test_table_3_beside_each_other(finder: Finder) -> None:
    """Two columns of the same index agree; words 3, 2, 3 on average, and one exemplar in three comes once."""
    pairs = [pairs_of(talk(name), 4)[0] for name in "abe"]
    rows, columns = compare([finder, finder], pairs)
    assert [row.exemplars for row in rows] == [(text, text) for text in ("well done dog", "oh no the dog", "oh cat")]
    assert rows[0].reference == "oh no the dog"
    assert columns[0].words == pytest.approx((3 + 4 + 2) / 3)
    assert columns[0].distinct == 100
    twice = compare([finder], [pairs[0], pairs[0], pairs[2]])[1]
    assert twice[0].distinct == pytest.approx(100 / 3)
