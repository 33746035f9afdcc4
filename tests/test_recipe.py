"""Recipes: stages are made once, named after what they are made from, and gone on with; LEMPEx from nothing to a chat."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from rich.console import Console

from harken.classifiers.config import ClassifierConfig, FastTextConfig
from harken.classifiers.training import train as train_classifier
from harken.corpora import store
from harken.dialogue import Dialogue, Split, Turn
from harken.errors import HarkenError
from harken.labels import MECHANISMS
from harken.listeners.generator import GeneratorListener
from harken.recipes import prepare
from harken.recipes.stages import MANIFEST, Stages
from harken.text.annotations import annotator
from harken.training.config import RunConfig, load_config
from harken.training.run import load_run
from retrieval_parts import small_transformer

CONFIGS = Path(__file__).parents[1] / "configs"
Harken = Callable[..., tuple[int, str, str]]
KEYS = {"emotional": "emotional_reactions", "interpretation": "interpretations", "exploration": "explorations"}
ANSWERS = ("ok", "i am so sorry", "what happened next", "i know how that feels", "oh no", "are you alright")


def talks() -> list[Dialogue]:
    """Two emotions, four-turn dialogues; every split has some."""
    return [
        Dialogue(
            f"{split}-{number}",
            (
                Turn("speaker", f"my {thing} {event} today"),
                Turn("listener", f"{ANSWERS[number]} about the {thing}"),
                Turn("speaker", f"yes the {thing} {event}"),
                Turn("listener", ANSWERS[-number - 1]),
            ),
            emotion=emotion,
            split=split,
            source="own",
        )
        for split in ("train", "valid", "test")
        for number, (thing, event, emotion) in enumerate(
            [("dog", "died", "sad"), ("cat", "ran", "sad"), ("team", "won", "proud"), ("son", "sang", "proud")]
        )
    ]


def judged() -> list[Dialogue]:
    """Answers with their levels, enough of each for a classifier to be fitted and validated."""
    said = ((0, "ok"), (1, "that is hard"), (2, "i am so very sorry and sad"))
    counts: dict[Split, int] = {"train": 8, "valid": 3}
    return [
        Dialogue(
            f"{split}-{i}-{level}",
            (
                Turn("speaker", f"post number {i}"),
                Turn("listener", text, extra={key: {"level": level} for key in KEYS.values()}),
            ),
            split=split,
        )
        for split, count in counts.items()
        for i in range(count)
        for level, text in said
    ]


@pytest.fixture
def corpora(home: Path) -> None:
    for name, dialogues in (("own", talks()), ("judged", judged())):
        store.save(name, dialogues, title=name, citation="", licence="", origin="tests")


@pytest.fixture
def place(tmp_path: Path, corpora: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small recipe: fastText in place of encoders, a transformer from scratch in place of MiniLM."""
    monkeypatch.chdir(tmp_path)
    configs = tmp_path / "configs"
    configs.mkdir()
    for mechanism in MECHANISMS:
        settings = {"dimensions": 8, "epochs": 5, "min_count": 1, "buckets": 1_000}
        about = {"model": "classifier", "task": f"empathy-{mechanism}", "corpus": "judged", "kind": "fasttext"}
        write(configs / f"empathy-{mechanism}.yaml", about | {"fasttext": settings})
    network: dict[str, Any] = {
        "kind": "transformer",
        "frozen_layers": 0,
        "d_model": 12,
        "n_heads": 2,
        "n_layers": 1,
        "d_inner": 16,
    }
    training: dict[str, Any] = {
        "optimiser": "adamw",
        "schedule": "linear",
        "learning_rate": 0.001,
        "warmup": 1,
        "negatives": "own",
    }
    training |= {"batch_size": 4, "max_steps": 4, "validate_every": 2, "validation_size": 100, "checkpoint_every": 1}
    write(
        configs / "ranker.yaml", {"model": "ranker", "network": network, "corpora": ["starter"], "training": training}
    )
    sizes = {"d_model": 16, "n_heads": 2, "depth": 16, "d_inner": 16, "encoder_layers": 1, "decoder_layers": 1}
    loop = {"schedule": "constant", "learning_rate": 0.01, "warmup": 1, "batch_size": 4, "max_steps": 6}
    content: dict[str, Any] = {
        "model": "lempex",
        "network": sizes,
        "corpus": "own",
        "recipe": {"folder": "stages", "ranker": {"config": "ranker.yaml"}, "q": 2},
        "text": {"min_count": 1},
        "training": loop | {"validate_every": 3, "weights": {"emotional": 0.1}},
    }
    write(configs / "lempex.yaml", content)
    return tmp_path


def write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(yaml.safe_dump(content), encoding="utf-8")


def prepared(place: Path, *changes: str) -> tuple[RunConfig, list[str]]:
    """The generator's config, and what was said of the stages."""
    path = place / "configs" / "lempex.yaml"
    console = Console(record=True, width=200, quiet=False, file=(place / "said.txt").open("w", encoding="utf-8"))
    found = prepare(load_config(path, changes), path.parent, console=console)
    said = console.export_text().splitlines()
    return found, [line.split(" stages/")[0] for line in said if " stages/" in line]


def test_stages_are_made_once(tmp_path: Path) -> None:
    said: list[str] = []
    stages, made = Stages(tmp_path / "stages", said.append), []

    def make(folder: Path) -> str:
        made.append(folder)
        return "abc"

    first = stages.stage("index", {"ranker": "1", "corpus": "x"}, make)
    again = stages.stage("index", {"corpus": "x", "ranker": "1"}, make)
    assert first == again
    assert first.output == "abc"
    assert made == [first.folder]
    assert stages.stage("index", {"ranker": "2", "corpus": "x"}, make).folder != first.folder
    assert said[1] == f"index: reuses {first.folder}"
    about = json.loads((first.folder / MANIFEST).read_text(encoding="utf-8"))
    assert (about["inputs"], about["output"]) == ({"ranker": "1", "corpus": "x"}, "abc")


def test_an_interrupted_stage_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    stages = Stages(tmp_path, said.append)

    def stopped(folder: Path) -> str:
        (folder / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stages.stage("labels", {}, stopped)
    done = stages.stage("labels", {}, lambda folder: str((folder / "half").exists()))
    assert done.output == "True"
    assert "goes on in" in said[1]
    (done.folder / MANIFEST).write_text("{", encoding="utf-8")
    with pytest.raises(HarkenError, match="is damaged; remove"):
        stages.stage("labels", {}, stopped)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(HarkenError, match="to be made, by one process"):
        stages.stage("labels", {"more": 1}, stopped)


@pytest.mark.slow
def test_lempex_from_nothing(place: Path, harken: Harken) -> None:
    """Every stage once, then none; a changed setting makes what depends on it and nothing else; the run answers live."""
    first, said = prepared(place)
    names = ["ranker", "index", "exemplars", *(f"empathy-{one}" for one in MECHANISMS), "labels"]
    assert said == [f"{name}: makes" for name in names]
    assert prepared(place) == (first, [f"{name}: reuses" for name in names])
    second, said = prepared(place, "recipe.q=1", "runtime.threads=1")
    assert [line for line in said if "makes" in line] == ["exemplars: makes"]
    assert second.text.levels == first.text.levels
    assert prepared(place, "network.empathy=false")[1] == [f"{name}: reuses" for name in names[:3]]
    _, said = prepared(place, "recipe.ranker.changes=[training.learning_rate=0.002]")
    assert [line for line in said if "makes" in line] == ["ranker: makes", "index: makes", "exemplars: makes"]

    assert first.recipe is None
    assert first.text.exemplars is not None
    assert [path.stem for path in first.text.exemplars.files] == ["test", "train", "valid"]
    attach = annotator(first.text, store.manifest("own").sha256)
    assert attach is not None

    code, out, err = harken("train", "configs/lempex.yaml", "--out", "runs/lempex")
    assert code == 0, err
    assert "perplexity" in out
    assert "labels: reuses" in err
    weights = load_run(Path("runs/lempex")).generator.state_dict()
    code, again, err = harken("train", "configs/lempex.yaml", "--out", "runs/lempex")
    assert (code, again) == (0, out)
    assert "generator: reuses runs/lempex" in err
    assert all(torch.equal(w, weights[k]) for k, w in load_run(Path("runs/lempex")).generator.state_dict().items())
    log = [json.loads(line) for line in Path("runs/lempex/log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert any("valid" in line for line in log)

    reply = GeneratorListener.load(Path("runs/lempex")).reply([Turn("speaker", "my dog died today")])
    assert reply.text
    assert len(reply.exemplars) == 2
    assert {one.answered for one in reply.exemplars} <= {
        t.text for d in talks() for t in d.turns if t.role == "listener"
    }

    index = str(first.text.exemplars.index)
    code, _, err = harken("retrieve", index, "--split", "test", "--filter", "gold", "-k", "2", "--out", "gold.jsonl")
    assert code == 0, err
    for more in ([], ["--exemplars", "gold.jsonl"]):
        code, _, err = harken("reply", "runs/lempex", "--likelihoods", *more)
        assert code == 0, err
    own, gold = (
        [json.loads(line)["nll"] for line in Path(f"runs/lempex/likelihoods-test{name}.jsonl").read_text().splitlines()]
        for name in ("", "-gold")
    )
    assert len(own) == len(gold)
    assert own != gold, "other exemplars, other replies"


@pytest.mark.slow
def test_an_interrupted_recipe_goes_on(place: Path) -> None:
    """Killed after the ranker's checkpoint, after one exemplar file, and before a stage was signed: it ends alike."""
    whole, _ = prepared(place, "recipe.folder=whole")
    again = "recipe.folder=stages"
    first, _ = prepared(place, again)
    for name, gone in (("ranker", "metrics.json"), ("exemplars", "valid.jsonl"), ("index", None), ("labels", None)):
        [folder] = (place / "stages").glob(f"{name}-*")
        (folder / MANIFEST).unlink()
        if gone:
            (folder / gone).unlink()
    second, said = prepared(place, again)
    assert second == first
    assert [line for line in said if "goes on" in line] == [
        f"{n}: goes on in" for n in ("ranker", "index", "exemplars", "labels")
    ]
    assert whole.text.exemplars is not None
    assert second.text.exemplars is not None
    for one, other in zip(whole.text.exemplars.files, second.text.exemplars.files, strict=True):
        assert one.read_bytes() == other.read_bytes()


def fasttext(place: Path, task: str, name: str, **more: Any) -> Path:
    settings = FastTextConfig(dimensions=4, epochs=1, min_count=1, buckets=100)
    config = ClassifierConfig(task=task, corpus="judged", kind="fasttext", fasttext=settings, **more)
    train_classifier(config, place / name)
    return place / name


def test_ready_classifiers_and_those_that_do_not_fit(place: Path) -> None:
    other = fasttext(place, "empathy-exploration", "other")
    few = fasttext(place, "empathy-emotional", "few", labels=("no", "strong"))
    bare = ["network.exemplars=false"]
    with pytest.raises(
        HarkenError, match="other: is of the task 'empathy-exploration', and this stage is 'empathy-emo"
    ):
        prepared(place, *bare, f"recipe.empathy.emotional.run={other}")
    with pytest.raises(HarkenError, match="tells no, strong apart, and the losses need no, weak, strong"):
        prepared(place, *bare, f"recipe.empathy.emotional.run={few}")
    with pytest.raises(HarkenError, match="is no run; train one with: harken train CONFIG --out"):
        prepared(place, *bare, "recipe.empathy.emotional.run=nowhere")
    found, said = prepared(place, *bare, f"recipe.empathy.exploration.run={other}")
    assert "empathy-exploration: makes" not in said
    assert [path.name for path in found.text.levels] == ["empathy.jsonl", "sentiment.jsonl"]
    assert found.text.exemplars is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["recipe.empathy=null"], "recipe.empathy is null and network.empathy is on"),
        (["recipe.ranker.run=nowhere"], "there is no such run; train one with: harken train CONFIG --out nowhere"),
        (["recipe.ranker.config=nowhere.yaml"], "there is no such config file"),
        (["recipe.empathy.exploration.config=nowhere.yaml"], "there is no such config file"),
        (
            ["recipe.empathy.exploration={config: empathy-exploration.yaml, changes: [corpus=nothing]}"],
            "the corpus 'nothing' is not in the data home",
        ),
        (["recipe.empathy.exploration.config=empathy-emotional.yaml"], "and this stage is 'empathy-exploration'"),
        (["recipe.ranker={}"], "name a config to train, or a run that is ready"),
        (["recipe.fliter=gold"], "unknown key 'fliter'; did you mean 'filter'"),
        (["text.both_sides=true"], "known of what listeners answer only"),
        (["text.levels=[x.jsonl]"], "are what the recipe makes"),
        (["model=t5", "network={}"], "a recipe is for the model lempex, not for t5"),
    ],
)
def test_mistakes_come_before_the_work(place: Path, changes: list[str], message: str) -> None:
    with pytest.raises(HarkenError, match=message):
        prepared(place, *changes)
    assert not (place / "stages").exists()


def test_a_missing_corpus_says_how_to_add_it(place: Path) -> None:
    shipped = CONFIGS / "empathy-emotional.yaml"
    with pytest.raises(HarkenError, match="add it with: harken data add empathy_mental_health"):
        prepared(place, "network.exemplars=false", f"recipe.empathy.emotional.config={shipped}")


@pytest.mark.slow
def test_fewer_candidates_than_q(place: Path) -> None:
    with pytest.raises(HarkenError, match=r"responses to choose from, fewer than recipe\.q = 99; lower it"):
        prepared(place, "recipe.ranker.run=minilm", "recipe.q=99", "network.empathy=false")


def test_a_config_with_a_recipe_is_not_trained_without_it(place: Path) -> None:
    from harken.training.loop import train

    with pytest.raises(HarkenError, match="has a recipe, whose stages come first"):
        train(load_config(place / "configs" / "lempex.yaml"), place / "run")


def test_the_shipped_recipes_name_configs_that_are_there() -> None:
    for name in ("lempex", "lempex-starter"):
        recipe = load_config(CONFIGS / f"{name}.yaml").recipe or {}
        sources = [recipe.get("emotion"), recipe["ranker"], *(recipe["empathy"] or {}).values()]
        assert all((CONFIGS / source["config"]).is_file() for source in sources if source)


def test_a_query_is_the_last_turns() -> None:
    """The paper's retriever answered the first turn of long conversations; four turns are read here, the last among them."""
    ranker = small_transformer()
    talk = ["i lost my dog", "oh no", "my cat died", "so sorry", "i won the race"]
    [own, without_first, other_end] = ranker.encode_contexts([talk, ["well done", *talk[1:]], [*talk[:-1], "how sad"]])
    assert (own == without_first).all()
    assert abs(own - other_end).max() > 1e-3
