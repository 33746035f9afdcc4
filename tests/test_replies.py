"""Reply files: what is read, what is kept, and what a mistake looks like."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harken.errors import HarkenError
from harken.scoring.replies import Replies, ReplyRecord, align, read_replies, write_replies

GOOD: dict[str, Any] = {"id": "a:1", "context": ["My cat died."], "response": "Oh no.", "reply": "I am so sorry."}


def lines(path: Path, *records: object) -> Path:
    text = "".join((record if isinstance(record, str) else json.dumps(record)) + "\n" for record in records)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    records = [
        ReplyRecord("1", "Hello", ("Hi",), "Hey", "sad", "lonely", "consoling", "wishing", "mime", {"turn_no": 3}),
        ReplyRecord("2", "Wow é", ("Hi", "Yes?", "Guess"), "Oh", "sad", ("sad", "angry"), extra={"beam": None}),
        ReplyRecord("3", "Oh", (), "Oh", "sad", {"sad": 0.2, "angry": 0.7}),
    ]
    assert write_replies(tmp_path / "r.jsonl", records) == 3
    assert read_replies(tmp_path / "r.jsonl").records == tuple(records)


def test_predictions_are_ranked_however_they_are_written() -> None:
    assert ReplyRecord("1", "x", predicted_emotion="sad").ranked_emotions() == ("sad",)
    assert ReplyRecord("1", "x", predicted_emotion=("sad", "angry")).ranked_emotions() == ("sad", "angry")
    chances = {"proud": 0.1, "sad": 0.2, "angry": 0.7}
    assert ReplyRecord("1", "x", predicted_emotion=chances).ranked_emotions() == ("angry", "sad", "proud")
    assert ReplyRecord("1", "x").ranked_emotions() == ()


def test_unknown_fields_are_kept_for_breakdowns(tmp_path: Path) -> None:
    replies = read_replies(lines(tmp_path / "r.jsonl", {**GOOD, "strategy": "question", "speaker_age": 31}))
    assert replies.records[0].extra == {"strategy": "question", "speaker_age": 31}
    assert replies.fields() == ["id", "context", "response", "reply", "strategy", "speaker_age"]


def test_ids_are_line_numbers_where_there_are_none(tmp_path: Path) -> None:
    bare = {"reply": "Oh", "response": "Ah"}
    path = lines(tmp_path / "r.jsonl", bare, "", bare)  # a blank line carries nothing
    assert [record.id for record in read_replies(path).records] == ["1", "3"]


def test_plain_text_goes_with_references(tmp_path: Path) -> None:
    replies, gold = (
        lines(tmp_path / "replies.txt", "oh no !", "great ."),
        lines(tmp_path / "gold.txt", "oh .", "nice ."),
    )
    found = read_replies(replies, gold)
    assert [(one.id, one.reply, one.response) for one in found.records] == [
        ("1", "oh no !", "oh ."),
        ("2", "great .", "nice ."),
    ]


def test_references_stand_for_the_responses_of_json_lines(tmp_path: Path) -> None:
    replies = lines(tmp_path / "r.jsonl", {"id": "1", "reply": "oh"}, {"id": "2", "reply": "ah", "response": "old"})
    found = read_replies(replies, lines(tmp_path / "gold.txt", "one", "two"))
    assert [record.response for record in found.records] == ["one", "two"]


def test_a_name_that_says_nothing_is_settled_by_the_first_line(tmp_path: Path) -> None:
    assert read_replies(lines(tmp_path / "replies.out", GOOD)).records[0].id == "a:1"
    text = lines(tmp_path / "replies", "oh no !")
    assert read_replies(text, lines(tmp_path / "gold.txt", "oh .")).records[0].reply == "oh no !"


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ('{"id": "a"', "broken JSON"),
        ('["reply"]', "not a JSON object"),
        ('{"id": "a", "context": [], "response": "x", "reply": "\\ud83d"}', "broken JSON"),
        ({**GOOD, "reply": "  "}, "the reply is empty; fill it in, score it as it is with --allow-empty"),
        ({**GOOD, "response": ""}, "the response is empty"),
        ({**GOOD, "reply": 3}, "'reply' is not text"),
        ({**GOOD, "reply": None}, "the field 'reply' is missing"),
        ({"id": "a", "context": [], "response": "x", "repply": "y"}, "did you mean 'repply'?"),
        ({"id": "a", "context": [], "reply": "y"}, "the field 'response' is missing"),
        ({"context": [], "response": "x", "reply": "y"}, "the field 'id' is missing; line 1 has it"),
        ({"id": "a", "response": "x", "reply": "y"}, "the field 'context' is missing; line 1 has it"),
        ({**GOOD, "context": "My cat died."}, "'context' is not a list of texts"),
        ({**GOOD, "emotion": 7}, "'emotion' is not text"),
        ({**GOOD, "predicted_emotion": [1, 2]}, "'predicted_emotion' cannot be read"),
    ],
)
def test_a_bad_line_is_named_or_left_out_and_counted(tmp_path: Path, bad: object, says: str) -> None:
    path = lines(tmp_path / "r.jsonl", GOOD, bad, {**GOOD, "id": "c"})
    with pytest.raises(HarkenError) as error:
        read_replies(path)
    assert str(error.value).startswith(f"{path}:2: ")
    assert says in str(error.value)
    assert "--skip-bad" in str(error.value)
    found = read_replies(path, skip_bad=True)
    assert [record.id for record in found.records] == ["a:1", "c"]
    assert sum(found.skipped.counts.values()) == 1
    assert f"{path}:2" in found.skipped.lines()[0]


def test_skipping_keeps_replies_and_references_together(tmp_path: Path) -> None:
    replies, gold = lines(tmp_path / "r.txt", "one", "", "three"), lines(tmp_path / "gold.txt", "1", "2", "3")
    found = read_replies(replies, gold, skip_bad=True)
    assert [(one.reply, one.response) for one in found.records] == [("one", "1"), ("three", "3")]


def test_empty_replies_can_be_scored_as_they_are(tmp_path: Path) -> None:
    path = lines(tmp_path / "r.jsonl", {**GOOD, "reply": ""})
    assert read_replies(path, allow_empty=True).records[0].reply == ""


@pytest.mark.parametrize(
    ("replies", "gold", "says"),
    [
        (("one", "two"), ("1",), "has 2 replies but"),
        (("one",), None, "needs the gold responses; name their file with --references"),
        ((), (), "holds no reply"),
    ],
)
def test_files_that_cannot_be_scored(
    tmp_path: Path, replies: tuple[str, ...], gold: tuple[str, ...] | None, says: str
) -> None:
    references = None if gold is None else lines(tmp_path / "gold.txt", *gold)
    with pytest.raises(HarkenError, match=says):
        read_replies(lines(tmp_path / "r.txt", *replies), references)


def test_an_empty_file_and_one_with_only_bad_lines_hold_no_reply(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match="holds no reply"):
        read_replies(lines(tmp_path / "r.jsonl"))
    with pytest.raises(HarkenError, match="holds no reply"):
        read_replies(lines(tmp_path / "r.jsonl", "{", "{"), skip_bad=True)
    with pytest.raises(HarkenError, match="there is no such file"):
        read_replies(tmp_path / "nothing.jsonl")


def replies(name: str, *records: tuple[str, str]) -> Replies:
    return Replies(name, tuple(ReplyRecord(key, f"{name} {key}", response=gold) for key, gold in records))


def test_files_in_another_order_are_matched_by_id() -> None:
    first = replies("one", ("a", "It's fine."), ("b", "Oh no!"))
    # The same responses as another system's files may have them: tokenised, lower case, contractions expanded.
    second = replies("two", ("b", "oh no !"), ("a", "it is fine ."))
    assert [record.reply for record in align([first, second])[1].records] == ["two a", "two b"]


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ((("a", "x"),), "has 2 replies and two has 1; the id 'b' is only in the first"),
        ((("a", "x"), ("c", "y")), "the id 'b' is only in the first"),
        ((("a", "x"), ("b", "y"), ("c", "z")), "one has 2 replies and two has 3"),
        ((("a", "x"), ("a", "y")), "two: 1 ids are repeated"),
        ((("a", "p"), ("b", "q")), "other responses under 2 of the same ids"),
    ],
)
def test_files_that_do_not_fit_are_refused(other: tuple[tuple[str, str], ...], says: str) -> None:
    with pytest.raises(HarkenError, match=says):
        align([replies("one", ("a", "x"), ("b", "y")), replies("two", *other)])
