"""`harken score` as a user meets it: what is printed, where, and what a mistake looks like."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Harken = Callable[..., tuple[int, str, str]]
TALK = [
    ("a", "sad", "i am so sorry to hear that .", "i am sorry to hear that ."),
    ("b", "proud", "that is great !", "that is good !"),
    ("c", "sad", "oh no , what happened ?", "what happened to you ?"),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "replies.jsonl"
    path.write_text(
        "".join(
            json.dumps({"id": key, "context": ["hi"], "response": gold, "reply": said, "emotion": emotion}) + "\n"
            for key, emotion, said, gold in TALK
        ),
        encoding="utf-8",
    )
    return path


def test_json_has_the_promised_shape(harken: Harken, file: Path) -> None:
    code, out, err = harken("score", file, "--metrics", "bleu-moses,distinct-2", "--tokenize", "given", "--json")
    assert (code, err) == (0, "")
    shown = json.loads(out)
    assert (shown["file"], shown["n"]) == (str(file), 3)
    assert [score["metric"] for score in shown["scores"]] == ["bleu-moses", "distinct-2"]
    distinct = shown["scores"][1]
    assert {"metric", "value", "low", "high", "n", "signature", "ratio"} <= set(distinct)
    assert distinct["value"] == pytest.approx(100 * distinct["ratio"])
    assert distinct["low"] <= distinct["value"] <= distinct["high"]
    assert distinct["signature"] == "distinct-2|per:bigram|unit:percent|tok:given|n:3|v:0.1.0"
    assert shown["intervals"] == {"samples": 1000, "seed": 13, "level": 0.95}


def test_the_table_has_values_intervals_and_signatures(harken: Harken, file: Path) -> None:
    code, out, _ = harken("score", file, "--bootstrap", 100)
    assert code == 0
    assert "3 examples" in out
    assert "bleu-moses|order:4|case:lower|smooth:none|unit:percent|tok:given|n:3|v:0.1.0" in out
    assert " – " in out
    assert "1 × that is great !" in out
    assert "similarity: it is neural; ask for it with --metrics similarity" in out
    assert "label-f1-macro: it needs the field 'label', which no line has" in out


def test_by_a_field(harken: Harken, file: Path) -> None:
    code, out, _ = harken("score", file, "--metrics", "length", "--by", "polarity", "--json")
    assert code == 0
    shown = json.loads(out)
    assert shown["by"] == "polarity"
    assert [(group["value"], group["n"]) for group in shown["groups"]] == [("negative", 2), ("positive", 1)]
    assert shown["groups"][1]["scores"][0]["value"] == 4
    code, out, _ = harken("score", file, "--by", "emotion", "--bootstrap", 20)
    assert code == 0
    assert "\nproud" in out


def test_text_with_references(harken: Harken, tmp_path: Path) -> None:
    (tmp_path / "said.txt").write_text("i am so sorry\ngood for you all\n", encoding="utf-8")
    (tmp_path / "gold.txt").write_text("i am so sorry\ngood for you all\n", encoding="utf-8")
    code, out, _ = harken(
        "score", tmp_path / "said.txt", "--references", tmp_path / "gold.txt", "--metrics", "bleu-moses", "--json"
    )
    assert code == 0
    assert json.loads(out)["scores"][0]["value"] == pytest.approx(100)


def test_likelihoods_are_scored_too(harken: Harken, tmp_path: Path) -> None:
    path = tmp_path / "likelihoods.jsonl"
    path.write_text('{"id": "1", "nll": 2, "tokens": 2, "words": 1}\n' * 2, encoding="utf-8")
    code, out, _ = harken("score", path, "--json", "--bootstrap", 0)
    assert code == 0
    assert {score["metric"]: score["value"] for score in json.loads(out)["scores"]} == pytest.approx(
        {"ppl-token": 2.718281828, "ppl-utterance": 2.718281828, "ppl-word": 7.389056099}
    )
    code, _, err = harken("score", path, "--by", "emotion")
    assert code == 2
    assert "holds likelihoods, for which there is no --by" in err


def test_bad_lines_stop_it_or_are_left_out_and_counted(harken: Harken, file: Path) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.write('{"id": "d", "context": ["hi"], "response": "x", "reply": ""}\n{"id": \n')
    code, out, err = harken("score", file)
    assert (code, out) == (2, "")
    assert err.startswith(f"harken: {file}:4: the reply is empty; fill it in")
    assert err.count("\n") == 1
    code, out, err = harken("score", file, "--skip-bad", "--json", "--metrics", "length")
    assert code == 0
    assert json.loads(out)["bad_lines"] == 2
    assert "1 × the reply is empty" in err
    assert "1 × broken JSON" in err
    assert "2 bad lines left out" in harken("score", file, "--skip-bad", "--metrics", "length")[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--metrics", "bleu-mose"), "unknown metric 'bleu-mose'; did you mean 'bleu-moses'?"),
        (("--metrics", "ppl-token"), "ppl-token is measured on likelihoods, not on replies"),
        (("--metrics", "emotion-top1"), "it needs the field 'predicted_emotion', which no line has"),
        (("--tokenize", "mole"), "unknown tokenisation 'mole'; did you mean 'moel'?"),
        (("--by", "emotoin"), "no line has the field 'emotoin'; did you mean 'emotion'?"),
        (("--bootstrap", "-1"), "--bootstrap -1 must be 0 (no intervals) or more"),
        (("--vocabulary", "1"), "--vocabulary 1 must be at least 2"),
        (("--references", "nowhere.txt"), "nowhere.txt: there is no such file"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    harken: Harken, file: Path, arguments: tuple[str, ...], says: str
) -> None:
    code, out, err = harken("score", file, *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_an_empty_file_is_a_mistake(harken: Harken, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    code, _, err = harken("score", tmp_path / "empty.jsonl")
    assert code == 2
    assert "holds no reply, so there is nothing to score" in err
