"""Training a ranker: it learns, it stops and goes on as if it had not, it starts from another, it says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from harken.corpora import store
from harken.dialogue import Dialogue, Turn
from harken.errors import HarkenError
from harken.retrieval import rankers
from harken.retrieval.config import RankerRunConfig, load_config
from harken.retrieval.pairs import read_pairs
from harken.retrieval.training import train, train_run
from harken.training.session import StopRequested
from harken.training.watch import Figures, Progress

CONFIG = """
model: ranker
corpora: [made]
network: {kind: transformer, d_model: 32, n_heads: 2, n_layers: 1, d_inner: 64, dropout: 0.1, max_candidate: 20}
training:
  schedule: linear
  learning_rate: 0.005
  warmup: 5
  batch_size: 64
  max_steps: 12
  validate_every: 6
  chunk: 32
  kept: 2
  validation_size: 100
runtime: {threads: 1}
"""


@pytest.fixture
def made(home: Path) -> None:
    """A corpus of 25 things times 24 deeds, each told once and answered in other words; a sixth is kept to validate and
    a sixth to test, so a ranker must learn the words, not the pairs."""
    emotions = ("sad", "proud")
    dialogues = []
    for number, (deed, thing) in enumerate((deed, thing) for deed in range(24) for thing in range(25)):
        split = {0: "valid", 1: "test"}.get((deed + thing) % 6, "train")
        turns = (Turn("speaker", f"i did{deed} my own{thing}"), Turn("listener", f"that{thing} was done{deed} well"))
        dialogues.append(Dialogue(str(number), turns, emotion=emotions[deed % 2], split=split, source="made"))  # type: ignore[arg-type]
    store.save("made", dialogues, title="", citation="", licence="", origin="here")


def config(tmp_path: Path, *changes: str) -> RankerRunConfig:
    path = tmp_path / "ranker.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    return load_config(path, changes)


class StopAt:
    """A watcher that asks to stop as Ctrl-C does, after a step."""

    def __init__(self, step: int) -> None:
        self.step, self.losses = step, list[float]()

    def noted(self, line: str) -> None:
        pass

    def stepped(self, progress: Progress, figures: Figures) -> None:
        self.losses.append(figures["nll"])
        if progress.step == self.step:
            raise StopRequested

    def validated(self, *_: object) -> None:
        pass


@pytest.mark.slow
def test_a_ranker_learns_and_tells(made: None, tmp_path: Path) -> None:
    """From the 1 % of a guess to nearly all, on pairs never seen; the best weights kept, a card written."""
    path = tmp_path / "ranker.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    changes = ["training.max_steps=60", "training.validate_every=30"]
    metrics = train_run(path, changes, tmp_path / "run")
    first, *_, last = (
        json.loads(line)["valid"]
        for line in (tmp_path / "run" / "log.jsonl").read_text(encoding="utf-8").splitlines()
        if "valid" in json.loads(line)
    )
    assert first["p@1,100"] < 4
    assert last["p@1,100"] > 80
    assert metrics["test"]["p@1,100"] > 80
    assert metrics["summary"].endswith(f"P@1,100 {metrics['test']['p@1,100']:.1f} % after 60 steps")
    assert json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8"))["steps"] == 60
    assert "P@1,100" in (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
    with pytest.raises(HarkenError, match="holds a run already; go on with --resume"):
        train_run(path, changes, tmp_path / "run")


@pytest.mark.slow
def test_a_stopped_run_goes_on_as_if_it_had_not(made: None, tmp_path: Path) -> None:
    whole, before, after = StopAt(99), StopAt(4), StopAt(99)
    changes = ("training.negatives=both", "training.max_steps=8", "training.batch_size=16")
    train(config(tmp_path, *changes), tmp_path / "whole", watchers=[whole])
    with pytest.raises(StopRequested):
        train(config(tmp_path, *changes), tmp_path / "run", watchers=[before])
    train(config(tmp_path, *changes), tmp_path / "run", resume=True, watchers=[after])
    assert before.losses + after.losses == whole.losses
    for a, b in zip(
        rankers.load(tmp_path / "run").parameters(), rankers.load(tmp_path / "whole").parameters(), strict=True
    ):
        assert torch.equal(a, b)
    with pytest.raises(HarkenError, match="was made under another config"):
        train(config(tmp_path, *changes, "training.clip=2.0"), tmp_path / "run", resume=True)


@pytest.mark.slow
def test_fine_tuning_starts_where_pre_training_ended(made: None, tmp_path: Path) -> None:
    train(config(tmp_path, "training.max_steps=18"), tmp_path / "wide")
    seen = StopAt(1)
    start = f"start_from={tmp_path / 'wide'}"
    with pytest.raises(StopRequested):
        train(config(tmp_path, start), tmp_path / "fine", watchers=[seen])
    fresh = StopAt(1)
    with pytest.raises(StopRequested):
        train(config(tmp_path), tmp_path / "fresh", watchers=[fresh])
    assert seen.losses[0] < fresh.losses[0] - 0.1
    with pytest.raises(HarkenError, match="cannot be started from"):
        train(config(tmp_path, start, "network={}"), tmp_path / "other")


def test_pairs_come_from_any_mix_of_corpora(home: Path) -> None:
    turns = (Turn("speaker", "i won"), Turn("listener", "well done"), Turn("speaker", " "), Turn("listener", "oh"))
    one = Dialogue("x", turns, emotion="proud", source="one")
    two = Dialogue("x", turns[:2], source="two")
    for name, dialogue in (("one", one), ("two", two)):
        store.save(name, [dialogue], title="", citation="", licence="", origin="here")
    pairs = read_pairs(["two", "one"], "train", 4)
    assert [(pair.dialogue, pair.response) for pair in pairs] == [
        ("two/x", "well done"), ("one/x", "well done"), ("one/x", "oh")
    ]  # fmt: skip
    assert pairs[2].context == ("i won", "well done")  # the empty turn is left out
    assert [pair.emotion for pair in pairs] == [None, "proud", "proud"]


def test_a_corpus_too_small_to_rank(home: Path, tmp_path: Path) -> None:
    turns = (Turn("speaker", "i won"), Turn("listener", "well done"))
    store.save("few", [Dialogue("x", turns, source="few")], title="", citation="", licence="", origin="here")
    with pytest.raises(HarkenError, match="few: 0 listener turns in the valid split, and a ranker needs at least 100"):
        train(config(tmp_path, "corpora=[few]"), tmp_path / "run")


def test_a_folder_that_is_no_ranker(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match="there is no such run"):
        rankers.load(tmp_path / "none")
    with pytest.raises(HarkenError, match="is not the run of a ranker"):
        rankers.load(tmp_path)
