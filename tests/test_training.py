"""Training: schedules by hand, every mistake in one message, and runs that survive what befalls them."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from harken.config import parse
from harken.corpora import store
from harken.decoding import DecodingConfig
from harken.decoding.replies import sample_replies, write_replies
from harken.dialogue import Dialogue, Turn, examples
from harken.errors import HarkenError
from harken.listeners.generator import GeneratorListener, tidy
from harken.models import MODELS
from harken.models.contract import shifted
from harken.models.losses import Term
from harken.scoring.perplexity import read_likelihoods, score_likelihoods
from harken.text.batches import collate, encode_dialogues, encode_example
from harken.text.bpe import BytePairs
from harken.text.vocabulary import SPECIALS, UNK, Words, load_vocabulary
from harken.training.config import TrainingConfig, build_config, load_config
from harken.training.evaluate import evaluate, summary
from harken.training.likelihoods import likelihoods, write_likelihoods
from harken.training.loop import objective, train
from harken.training.optimisers import learning_rate
from harken.training.run import load_run, read_checkpoint, read_weights, write_weights
from harken.training.session import open_session
from harken.training.watch import Progress, TensorBoard
from training_parts import Stop

CONFIGS = [
    path
    for path in sorted((Path(__file__).parents[1] / "configs").glob("*.yaml"))
    if parse(path.read_text(encoding="utf-8"), str(path)).get("model") in MODELS
]
FEELINGS = ("sad", "joyful", "afraid", "proud")


def talks(words: str, *, labelled: bool = True) -> list[Dialogue]:
    """Four small dialogues of a corpus's own words, for training and for validation."""
    return [
        Dialogue(
            id=f"{split}{number}",
            turns=(Turn("speaker", f"It was {word} today."), Turn("listener", f"So {word}! I hear you.")),
            emotion=feeling if labelled else None,
            split=split,
        )
        for split in ("train", "valid", "test")
        for number, (word, feeling) in enumerate(zip(words.split(), FEELINGS, strict=True))
    ]


@pytest.fixture
def corpora(home: Path) -> None:
    for name, dialogues in {
        "weather": talks("rainy sunny windy grand"),
        "food": talks("bitter sweet windy sour"),
        "bare": talks("rainy sunny windy grand", labelled=False),
    }.items():
        store.save(name, dialogues, title=name, citation="", licence="", origin="tests")


def config(corpus: str = "weather", model: str = "multi-tr", **more: Any) -> Any:
    training = {"schedule": "constant", "learning_rate": 0.01, "warmup": 5, "batch_size": 2, "max_steps": 12}
    training |= {"validate_every": 6} | more.pop("training", {})
    network = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1} | more.pop("network", {})
    text = {"source": "all"} | more.pop("text", {})
    return build_config(
        {"model": model, "corpus": corpus, "network": network, "text": text, "training": training} | more
    )


def test_noam_at_known_steps() -> None:
    """d = 300, warm-up 8,000: it rises to 300^-.5 · 8,000^-.5 = 6.455e-4 and is half of that at 32,000."""
    noam = TrainingConfig()
    peak = 300**-0.5 * 8_000**-0.5
    assert peak == pytest.approx(6.455e-4, rel=1e-4)
    assert learning_rate(1, noam, 300) == pytest.approx(peak / 8_000)
    assert learning_rate(4_000, noam, 300) == pytest.approx(peak / 2)
    assert learning_rate(8_000, noam, 300) == pytest.approx(peak)
    assert learning_rate(32_000, noam, 300) == pytest.approx(peak / 2)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [("constant", [0.5, 1.0, 1.0, 1.0]), ("linear", [0.5, 1.0, 0.5, 0.0]), ("cosine", [0.5, 1.0, 0.5, 0.0])],
)
def test_the_other_schedules_at_known_steps(schedule: Any, expected: list[float]) -> None:
    """Warm-up 10 of 110: steps 5, 10, 60 and 110."""
    settings = TrainingConfig(schedule=schedule, warmup=10, max_steps=110)
    assert [learning_rate(step, settings, 300) for step in (5, 10, 60, 110)] == pytest.approx(expected)
    if schedule == "cosine":
        assert learning_rate(35, settings, 300) == pytest.approx(0.5 * (1 + math.cos(math.pi / 4)))


def test_the_objective_by_hand() -> None:
    """The releases' way: 12 summed over tokens, 6 / 3 averaged over examples, weight ½; a measured term is left out."""
    terms = {
        "response": Term(torch.tensor(12.0, requires_grad=True), torch.tensor(4)),
        "emotion": Term(torch.tensor(6.0, requires_grad=True), torch.tensor(3)),
        "nll": Term(torch.tensor(99.0), torch.tensor(4)),
    }
    assert objective(terms, terms, TrainingConfig(summed=("response",), weights={"emotion": 0.5})).item() == 13.0
    assert objective(terms, terms, TrainingConfig()).item() == 5.0
    assert objective(terms, terms, TrainingConfig(), usual={"response": 8.0}).item() == 3.5, (
        "short: 4 words where 8 are usual"
    )
    doubled = {name: term + term for name, term in terms.items()}
    assert objective(terms, doubled, TrainingConfig(), processes=2).item() == 5.0, (
        "two processes with half the batch each"
    )


def test_every_mistake_at_once() -> None:
    values = {
        "model": "multi-tr",
        "corpus": "starter",
        "network": {"n_head": 2, "dropout": 1.5},
        "training": {"warmup": 0, "optimiser": "sgd"},
        "txt": {},
    }
    with pytest.raises(HarkenError) as caught:
        build_config(values, "my.yaml")
    message = str(caught.value)
    assert message.startswith("my.yaml: cannot build RunConfig")
    for part in (
        "unknown key 'network.n_head'; did you mean 'n_heads'?",
        "network.dropout = 1.5 must lie in 0..1",
        "training.optimiser = 'sgd' must be one of adam, adamw",
        "unknown key 'txt'; did you mean 'text'?",
    ):
        assert part in message
    with pytest.raises(HarkenError, match="did you mean 'transformer'") as caught:
        build_config({"model": "transfomer", "corpus": "starter", "training": {"patience": -1}})
    assert "patience = -1" in str(caught.value)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_shipped_config_builds(path: Path) -> None:
    built = load_config(path, ["training.max_steps=99999"])
    assert built.training.max_steps == 99_999


@pytest.mark.usefixtures("corpora")
def test_a_run_folder_holds_a_run(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    metrics = train(config(), folder, sample=sample_replies)
    names = {path.name for path in folder.iterdir()}
    files = {
        "config.yaml",
        "vocabulary.json",
        "weights.safetensors",
        "checkpoint.pt",
        "metrics.json",
        "log.jsonl",
        "README.md",
    }
    assert names == files
    assert json.loads((folder / "metrics.json").read_text()) == metrics
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert "train 4, valid 4, test 4 responses" in log[0]["note"]
    assert [record["step"] for record in log if "valid" in record] == [6, 12]
    assert len(log[-1]["samples"]) == 3
    card = (folder / "README.md").read_text()
    assert "**multi-tr**" in card
    assert f"{metrics['test']['perplexity']:.2f}" in card
    assert load_run(folder).config == config()


@pytest.mark.usefixtures("corpora")
def test_figures_do_not_depend_on_the_batch_size(tmp_path: Path) -> None:
    train(config(), tmp_path / "run")
    run = load_run(tmp_path / "run")
    dialogues = talks("rainy sunny grand windy")[:4] + talks("sunny sunny sunny sunny")[4:7]
    rows = encode_dialogues(dialogues, run.vocabulary, run.config.text)
    one, many = (summary(evaluate(run.generator, rows, batch_size=size)) for size in (1, 64))
    assert one == pytest.approx(many, rel=1e-5)
    told = [example for dialogue in dialogues for example in examples(dialogue)]
    each = list(likelihoods(run, told))
    whole = math.exp(sum(line["nll"] for line in each) / sum(line["tokens"] for line in each))
    assert whole == pytest.approx(one["perplexity"], rel=1e-5)
    mean = sum(line["nll"] / line["tokens"] for line in each) / len(each)
    assert math.exp(mean) == pytest.approx(one["perplexity_utterance_mean"], rel=1e-5)
    first = next(line for line in each if line["id"] == told[0].id)
    assert (first["words"], first["characters"]) == (5, len("So rainy! I hear you."))
    hits = sum(line["predicted_emotion"] == line["emotion"] for line in each)
    assert hits / len(told) == pytest.approx(one["emotion_top1"], abs=1e-5)


@pytest.mark.usefixtures("corpora")
def test_a_word_weighs_the_same_in_every_batch(tmp_path: Path) -> None:
    """What the losses of four batches of a row each are divided by: the same count, and all four together their words."""
    settings = config(training={"batch_size": 1})
    session = open_session(settings, tmp_path / "run", resume=False, sample=None, watchers=())
    words = sum(len(row.target) for row in session.material.rows["train"])
    assert session.usual["response"] == words / 4
    whole = open_session(
        config(training={"batch_size": 64}), tmp_path / "whole", resume=False, sample=None, watchers=()
    )
    assert whole.usual["response"] == words, "no batch has more rows than there are"


@pytest.mark.usefixtures("corpora")
def test_a_likelihood_file_has_both_protocols_when_asked(tmp_path: Path) -> None:
    metrics = train(config(), tmp_path / "run")
    out = tmp_path / "likelihoods.jsonl"
    assert write_likelihoods(load_run(tmp_path / "run"), "test", out, oracle=True) == 8
    scores = {score.metric: score.value for score in score_likelihoods(read_likelihoods(out)).scores}
    assert scores["ppl-token"] == pytest.approx(metrics["test"]["perplexity"], rel=1e-5)
    utterance = metrics["test"]["perplexity_utterance_mean"]
    assert scores["ppl-utterance-oracle"] == pytest.approx(utterance, rel=1e-5), "Multi-TR has no use for gold emotions"
    with pytest.raises(HarkenError, match="unknown split"):
        write_likelihoods(load_run(tmp_path / "run"), "tset", out)


@pytest.mark.usefixtures("corpora")
def test_likelihoods_in_a_smaller_vocabulary(tmp_path: Path) -> None:
    """What a word outside weighs is its own and the unknown word's together: by hand, from the run's own figures."""
    train(config(), tmp_path / "run")
    run = load_run(tmp_path / "run")
    assert isinstance(run.vocabulary, Words)
    own, rare = run.vocabulary, "windy"
    assert rare in own.index
    Words([word for word in own.tokens[len(SPECIALS) :] if word != rare]).save(tmp_path)
    told = [example for dialogue in talks("rainy sunny grand windy") for example in examples(dialogue)]
    plain, fewer = (
        {line["id"]: line for line in likelihoods(run, told, within=words)}
        for words in (None, load_vocabulary(tmp_path))
    )
    assert {line["vocabulary"] for line in fewer.values()} == {f"words-all-{len(own)}-in-{len(own) - 1}"}
    for example in told:
        before, after = (lines[example.id]["nll"] for lines in (plain, fewer))
        if rare in example.response.text:
            batch = collate([encode_example(example, own, run.config.text)])
            with torch.inference_mode():
                state = run.generator.encode(batch)
                at = batch.target[0].tolist().index(own.index[rare])
                for token in shifted(batch.target)[0, : at + 1]:
                    p = run.generator.step(token.view(1), state).softmax(1)[0]
            gained = torch.log((p[own.index[rare]] + p[UNK]) / p[own.index[rare]]).item()
            assert before - after == pytest.approx(gained, rel=1e-3)
            assert gained > 0
        else:
            assert after == pytest.approx(before, rel=1e-5)
    with pytest.raises(HarkenError, match="does not know 1 words of the vocabulary, such as 'zebra'"):
        next(likelihoods(run, told, within=Words(["zebra", "so"])))
    with pytest.raises(HarkenError, match="for runs of whole words"):
        next(likelihoods(run, told, within=BytePairs.train(["so rainy"] * 3, 300)))


@pytest.mark.usefixtures("corpora")
def test_a_loss_that_is_no_number_stops_and_keeps_the_last_good_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    wild = config(training={"learning_rate": 1e20, "warmup": 8, "checkpoint_every": 1, "validate_every": 99})
    with pytest.raises(HarkenError, match=r"not (a number|numbers) at step \d+.*last good checkpoint is kept"):
        train(wild, folder)
    kept = read_checkpoint(folder, wild)
    assert all(bool(torch.isfinite(weight).all()) for weight in kept["weights"].values())


@pytest.mark.usefixtures("corpora")
@pytest.mark.parametrize("step", [6, 7])
def test_ctrl_c_loses_nothing(step: int, tmp_path: Path) -> None:
    """After step 6 it falls into a validation, which the resumed run makes good; after step 7 into the next step."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train(config(), whole)
    with pytest.raises(KeyboardInterrupt):
        train(config(), broken, watchers=[Stop(step)])
    train(config(), broken, resume=True)
    expected, found = read_checkpoint(whole, config()), read_checkpoint(broken, config())
    assert all(torch.equal(weight, found["weights"][name]) for name, weight in expected["weights"].items())
    assert found["progress"] | {"seconds": 0} == expected["progress"] | {"seconds": 0}
    told = [[json.loads(line).get("valid") for line in (run / "log.jsonl").open()] for run in (whole, broken)]
    assert told[0] == told[1]


@pytest.mark.usefixtures("corpora")
def test_a_run_is_never_overwritten_and_resumes_only_itself(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(HarkenError, match="no checkpoint to resume"):
        train(config(), folder, resume=True)
    train(config(), folder)
    with pytest.raises(HarkenError, match="holds a run already"):
        train(config(), folder)
    with pytest.raises(HarkenError, match="another config"):
        train(config(training={"batch_size": 4}), folder, resume=True)
    (folder / "checkpoint.pt").write_bytes(b"no checkpoint")
    with pytest.raises(HarkenError, match="not a checkpoint"):
        train(config(), folder, resume=True)


@pytest.mark.usefixtures("corpora")
def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    train(config(), folder)
    run = load_run(folder)
    write_weights(folder / "weights.safetensors", run.generator, "transformer")
    with pytest.raises(HarkenError, match="weights of transformer, not of multi-tr"):
        load_run(folder)
    write_weights(folder / "weights.safetensors", run.generator, "multi-tr")
    text = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(text.replace("d_model: 16", "d_model: 18"))
    with pytest.raises(HarkenError, match="does not fit multi-tr"):
        load_run(folder)
    (folder / "weights.safetensors").write_bytes(b"short")
    with pytest.raises(HarkenError, match="not a whole safetensors file"):
        load_run(folder)
    with pytest.raises(HarkenError, match="no such run"):
        load_run(tmp_path / "none")


@pytest.mark.usefixtures("corpora")
def test_a_corpus_without_the_labels_a_model_needs(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match="'bare' has no emotion labels in its train split, and multi-tr learns"):
        train(config("bare"), tmp_path / "run")
    assert train(config("bare", "transformer"), tmp_path / "plain")["valid"]["responses"] == 4


@pytest.mark.usefixtures("corpora")
def test_fine_tuning_starts_from_an_earlier_run(tmp_path: Path) -> None:
    """Rows of the word tables move by word; a model with one more part starts that part anew."""
    first, second = tmp_path / "first", tmp_path / "second"
    train(config("weather", "transformer"), first)
    later = config("food", start_from=str(first), training={"max_steps": 1, "learning_rate": 1e-12})
    train(later, second)
    old, new = load_run(first), load_run(second)
    for word in ("windy", "hear", "."):
        here, there = new.vocabulary.tokens.index(word), old.vocabulary.tokens.index(word)
        torch.testing.assert_close(new.generator.embedding.weight[here], old.generator.embedding.weight[there])
        torch.testing.assert_close(new.generator.output.bias[here], old.generator.output.bias[there])
    before, after = read_weights(first / "weights.safetensors", "transformer"), new.generator.state_dict()
    torch.testing.assert_close(after["encoder.project.weight"], before["encoder.project.weight"])
    assert 'words, new: emotion"' in (second / "log.jsonl").read_text()
    wider = config("food", start_from=str(first), network={"d_model": 20})
    with pytest.raises(HarkenError, match="built otherwise"):
        train(wider, tmp_path / "third")


@pytest.mark.usefixtures("corpora")
def test_word_vectors_begin_the_embeddings(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("windy" + " 0.5" * 16 + "\n")
    tiny = {"max_steps": 1, "learning_rate": 1e-12}
    train(config(text={"vectors": str(path)}, training=tiny), tmp_path / "run")
    run = load_run(tmp_path / "run")
    row = run.generator.embedding.weight[run.vocabulary.tokens.index("windy")]
    torch.testing.assert_close(row, torch.full((16,), 0.5))
    assert "vectors for 1 of" in (tmp_path / "run" / "log.jsonl").read_text()


@pytest.mark.usefixtures("corpora")
def test_early_stopping_counts_validations(tmp_path: Path) -> None:
    """At a rate of nothing no validation is better than the first: with patience 2 the fourth is the last."""
    still = {"learning_rate": 1e-30, "validate_every": 2, "patience": 2, "max_steps": 100}
    metrics = train(config(training=still), tmp_path / "run")
    assert (metrics["steps"], metrics["best_step"]) == (8, 2)


@pytest.mark.usefixtures("corpora")
def test_a_reply_file_is_resumed_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(config(), tmp_path / "run")
    run, out, decoding = load_run(tmp_path / "run"), tmp_path / "replies.jsonl", DecodingConfig(beam=2, max_length=6)
    monkeypatch.setattr("harken.decoding.replies.BATCH", 1)
    assert write_replies(run, "test", out, config=decoding) == 4
    whole = out.read_text()
    lines = [json.loads(line) for line in whole.splitlines()]
    assert [line["id"] for line in lines] == ["test0:1", "test1:1", "test2:1", "test3:1"]
    assert set(lines[0]) == {"id", "context", "response", "reply", "emotion", "predicted_emotion", "run"}

    class EnoughError(Exception):
        pass

    def interrupted(total: int) -> Any:
        assert total == 4
        done = iter((True, False))

        def advance(_: int) -> None:
            if not next(done):
                raise EnoughError

        return advance

    out.unlink()
    with pytest.raises(EnoughError):
        write_replies(run, "test", out, config=decoding, started=interrupted)
    assert not out.exists()
    left: list[int] = []
    write_replies(run, "test", out, config=decoding, started=lambda total: left.append(total) or (lambda _: None))  # type: ignore[func-returns-value]
    assert left == [2]
    assert out.read_text() == whole


@pytest.mark.usefixtures("corpora")
def test_a_generator_listens(tmp_path: Path) -> None:
    learnt = {"max_steps": 150, "validate_every": 150, "learning_rate": 0.02}
    train(config(network={"smoothing": 0.0}, training=learnt, text={"history": 1}), tmp_path / "run")
    listener = GeneratorListener.load(tmp_path / "run")
    asked = Turn("speaker", "It was rainy today.")
    reply = listener.reply([asked])
    assert reply.text == "So rainy! I hear you."
    assert reply.emotion == "sad"
    again = listener.reply([asked, Turn("listener", "so rainy, I hear you"), asked])  # it reads the last turn alone
    assert again.text == reply.alternatives[0]
    assert listener.reply([Turn("speaker", "   ")]).text
    with pytest.raises(HarkenError, match="ends with a turn of the speaker"):
        listener.reply([])


def test_tidy_writes_as_people_do() -> None:
    assert (
        tidy("i am so sorry . that is n't fair , is it ? i 'd cry !")
        == "I am so sorry. That isn't fair, is it? I'd cry!"
    )
    assert tidy("`` wow '' ( really ) ... i can not") == '"wow" (really)... I cannot'


def test_tensorboard_is_asked_for_by_name(tmp_path: Path) -> None:
    if importlib.util.find_spec("tensorboard") is None:
        with pytest.raises(HarkenError, match=r"pip install 'harken\[train\]'"):
            TensorBoard(tmp_path)
    else:
        TensorBoard(tmp_path).stepped(Progress(step=1), {"nll": 2.0})
        assert list((tmp_path / "tensorboard").glob("events*"))


def harken(*arguments: str, launcher: tuple[str, ...] = (), said: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *launcher, "-m", "harken", *arguments]
    alone = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(command, input=said, capture_output=True, text=True, check=False, env=alone)


@pytest.mark.slow
@pytest.mark.usefixtures("corpora")
def test_two_processes_give_the_loss_of_one(tmp_path: Path) -> None:
    """Clipped, summed, averaged: after fifty steps log and validation agree."""
    training = {"max_steps": 50, "validate_every": 50, "batch_size": 2, "clip": 1.0, "summed": ["response"]}
    train(config(training=training), tmp_path / "one")
    launcher = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29617")
    file = str(tmp_path / "one" / "config.yaml")
    shown = harken("train", file, "--out", str(tmp_path / "two"), launcher=launcher)
    assert shown.returncode == 0, shown.stderr
    logs = [(tmp_path / name / "log.jsonl").read_text().splitlines() for name in ("one", "two")]
    (_, step_one, valid_one), (_, step_two, valid_two) = ([json.loads(line) for line in log] for log in logs)
    for name in ("response", "emotion", "nll", "tokens"):
        assert step_two[name] == pytest.approx(step_one[name], rel=1e-3)
    assert valid_two["valid"] == pytest.approx(valid_one["valid"], rel=1e-3)


@pytest.mark.slow
@pytest.mark.usefixtures("corpora")
def test_the_command_line_trains_and_replies(tmp_path: Path) -> None:
    train(config(), tmp_path / "first")
    file = tmp_path / "first" / "config.yaml"
    run = tmp_path / "run"
    shown = harken("train", str(file), "--out", str(run), "--set", "training.max_steps=6", "--json")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["steps"] == 6
    assert "valid perplexity" in shown.stderr
    shown = harken("reply", str(run), "--split", "test", "--beam", "3", "--out", str(tmp_path / "r.jsonl"))
    assert shown.stdout == f"4 replies in {tmp_path / 'r.jsonl'}\n"
    shown = harken("train", str(file), "--out", str(run))
    assert shown.returncode == 2
    assert "holds a run already" in shown.stderr
    shown = harken("chat", str(run), "--json", said="It was windy today.\n")
    assert set(json.loads(shown.stdout)) >= {"reply", "emotion"}, shown.stderr
    shown = harken("reply", str(run), "--set", "beam=0")
    assert shown.returncode == 2
    assert "beam = 0 must be at least 1" in shown.stderr


@pytest.mark.usefixtures("corpora")
def test_a_checkpoint_from_before_a_setting_existed_is_resumed(tmp_path: Path) -> None:
    """What the older version could not set has its default; another value is another config."""
    chosen = config()
    train(chosen, tmp_path)
    path = tmp_path / "checkpoint.pt"
    content = torch.load(path, weights_only=True)
    content["config"] = "".join(line for line in content["config"].splitlines(True) if "situations" not in line)
    torch.save(content, path)
    assert read_checkpoint(tmp_path, chosen)["progress"]["step"] == 12
    with pytest.raises(HarkenError, match="made under another config"):
        read_checkpoint(tmp_path, config(text={"situations": True}))
