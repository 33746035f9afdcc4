"""Turn segmentation: features and decisions by hand, laws over any lines, learning from a written corpus, MELD."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harken.corpora.base import Skips
from harken.corpora.meld import read_meld
from harken.curation.records import Line, Source, Spoken, Subtitle
from harken.curation.segmentation import SHIPPED, Segmenter, names, segment, title
from harken.curation.segmentation_features import BAG, BAGS, TEMPLATES, WORD_FACTS, read, size, values_of, words
from harken.curation.segmentation_pairs import measured_passages, sentences, timed_sentences, training_passages
from harken.curation.segmentation_training import (
    Evaluation,
    evaluate_segmenter,
    learnt_lists,
    train_from_corpus,
    train_segmenter,
)
from harken.dialogue import Dialogue, Turn
from harken.errors import HarkenError

LISTS: dict[str, tuple[str, ...]] = {
    "first": ("no", "where"),
    "opening": ("no i",),
    "last": ("anna", "left"),
    BAG: ("because", "left", "you"),
}


def facts(*lines: Line) -> dict[str, list[str]]:
    """The facts of lines and pairs, in words."""
    reading = read(lines, LISTS)
    return {
        name: [values_of(name, LISTS)[number] for number in numbers]
        for name, numbers in {**reading.lines, **reading.pairs}.items()
    }


def written(bias: float = 0.0, **weights: Mapping[str, float]) -> Segmenter:
    """A segmenter whose few weights are written down; `a_end__b_first` stands for the template `a.end b.first`."""
    made = {title(template): np.zeros(size(template, LISTS)) for template in (*TEMPLATES, *BAGS)}
    for key, values in weights.items():
        template = tuple(part.replace("_", ".", 1) for part in key.split("__"))
        for name, weight in values.items():
            made[title(template)][list(names(template, LISTS)).index(name)] = weight
    return Segmenter(bias, LISTS, made)


# By hand


def test_facts_of_a_question_and_its_answer() -> None:
    found = facts(Line("Where did you see Anna?", 10.0, 11.0), Line("No, I left her, Tom!", 11.25, 14.25))
    assert found["end"] == ["?", "!"]
    assert found["start"] == ["capital", "capital"]
    assert found["first"] == ["where", "no"]
    assert found["opening"] == ["*", "no i"]
    assert found["last"] == ["anna", "*"]
    assert found["who"] == ["you", "i"]
    assert found["call"] == ["none", "last"]
    assert found["length"] == [">=4", ">=4"]  # five words each
    assert found["gap"] == [">=0.1"]  # 11.25 - 11.0
    assert found["shared"] == ["none"]


@pytest.mark.parametrize(
    ("text", "end", "start"),
    [
        ("and then...", "...", "lower"),
        ("...where it ends.", ".", "..."),
        ("Well,", ",", "capital"),
        ("But I--", "-", "capital"),
        ('"Munch"', '"', "other"),
        ("12 of them", "letter", "other"),
        ("", "letter", "other"),
    ],
)
def test_ends_and_starts(text: str, end: str, start: str) -> None:
    found = facts(Line(text))
    assert (found["end"], found["start"]) == ([end], [start])


def test_the_pause_has_classes_and_may_be_unknown() -> None:
    pauses = [-1.0, 0.0, 0.5, 4.0, 60.0]
    found = [facts(Line("Yes.", 0.0, 10.0), Line("No.", 10.0 + pause, 99.0))["gap"][0] for pause in pauses]
    assert found == ["<-0.5", ">=-0.5", ">=0.3", ">=3.0", ">=5.0"]
    assert facts(Line("Yes.", 0.0, None), Line("No.", 3.0, 4.0))["gap"] == ["unknown"]
    assert facts(Line("Yes.", 0.0, 2.0), Line("No.", None, 4.0))["gap"] == ["unknown"]


def test_shared_words_are_those_of_the_line_just_before() -> None:
    lines = [
        Line(text) for text in ("We must go home.", "Go home!", "Go now, he said.", "Where?", "You go home, home.")
    ]
    assert facts(*lines)["shared"] == ["all", "one", "none", "none"]
    assert facts(Line("I saw you there."), Line("You saw me."))["shared"] == ["some"]


def test_names_are_called_at_either_end() -> None:
    texts = ("Anna, come here.", "Come here, Anna!", "Well, come here.", "He came, and went.")
    assert facts(*map(Line, texts))["call"] == ["first", "last", "none", "none"]


def test_words_read_spaced_tokens_like_text() -> None:
    assert words("He 'll go , won 't he ?") == words("He’ll go, won't he?") == ["he", "'ll", "go", "won", "'t", "he"]


def test_a_score_is_the_sum_of_its_weights() -> None:
    """Bias 0.5; a question before `no` -2; `because` in the second line 0.75, twice; `you` in the first -0.25."""
    segmenter = written(0.5, a_end__b_first={"?|no": -2.0}, b_bag={"because": 0.75}, a_bag={"you": -0.25})
    lines = [Line("Did you?"), Line("No, because, because..."), Line("Fine.")]
    assert segmenter.scores(lines).tolist() == [0.5 - 2.0 + 1.5 - 0.25, 0.5]
    assert segmenter.same_speaker(lines).tolist() == [False, True]


def test_dashes_and_names_decide_before_the_classifier() -> None:
    same, other = written(1.0), written(-1.0)
    dashed = [Line("Hi."), Line("Hello.", dash=True), Line("Come in.")]
    assert same.same_speaker(dashed).tolist() == [False, True]
    named = [Line("Hi.", name="ANN"), Line("Come in."), Line("Sit down.", name="ANN"), Line("Thanks.", name="BOB")]
    assert same.same_speaker(named).tolist() == [True, True, False]
    assert other.same_speaker(named).tolist() == [False, False, False]  # another spoke between Ann's two lines
    assert other.same_speaker([named[0], named[2]]).tolist() == [True]


def test_where_dashes_are_the_custom_their_absence_tells() -> None:
    """In one block (no time between the lines) and without a dash it is one person; between blocks nobody knows."""
    block = [Line("Hi.", 1.0, None), Line("Come in.", None, None), Line("Sit down.", None, 3.0), Line("Tea?", 3.5, 4.0)]
    dash = Line("Thanks.", 5.0, 6.0, dash=True)
    other = written(-1.0)
    assert other.same_speaker([*block, dash]).tolist() == [True, True, False, False]
    assert other.same_speaker(block).tolist() == [False] * 3
    timeless = [replace(line, start=None, end=None) for line in (*block, dash)]
    assert other.same_speaker(timeless).tolist() == [False] * 4


def test_lines_of_one_speaker_are_joined() -> None:
    lines = (Line("Come in.", 1.0, None), Line("Sit down.", None, 3.0), Line("Thanks.", 3.5, 4.0, dash=True))
    subtitle = Subtitle(Source("a", "a.srt"), lines)
    assert segment(subtitle, written(1.0)) == (Spoken("Come in. Sit down.", 1.0, 3.0), Spoken("Thanks.", 3.5, 4.0))
    assert segment(replace(subtitle, lines=()), written()) == ()


def scene(*turns: tuple[str, str], times: bool = False) -> Dialogue:
    return Dialogue(
        "d",
        tuple(
            Turn("speaker", text, extra={"name": name, **({"start": 10.0 * k, "end": 10.0 * k + 8.0} if times else {})})
            for k, (name, text) in enumerate(turns)
        ),
    )


def test_the_two_protocols() -> None:
    dialogue = scene(("Ann", "It rains. Stay!"), ("Ann", "Please."), ("Bob", "Why?"), times=True)
    ((lines, same),) = measured_passages([dialogue], "utterances")
    assert [(line.text, line.start, line.end) for line in lines][1:] == [("Please.", 10.0, 18.0), ("Why?", 20.0, 28.0)]
    assert same.tolist() == [True, False]
    ((lines, same),) = measured_passages([dialogue], "sentences")
    assert lines == [Line("It rains."), Line("Stay!"), Line("Please."), Line("Why?")]
    assert same.tolist() == [True, True, False]


def test_sentences_end_before_a_capital_or_a_number() -> None:
    text = 'He said "Go!" Then... nothing. 5 of us?! Yes'
    assert sentences(text) == ['He said "Go!"', "Then... nothing.", "5 of us?!", "Yes"]


def test_a_clock_runs_through_sentences() -> None:
    """8 s by letters: `It rains.` has 9 of 18, `Stay now!` too; a pause of 0.5 between; then the real 2 s."""
    dialogue = scene(("Ann", "It rains. Stay now!"), ("Bob", "Why?"), times=True)
    lines, _ = timed_sentences(dialogue, [0.5], random.Random(0))
    assert [(line.start, line.end) for line in lines] == [(0.0, 4.0), (4.5, 8.5), (10.5, 18.5)]


def test_training_lines_are_cut_like_subtitles() -> None:
    long = (
        "I waited for you at the station in the rain until the very last train of the evening had left for the coast."
    )
    ((lines, same),) = training_passages([scene(("Ann", long), ("Bob", "Oh."))], "sentences")
    assert [len(line.text) <= 84 for line in lines] == [True] * 3
    assert " ".join(line.text for line in lines[:2]) == long
    assert same.tolist() == [True, False]


def test_names_of_a_series_are_not_learnt() -> None:
    lists = learnt_lists(["Well, I like Marvin, you know.", "Marvin left."] * 10)
    assert "marvin" not in lists[BAG]
    assert {"i", "like", "know", "left"} <= set(lists[BAG])
    assert (lists["first"], lists["opening"]) == (("well",), ("well i",))


def test_an_evaluation_by_hand() -> None:
    """Answers same, change, change; always `change` is right in 2 of 3, finds no `same`, and its margin is nothing."""
    dialogue = scene(("Ann", "Oh."), ("Ann", "No."), ("Bob", "Why?"), ("Ann", "Well."))
    found = evaluate_segmenter(written(-1.0), [dialogue], "utterances")
    assert (found.pairs, found.accuracy, found.majority) == pytest.approx((3, 2 / 3, 2 / 3))
    assert (found.low, found.high, found.margin_low, found.margin_high) == pytest.approx((2 / 3, 2 / 3, 0, 0))
    assert (found.change.precision, found.change.recall, found.change.f1) == pytest.approx((2 / 3, 1, 0.8))
    assert (found.same.precision, found.same.recall, found.same.f1, found.same.pairs) == (0, 0, 0, 1)


# Laws

LINES = st.lists(
    st.builds(
        Line,
        st.one_of(
            st.text(max_size=30),
            st.lists(st.sampled_from("no No, where you I'm because left ... ? ! Anna’s".split())).map(" ".join),
        ),
        st.none() | st.floats(0, 100),
        st.none() | st.floats(0, 100),
        dash=st.booleans(),
        name=st.none() | st.sampled_from(["ANN", "BOB"]),
    ),
    min_size=1,
    max_size=12,
)


def random_weights() -> Segmenter:
    rng = np.random.default_rng(0)
    plain = written()
    return replace(plain, weights={name: rng.normal(size=len(part)) for name, part in plain.weights.items()})


@settings(max_examples=40, deadline=None)
@given(LINES)
def test_a_pair_scores_the_same_alone_and_in_its_file(lines: list[Line]) -> None:
    segmenter = random_weights()
    alone = [segmenter.scores(lines[place : place + 2])[0] for place in range(len(lines) - 1)]
    assert segmenter.scores(lines).tolist() == pytest.approx(alone)


@settings(max_examples=40, deadline=None)
@given(LINES)
def test_turns_are_the_lines_in_their_order(lines: list[Line]) -> None:
    turns = segment(Subtitle(Source("a", "a"), tuple(lines)), random_weights())
    assert " ".join(turn.text for turn in turns) == " ".join(line.text for line in lines)
    assert (turns[0].start, turns[-1].end) == (lines[0].start, lines[-1].end)
    assert len(turns) >= 1 + sum(line.dash for line in lines[1:])


def test_a_saved_segmenter_is_the_same(tmp_path: Path) -> None:
    made = replace(random_weights(), provenance={"corpus": "written"})
    made.save(tmp_path / "s.json")
    read_back = Segmenter.load(tmp_path / "s.json")
    assert read_back.lists == made.lists
    assert read_back.provenance == made.provenance
    lines = [Line("Where did you see Anna?", 1, 2), Line("No, I left."), Line("Because!", 4, 5)]
    assert (read_back.scores(lines) == made.scores(lines)).all()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "other"}, "not a segmenter of this version"),
        ({"bias": None}, "a part missing"),
        ({"lists": {"first": []}}, "a part missing"),
        ({"weights": {"a.end b.frist": {}}}, "unknown template 'a.end b.frist'; did you mean 'a.end b.first'"),
        ({"weights": {"gap": {"tomorrow": 1.0}}}, "'gap' has no value 'tomorrow'"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, change: dict[str, object], says: str) -> None:
    path = tmp_path / "s.json"
    written().save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(HarkenError, match=says):
        Segmenter.load(path)


def test_a_missing_or_foreign_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match="there is no such segmenter"):
        Segmenter.load(tmp_path / "none.json")
    (tmp_path / "text.json").write_text("weights")
    with pytest.raises(HarkenError, match="not JSON"):
        Segmenter.load(tmp_path / "text.json")


# Learning


def tales(seed: int, count: int = 20) -> list[Dialogue]:
    """Ann asks, Bob answers at once; who tells goes on with `and`."""
    rng = random.Random(seed)
    things = "the dog|a boat|my aunt|the rain|some bread|a letter".split("|")
    made = []
    for _ in range(count):
        turns = []
        for _ in range(4):
            one, two, three = rng.sample(things, 3)
            turns += [("Ann", f"Did they bring {one}?"), ("Bob", f"They brought {two}."), ("Bob", f"And then {three}.")]
        made.append(scene(*turns, times=bool(rng.getrandbits(1))))
    return made


def test_an_obvious_cue_is_learnt() -> None:
    segmenter = train_segmenter(tales(0), tales(1))
    found = evaluate_segmenter(segmenter, tales(2))
    assert found.majority < 0.7
    assert found.accuracy == 1.0
    assert segmenter.provenance["valid_accuracy"] == 1.0
    # Every question is answered by Bob, every `And` is his own, and he is followed by Ann.
    lines = [Line("Did they bring a fish?"), Line("They brought a fish."), Line("And then a fish.")]
    assert segmenter.same_speaker(lines).tolist() == [False, True]


def test_training_twice_gives_the_same_weights() -> None:
    one, two = (train_segmenter(tales(0), tales(1)) for _ in range(2))
    assert all((one.weights[name] == two.weights[name]).all() for name in one.weights)


def test_one_speaker_alone_teaches_nothing() -> None:
    monologue = [scene(("Ann", "It rains."), ("Ann", "It pours."))]
    with pytest.raises(HarkenError, match="no pairs of lines to learn from"):
        train_segmenter(monologue, monologue)
    with pytest.raises(HarkenError, match="no pairs of lines to measure on"):
        evaluate_segmenter(written(), [scene(("Ann", "It rains."))])


# The shipped model


def test_the_shipped_segmenter_knows_plain_cases() -> None:
    segmenter = Segmenter.load()
    assert set(segmenter.lists) == {*WORD_FACTS, BAG}
    for question, answer in (("Are you coming with us?", "No."), ("Where have you been?", "Oh, nowhere.")):
        assert not segmenter.same_speaker([Line(question), Line(answer)])[0]
    told = [
        Line("I have to work tomorrow,"),
        Line("and the boss wants us all there"),
        Line("because it's the last day."),
    ]
    assert segmenter.same_speaker(told).tolist() == [True, True]
    assert SHIPPED.stat().st_size < 300_000
    assert {"corpus", "pairs", "test", "date", "command"} <= set(segmenter.provenance)


@pytest.fixture(scope="module")
def meld(shared_data: Path) -> dict[str, list[Dialogue]]:
    dialogues = list(read_meld(shared_data / "meld", Skips()))
    return {split: [d for d in dialogues if d.split == split] for split in ("train", "valid", "test")}


def as_claimed(segmenter: Segmenter, found: Evaluation) -> bool:
    claims = {claim["protocol"]: claim for claim in segmenter.provenance["test"]}
    claim = claims[found.protocol]
    return bool(claim["pairs"] == found.pairs and claim["accuracy"] == pytest.approx(found.accuracy, abs=0.001))


def test_the_shipped_segmenter_on_meld(meld: dict[str, list[Dialogue]]) -> None:
    """As sentence lines without times: ten points or more above the majority, and what its file claims."""
    segmenter = Segmenter.load()
    found = evaluate_segmenter(segmenter, meld["test"], "sentences")
    assert found.margin_low > 0.1
    assert as_claimed(segmenter, found)
    assert as_claimed(segmenter, evaluate_segmenter(segmenter, meld["test"], "utterances"))


@pytest.mark.slow
def test_utterance_pairs_of_meld_are_learnt(meld: dict[str, list[Dialogue]]) -> None:
    """As given, three of four pairs are changes; trained on such pairs, the margin's whole interval lies above zero."""
    segmenter = train_segmenter(meld["train"], meld["valid"], "utterances")
    found = evaluate_segmenter(segmenter, meld["test"], "utterances")
    assert found.majority > 0.75
    assert found.margin_low > 0


def test_a_stored_corpus_becomes_a_file(home: Path, tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match="no_such"):
        train_from_corpus("no_such", tmp_path / "s.json")
    assert not (tmp_path / "s.json").exists()
