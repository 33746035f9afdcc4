"""Label files and what is labelled: every form of input, every mistake with its line, jobs that go on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from harken.classifiers.builtin import builtin
from harken.classifiers.labelling import classifiers_of, default_of, header_of, labelled, ranked
from harken.classifiers.sources import Asked, read_texts
from harken.classifiers.vader import vader
from harken.errors import HarkenError
from harken.label_files import (
    Header,
    LabelledText,
    Made,
    read_labels,
    write_labels,
    write_labels_in_parts,
)

HEADER = Header("reply", {"emotion": Made("abc123", ("afraid", "joyful", "sad"))}, "0f0f", 2)
RECORDS = [
    LabelledText("a", "I won!", {"emotion": {"joyful": 0.9, "sad": 0.1}}),
    LabelledText("b", "I lost…", {"emotion": {"sad": 0.7, "afraid": 0.2}}, {"compound": -0.3}),
]
DIALOGUE = {
    "id": "d",
    "situation": "My dog died.",
    "turns": [
        {"role": "speaker", "text": "My dog died."},
        {"role": "listener", "text": "Oh no."},
        {"role": "speaker", "text": "Last week."},
        {"role": "listener", "text": "How old was he?"},
    ],
}
REPLY = {"id": "r", "context": ["My dog died.", "Oh no.", "Last week."], "response": "How sad.", "reply": "I see."}


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


# Label files


def test_a_label_file_is_read_back(tmp_path: Path) -> None:
    assert write_labels(tmp_path / "labels.jsonl", HEADER, RECORDS) == 2
    found = read_labels(tmp_path / "labels.jsonl")
    assert found.header == HEADER
    assert list(found.records.values()) == RECORDS
    assert found.classifier("emotion").hash == "abc123"
    assert found.top("b", "emotion", 2) == ("sad", "afraid")


def test_what_a_label_file_has_not(tmp_path: Path) -> None:
    write_labels(tmp_path / "labels.jsonl", HEADER, RECORDS)
    found = read_labels(tmp_path / "labels.jsonl")
    with pytest.raises(HarkenError, match="has no labels of 'emotions'; did you mean 'emotion'"):
        found.classifier("emotions")
    with pytest.raises(HarkenError, match="has no labels for 'z'"):
        found.top("z", "emotion")
    with pytest.raises(HarkenError, match="label again with --top 3"):
        found.top("a", "emotion", 3)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "is empty; make a label file"),
        ([{"id": "a", "reply": "x"}], ":1: is no header of a label file"),
        ([HEADER.to_json() | {"format": "harken labels 9"}], ":1: has the format 'harken labels 9'"),
        ([HEADER.to_json(), {"id": "a", "labels": {}}], ":2: is no line of a label file"),
        (
            [HEADER.to_json(), {"id": "a", "text": "x", "labels": {"emotion": {"joyfull": 1.0}}}],
            ":2: unknown label 'joyfull' of 'emotion'; did you mean 'joyful'",
        ),
        ([HEADER.to_json(), RECORDS[0].to_json(), RECORDS[0].to_json()], ":3: the id 'a' came before"),
    ],
)
def test_bad_label_files_say_where(tmp_path: Path, records: list[Any], message: str) -> None:
    with pytest.raises(HarkenError) as problem:
        read_labels(lines(tmp_path / "labels.jsonl", *records))
    assert message in str(problem.value)


def test_an_interrupted_job_goes_on(tmp_path: Path) -> None:
    """It stops after the first text; the second attempt is asked for the second only, and a torn line is done again."""
    out, asked = tmp_path / "labels.jsonl", list[list[int]]()

    def interrupted(rows: Sequence[int]) -> Iterator[LabelledText]:
        yield RECORDS[rows[0]]
        raise KeyboardInterrupt

    def whole(rows: Sequence[int]) -> Iterator[LabelledText]:
        asked.append(list(rows))
        yield from (RECORDS[i] for i in rows)

    with pytest.raises(KeyboardInterrupt):
        write_labels_in_parts(out, HEADER, ["a", "b"], interrupted)
    assert not out.exists()
    part = tmp_path / "labels.jsonl.part"
    with part.open("a", encoding="utf-8") as stream:
        stream.write('{"id": "b", "te')
    assert write_labels_in_parts(out, HEADER, ["a", "b"], whole) == 2
    assert asked == [[1]]
    assert not part.exists()
    assert list(read_labels(out).records) == ["a", "b"]


def test_another_job_never_takes_up_the_parts_of_one(tmp_path: Path) -> None:
    out = tmp_path / "labels.jsonl"
    write_labels(tmp_path / "labels.jsonl.part", Header("reply", HEADER.classifiers, "other texts", 2), RECORDS)
    asked: list[Sequence[int]] = []
    write_labels_in_parts(out, HEADER, ["a"], lambda rows: asked.append(rows) or iter(RECORDS[:1]))  # type: ignore[func-returns-value]
    assert asked == [[0]]


# What is labelled


def test_text_lines(tmp_path: Path) -> None:
    path = tmp_path / "u.txt"
    path.write_text("one\n\n  two \n", encoding="utf-8")
    assert read_texts(path, of="context", pairs=False) == [Asked("1", "one"), Asked("3", "two")]
    path.write_text("I lost my job\tOh no!\n", encoding="utf-8")
    assert read_texts(path, of="reply", pairs=True) == [Asked("1", ("I lost my job", "Oh no!"))]
    path.write_text("fine\tyes\nno tab here\n", encoding="utf-8")
    with pytest.raises(HarkenError, match=r"u.txt:2: .*a tab, and the answer"):
        read_texts(path, of="reply", pairs=True)


@pytest.mark.parametrize(
    ("of", "pairs", "expected"),
    [
        ("context", False, [("d:1", "My dog died."), ("d:3", "My dog died. Oh no. Last week.")]),
        ("reply", False, [("d:1", "Oh no."), ("d:3", "How old was he?")]),
        ("turn", False, [("d:0", "My dog died."), ("d:1", "Oh no."), ("d:2", "Last week."), ("d:3", "How old was he?")]),
        ("situation", False, [("d", "My dog died.")]),
        ("reply", True, [("d:1", ("My dog died.", "Oh no.")), ("d:3", ("My dog died. Oh no. Last week.", "How old was he?"))]),
    ],
)  # fmt: skip
def test_dialogues(tmp_path: Path, of: str, pairs: bool, expected: list[tuple[str, Any]]) -> None:
    found = read_texts(lines(tmp_path / "d.jsonl", DIALOGUE), of=of, pairs=pairs)
    assert [(one.id, one.item) for one in found] == expected


@pytest.mark.parametrize(
    ("of", "pairs", "expected"),
    [
        ("context", False, "My dog died. Oh no. Last week."),
        ("reply", False, "I see."),
        ("response", False, "How sad."),
        ("reply", True, ("My dog died. Oh no. Last week.", "I see.")),
        ("response", True, ("My dog died. Oh no. Last week.", "How sad.")),
    ],
)
def test_reply_files(tmp_path: Path, of: str, pairs: bool, expected: Any) -> None:
    assert read_texts(lines(tmp_path / "r.jsonl", REPLY), of=of, pairs=pairs) == [Asked("r", expected)]


@pytest.mark.parametrize(
    ("records", "of", "message"),
    [
        ([{"text": "a"}, {"text": " "}], "reply", ":2: the field 'text' is missing or empty"),
        ([{"id": "a", "replay": "x"}], "reply", ":1: the field 'reply' is missing or empty; did you mean 'replay'"),
        ([{"id": "a", "reply": "x"}], "context", ":1: the field 'context' is missing"),
        ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], "reply", "the id 'a' comes twice"),
        ([{"turns": []}], "turn", ":1: a dialogue lacks its field 'id'"),
        ([{"text": "x"}], "contxt", "--of contxt is unknown; did you mean 'context'"),
        ([], "reply", "holds nothing to label"),
    ],
)
def test_bad_input_says_where(tmp_path: Path, records: list[Any], of: str, message: str) -> None:
    with pytest.raises(HarkenError) as problem:
        read_texts(lines(tmp_path / "in.jsonl", *records), of=of, pairs=False)
    assert message in str(problem.value)


def test_labels_are_ranked() -> None:
    """Likeliest first, ties in the order of the labels, nought left out."""
    import numpy as np

    assert ranked(vader(), np.array([0.25, 0.5, 0.25]), 5) == {"neutral": 0.5, "negative": 0.25, "positive": 0.25}
    assert ranked(vader(), np.array([0.0, 1.0, 0.0]), 2) == {"neutral": 1.0}


def test_sentiment_keeps_the_compound_score() -> None:
    classifiers = classifiers_of("sentiment", ())
    asked = [Asked("1", "I love it!"), Asked("2", "I hate it!")]
    one, two = labelled(classifiers, asked)
    assert one.labels == {"sentiment": {"positive": 1.0}}
    assert one.scores["compound"] > 0.5 > -0.5 > two.scores["compound"]
    assert default_of(classifiers) == "reply"
    head = header_of(classifiers, asked, of="reply", top=5)
    assert head != header_of(classifiers, asked[:1], of="reply", top=5)


def test_what_is_not_built_in_says_how_to_train_it() -> None:
    with pytest.raises(HarkenError, match=r"harken train configs/empathy-emotional.yaml"):
        classifiers_of("empathy", ())
    with pytest.raises(HarkenError, match="did you mean 'emotion'"):
        classifiers_of("emotions", ())


@pytest.mark.slow
@pytest.mark.xdist_group("listener")
def test_the_built_in_reader_knows_feelings_it_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fitted on the starter corpus once, then loaded."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = builtin("emotion-situation")
    texts = ["My grandmother passed away this morning", "A spider crawled over my face and I screamed"]
    sad, scared = (set(ranked(found, row, 5)) for row in found.probabilities(texts))
    assert sad & {"sad", "devastated"}
    assert scared & {"afraid", "terrified"}
    assert len(list((tmp_path / "harken").glob("labels-emotion-situation-*/labels.json"))) == 1
    assert not list((tmp_path / "harken").glob(".labels*"))
    assert builtin("emotion-situation").hash == found.hash
