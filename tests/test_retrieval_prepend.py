"""Prepend-k for rankers: labels of a real fastText run before the words of contexts and candidates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harken import config as configs
from harken.classifiers.config import ClassifierConfig
from harken.classifiers.training import train
from harken.corpora import store
from harken.dialogue import Dialogue, Turn
from harken.errors import HarkenError
from harken.retrieval.config import RankerConfig
from harken.retrieval.prepend import Prepend, RankerPrepend
from harken.retrieval.rankers import PretrainedRanker, TransformerRanker, build
from harken.text.vocabulary import Words
from retrieval_parts import bert_folder, small_transformer

FEELINGS = {"sad": "lost", "joyful": "won"}


@pytest.fixture
def classifier(home: Path, tmp_path: Path) -> Path:
    """A fastText run that hears losing and winning."""
    talks = [
        Dialogue(
            id=f"{split}{number}",
            turns=(Turn("speaker", f"i {word} the race"), Turn("listener", "how did it go")),
            emotion=feeling,
            split=split,
        )
        for split in ("train", "valid", "test")
        for number, (feeling, word) in enumerate(list(FEELINGS.items()) * 6)
    ]
    store.save("races", talks, title="races", citation="", licence="", origin="tests")
    small = {"dimensions": 8, "epochs": 60, "buckets": 1000, "min_count": 1, "letter_grams": [0, 0], "word_grams": 1}
    chosen = {"task": "emotion", "corpus": "races", "kind": "fasttext", "labels": list(FEELINGS), "fasttext": small}
    train(configs.build(ClassifierConfig, chosen), tmp_path / "classifier")
    return tmp_path / "classifier"


def test_the_likeliest_labels_of_each_text(classifier: Path) -> None:
    texts = [("i lost",), ("i won", "well done", "i won")]
    assert Prepend(RankerPrepend(classifier=classifier))(texts) == ["sad", "joyful"]
    assert Prepend(RankerPrepend(classifier=classifier, k=2))(texts) == ["sad joyful", "joyful sad"]


def test_the_transformer_reads_labels_first_and_keeps_them(classifier: Path) -> None:
    """Six tokens allowed: sad, the end mark, and of `i lost my dog oh no` the last four words, or the first of a candidate."""
    ranker = small_transformer(prepend=RankerPrepend(classifier=classifier), max_context=6, max_candidate=6)
    ranker.vocabulary = Words([*ranker.vocabulary.tokens[7:], "joyful"])
    text = [("i lost my dog oh no",)]
    context = ranker.vocabulary.decode(ranker.tokens("context", text).ids[0].tolist())
    assert context == "sad my dog oh no"
    assert ranker.vocabulary.decode(ranker.tokens("candidate", text).ids[0].tolist()) == "sad i lost my dog"


def test_a_pretrained_encoder_reads_them_as_the_first_half_of_a_pair(classifier: Path, tmp_path: Path) -> None:
    """[CLS] sad [SEP] … [SEP]; of a long text the words go, not the label."""
    config = RankerConfig(max_context=8, prepend=RankerPrepend(classifier=classifier))
    ranker = PretrainedRanker(config, [bert_folder(tmp_path / "bert")])
    batch = ranker.tokens("context", [("i lost my dog oh no that is sad",)])
    words = ranker.encoder("context").tokenizer.convert_ids_to_tokens(batch.ids[0].tolist())
    assert words == ["[CLS]", "sad", "[SEP]", "no", "that", "is", "sad", "[SEP]"]


def test_the_vocabulary_knows_every_label(classifier: Path) -> None:
    config = RankerConfig(kind="transformer", frozen_layers=None, d_model=12, n_heads=2, n_layers=1, d_inner=16)
    prepended = configs.build(RankerConfig, vars(config) | {"prepend": {"classifier": str(classifier)}})
    ranker = build(prepended, lambda: ["i won the race"] * 2)
    assert isinstance(ranker, TransformerRanker)
    assert {"sad", "joyful"} <= set(ranker.vocabulary.index)


def test_labels_change_vectors_and_fingerprint(classifier: Path) -> None:
    plain = small_transformer()
    labelled = small_transformer(prepend=RankerPrepend(classifier=classifier))
    contexts = [("i lost my dog",), ("i won the race",)]
    assert not np.allclose(plain.encode_contexts(contexts), labelled.encode_contexts(contexts))
    assert plain.fingerprint() != labelled.fingerprint()


def test_mistakes_are_named(classifier: Path) -> None:
    with pytest.raises(HarkenError, match=r"is a classifier of 'emotion', not of 'topic'"):
        Prepend(RankerPrepend(classifier=classifier, task="topic"))
    with pytest.raises(HarkenError, match=r"prepend\.k = 0 must be at least 1"):
        configs.build(RankerConfig, {"prepend": {"k": 0}})
