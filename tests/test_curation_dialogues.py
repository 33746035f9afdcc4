"""Dialogues from turns: the rule of five seconds, by hand and as a law."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from harken.curation.dialogues import split
from harken.curation.records import Source, Spoken
from harken.dialogue import Turn, dialogue_from_json

SOURCE = Source("2001/42/7.xml", "films.zip", "7.xml", film="2001/42")


def test_more_than_five_seconds_part_two_dialogues() -> None:
    """Exactly five stay together; 5.1 do not."""
    turns = [
        Spoken("One.", 1.0, 2.0),
        Spoken("Two.", 7.0, 8.0),
        Spoken("Three.", 13.1, 14.0),
        Spoken("Four.", 14.0, 15.0),
    ]
    first, second = split(turns, SOURCE)
    assert [turn.text for turn in first.turns] == ["One.", "Two."]
    assert [turn.text for turn in second.turns] == ["Three.", "Four."]
    assert (first.id, second.id) == ("2001/42/7.xml#1", "2001/42/7.xml#2")
    assert (first.source, first.extra) == ("opensubtitles", {"film": "2001/42"})
    assert first.turns[1] == Turn("listener", "Two.", extra={"start": 7.0, "end": 8.0})


def test_a_missing_time_keeps_two_turns_together() -> None:
    turns = [Spoken("One.", 1.0, None), Spoken("Two.", 60.0, 61.0), Spoken("Three.", None, 90.0), Spoken("Four.", 91.0)]
    (dialogue,) = split(turns, SOURCE)
    assert [dict(turn.extra) for turn in dialogue.turns] == [
        {"start": 1.0},
        {"start": 60.0, "end": 61.0},
        {"end": 90.0},
        {"start": 91.0},
    ]
    assert [turn.role for turn in dialogue.turns] == ["speaker", "listener", "speaker", "listener"]


def test_backward_times_and_another_gap() -> None:
    turns = [Spoken("One.", 10.0, 12.0), Spoken("Two.", 11.0, 11.5), Spoken("Three.", 13.0, 14.0)]
    assert len(split(turns, SOURCE)) == 1
    assert [len(dialogue.turns) for dialogue in split(turns, SOURCE, gap=1.0)] == [2, 1]
    assert split([], SOURCE) == []


TIME = st.none() | st.floats(0, 60)


@given(st.lists(st.builds(Spoken, st.text("abc", min_size=1), TIME, TIME)), st.floats(0.1, 20))
def test_no_turn_is_lost_and_no_silence_too_long(turns: list[Spoken], gap: float) -> None:
    dialogues = split(turns, SOURCE, gap)
    said = [(turn.text, turn.extra.get("start"), turn.extra.get("end")) for each in dialogues for turn in each.turns]
    assert said == [(turn.text, turn.start, turn.end) for turn in turns]
    for dialogue in dialogues:
        assert dialogue_from_json(dialogue.to_json()) == dialogue
        for before, after in pairwise(dialogue.turns):
            assert before.role != after.role
            if "end" in before.extra and "start" in after.extra:
                assert after.extra["start"] - before.extra["end"] <= gap
    for one, two in pairwise(dialogues):  # and where it was cut, the silence was too long
        assert two.turns[0].extra["start"] - one.turns[-1].extra["end"] > gap
