"""`harken label` as a user meets it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harken import config as configs
from harken.classifiers.config import ClassifierConfig
from harken.classifiers.training import train
from harken.corpora import store
from harken.dialogue import SPLITS, Dialogue, Turn
from harken.label_files import read_labels

Harken = Callable[..., tuple[int, str, str]]
WORDS = {"sad": "lost cried alone grave", "joyful": "won danced party laughed"}


@pytest.fixture
def run(home: Path, tmp_path: Path) -> Path:
    """A small trained classifier."""
    talks = [
        Dialogue(f"{split}-{word}", (Turn("speaker", f"i {word}"), Turn("listener", "oh")), feeling, split=split)
        for split in SPLITS
        for feeling, words in WORDS.items()
        for word in words.split()
    ]
    store.save("tiny", talks, title="tiny", citation="", licence="", origin="tests")
    small = {"dimensions": 8, "epochs": 100, "buckets": 1000, "min_count": 1}
    values = {"task": "emotion", "corpus": "tiny", "kind": "fasttext", "labels": list(WORDS), "fasttext": small}
    folder = tmp_path / "runs" / "emotion"
    train(configs.build(ClassifierConfig, values), folder)
    return folder


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("i cried\nwe danced\n", encoding="utf-8")
    return path


def test_one_line_a_text(harken: Harken, run: Path, texts: Path) -> None:
    code, out, _ = harken("label", texts, "--with", "emotion", "--run", run)
    assert code == 0
    told = [line.split("\t") for line in out.splitlines()]
    assert [(label.split()[0], text) for label, text in told] == [("sad", "i cried"), ("joyful", "we danced")]


def test_json_and_out_are_the_same_label_file(harken: Harken, run: Path, texts: Path, tmp_path: Path) -> None:
    code, out, _ = harken("label", texts, "--with", "emotion", "--run", run.parent, "--json", "--top", "1")
    assert code == 0
    target = tmp_path / "labels.jsonl"
    assert harken("label", texts, "--with", "emotion", "--run", run, "--out", target, "--top", 1)[:2] == (
        0,
        f"2 texts labelled in {target}\n",
    )
    assert target.read_text(encoding="utf-8") == out
    found = read_labels(target)
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert found.classifier("emotion").hash == metrics["hash"]
    assert [found.top(name, "emotion") for name in ("1", "2")] == [("sad",), ("joyful",)]


def test_a_pipe_is_read(harken: Harken, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"I love it!\n")))
    code, out, _ = harken("label", "-", "--with", "sentiment")
    assert (code, out) == (0, "positive 100%\tI love it!\n")


def test_mistakes_end_in_one_sentence(harken: Harken, run: Path, texts: Path, tmp_path: Path) -> None:
    for arguments, message in (
        (("label", tmp_path / "none.txt", "--with", "sentiment"), "there is no such file"),
        (("label", texts, "--with", "sentimnt"), "did you mean 'sentiment'"),
        (("label", texts, "--with", "empathy"), "is built in; train one"),
        (("label", texts, "--with", "intent", "--run", run), "is a run of 'emotion', not of 'intent'"),
        (("label", texts, "--with", "intent", "--run", run.parent), "has no run of 'intent'"),
        (("label", texts, "--with", "emotion", "--run", tmp_path / "no"), "is no run; train one with"),
    ):
        code, out, err = harken(*arguments)
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1
