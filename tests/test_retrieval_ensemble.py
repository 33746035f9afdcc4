"""Ensemble encoders: a frozen classifier beside the ranker's own encoder, joined by a linear layer worked by hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from typer.testing import CliRunner

from harken import config as configs
from harken.classifiers.base import Floats
from harken.classifiers.config import ClassifierConfig
from harken.classifiers.encoder import EncoderScorer
from harken.classifiers.fasttext import FastTextScorer, prepared
from harken.classifiers.run import load_classifier
from harken.classifiers.training import train as train_classifier
from harken.cli import app
from harken.corpora import store
from harken.dialogue import Dialogue, Turn
from harken.errors import HarkenError
from harken.listeners import load_listener
from harken.retrieval import ensemble, rankers
from harken.retrieval.config import RankerConfig, RankerRunConfig, RankerTraining
from harken.retrieval.ensemble import Ensemble, Outside, RankerEnsemble, concat_linear
from harken.retrieval.gradients import batch_backward
from harken.retrieval.rankers import Ranker
from harken.retrieval.training import train
from harken.training.run import write_config
from harken.training.session import StopRequested
from retrieval_parts import Losses, bert_folder, config, small_bert, small_transformer

CONTEXTS = [("i lost my dog",), ("my cat died", "so sorry", "it is sad"), ("i won",), ("how did it go",), ("no",)]
RESPONSES = ["oh no", "that is so sad", "well done", "it did go well", "oh no"]
FEELINGS = {"sad": "lost", "joyful": "won"}


def talk(name: str, *said: str, emotion: str, split: str) -> Dialogue:
    turns = tuple(Turn("listener" if i % 2 else "speaker", text) for i, text in enumerate(said))
    return Dialogue(name, turns, emotion=emotion, split=split, source="races")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run of each kind of classifier, and the small BERT two of them are made of."""
    place = tmp_path_factory.mktemp("classifiers")
    talks = [
        talk(f"{split}{n}", f"i {word} the race", "how did it go", emotion=feeling, split=split)
        for split in ("train", "valid", "test")
        for n, (feeling, word) in enumerate(list(FEELINGS.items()) * 6)
    ]
    found = {"bert": bert_folder(place / "bert")}
    small = {"dimensions": 8, "epochs": 60, "buckets": 1000, "min_count": 1, "letter_grams": [0, 0], "word_grams": 1}
    chosen = {"task": "emotion", "corpus": "races", "labels": list(FEELINGS), "fasttext": small}
    chosen |= {"encoder": {"folder": str(found["bert"]), "max_tokens": 16}, "training": {"epochs": 1}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARKEN_HOME", str(place / "home"))
        store.save("races", talks, title="races", citation="", licence="", origin="tests")
        for kind in ("encoder", "vectors", "fasttext"):
            found[kind] = place / kind
            train_classifier(configs.build(ClassifierConfig, chosen | {"kind": kind}), found[kind])
    return found


@pytest.fixture(params=["transformer", "pretrained", "separate"])
def ranker(request: pytest.FixtureRequest, folders: dict[str, Path]) -> Ranker:
    """An ensemble whose linear layer has moved from its start; the encoder learns emotions, too."""
    beside = RankerEnsemble(classifier=folders["encoder" if request.param == "pretrained" else "fasttext"])
    if request.param == "transformer":
        made: Ranker = small_transformer(ensemble=beside, multitask=0.5)
    else:
        separate = request.param == "separate"
        made = small_bert(folders["bert"], separate=separate, ensemble=beside, multitask=0.5)
    with torch.no_grad():
        for weight in joined(made).parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    return made


def joined(ranker: Ranker) -> Ensemble:
    assert ranker.added.ensemble is not None
    return ranker.added.ensemble


def run_config(network: RankerConfig, **training: object) -> RankerRunConfig:
    chosen = RankerTraining(**training)  # type: ignore[arg-type]
    return RankerRunConfig(model="ranker", corpora=("races",), network=network, training=chosen)


# Worked by hand


def test_concat_and_linear_by_hand() -> None:
    """h_w = (1, 2), h_c = (3): rows (1, 0, 2) and (0, 1, -1) with bias (0, 10) give 1 + 6 and 2 - 3 + 10."""
    weight, bias = torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]]), torch.tensor([0.0, 10.0])
    own, other = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0]])
    assert concat_linear(own, other, weight, bias).tolist() == [[7.0, 9.0]]


def test_what_stands_before_a_classifier_s_last_layer(folders: dict[str, Path]) -> None:
    """h_c gives the classifier's own scores when its last layer is put on top; for `vectors` it is the probabilities."""
    texts = ["i lost my dog", "i won the race well"]
    turns = [("i lost", "my dog"), ("i won the race well",)]
    found = {kind: load_classifier(folders[kind]) for kind in ("encoder", "vectors", "fasttext")}
    vectors = {kind: Outside(one)(turns).numpy() for kind, one in found.items()}
    assert {kind: rows.shape for kind, rows in vectors.items()} == {
        "encoder": (2, 16), "vectors": (2, 2), "fasttext": (2, 8)
    }  # fmt: skip
    tuned, words = found["encoder"].scorer, found["fasttext"].scorer
    assert isinstance(tuned, EncoderScorer)
    assert isinstance(words, FastTextScorer)
    head = tuned.network.head
    last = vectors["encoder"] @ head.weight.detach().numpy().T + head.bias.detach().numpy()
    assert last == pytest.approx(tuned.scores(texts), abs=1e-5)
    assert vectors["fasttext"] @ words.output.T == pytest.approx(words.scores(texts), abs=1e-5)
    assert vectors["vectors"] == pytest.approx(found["vectors"].probabilities(texts))
    mean = np.mean([words.model.get_word_vector(word) for word in prepared(texts[0]).split()], axis=0)
    assert np.corrcoef(vectors["fasttext"][0], mean)[0, 1] > 0.9  # of the words, and the end mark


def test_a_ranker_s_vector_is_both_encoders_joined(folders: dict[str, Path]) -> None:
    """h_e of each side by its own layer, from the plain ranker's vector and the classifier's."""
    beside = RankerEnsemble(classifier=folders["fasttext"])
    plain, ranker = small_transformer(), small_transformer(ensemble=beside)
    outside = Outside(load_classifier(folders["fasttext"]))
    for number, side in enumerate(("context", "candidate")):
        layer = cast(nn.Linear, joined(ranker).layers[number])
        with torch.no_grad():
            layer.weight.normal_()
            layer.bias.normal_()
        texts = [("so sad",), ("well done",)]
        both = np.concatenate([plain.encode(side, texts), outside(texts).numpy()], axis=1)  # type: ignore[arg-type]
        wanted = both @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
        assert ranker.encode(side, texts) == pytest.approx(wanted, abs=1e-5)  # type: ignore[arg-type]


# Laws


@pytest.mark.parametrize("kind", ["encoder", "vectors", "fasttext"])
def test_an_untrained_ensemble_is_the_ranker_it_extends(folders: dict[str, Path], kind: str) -> None:
    beside = RankerEnsemble(classifier=folders[kind])
    for plain, ranker in (
        (small_transformer(), small_transformer(ensemble=beside)),
        (small_bert(folders["bert"]), small_bert(folders["bert"], ensemble=beside)),
    ):
        assert np.array_equal(ranker.encode_contexts(CONTEXTS), plain.encode_contexts(CONTEXTS))
        assert np.array_equal(ranker.encode_candidates(RESPONSES), plain.encode_candidates(RESPONSES))
        assert ranker.fingerprint() != plain.fingerprint()


def backward(ranker: Ranker, **training: object) -> tuple[float, dict[str, Tensor]]:
    """Loss and gradients of one batch."""
    ranker.zero_grad(set_to_none=True)
    feelings = ["sad", "sad", "proud", None, "afraid"]
    losses = batch_backward(ranker, CONTEXTS, RESPONSES, run_config(ranker.config, **training), 0, feelings)
    slopes = {name: one.grad.clone() for name, one in ranker.named_parameters() if one.grad is not None}
    return losses["nll"].item(), slopes


def test_cached_gradients_are_the_plain_ones(ranker: Ranker) -> None:
    """The loss differentiated at once, and in chunks that are kept or encoded twice; layers of both encoders move."""
    ranker.train()
    outputs = ranker("context", CONTEXTS, emotions=True)
    x, y = outputs[:, : ranker.width], ranker("candidate", [(text,) for text in RESPONSES])
    scores = ranker.config.scale * x @ y.t()
    scores[0, 4] = scores[4, 0] = -torch.inf  # both answer 'oh no'
    nll = torch.nn.functional.cross_entropy(scores, torch.arange(5))
    gold = torch.tensor([27, 27, 26, 0])  # sad, sad, proud, afraid
    emotion = torch.nn.functional.cross_entropy(outputs[[0, 1, 2, 4], ranker.width :], gold)
    (nll + 0.5 * emotion).backward()  # type: ignore[no-untyped-call]
    wanted = {name: one.grad.clone() for name, one in ranker.named_parameters() if one.grad is not None}
    assert all(wanted[f"added.ensemble.layers.{n}.weight"].any() for n in range(len(joined(ranker).layers)))
    for chunk, kept in ((99, 99), (2, 0), (1, 3)):
        loss, slopes = backward(ranker, chunk=chunk, kept=kept)
        assert loss == pytest.approx(nll.item(), abs=1e-5)
        assert slopes.keys() == wanted.keys()
        assert all(torch.allclose(slopes[name], wanted[name], atol=1e-5) for name in wanted)


def test_the_classifier_is_frozen_and_no_part_of_the_ranker(folders: dict[str, Path]) -> None:
    """Steps of the optimiser move the linear layer, and nothing of the classifier; its weights are not saved again."""
    ranker = small_transformer(ensemble=RankerEnsemble(classifier=folders["encoder"])).train()
    scorer = joined(ranker).outside.classifier.scorer
    assert isinstance(scorer, EncoderScorer)
    before = {name: tensor.clone() for name, tensor in scorer.network.state_dict().items()}
    plain = dict(small_transformer().named_parameters())
    assert {name for name, _ in ranker.named_parameters()} - plain.keys() == {
        f"added.ensemble.layers.{n}.{kind}" for n in (0, 1) for kind in ("weight", "bias")
    }
    adam = torch.optim.Adam(ranker.parameters(), lr=0.1)
    start = {name: tensor.clone() for name, tensor in ranker.state_dict().items()}
    for _ in range(3):
        backward(ranker, chunk=2, kept=1)
        adam.step()
    assert not torch.equal(
        ranker.state_dict()["added.ensemble.layers.0.weight"], start["added.ensemble.layers.0.weight"]
    )
    assert all(torch.equal(tensor, before[name]) for name, tensor in scorer.network.state_dict().items())
    assert all(one.grad is None for one in scorer.network.parameters())


def test_frozen_keeps_the_ranker_s_own_encoder_too(folders: dict[str, Path]) -> None:
    beside = RankerEnsemble(classifier=folders["fasttext"], frozen=True)
    for ranker in (small_transformer(ensemble=beside), small_bert(folders["bert"], ensemble=beside)):
        _, slopes = backward(ranker, chunk=2, kept=1)
        assert slopes
        assert all(name.startswith("added.") for name in slopes)


def test_each_text_is_asked_once_until_there_are_too_many(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = Outside(load_classifier(folders["fasttext"]))
    asked, read = list[str](), outside.read

    def heard(texts: list[str]) -> Floats:
        asked.extend(texts)
        return read(texts)

    monkeypatch.setattr(outside, "read", heard)
    first = outside([("i lost",), ("i won",), ("i lost",)])
    again = outside([("i won",), ("oh no",)])
    assert asked == ["i lost", "i won", "oh no"]
    assert torch.equal(first[1], again[0])
    monkeypatch.setattr(ensemble, "REMEMBERED", 4 * 8)
    assert torch.equal(outside([("i won",), ("so sad",)]), outside([("i won",), ("so sad",)]))
    assert len(outside.known) == 2
    assert asked[3:] == ["i won", "so sad"]


def test_saved_and_loaded(ranker: Ranker, tmp_path: Path) -> None:
    ranker.eval().save(tmp_path)
    write_config(tmp_path, run_config(ranker.config))
    again = rankers.load(tmp_path)
    assert again.fingerprint() == ranker.fingerprint()
    assert again.encode_contexts(CONTEXTS) == pytest.approx(ranker.encode_contexts(CONTEXTS), abs=1e-6)
    assert again.encode_candidates(RESPONSES) == pytest.approx(ranker.encode_candidates(RESPONSES), abs=1e-6)
    names = load_file(tmp_path / "weights.safetensors").keys()
    assert not any("network" in name or "outside" in name for name in names)


def test_another_classifier_is_another_ranker(folders: dict[str, Path], tmp_path: Path) -> None:
    """Its fingerprint changes though every weight of the ranker is the same; weights learnt beside the first are refused."""
    place = shutil.copytree(folders["fasttext"], tmp_path / "classifier")
    beside = RankerEnsemble(classifier=place)
    first = small_transformer(ensemble=beside)
    assert (
        small_transformer(ensemble=RankerEnsemble(classifier=folders["fasttext"])).fingerprint() == first.fingerprint()
    )
    first.save(tmp_path / "run")
    write_config(tmp_path / "run", run_config(first.config))
    content = bytearray((place / "model.bin").read_bytes())
    content[-1] ^= 1  # the last bit of its last weight
    (place / "model.bin").write_bytes(content)
    second = small_transformer(ensemble=beside)
    assert second.fingerprint() != first.fingerprint()
    with pytest.raises(HarkenError, match=r"was trained beside the classifier [0-9a-f]{16}, and this one is"):
        rankers.load(tmp_path / "run")
    shutil.rmtree(place)
    shutil.copytree(folders["encoder"], place)  # of another width, too
    with pytest.raises(HarkenError, match="was trained beside the classifier"):
        rankers.load(tmp_path / "run")


# Training, indexes, listeners


@pytest.fixture
def made(home: Path) -> None:
    """24 deeds times 25 things, in words the classifiers have never read but for `lost` and `won`."""
    talks = [
        Dialogue(
            f"{deed}-{thing}",
            (
                Turn("speaker", f"i {'won' if deed % 2 else 'lost'} did{deed} my own{thing}"),
                Turn("listener", f"that{thing} was done{deed} {'well' if deed % 2 else 'sad'}"),
            ),
            emotion="joyful" if deed % 2 else "sad",
            split={0: "valid", 1: "test"}.get((deed + thing) % 6, "train"),  # type: ignore[arg-type]
            source="made",
        )
        for deed in range(24)
        for thing in range(25)
    ]
    store.save("made", talks, title="", citation="", licence="", origin="here")


@pytest.mark.slow
def test_from_training_to_chat(made: None, folders: dict[str, Path], tmp_path: Path) -> None:
    """It learns, is indexed, found with, and answers; the card names the classifier; its change shuts the index."""
    classifier = shutil.copytree(folders["fasttext"], tmp_path / "classifier")
    changes = ("training.max_steps=60", "training.validate_every=30", f"network.ensemble.classifier={classifier}")
    metrics = train(config(tmp_path, *changes), tmp_path / "run")
    assert metrics["test"]["p@1,100"] > 80
    assert f"beside a frozen classifier: {classifier}" in (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
    call, run = CliRunner().invoke, str(tmp_path / "run")
    assert "candidates in" in call(app, ["index", run, "--corpus", "made"]).stdout
    found = call(app, ["retrieve", f"{run}/index", "i won did5 my own7", "-k", "3", "--json"])
    texts = [one["text"] for one in json.loads(found.stdout)["found"]]
    assert any("done5" in text or "that7" in text for text in texts)
    reply = load_listener(tmp_path / "run").reply([Turn("speaker", "i won did5 my own7")])
    assert reply.text == texts[0]
    (classifier / "labels.json").write_text('{"labels": ["sad", "joyful"], "temperature": 9.0}', encoding="utf-8")
    refused = call(app, ["retrieve", f"{run}/index", "i won"])
    assert isinstance(refused.exception, HarkenError)
    assert "was trained beside the classifier" in str(refused.exception)


@pytest.mark.slow
def test_a_stopped_run_goes_on_as_if_it_had_not(made: None, folders: dict[str, Path], tmp_path: Path) -> None:
    beside = f"network.ensemble.classifier={folders['fasttext']}"
    whole, before, after = Losses(), Losses(3), Losses()
    train(config(tmp_path, beside), tmp_path / "whole", watchers=[whole])
    with pytest.raises(StopRequested):
        train(config(tmp_path, beside), tmp_path / "run", watchers=[before])
    train(config(tmp_path, beside), tmp_path / "run", resume=True, watchers=[after])
    assert before.seen + after.seen == whole.seen
    assert rankers.load(tmp_path / "run").fingerprint() == rankers.load(tmp_path / "whole").fingerprint()


@pytest.mark.slow
def test_a_trained_ranker_gets_a_second_encoder(made: None, folders: dict[str, Path], tmp_path: Path) -> None:
    """An ensemble begins where the plain run ended; frozen, it leaves that run's encoder alone; there is no way back."""
    train(config(tmp_path), tmp_path / "plain")
    changes = (f"start_from={tmp_path / 'plain'}", f"network.ensemble.classifier={folders['fasttext']}")
    frozen = "network.ensemble.frozen=true"
    metrics = train(config(tmp_path, *changes, frozen, "training.learning_rate=0.001"), tmp_path / "both")
    plain, both = rankers.load(tmp_path / "plain"), rankers.load(tmp_path / "both")
    weights = both.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in plain.state_dict().items())
    assert metrics["best_step"] > 0  # the linear layer alone made it better
    assert not torch.equal(weights["added.ensemble.layers.0.weight"], torch.eye(32, 40))
    with pytest.raises(HarkenError, match="its ranker has an ensemble encoder"):
        train(config(tmp_path, f"start_from={tmp_path / 'both'}"), tmp_path / "back")


# Mistakes


def test_folders_that_are_no_classifier(folders: dict[str, Path], tmp_path: Path) -> None:
    def made(place: Path) -> Ranker:
        return small_transformer(ensemble=RankerEnsemble(classifier=place))

    with pytest.raises(HarkenError, match=r"network\.ensemble\.classifier: .*none: is no run"):
        made(tmp_path / "none")
    ranker = small_transformer()
    ranker.save(tmp_path / "ranker")
    write_config(tmp_path / "ranker", run_config(ranker.config))
    with pytest.raises(HarkenError, match=r"ranker: is a run of 'ranker', not of a classifier"):
        made(tmp_path / "ranker")
    unfinished = shutil.copytree(folders["fasttext"], tmp_path / "unfinished")
    (unfinished / "labels.json").unlink()
    with pytest.raises(HarkenError, match="its training is not finished"):
        made(unfinished)


def test_a_classifier_of_pairs_reads_no_single_text(folders: dict[str, Path], tmp_path: Path) -> None:
    place = shutil.copytree(folders["fasttext"], tmp_path / "pairs")
    text = (place / "config.yaml").read_text(encoding="utf-8")
    for old, new in (("task: emotion", "task: empathy-emotional"), ("- sad", "- weak"), ("- joyful", "- strong")):
        text = text.replace(old, new)
    (place / "config.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(HarkenError, match=r"reads pairs of texts \('empathy-emotional'\)"):
        small_transformer(ensemble=RankerEnsemble(classifier=place))


def test_mistakes_of_a_config_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(HarkenError) as caught:
        config(tmp_path, "network.ensemble.frozen=true", "training.batch_size=1")
    assert "network.ensemble.frozen keeps a transformer that has learnt nothing" in str(caught.value)
    assert "leaves no negatives" in str(caught.value)
    with pytest.raises(HarkenError) as caught:
        config(tmp_path, "network.ensemble.classifer=x", "network.multitask=-2")
    assert "unknown key 'network.ensemble.classifer'; did you mean 'classifier'?" in str(caught.value)
