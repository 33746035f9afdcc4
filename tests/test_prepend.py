"""Prepend-k for generators: from a classifier to a label file, a trained run, its replies and its chat."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harken import config as configs
from harken.classifiers.config import ClassifierConfig
from harken.classifiers.labelling import header_of, labelled
from harken.classifiers.run import load_classifier
from harken.classifiers.sources import read_texts
from harken.classifiers.training import train as train_classifier
from harken.corpora import store
from harken.decoding import DecodingConfig
from harken.decoding.replies import write_replies
from harken.dialogue import Dialogue, Turn, examples
from harken.errors import HarkenError
from harken.label_files import read_labels, write_labels
from harken.listeners.generator import GeneratorListener, asked_for
from harken.text.batches import encode_context, encode_example
from harken.text.prepend import PrependConfig, from_file, words_of
from harken.text.vocabulary import CLS, SYS, USR, TextConfig, Words
from harken.training import train
from harken.training.config import build_config
from harken.training.run import load_run

FEELINGS = {"sad": "rainy", "joyful": "sunny", "afraid": "stormy"}
TURNS = (Turn("speaker", "one two"), Turn("listener", "three"), Turn("speaker", "four five"))


def talks() -> list[Dialogue]:
    return [
        Dialogue(
            id=f"{split}{number}",
            turns=(Turn("speaker", f"It was {word} today."), Turn("listener", f"So {word}! I hear you.")),
            emotion=feeling,
            split=split,
        )
        for split in ("train", "valid", "test")
        for number, (feeling, word) in enumerate(list(FEELINGS.items()) * 4)
    ]


@pytest.fixture
def classifier(home: Path, tmp_path: Path) -> Path:
    """A fastText run that knows the weather's feelings."""
    store.save("weather", talks(), title="weather", citation="", licence="", origin="tests")
    small = {"dimensions": 8, "epochs": 30, "buckets": 1000, "min_count": 1}
    chosen = {"task": "emotion", "corpus": "weather", "kind": "fasttext", "labels": list(FEELINGS), "fasttext": small}
    train_classifier(configs.build(ClassifierConfig, chosen), tmp_path / "classifier")
    return tmp_path / "classifier"


@pytest.fixture
def labels(classifier: Path, tmp_path: Path) -> Path:
    """What it says of every context of the corpus."""
    corpus = tmp_path / "weather.jsonl"
    corpus.write_text("".join(json.dumps(talk.to_json()) + "\n" for talk in talks()))
    made, asked = [load_classifier(classifier)], read_texts(corpus, of="context", pairs=False)
    path = tmp_path / "labels.jsonl"
    write_labels(path, header_of(made, asked, of="context", top=3), labelled(made, asked, top=3))
    return path


def run_config(labels: Path, **prepend: Any) -> Any:
    return build_config(
        {
            "model": "transformer",
            "corpus": "weather",
            "network": {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1},
            "text": {"source": "all", "prepend": {"labels": str(labels), **prepend}},
            "training": {"batch_size": 4, "max_steps": 4, "validate_every": 4, "schedule": "constant", "warmup": 1},
        }
    )


def test_labels_stand_before_the_words_and_belong_to_the_speaker() -> None:
    """[CLS] sad one two three four five, the label with the speaker's role."""
    words = Words(["sad", "one", "two", "three", "four", "five"])
    tokens, roles, _ = encode_context(TURNS, words, 512, ["sad"])
    assert words.decode(tokens) == "sad one two three four five"
    assert tokens[0] == CLS
    assert roles == [CLS, USR, USR, USR, SYS, USR, USR]


def test_a_long_context_loses_its_oldest_words_and_never_its_labels() -> None:
    """Of seven tokens five are allowed: [CLS], the label, and the last three words."""
    words = Words(["sad", "one", "two", "three", "four", "five"])
    tokens, roles, _ = encode_context(TURNS, words, 5, ["sad"])
    assert words.decode(tokens) == "sad three four five"
    assert len(tokens) == len(roles) == 5


@pytest.mark.parametrize(
    ("label", "words"),
    [("sad", "sad"), ("rec.sport.hockey", "rec sport hockey"), ("comp.os.ms-windows", "comp os ms windows")],
)
def test_a_label_is_written_in_words(label: str, words: str) -> None:
    assert words_of(label) == words


def test_the_likeliest_labels_come_first(labels: Path) -> None:
    """The context of a rainy day is labelled sad; with k = 3 all three stand there, sad before the others."""
    rainy = next(examples(talks()[0]))
    assert from_file(PrependConfig(labels=labels))(rainy).labels == ("sad",)
    three = from_file(PrependConfig(labels=labels, k=3))(rainy).labels
    assert three[0] == "sad"
    assert sorted(three) == sorted(FEELINGS)


def test_a_run_trains_answers_and_talks_with_its_labels(labels: Path, classifier: Path, tmp_path: Path) -> None:
    config = run_config(labels, classifier=str(classifier))
    train(config, tmp_path / "run")
    run = load_run(tmp_path / "run")
    assert write_replies(run, "test", tmp_path / "replies.jsonl", config=DecodingConfig(max_length=5)) == 12
    context = json.loads((tmp_path / "replies.jsonl").read_text().splitlines()[0])["context"]
    assert context == ["It was rainy today."], "labels are the model's business, not the reply file's"
    listener = GeneratorListener(run)
    assert listener.annotate(asked_for([Turn("speaker", "It was stormy today.")], None)).labels == ("afraid",)
    assert listener.reply([Turn("speaker", "It was stormy today.")]).text


def test_the_vocabulary_knows_every_label(labels: Path, tmp_path: Path) -> None:
    """No turn says `joyful`, yet it is a word of the run."""
    train(run_config(labels), tmp_path / "run")
    vocabulary = load_run(tmp_path / "run").vocabulary
    assert isinstance(vocabulary, Words)
    assert set(FEELINGS) <= set(vocabulary.index)
    example = from_file(PrependConfig(labels=labels))(next(examples(talks()[1])))
    row = encode_example(example, vocabulary, TextConfig())
    assert vocabulary.decode(row.context).split()[0] == "joyful"


def test_a_context_without_labels_is_named(labels: Path) -> None:
    other = Dialogue(id="other", turns=TURNS)
    with pytest.raises(HarkenError, match="has no labels for 'other:1'"):
        from_file(PrependConfig(labels=labels))(next(examples(other)))


def test_another_classifier_than_the_files_is_refused(labels: Path, classifier: Path, tmp_path: Path) -> None:
    file = read_labels(labels)
    header = json.loads(labels.read_text().splitlines()[0])
    header["classifiers"]["emotion"]["hash"] = "somebody else"
    records = [json.dumps(record.to_json()) for record in file.records.values()]
    labels.write_text("\n".join([json.dumps(header), *records]) + "\n")
    train(run_config(labels, classifier=str(classifier)), tmp_path / "run")
    with pytest.raises(HarkenError, match="was made by the classifier somebody else"):
        GeneratorListener.load(tmp_path / "run")


@pytest.mark.parametrize(
    ("prepend", "text", "message"),
    [
        ({"k": 0}, {}, "text.prepend.k = 0 must be at least 1"),
        ({}, {"both_sides": True}, "set both_sides and situations to false"),
        ({}, {"situations": True}, "set both_sides and situations to false"),
    ],
)
def test_mistakes_in_the_config_are_named(prepend: dict[str, Any], text: dict[str, Any], message: str) -> None:
    chosen = text | {"prepend": {"labels": "labels.jsonl"} | prepend}
    with pytest.raises(HarkenError, match=message):
        build_config({"model": "transformer", "corpus": "weather", "text": chosen})


@pytest.mark.slow
def test_the_command_line_goes_the_whole_way(home: Path, tmp_path: Path) -> None:
    """Train a classifier, label a corpus with it, and train a generator on the labels."""
    store.save("weather", talks(), title="weather", citation="", licence="", origin="tests")

    def harken(*arguments: str) -> str:
        command = [sys.executable, "-m", "harken", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    Path(tmp_path / "reader.yaml").write_text(
        "model: classifier\ntask: emotion\ncorpus: weather\nkind: fasttext\nlabels: [sad, joyful, afraid]\n"
        "fasttext: {dimensions: 8, epochs: 30, buckets: 1000, min_count: 1}\n"
    )
    assert "accuracy" in json.loads(harken("train", "reader.yaml", "--out", "reader", "--json"))["test"]
    harken("data", "export", "weather", "--to", "weather.jsonl")
    harken("label", "weather.jsonl", "--with", "emotion", "--run", "reader", "--of", "context", "--out", "labels.jsonl")
    Path(tmp_path / "listener.yaml").write_text(
        "model: transformer\ncorpus: weather\nnetwork: {d_model: 16, encoder_layers: 1, decoder_layers: 1}\n"
        "text: {source: all, prepend: {labels: labels.jsonl, classifier: reader}}\n"
        "training: {batch_size: 4, max_steps: 4, validate_every: 4}\n"
    )
    assert "perplexity" in harken("train", "listener.yaml", "--out", "listener")


def test_an_option_that_would_do_nothing_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "reader.yaml"
    config.write_text("model: classifier\ntask: emotion\ncorpus: weather\n")
    command = [sys.executable, "-m", "harken", "train", str(config), "--tensorboard"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "only generators write for TensorBoard" in done.stderr
