"""Records: round trips, the papers' way of making examples, and messages for broken records."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harken.dialogue import Dialogue, Turn, dialogue_from_json, examples, opened_by_situation, split
from harken.errors import HarkenError
from harken.labels import EMOTIONS, LABELS

words = st.text(min_size=1).filter(lambda text: text.strip() != "")
turns = st.builds(
    Turn,
    role=st.sampled_from(["speaker", "listener"]),
    text=words,
    label=st.none() | st.sampled_from([entry.name for entry in LABELS]),
    extra=st.dictionaries(words, st.integers() | words, max_size=2),
)
dialogues = st.builds(
    Dialogue,
    id=words,
    turns=st.lists(turns, min_size=1, max_size=6).map(tuple),
    emotion=st.none() | st.sampled_from(EMOTIONS),
    situation=st.none() | words,
    split=st.sampled_from(["train", "valid", "test"]),
    source=words,
    persona=st.lists(words, max_size=2).map(tuple),
)


@given(dialogues)
def test_json_round_trip(dialogue: Dialogue) -> None:
    assert dialogue_from_json(dialogue.to_json()) == dialogue


def talk(*roles: str) -> Dialogue:
    return Dialogue(id="d", turns=tuple(Turn(role, f"t{i}") for i, role in enumerate(roles)))  # type: ignore[arg-type]


def test_one_example_per_listener_turn_with_all_turns_before_it() -> None:
    """s l s l gives two examples: context (t0) for t1, and (t0 t1 t2) for t3."""
    found = list(examples(talk("speaker", "listener", "speaker", "listener")))
    assert [(e.id, [t.text for t in e.context], e.response.text) for e in found] == [
        ("d:1", ["t0"], "t1"),
        ("d:3", ["t0", "t1", "t2"], "t3"),
    ]


def test_history_keeps_the_last_turns() -> None:
    (_, second) = examples(talk("speaker", "listener", "speaker", "listener"), history=2)
    assert [turn.text for turn in second.context] == ["t1", "t2"]


def test_a_listener_who_opens_has_nothing_to_answer() -> None:
    assert [e.id for e in examples(talk("listener", "speaker", "listener"))] == ["d:2"]


@given(dialogues, st.none() | st.integers(1, 8))
def test_every_context_is_a_contiguous_past(dialogue: Dialogue, history: int | None) -> None:
    for example in examples(dialogue, history):
        position = int(example.id.rsplit(":", 1)[1])
        assert dialogue.turns[position] == example.response
        assert dialogue.turns[position - len(example.context) : position] == example.context
        assert 1 <= len(example.context) <= (history or len(dialogue.turns))


def test_a_history_of_nothing_is_refused() -> None:
    with pytest.raises(HarkenError, match="at least 1"):
        list(examples(talk("speaker", "listener"), history=0))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "must be a JSON object"),
        ({"turns": []}, "lacks its field 'id'"),
        ({"id": "a", "turns": []}, "at least one turn"),
        ({"id": "a", "turns": [{"role": "bot", "text": "x"}]}, "use speaker or listener"),
        ({"id": "a", "turns": [{"role": "speaker", "text": " "}]}, "text is empty"),
        ({"id": "a", "turns": [{"role": "speaker", "text": 3}]}, "'text' must be a string"),
        ({"id": "a", "turns": [{"role": "speaker", "text": "x", "label": "wishin"}]}, "did you mean 'wishing'"),
        ({"id": "a", "emotoin": "sad", "turns": []}, "did you mean 'emotion'"),
        ({"id": "a", "emotion": "happyish", "turns": [{"role": "speaker", "text": "x"}]}, "unknown label 'happyish'"),
        ({"id": "a", "split": "dev2", "turns": [{"role": "speaker", "text": "x"}]}, "train, valid or test"),
    ],
)
def test_a_broken_record_says_which_field(record: Any, message: str) -> None:
    with pytest.raises(HarkenError, match=message):
        dialogue_from_json(record)


def test_splits_have_their_usual_other_names() -> None:
    assert [split(name) for name in ("validation", "dev", "Train", "test")] == ["valid", "valid", "train", "test"]


def test_a_situation_stands_in_for_the_first_turn() -> None:
    turns = (Turn("speaker", "My dog is gone."), Turn("listener", "Oh no!"), Turn("speaker", "Yes."))
    whole = Dialogue(id="d", turns=turns, situation="I lost my dog last week.", emotion="sad")
    opened = opened_by_situation(whole)
    assert opened is not None
    (only,) = examples(opened)
    assert [turn.text for turn in only.context] == ["I lost my dog last week."]
    assert (only.response.text, only.emotion, only.id) == ("Oh no!", "sad", "d:situation:1")


def test_without_a_situation_or_an_answer_there_is_no_such_example() -> None:
    turns = (Turn("speaker", "Hi."), Turn("listener", "Hello!"))
    assert opened_by_situation(Dialogue(id="d", turns=turns)) is None
    assert opened_by_situation(Dialogue(id="d", turns=turns[:1], situation="A visit.")) is None
