"""Encoders of several architectures, random and small: they read, train, save and resume; classifiers upon them learn."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from harken import config as configs
from harken.classifiers import encoder as tuned
from harken.classifiers.config import ClassifierConfig
from harken.classifiers.material import gather
from harken.classifiers.run import load_classifier
from harken.classifiers.training import train
from harken.classifiers.watching import Watching
from harken.corpora import store
from harken.dialogue import Dialogue, Turn
from harken.errors import HarkenError
from harken.models.pretrained import TextEncoder, mean_pooled
from harken.text.encoder import SentenceEncoder
from harken.training.run import WEIGHTS, read_checkpoint, read_weights, write_checkpoint
from harken.training.session import StopRequested
from harken.training.watch import Progress

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("classifiers")]

SAD, GLAD = "lost cried alone grave", "won danced party laughed"
WORDS = f"i and today it was so what happened then {SAD} {GLAD}".split()
SHAPE = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 24}


def checkpoint(folder: Path, architecture: str) -> Path:
    """A Hugging Face folder with random weights, written as transformers writes it."""
    hf: Any = importlib.import_module("transformers")
    torch.manual_seed(0)
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate([*specials, *WORDS])}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    size, positions = len(specials) + len(WORDS), 34
    models: dict[str, Callable[[], Any]] = {
        "bert": lambda: hf.BertModel(hf.BertConfig(vocab_size=size, max_position_embeddings=positions, **SHAPE)),
        "roberta": lambda: hf.RobertaModel(
            hf.RobertaConfig(
                vocab_size=size, max_position_embeddings=positions, type_vocab_size=1, pad_token_id=0, **SHAPE
            )
        ),
        "t5": lambda: hf.T5Model(
            hf.T5Config(vocab_size=size, d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2, n_positions=positions)
        ),
    }
    models[architecture]().save_pretrained(folder)
    fast = hf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    fast.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=["bert", "roberta", "t5"])
def any_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("hf") / request.param, request.param)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("hf") / "bert", "bert")


# The encoder


def test_mean_pooling_by_hand() -> None:
    """States (1, 2), (3, 4) and padding: the mean is (2, 3)."""
    states = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]])
    assert mean_pooled(states, torch.tensor([[True, True, False]])).tolist() == [[2.0, 3.0]]


def test_padding_never_changes_a_vector(any_folder: Path) -> None:
    encoder = TextEncoder(any_folder).eval()
    texts = ["i won", "today it was so what happened then", "x"]
    with torch.inference_mode():
        together = encoder.vectors(encoder.tokenize(texts))
        apart = torch.cat([encoder.vectors(encoder.tokenize([text])) for text in texts])
    assert together.shape == (3, encoder.width)
    assert torch.allclose(together, apart, atol=1e-5)


def test_long_texts_and_pairs_are_cut(any_folder: Path) -> None:
    encoder = TextEncoder(any_folder).eval()
    batch = encoder.tokenize(["i won " * 500], ["today"], max_tokens=10_000)
    assert batch.ids.shape[1] == encoder.longest <= 34
    assert batch.ids[0, -3:].tolist()[1:] == [encoder.tokenizer.convert_tokens_to_ids(t) for t in ("today", "[SEP]")]
    with torch.inference_mode():
        assert torch.isfinite(encoder(batch)).all()
    assert encoder.tokenize(["i won today"], max_tokens=4).ids.shape == (1, 4)
    with pytest.raises(HarkenError, match="1 texts cannot be paired with 2"):
        encoder.tokenize(["i"], ["won", "lost"])


def test_a_saved_encoder_is_read_back(any_folder: Path, tmp_path: Path) -> None:
    encoder = TextEncoder(any_folder).eval()
    for weight in encoder.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    encoder.save(tmp_path / "saved")
    encoder.save(tmp_path / "saved")  # a second time takes the place of the first
    batch = encoder.tokenize(["i won", "lost"])
    with torch.inference_mode():
        assert torch.equal(encoder(batch), TextEncoder(tmp_path / "saved").eval()(batch))
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


def test_the_sentence_encoder_reads_what_was_tuned(folder: Path, tmp_path: Path) -> None:
    encoder = TextEncoder(folder).eval()
    torch.nn.init.normal_(encoder.transformer.embeddings.word_embeddings.weight)
    encoder.save(tmp_path / "tuned")
    with torch.inference_mode():
        ours = torch.nn.functional.normalize(encoder.vectors(encoder.tokenize(["i won", "lost and alone"])), dim=1)
    assert np.allclose(ours.numpy(), SentenceEncoder(tmp_path / "tuned").encode(["i won", "lost and alone"]), atol=1e-5)


def test_frozen_layers(folder: Path) -> None:
    encoder = TextEncoder(folder)
    encoder.freeze(1)
    open_names = {name.split(".layer.")[1][0] for name, weight in encoder.named_parameters() if weight.requires_grad}
    assert open_names == {"1"}
    with pytest.raises(HarkenError, match=r"frozen_layers = 3 must lie in 0..2"):
        encoder.freeze(3)


def test_dropout_is_set_from_outside(folder: Path) -> None:
    encoder = TextEncoder(folder).train()
    batch = encoder.tokenize(["i won today"])
    assert not torch.equal(encoder(batch), encoder(batch))
    encoder.set_dropout(0.0)
    assert torch.equal(encoder(batch), encoder(batch))


def test_minilm_is_the_default() -> None:
    encoder = TextEncoder().eval()
    texts = ["My dog is ill.", "", "a much longer sentence " * 60]
    with torch.inference_mode():
        ours = torch.nn.functional.normalize(encoder.vectors(encoder.tokenize(texts)), dim=1)
    assert np.allclose(ours.numpy(), SentenceEncoder().encode(texts), atol=1e-4)


def test_what_is_no_encoder(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(HarkenError, match="is no Hugging Face folder"):
        TextEncoder(tmp_path)
    TextEncoder(folder).save(tmp_path / "broken")
    (tmp_path / "broken" / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(HarkenError, match="cannot be read as a Hugging Face encoder"):
        TextEncoder(tmp_path / "broken")


# Classifiers upon it


@pytest.fixture
def corpus(home: Path) -> None:
    """Sad and glad stories; an answer explores (strong) where it repeats a word of the post, and else does not."""
    talks = []
    for split, count in (("train", 32), ("valid", 8), ("test", 8)):
        for i in range(count):
            one, two = (f"{SAD if i % 2 else GLAD}".split()[(i // 2 + shift) % 4] for shift in (0, 1))
            level = 2 if i % 4 < 2 else 0
            answer = f"what happened {'then' if level else 'today'}"
            extra = {"explorations": {"level": level, "rationales": []}}
            turns = (Turn("speaker", f"today i {one} and {two}"), Turn("listener", answer, extra=extra))
            talks.append(Dialogue(f"{split}{i}", turns, emotion="sad" if i % 2 else "joyful", split=split))  # type: ignore[arg-type]
    store.save("tiny", talks, title="tiny", citation="", licence="", origin="tests")


def config(folder: Path, **values: Any) -> ClassifierConfig:
    training = {"learning_rate": 5e-3, "head_rate": 2e-2, "batch_size": 8, "epochs": 5} | values.pop("training", {})
    encoder = {"folder": str(folder), "max_tokens": 24} | values.pop("encoder", {})
    base = {"task": "emotion", "corpus": "tiny", "kind": "encoder", "labels": ["joyful", "sad"]}
    return configs.build(ClassifierConfig, base | {"encoder": encoder, "training": training} | values)


@pytest.mark.usefixtures("corpus")
def test_a_tuned_encoder_learns_and_is_loaded(folder: Path, tmp_path: Path) -> None:
    metrics = train(config(folder, balance="weights"), tmp_path / "run")
    assert metrics["test"]["accuracy"] == 1
    found = load_classifier(tmp_path / "run")
    texts = ["i cried", "it was so so so", "party", "what a word is this"]
    together = found.probabilities(texts)
    apart = np.concatenate([found.probabilities([text]) for text in texts])
    assert np.allclose(together, apart, atol=1e-5)
    assert np.allclose(together.sum(axis=1), 1, atol=1e-5)
    assert found.hash == metrics["hash"]
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {"config.yaml", "encoder", "labels.json", "log.jsonl", "metrics.json", "README.md", WEIGHTS}


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize("pairs", ["cross", "bi"])
def test_pairs_are_read_together_and_apart(folder: Path, tmp_path: Path, pairs: str) -> None:
    values = {"task": "empathy-exploration", "labels": ["no", "strong"], "balance": "sampling"}
    metrics = train(config(folder, encoder={"pairs": pairs}, **values), tmp_path / "run")
    assert metrics["test"]["accuracy"] == 1
    found = load_classifier(tmp_path / "run")
    best = found.probabilities([("i won", "what happened then"), ("i won", "what happened today")]).argmax(axis=1)
    assert [found.labels[i] for i in best] == ["strong", "no"]
    assert (tmp_path / "run" / "post").exists() == (pairs == "bi")


@pytest.mark.usefixtures("corpus")
def test_frozen_weights_stay_as_they_were(folder: Path, tmp_path: Path) -> None:
    before = {f"encoder.{name}": tensor.clone() for name, tensor in TextEncoder(folder).state_dict().items()}
    train(config(folder, encoder={"frozen_layers": 1}, training={"epochs": 1}), tmp_path / "run")
    after = read_weights(tmp_path / "run" / WEIGHTS, tuned.MODEL)
    changed = {name for name, tensor in before.items() if not torch.equal(tensor, after[name])}
    assert changed
    assert all(".layer.1." in name for name in changed)


class Interrupted(Watching):
    """Hears Ctrl-C at the fifth step, as if it had been pressed."""

    def stepped(self, progress: Progress, loss: float) -> None:
        super().stepped(progress, loss)
        if progress.step == 5:
            self.stopping.set()


@pytest.mark.usefixtures("corpus")
def test_a_stopped_run_goes_on_as_if_nothing_had_happened(folder: Path, tmp_path: Path) -> None:
    settings = config(folder, training={"epochs": 3})
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(settings, whole)
    parts.mkdir()
    (parts / "config.yaml").write_text(configs.dump(settings), encoding="utf-8")
    material = gather(settings)
    with pytest.raises(StopRequested):
        tuned.fit(settings, material, parts, resume=False, watching=Interrupted(parts / "log.jsonl"))
    with pytest.raises(HarkenError, match="its training is not finished"):
        load_classifier(parts)
    stood = read_checkpoint(parts, settings)
    stood["progress"]["seconds"] += 1_000
    write_checkpoint(parts, stood)
    resumed = train(settings, parts, resume=True)
    assert resumed["seconds"] > 1_000, "the time before the stop counts"
    assert resumed["hash"] == load_classifier(whole).hash


@pytest.mark.usefixtures("corpus")
def test_vectors_are_read_linearly_and_belong_to_their_encoder(folder: Path, tmp_path: Path) -> None:
    tuned_folder = tmp_path / "encoder"
    torch.manual_seed(1)
    encoder = TextEncoder(folder)
    torch.nn.init.normal_(encoder.transformer.embeddings.word_embeddings.weight)  # so that words differ
    encoder.save(tuned_folder)
    settings = config(tuned_folder, kind="vectors", task="empathy-exploration", labels=["no", "strong"])
    metrics = train(settings, tmp_path / "run")
    assert metrics["test"]["accuracy"] == 1
    pairs = [("i won", "what happened then"), ("i lost", "what happened today")]
    heard: list[int] = []
    found = load_classifier(tmp_path / "run").probabilities(pairs * 2, heard.append)
    assert found.argmax(axis=1).tolist() == [1, 0, 1, 0]
    assert sum(heard) == 4
    TextEncoder(folder).save(tuned_folder)
    with pytest.raises(HarkenError, match="was learnt from vectors of the encoder"):
        load_classifier(tmp_path / "run")
