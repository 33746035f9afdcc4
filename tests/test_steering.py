"""Steering, from a corpus to a chat: what is asked for is what is said; and the tables that show it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from harken import config as configs
from harken.classifiers.config import ClassifierConfig
from harken.classifiers.labelling import header_of, labelled
from harken.classifiers.run import load_classifier
from harken.classifiers.sources import Asked
from harken.classifiers.training import train as train_classifier
from harken.corpora import store
from harken.decoding import DecodingConfig
from harken.dialogue import SPLITS, Dialogue, Split, Turn
from harken.errors import HarkenError
from harken.label_files import write_labels
from harken.labels import LABELS
from harken.listeners import Reply, load_listener, steered
from harken.scoring.meed2 import (
    held_out,
    label_shares,
    predictions,
    random_guesses,
    steering,
    weighted,
    with_labels_of,
)
from harken.scoring.meed2_page import draw, steering_table, table_3, table_4
from harken.scoring.uncertainty import Resamples
from harken.serving.chat import Chat
from harken.training.config import RunConfig, build_config
from harken.training.likelihoods import examples_of
from harken.training.loop import train
from harken.training.run import load_run

SAYS = {"consoling": "it will be alright", "questioning": "what happened then"}
TOPICS = ("dog", "cat", "car", "job")
Harken = Callable[..., tuple[int, str, str]]


def talks(split: Split) -> list[Dialogue]:
    """To a loss three of four listeners console, to anything else they ask."""
    found = []
    for number, topic in enumerate(TOPICS * 8):
        lost = number % 2 == 0
        usual, other = ("consoling", "questioning") if lost else ("questioning", "consoling")
        intent = other if number // len(TOPICS) % 4 == 3 else usual
        said = f"i {'lost' if lost else 'saw'} my {topic} today"
        turns = (Turn("speaker", said, "sad" if lost else "content"), Turn("listener", SAYS[intent], intent))
        found.append(Dialogue(f"{split}{number}", turns, split=split))
    return found


def config_of(folder: Path, **changes: Any) -> RunConfig:
    small = {"d_model": 24, "depth": 24, "d_inner": 48, "dropout": 0.0, "positions": 32}
    layers = {"encoder_layers": 1, "decoder_layers": 1, "predictor_layers": 1}
    labels = {"labels": str(folder / "turns.jsonl"), "classifier": str(folder / "classifier")}
    schedule = {"schedule": "constant", "learning_rate": 0.004, "warmup": 20, "batch_size": 16, "patience": 9}
    values: dict[str, Any] = {
        "model": "meed2",
        "corpus": "talks",
        "network": small | layers | changes.get("network", {}),
        "text": {"min_count": 1, "turn_labels": labels} | changes.get("text", {}),
        "training": schedule | {"max_steps": 80, "validate_every": 40} | changes.get("training", {}),
    }
    return build_config(values | {key: value for key, value in changes.items() if key not in values})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A corpus, a classifier of two intents, its labels of every turn, a steerable run and a baseline, all small."""
    folder = tmp_path_factory.mktemp("steering")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARKEN_HOME", str(folder / "home"))
        everyone = [talk for split in SPLITS for talk in talks(split)]
        store.save("talks", everyone, title="t", citation="", licence="", origin="tests")
        simple = {"dimensions": 8, "epochs": 40, "buckets": 1000, "min_count": 1, "letter_grams": [0, 0]}
        chosen = {"task": "intent", "corpus": "talks", "kind": "fasttext", "labels": list(SAYS), "fasttext": simple}
        train_classifier(configs.build(ClassifierConfig, chosen), folder / "classifier")
        classifier = load_classifier(folder / "classifier")
        turns = [Asked(f"{talk.id}:{i}", turn.text) for talk in everyone for i, turn in enumerate(talk.turns)]
        header = header_of([classifier], turns, of="turn", top=1)
        write_labels(folder / "turns.jsonl", header, labelled([classifier], turns, top=1))
        train(config_of(folder), folder / "run")
        once = {"max_steps": 1, "validate_every": 1}
        train(config_of(folder, network={"labels": False}, training=once), folder / "baseline")
        yield folder


def test_what_is_asked_for_is_said(place: Path) -> None:
    """Unasked it says what is usual; asked for the other it says the other, whatever the context."""
    listener = load_listener(place / "run")
    for said, usual in (("i lost my dog today", "consoling"), ("i saw my job today", "questioning")):
        conversation = [Turn("speaker", said)]
        reply = listener.reply(conversation)
        assert (reply.intent, reply.text.lower()) == (usual, SAYS[usual])
        for intent, words in SAYS.items():
            reply = steered(listener, intent).reply(conversation)
            assert (reply.intent, reply.text.lower()) == (intent, words)
    assert listener.reply(conversation).intent == "questioning"  # the listener itself is left as it was


def test_a_chat_is_steered_turn_by_turn(place: Path) -> None:
    chat = Chat(load_listener(place / "run"))
    assert chat.say("i lost my cat today").intent == "consoling"
    assert chat.command("/intent Questioning") == "My replies shall be questioning."
    assert chat.say("i lost my cat today").text.lower() == SAYS["questioning"]
    assert "did you mean 'consoling'" in str(chat.command("/intent consolin"))
    assert chat.say("i lost my cat today").intent == "questioning"
    assert "choose again" in str(chat.command("/intent"))
    chat.command("/reset")
    assert chat.say("i lost my cat today").intent == "consoling"
    assert "My reply is: consoling" in str(chat.command("/why"))


class Parrot:
    """A listener that cannot be steered."""

    name = "parrot"

    def reply(self, conversation: Sequence[Turn]) -> Reply:
        return Reply(conversation[-1].text)


def test_who_cannot_be_steered_says_so(place: Path) -> None:
    with pytest.raises(HarkenError, match="parrot cannot be asked for an intent"):
        steered(Parrot(), "wishing")
    with pytest.raises(HarkenError, match="this model cannot be asked for 'wishing'"):
        steered(load_listener(place / "baseline"), "wishing")
    chat = Chat(Parrot())
    assert "parrot cannot be asked" in str(chat.command("/intent wishing"))
    assert chat.say("hello").text == "hello"


def test_reply_files_are_steered_whole(place: Path, harken: Harken, tmp_path: Path) -> None:
    plain, asked = tmp_path / "plain.jsonl", tmp_path / "asked.jsonl"
    assert harken("reply", place / "run", "--out", plain)[0] == 0
    assert harken("reply", place / "run", "--intent", "consoling", "--out", asked)[0] == 0
    first, steered_lines = (list(map(json.loads, file.read_text().splitlines())) for file in (plain, asked))
    assert {line["intent"] for line in first} == set(SAYS)
    assert all(line["intent"] == line["predicted_label"] and line["label"] in SAYS for line in first)
    assert {(line["intent"], line["reply"]) for line in steered_lines} == {("consoling", SAYS["consoling"])}
    assert {line["predicted_label"] for line in steered_lines} == set(SAYS)
    code, out, _ = harken("score", plain, "--metrics", "label-f1-weighted", "--bootstrap", "0", "--json")
    assert code == 0
    assert json.loads(out)["scores"][0]["ratio"] == pytest.approx(weighted(read_pairs(first)).f1)


def read_pairs(lines: list[dict[str, str]]) -> list[tuple[str, str]]:
    return [(line["label"], line["predicted_label"]) for line in lines]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "--intent", "encourging"), "did you mean 'encouraging'"),
        (("baseline", "--intent", "wishing"), "this model cannot be asked for 'wishing'"),
        (("run", "--intent", "wishing", "--oracle"), "leave out --likelihoods and --oracle"),
        (("run", "--vocabulary", "run"), "add --likelihoods or leave it out"),
        (("run", "--exemplars", "found.jsonl"), "the run is not guided by exemplars"),
    ],
)
def test_mistakes_of_a_steered_file(place: Path, harken: Harken, arguments: tuple[str, ...], message: str) -> None:
    code, _, err = harken("reply", place / arguments[0], *arguments[1:])
    assert code == 2
    assert message in " ".join(err.split())


@pytest.mark.slow
@pytest.mark.xdist_group("listener")
def test_the_command_chats_in_an_intent(place: Path, harken: Harken, monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.TextIOWrapper(io.BytesIO(b"i lost my dog today\n/intent consoling\ni lost my dog today\n"))
    monkeypatch.setattr("sys.stdin", said)
    code, out, err = harken("chat", place / "run", "--intent", "questioning", "--json")
    assert code == 0, err
    assert [json.loads(line)["intent"] for line in out.splitlines()] == ["questioning", "consoling"]


@pytest.mark.slow
def test_pre_training_and_tuning_keep_the_byte_pairs(place: Path, tmp_path: Path) -> None:
    """A run on other talks goes on from an earlier one's weights, label rows and byte pairs included."""
    text = {"kind": "bpe", "bpe_size": 400}
    once = {"max_steps": 3, "validate_every": 3}
    train(config_of(place, text=text, training=once), tmp_path / "first")
    store.save("fewer", talks("train")[:8] + talks("valid"), title="f", citation="", licence="", origin="tests")
    tuned = config_of(place, text=text, training=once, corpus="fewer", start_from=str(tmp_path / "first"))
    train(tuned, tmp_path / "second")
    first, second = load_run(tmp_path / "first"), load_run(tmp_path / "second")
    assert first.vocabulary.tokens == second.vocabulary.tokens
    log = (tmp_path / "second" / "log.jsonl").read_text()
    assert f"{len(first.vocabulary):,} of {len(first.vocabulary):,} words" in log
    assert "new:" not in log


# Tables


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([*sorted(SAYS), "sad"]), st.sampled_from(sorted(SAYS))), min_size=1))
def test_weighted_scores_are_scikit_learns(pairs: list[tuple[str, str]]) -> None:
    gold, guessed = zip(*pairs, strict=True)
    expected = precision_recall_fscore_support(gold, guessed, average="weighted", zero_division=0)[:3]
    found = weighted(pairs)
    assert (found.precision, found.recall, found.f1) == pytest.approx(expected)


def test_random_guesses_are_right_once_in_41() -> None:
    found = random_guesses(["sad"] * 2_000, draws=50)
    assert found.recall == pytest.approx(1 / 41, rel=0.1)
    assert found.precision == 1.0  # only sad is gold, so whoever guesses it is right
    assert found == random_guesses(["sad"] * 2_000, draws=50)


def test_shares_by_hand() -> None:
    shares = label_shares(["sad", "wishing", "sad", "neutral"])
    assert list(shares) == [label.name for label in LABELS]
    assert (shares["sad"], shares["wishing"], shares["angry"]) == (0.5, 0.25, 0.0)


def test_the_steering_table(place: Path, tmp_path: Path) -> None:
    """Asked, each intent is found in every reply; unasked in as many as the predictor chose it for."""
    run = load_run(place / "run")
    classifier = load_classifier(place / "classifier")
    examples = examples_of(run, "test", limit=8)
    rows = steering(run, examples, classifier, decoding=DecodingConfig(beam=2), intents=list(SAYS))
    assert [row.asked.value for row in rows] == [100.0, 100.0]
    assert sum(row.unasked.value for row in rows) == pytest.approx(100.0)
    assert all(0 < row.unasked.value < 100 for row in rows)
    assert "| consoling | 100.0 (100.0 to 100.0) | 50.0 (" in steering_table(rows)
    draw(tmp_path / "labels.svg", "talks", {"run": label_shares(["sad", "consoling"])}, rows)
    assert "consoling" in (tmp_path / "labels.svg").read_text()


def test_the_predictor_table(place: Path) -> None:
    """It predicts what is usual: right in three of four."""
    run = load_run(place / "run")
    found = weighted(predictions(run, examples_of(run, "test")))
    assert found.recall == pytest.approx(0.75)
    assert "| run | talks | 0.7500 | 0.7500 | 0.7500 |" in table_4({("run", "talks"): found})
    with pytest.raises(HarkenError, match="does not predict labels"):
        predictions(load_run(place / "baseline"), examples_of(run, "test", limit=1))


@pytest.mark.slow
def test_held_out_and_zero_shot(place: Path, tmp_path: Path) -> None:
    """The own corpus and another one, with labels of its own; the gold label makes the gold response likelier."""
    other = [Dialogue(f"o{talk.id}", talk.turns, split="test") for talk in talks("test")[:16]]
    store.save("others", other, title="o", citation="", licence="", origin="tests")
    run = load_run(place / "run")
    greedy, few = DecodingConfig(), Resamples(samples=10)
    cells = {
        ("run", corpus): held_out(
            with_labels_of(run, corpus, None), corpus, tmp_path, decoding=greedy, limit=16, resamples=few
        )
        for corpus in ("talks", "others")
    }
    for found in cells.values():
        assert found.scores["ppl-utterance-oracle"].value < found.scores["ppl-utterance"].value
    plain = held_out(load_run(place / "baseline"), "talks", tmp_path, decoding=greedy, limit=6, resamples=few)
    assert "ppl-utterance-oracle" not in plain.scores
    page = table_3(cells | {("baseline", "talks"): plain})
    assert page.count("\n") == 4
    assert "| run | others | 16 |" in page
