"""Classifiers: measures and equations by hand, what they learn from, fastText and VADER."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import floret
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harken import config as configs
from harken.classifiers.base import Classifier, softmax
from harken.classifiers.config import ClassifierConfig
from harken.classifiers.encoder import rate
from harken.classifiers.fasttext import FILE, prepared
from harken.classifiers.material import Material, Rows, epoch_batches, gather
from harken.classifiers.measures import best_temperature, calibration_error, figures, nll
from harken.classifiers.network import attend, balancing, weighted_nll
from harken.classifiers.run import load_classifier
from harken.classifiers.tasks import TASKS, task
from harken.classifiers.training import train, train_run
from harken.classifiers.vader import vader
from harken.corpora import store
from harken.dialogue import Dialogue, Split, Turn
from harken.errors import HarkenError
from harken.labels import EMOTIONS

CONFIGS = [
    path
    for path in sorted((Path(__file__).parents[1] / "configs").glob("*.yaml"))
    if "model: classifier" in path.read_text(encoding="utf-8")
]
WORDS = {"sad": "lost cried alone grave", "joyful": "won danced party laughed", "afraid": "dark shaking noise ran"}


def talks(split: Split, count: int, *, feelings: tuple[str, ...] = tuple(WORDS)) -> list[Dialogue]:
    """Dialogues whose words give their emotion away."""
    found = []
    for number in range(count):
        feeling = feelings[number % len(feelings)]
        one, two = (WORDS[feeling].split()[(number // len(feelings) + i) % 4] for i in (0, 1))
        turns = (Turn("speaker", f"today i {one} and {two}"), Turn("listener", "oh, tell me more!", "questioning"))
        found.append(Dialogue(f"{split}{number}", turns, emotion=feeling, situation=f"{two} and {one}", split=split))
    return found


@pytest.fixture
def corpus(home: Path) -> str:
    save("tiny", [*talks("train", 60), *talks("valid", 12), *talks("test", 12)])
    return "tiny"


def save(name: str, dialogues: list[Dialogue]) -> None:
    store.save(name, dialogues, title=name, citation="", licence="", origin="tests")


def config(**values: Any) -> ClassifierConfig:
    small = {"dimensions": 8, "epochs": 20, "buckets": 1000, "min_count": 1}
    given = {"task": "emotion", "corpus": "tiny", "kind": "fasttext", "labels": list(WORDS), "fasttext": small}
    return configs.build(ClassifierConfig, given | values)


# Measures


def test_figures_by_hand() -> None:
    """Four texts, three right. F1 of class 0 is 2·1/(2+1) = 2/3, of class 1 2·2/(3+2) = 4/5, of class 2 nought."""
    chances = np.array([[0.9, 0.1, 0], [0.2, 0.8, 0], [0.3, 0.7, 0], [0.4, 0.6, 0]], dtype=np.float32)
    found = figures(chances, [0, 1, 1, 0])
    assert found["accuracy"] == 0.75
    assert found["macro_f1"] == pytest.approx((2 / 3 + 4 / 5 + 0) / 3, abs=1e-5)
    assert found["weighted_f1"] == pytest.approx((2 / 3 + 4 / 5) / 2, abs=1e-5)
    assert found["nll"] == pytest.approx(-(math.log(0.9) + math.log(0.8) + math.log(0.7) + math.log(0.4)) / 4, abs=1e-5)
    assert found["examples"] == 4


def test_calibration_error_by_hand() -> None:
    """90 % sure and right in one of two: a gap of 0.4; 60 % sure and right in two of two: 0.4; each half of the texts."""
    chances = np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.6, 0.4]], dtype=np.float32)
    assert calibration_error(chances, [0, 1, 0, 0]) == pytest.approx(0.5 * 0.4 + 0.5 * 0.4, abs=1e-6)
    assert calibration_error(np.array([[1.0, 0.0]], dtype=np.float32), [0]) == 0


def test_temperature_by_hand() -> None:
    """Right in 8 of 10, but with the odds of 16 to 1 instead of 4 to 1: dividing the log-odds by 2 mends that."""
    scores = np.tile(np.array([math.log(16), 0], dtype=np.float32), (10, 1))
    gold = [0] * 8 + [1] * 2
    temperature = best_temperature(scores, gold)
    assert temperature == pytest.approx(2, abs=0.01)
    assert calibration_error(softmax(scores), gold) == pytest.approx(16 / 17 - 0.8, abs=1e-6)
    assert calibration_error(softmax(scores / temperature), gold) == pytest.approx(0, abs=2e-3)


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5), st.floats(-5, 5), st.integers(0, 2)), min_size=2))
def test_calibration_never_changes_a_label_and_never_hurts_the_likelihood(rows: list[tuple[float, ...]]) -> None:
    scores = np.array([row[:3] for row in rows], dtype=np.float32)
    gold = [int(row[3]) for row in rows]
    calm = scores / np.float32(best_temperature(scores, gold))
    best = np.take_along_axis(calm, scores.argmax(axis=1)[:, None], axis=1)[:, 0]
    assert (best == calm.max(axis=1)).all()  # two scores a rounding apart may become one
    assert nll(softmax(calm), gold) <= nll(softmax(scores), gold) + 1e-4


# Equations of the network


def test_balancing_by_hand() -> None:
    """Labels with 30, 10 and 5 examples weigh 15 each; a batch loss is the sum of weight times -log p."""
    weight = balancing([30, 10, 5])
    assert weight.tolist() == [0.5, 1.5, 3.0]
    term = weighted_nll(torch.log(torch.tensor([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]])), torch.tensor([0, 2]), weight)
    assert term.sum.item() == pytest.approx(0.5 * math.log(2) + 3 * math.log(4), abs=1e-5)
    assert term.count.item() == 2


def test_an_answer_attends_to_the_post_by_hand() -> None:
    """Scores 0 and √2·ln 3/√2 = ln 3: shares 1/4 and 3/4 of the post's states; what is masked has no share."""
    answer = torch.tensor([[[0.0, 1.0]]])
    post = torch.tensor([[[4.0, 0.0], [8.0, math.sqrt(2) * math.log(3)], [9.0, 9.0]]])
    mask = torch.tensor([[True, True, False]])
    found = attend(answer, post, mask)[0, 0]
    assert found.tolist() == pytest.approx([4 / 4 + 8 * 3 / 4, 1 + 3 / 4 * math.sqrt(2) * math.log(3)], abs=1e-5)


def test_the_rate_rises_and_falls() -> None:
    """Ten steps, a fifth of them warm-up: half, full, then ninths down to the last."""
    assert [rate(step, 10, 0.2) for step in (1, 2, 3, 10)] == pytest.approx([1 / 2, 1, 8 / 9, 1 / 9])


# What is learnt from


def test_tasks_read_a_dialogue() -> None:
    levels = {"explorations": {"level": 2, "rationales": []}}
    turns = (
        Turn("speaker", "My dog died."),
        Turn("listener", "Oh no.", "sympathizing"),
        Turn("speaker", "Last week."),
        Turn("listener", "How old was he?", "questioning", levels),
    )
    talk = Dialogue("d", turns, emotion="sad", situation="My dog died last week.", extra={"topic": "pets"})
    assert list(TASKS["emotion"].learn(talk)) == [
        ("My dog died.", "sad"),
        ("My dog died. Oh no. Last week.", "sad"),
    ]
    assert list(TASKS["emotion-situation"].learn(talk)) == [("My dog died last week.", "sad")]
    assert list(TASKS["intent"].learn(talk)) == [
        ("My dog died last week.", "sad"),
        ("Oh no.", "sympathizing"),
        ("How old was he?", "questioning"),
    ]
    assert list(TASKS["empathy-exploration"].learn(talk)) == [
        (("My dog died. Oh no. Last week.", "How old was he?"), "strong")
    ]
    assert list(TASKS["empathy-emotional"].learn(talk)) == []
    assert [name for _, name in TASKS["topic"].learn(talk)] == ["pets"]


def test_a_task_that_is_unknown_suggests_the_nearest() -> None:
    with pytest.raises(HarkenError, match="did you mean 'empathy-exploration'"):
        task("empathy-explorations")


def test_a_config_reports_every_mistake_at_once() -> None:
    with pytest.raises(HarkenError) as problem:
        config(task="emotion", labels=["hapy", "sad"], balance="weights", training={"epochs": 0})
    assert "which the task 'emotion' has not" in str(problem.value)
    assert "use sampling" in str(problem.value)
    assert "epochs = 0" in str(problem.value)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_shipped_config_builds(path: Path) -> None:
    assert configs.load(ClassifierConfig, path).task in TASKS


def test_a_class_without_examples_is_named(corpus: str) -> None:
    with pytest.raises(HarkenError, match=r"no training example of 'proud'; add some"):
        gather(config(labels=["sad", "proud"]))
    with pytest.raises(HarkenError, match="no training example for the task 'empathy-exploration'"):
        gather(config(task="empathy-exploration", labels=None))


def test_labels_nobody_knows_are_named_with_their_dialogue(home: Path) -> None:
    save("typo", [*talks("train", 12), Dialogue("d7", talks("train", 1)[0].turns, emotion="joyfull")])
    with pytest.raises(HarkenError, match=r"'d7' of 'typo': .* label 'joyfull'; did you mean 'joyful'"):
        gather(config(corpus="typo"))
    turns = (Turn("speaker", "hi"), Turn("listener", "ho", extra={"explorations": {"level": 3}}))
    save("levels", [Dialogue("d8", turns)])
    with pytest.raises(HarkenError, match=r"'d8' of 'levels': the level of 'explorations' is 3; it must be 0, 1 or 2"):
        gather(config(corpus="levels", task="empathy-exploration", labels=None))


def test_all_emotions_are_wanted_unless_told_otherwise(corpus: str) -> None:
    with pytest.raises(HarkenError, match="'angry'"):
        gather(config(labels=None))
    assert len(EMOTIONS) == len(TASKS["emotion"].labels or ())


def test_without_a_validation_split_a_tenth_is_held_out(home: Path) -> None:
    save("whole", talks("train", 300))
    material = gather(config(corpus="whole"))
    train_items, held = len(material.rows["train"].items), len(material.rows["valid"].items)
    assert train_items + held == 300
    assert 15 <= held <= 45
    assert material.rows["test"].items == []


def test_an_epoch_has_every_item_once_and_lengths_together() -> None:
    items = ["x" * (1 + 37 * i % 101) for i in range(500)]
    batches = epoch_batches(items, 10, seed=1, epoch=0)
    assert sorted(i for batch in batches for i in batch) == list(range(500))
    assert max(max(len(items[i]) for i in batch) - min(len(items[i]) for i in batch) for batch in batches) < 10
    assert batches == epoch_batches(items, 10, seed=1, epoch=0)
    assert batches != epoch_batches(items, 10, seed=1, epoch=1)


def test_sampling_draws_rare_labels_as_often() -> None:
    material = Material(("a", "b"), {"train": Rows([str(i) for i in range(1000)], [0] * 950 + [1] * 50)})
    drawn = Counter(material.drawn(0, 1).gold)
    assert sum(drawn.values()) == 1000
    assert 430 < drawn[1] < 570


# fastText and VADER


def test_text_is_prepared_for_fasttext() -> None:
    assert prepared("I can't,\nreally!") == "i can't , really !"
    assert prepared(("He left.", "Oh?")) == "he left . <answer> oh ?"


def test_fasttext_learns_is_saved_and_scores_as_floret_does(corpus: str, tmp_path: Path) -> None:
    metrics = train(config(balance="sampling"), tmp_path / "run")
    assert metrics["test"]["accuracy"] == 1
    assert {"accuracy", "macro_f1", "weighted_f1", "calibration_error", "calibration_error_before"} <= set(
        metrics["test"]
    )
    assert metrics["summary"].startswith(f"{tmp_path / 'run'}: emotion, test accuracy 100.00%")
    assert "harken label FILE --with emotion" in (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
    loaded = load_classifier(tmp_path / "run")
    assert loaded.labels == tuple(WORDS)
    assert loaded.hash == metrics["hash"]
    text = "today i lost the party"
    model = floret.load_model(str(tmp_path / "run" / FILE))
    theirs = {int(name[len("__label__") :]): chance for chance, name in model.f.predict(text + "\n", 3, 0.0, "strict")}
    ours = softmax(loaded.scorer.scores([text]))[0]
    assert ours.tolist() == pytest.approx([theirs[i] for i in range(3)], abs=1e-3)
    heard: list[int] = []
    found = loaded.probabilities(["lost", "won " * 50_000, ""] * 3, heard.append)
    assert found[:2].argmax(axis=1).tolist() == [0, 1]
    assert found.shape == (9, 3)
    assert np.allclose(found.sum(axis=1), 1, atol=1e-5)
    assert sum(heard) == 9


def test_the_same_seed_gives_the_same_classifier(corpus: str, tmp_path: Path) -> None:
    one, two = (train(config(), tmp_path / name)["hash"] for name in ("one", "two"))
    other = train(config(runtime={"seed": 14}), tmp_path / "other")["hash"]
    assert one == two != other


def test_a_run_is_never_written_over(corpus: str, tmp_path: Path) -> None:
    yaml = tmp_path / "emotion.yaml"
    yaml.write_text(configs.dump(config()), encoding="utf-8")
    first = train_run(yaml, [], tmp_path / "run")
    with pytest.raises(HarkenError, match="has a run in it"):
        train_run(yaml, [], tmp_path / "run")
    assert train_run(yaml, [], tmp_path / "run", resume=True) == first
    with pytest.raises(HarkenError, match="resume with its settings"):
        train_run(yaml, ["fasttext.epochs=3"], tmp_path / "run", resume=True)
    with pytest.raises(HarkenError, match="there is no run to resume"):
        train_run(yaml, [], tmp_path / "none", resume=True)


def test_a_damaged_run_says_so(corpus: str, tmp_path: Path) -> None:
    train(config(), tmp_path / "run")
    (tmp_path / "run" / FILE).write_bytes(b"no model")
    with pytest.raises(HarkenError, match="train the run again"):
        load_classifier(tmp_path / "run")
    (tmp_path / "run" / "labels.json").unlink()
    with pytest.raises(HarkenError, match="not finished; go on with --resume"):
        load_classifier(tmp_path / "run")
    with pytest.raises(HarkenError, match="is no run; train one with"):
        load_classifier(tmp_path)


def test_vader_takes_its_authors_thresholds() -> None:
    found = vader()
    chances = found.probabilities(["I love this, wonderful!", "This is horrible.", "The table is made of wood."])
    assert [found.labels[i] for i in chances.argmax(axis=1)] == ["positive", "negative", "neutral"]
    assert chances.max(axis=1).tolist() == [1, 1, 1]
    assert found.hash.startswith("vader-3")


def test_texts_and_pairs_are_not_mixed_up() -> None:
    with pytest.raises(HarkenError, match="reads single texts"):
        vader().probabilities([("a", "b")])
    pairs = Classifier("empathy-emotional", ("no", "weak", "strong"), vader().scorer, "x", pairs=True)
    with pytest.raises(HarkenError, match="reads pairs"):
        pairs.probabilities(["a"])
    assert vader().probabilities([]).shape == (0, 3)
