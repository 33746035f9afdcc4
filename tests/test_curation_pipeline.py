"""The pipeline: the same bytes however it is run, nothing done twice, nothing lost."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harken.classifiers.config import ClassifierConfig, FastTextConfig
from harken.classifiers.training import train
from harken.corpora import STARTER, library, store
from harken.corpora.base import hash_split
from harken.corpora.starter import starter_dialogues
from harken.curation.config import CurationConfig
from harken.curation.engines import Engine, LocalEngine, RayEngine
from harken.curation.jobs import sampled_at
from harken.curation.pipeline import curate
from harken.curation.plan import Plan, film_of
from harken.curation.records import Source
from harken.curation.shards import read_dialogues
from harken.curation.stored import corpus_sources, is_corpus, read_part
from harken.dialogue import Dialogue
from harken.errors import HarkenError

Harken = Callable[..., tuple[int, str, str]]
FILMS = 6


def subrip(dialogues: Iterable[Dialogue], late: float = 0.0) -> str:
    """A film: each turn opens with a dash and takes two seconds, nine seconds of silence part dialogues."""
    blocks: list[str] = []
    clock = 10.0 + late
    for dialogue in dialogues:
        for turn in dialogue.turns:
            blocks.append(f"{len(blocks) + 1}\n{_time(clock)} --> {_time(clock + 1.9)}\n- {turn.text}\n")
            clock += 2.0
        clock += 9.0
    return "\n".join(blocks)


def _time(seconds: float) -> str:
    whole, rest = divmod(round(1000 * seconds), 1000)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02},{rest:03}"


def write_films(folder: Path) -> Path:
    """Six films of the starter corpus's dialogues, laid out as OPUS does; the first has two versions; one file is cut off."""
    talks = list(islice(starter_dialogues(), 0, None, 40))
    for number in range(FILMS):
        place = folder / "2001" / str(100 + number)
        place.mkdir(parents=True)
        own = talks[number::FILMS]
        (place / "1.srt").write_text(subrip(own), encoding="utf-8")
        if number == 0:
            (place / "2.srt").write_text(subrip(own, late=3.0), encoding="utf-8")
    whole = gzip.compress((folder / "2001" / "101" / "1.srt").read_bytes())
    (folder / "2001" / "102" / "2.srt.gz").write_bytes(whole[: len(whole) // 2])
    return folder


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_films(tmp_path_factory.mktemp("films"))


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> CurationConfig:
    """Settings with a 41-way classifier that is trained in a second."""
    run = tmp_path_factory.mktemp("runs") / "intent"
    quick = FastTextConfig(dimensions=16, epochs=5, word_grams=1, letter_grams=(0, 0), buckets=1)
    train(ClassifierConfig(task="intent", corpus=STARTER, kind="fasttext", fasttext=quick), run)
    return CurationConfig(classifier=run, shard_size=2)


@pytest.fixture(scope="module")
def reference(films: Path, config: CurationConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one worker makes, undisturbed."""
    folder = tmp_path_factory.mktemp("reference")
    curate([films], folder, config, LocalEngine(1))
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def times(folder: Path) -> dict[str, int]:
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}


@dataclass
class Disturbed:
    """An engine around whose jobs things happen."""

    inner: Engine
    stop_after: int | None = None
    """Raise KeyboardInterrupt, as Ctrl-C does, when so many shards are done."""
    kill: Set[str] = frozenset()
    """Kill the workers of these jobs, once each, when their work is done and nothing of it written."""
    marks: Path = Path()
    before: Callable[[], None] = lambda: None
    """Happens when everything is planned and nothing read."""
    performed: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.inner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.inner.__exit__(kind, problem, trace)

    def map(self, work: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
        def seen() -> Iterator[Any]:
            self.before()
            for job in jobs:
                self.performed.append(job.name)
                yield job

        for result in self.inner.map(partial(dangerous, work, self.kill, self.marks), seen()):
            yield result
            if self.stop_after is not None:
                self.stop_after -= 1
                if self.stop_after == 0:
                    raise KeyboardInterrupt


def dangerous(work: Callable[[Any], Any], kill: Set[str], marks: Path, job: Any) -> Any:
    mark = marks / f"{job.stage}.killed"
    if job.name in kill and not mark.exists():
        job.made()
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return work(job)


def test_what_comes_out(reference: Path, films: Path, config: CurationConfig) -> None:
    manifest = json.loads((reference / "manifest.json").read_text())
    read, selected = manifest["dialogues"], manifest["selected"]
    assert read["files"] == FILMS + 2
    assert manifest["unreadable"] == [{"id": "2001/102/2.srt.gz", "reason": "gzip file cut off before its end"}]
    assert read["turns"] == manifest["labelled"]["utterances"] + sum(read["removed"].values())
    assert read["removed"]["near_duplicate"] > 0  # the second version of the first film
    assert read["dialogues"] == selected["edos"]["dialogues"] + selected["os"]["dialogues"]
    assert selected["edos"]["dialogues"] == round(0.25 * read["dialogues"]) > 0
    assert {name.split("/")[0] for name in manifest["shards"]} == {"dialogues", "labelled", "edos", "os"}
    edos, rest = (list(read_dialogues(reference / part)) for part in ("edos", "os"))
    assert min(one.extra["emotionality"] for one in edos) >= max(one.extra["emotionality"] for one in rest)
    for dialogue in (*edos, *rest):
        assert all(turn.label is not None for turn in dialogue.turns)
        assert dialogue.split == hash_split(dialogue.extra["film"], valid=0.1, test=0.1)
    told = "\n".join(turn.text for dialogue in starter_dialogues() for turn in dialogue.turns)
    assert all(turn.text in told for dialogue in edos for turn in dialogue.turns)


def test_what_is_labelled(reference: Path) -> None:
    """Each utterance has its distribution, in half precision, and the likeliest label of it."""
    rows = [row for path in sorted((reference / "labelled").iterdir()) for row in pq.read_table(path).to_pylist()]
    assert len(rows) > 10
    for row in rows:
        chances = np.array(row["probabilities"], dtype=np.float64)  # (turns, 41)
        assert chances.shape == (len(row["turns"]), 41)
        assert chances.sum(axis=1) == pytest.approx(1, abs=0.01)
        assert chances[:, :32].sum(axis=1).mean() == pytest.approx(row["emotionality"], abs=0.005)
        assert row["passed"]


@pytest.mark.slow
def test_two_workers_make_the_same_bytes(reference: Path, films: Path, config: CurationConfig, tmp_path: Path) -> None:
    curate([films], tmp_path / "out", config, LocalEngine(2))
    assert content(tmp_path / "out") == content(reference)


@pytest.mark.slow
def test_killed_workers_change_nothing(reference: Path, films: Path, config: CurationConfig, tmp_path: Path) -> None:
    """One while it reads, one while it labels."""
    shard = sorted(path.stem for path in (reference / "dialogues").iterdir())[1]
    doomed = {f"{stage}/{shard}" for stage in ("dialogues", "labelled")}
    curate([films], tmp_path / "out", config, Disturbed(LocalEngine(2), kill=doomed, marks=tmp_path))
    assert len(list(tmp_path.glob("*.killed"))) == 2
    assert content(tmp_path / "out") == content(reference)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray: pip install 'harken[ray]'")
def test_ray_makes_the_same_bytes_also_when_a_worker_is_killed(
    reference: Path, films: Path, config: CurationConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))  # where its workers find `dangerous`
    shard = sorted(path.stem for path in (reference / "dialogues").iterdir())[0]
    engine = Disturbed(RayEngine(2, None), kill={f"labelled/{shard}"}, marks=tmp_path)
    curate([films], tmp_path / "out", config, engine)
    assert len(list(tmp_path.glob("*.killed"))) == 1
    assert content(tmp_path / "out") == content(reference)


@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_interrupted_anywhere_and_resumed_is_uninterrupted(
    data: st.DataObject,
    reference: Path,
    films: Path,
    config: CurationConfig,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Nothing finished is done again: each job is performed once, and finished shards keep their times."""
    total = len(list((reference / "receipts").rglob("*.json")))
    folder = tmp_path_factory.mktemp("out")
    stop = data.draw(st.integers(1, total - 1))
    stopped, resumed = Disturbed(LocalEngine(1), stop_after=stop), Disturbed(LocalEngine(1))
    with pytest.raises(KeyboardInterrupt):
        curate([films], folder, config, stopped)
    assert not (folder / "manifest.json").exists()
    before = times(folder)
    curate([films], folder, config, resumed)
    assert content(folder) == content(reference)
    assert stopped.performed[:stop] + resumed.performed == [
        *dict.fromkeys(stopped.performed[:stop] + resumed.performed)
    ]
    assert len(resumed.performed) == total - stop
    assert {name: times(folder)[name] for name in before} == before


def test_a_finished_run_does_nothing(films: Path, reference: Path, config: CurationConfig) -> None:
    before, engine = times(reference), Disturbed(LocalEngine(1))
    curate([films], reference, config, engine)
    assert engine.performed == []
    assert times(reference) == before


def test_a_new_file_redoes_only_its_film(config: CurationConfig, tmp_path: Path) -> None:
    """Eight files and nine ask for as many shards of three."""
    films, out, config = write_films(tmp_path / "films"), tmp_path / "out", replace(config, shard_size=3)
    curate([films], out, config, LocalEngine(1))
    again = Disturbed(LocalEngine(1))
    (films / "2001" / "104" / "3.srt").write_text(subrip(islice(starter_dialogues(), 3)), encoding="utf-8")
    manifest = curate([films], out, replace(config, top=3), again)
    assert len([name for name in again.performed if name.startswith("dialogues/")]) == 1
    assert len([name for name in again.performed if name.startswith("labelled/")]) == 1
    assert manifest["dialogues"]["files"] == FILMS + 3
    assert manifest["selected"]["edos"]["dialogues"] == 3


def test_a_damaged_or_missing_shard_is_made_again(films: Path, config: CurationConfig, tmp_path: Path) -> None:
    curate([films], tmp_path, config, LocalEngine(1))
    whole, shard = content(tmp_path), sorted((tmp_path / "labelled").iterdir())[0]
    shard.unlink()
    again = Disturbed(LocalEngine(1))
    curate([films], tmp_path, config, again)
    assert again.performed == [f"labelled/{shard.stem}"]
    assert content(tmp_path) == whole


def test_a_vanished_file_is_counted(config: CurationConfig, tmp_path: Path) -> None:
    films = write_films(tmp_path / "films")
    gone = films / "2001" / "103" / "1.srt"
    engine = Disturbed(LocalEngine(1), before=lambda: gone.unlink(missing_ok=True))
    manifest = curate([films], tmp_path / "out", config, engine)
    reasons = {one["id"]: one["reason"] for one in manifest["unreadable"]}
    assert "vanished" in reasons["2001/103/1.srt"]
    assert len(reasons) == 2


def test_the_prefilter_passes_the_best_share_and_says_what_it_costs(
    films: Path, reference: Path, config: CurationConfig, tmp_path: Path
) -> None:
    """With itself as pre-filter a classifier loses nothing; letting everything pass selects what no pre-filter would."""
    chosen = replace(config, prefilter=config.classifier, prefilter_share=0.5)
    manifest = curate([films], tmp_path / "half", chosen, LocalEngine(1))
    dialogues, labelled = manifest["dialogues"]["dialogues"], manifest["labelled"]
    assert labelled["passed"] == round(0.5 * dialogues)
    assert labelled["recall"] == 1.0
    assert labelled["recall_sample"] == dialogues
    rows = [
        row for path in sorted((tmp_path / "half" / "labelled").iterdir()) for row in pq.read_table(path).to_pylist()
    ]
    assert sum(row["passed"] for row in rows) == labelled["passed"]
    curate([films], tmp_path / "half", replace(chosen, prefilter_share=1.0), LocalEngine(1))
    assert content(tmp_path / "half" / "edos") == content(reference / "edos")
    curate([films], tmp_path / "half", config, LocalEngine(1))
    assert not list((tmp_path / "half" / "quick").iterdir())


def test_a_poor_prefilter_loses_recall(films: Path, config: CurationConfig, tmp_path: Path) -> None:
    """One that was hardly trained lets a tenth pass: what is selected of the rest ranks behind what passed."""
    run = tmp_path / "poor"
    poor = FastTextConfig(dimensions=2, epochs=1, word_grams=1, letter_grams=(0, 0), buckets=1, learning_rate=0.01)
    train(ClassifierConfig(task="intent", corpus=STARTER, kind="fasttext", fasttext=poor), run)
    manifest = curate([films], tmp_path / "out", replace(config, prefilter=run, prefilter_share=0.1), LocalEngine(1))
    assert manifest["labelled"]["recall"] <= 0.5
    edos = {one.id for one in read_dialogues(tmp_path / "out" / "edos")}
    rows = [row for path in (tmp_path / "out" / "labelled").iterdir() for row in pq.read_table(path).to_pylist()]
    assert {row["id"] for row in rows if row["passed"]} <= edos


def test_a_corpus_joins_the_films(films: Path, config: CurationConfig, home: Path, tmp_path: Path) -> None:
    """Its dialogues keep their splits, lose their labels for the classifier's, and are selected with the others."""
    talks = list(islice(starter_dialogues(), 5, 1_000, 40))
    store.save("talks", talks, title="", citation="", licence="", origin="here")
    manifest = curate([films], tmp_path, config, LocalEngine(1), corpora=["talks"])
    assert manifest["dialogues"]["files"] == FILMS + 2 + 1
    found = {one.id: one for part in ("edos", "os") for one in read_dialogues(tmp_path / part)}
    for dialogue in talks:
        there = found[f"talks/{dialogue.id}"]
        assert there.split == dialogue.split
        assert [turn.text for turn in there.turns] == [turn.text for turn in dialogue.turns]
        assert all(turn.label for turn in there.turns)


def test_the_starter_corpus_joins_without_being_stored() -> None:
    """File by file, each dialogue once, in its split, without the labels it has."""
    sources = list(corpus_sources(["starter"]))
    assert len({source.id for source in sources}) == len(sources) == 34
    assert all(is_corpus(source) and Path(source.path).is_file() for source in sources)
    found = {one.id: one for source in sources for one in read_part(source)}
    own = {f"starter/{one.id}": one for one in starter_dialogues()}
    assert found.keys() == own.keys()
    assert all(found[name].split == one.split for name, one in own.items())
    assert not any(turn.label for one in found.values() for turn in one.turns)


def test_a_sample_is_its_share() -> None:
    names = [f"film#{number}" for number in range(2_000)]
    assert sum(sampled_at(name, 0.25) for name in names) == pytest.approx(500, abs=60)
    assert all(sampled_at(name, 1.0) for name in names)


@given(st.sets(st.tuples(st.integers(0, 30), st.integers(0, 5)), min_size=1), st.integers(1, 9))
def test_a_plan_has_every_file_once_and_films_together(names: set[tuple[int, int]], size: int) -> None:
    sources = [Source(f"{film}/{version}.srt", "nowhere", None, f"1999/{film}") for film, version in sorted(names)]
    plan = Plan(sources, size)
    shards = list(plan)
    assert sorted(source.id for shard in shards for source in shard.sources) == sorted(one.id for one in sources)
    assert [shard.shard for shard in shards] == plan.shards == sorted(set(plan.shards))
    films = [{film_of(source) for source in shard.sources} for shard in shards]
    assert sum(len(one) for one in films) == len(set().union(*films))


def test_the_command_makes_corpora_to_train_on(
    films: Path, config: CurationConfig, home: Path, tmp_path: Path, harken: Harken
) -> None:
    out = tmp_path / "out"
    arguments = ("curate", "run", films, "--out", out, "--classifier", config.classifier, "--workers", 1, "--top", 5)
    code, shown, complaints = harken(*arguments, "--as", "films", "--set", "split_by=dialogue")
    assert code == 0
    assert "EDOS 5" in shown
    assert "unreadable: 2001/102/2.srt.gz (gzip file cut off before its end)" in complaints
    assert [one.id for one in library.iterate("films-edos")] == [one.id for one in read_dialogues(out / "edos")]
    assert len({one.split for one in library.iterate("films-os")}) > 1
    code, shown, _ = harken("curate", "stats", out, "--json")
    assert json.loads(shown)["tables"]["EDOS (Table 2)"]["dialogs"] == 5


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--set", "gap=0"), "gap = 0.0 must be above 0 seconds"),
        (("--set", "gpa=4"), "unknown key 'gpa'; did you mean 'gap'?"),
        (("--as", "Films!"), "cannot name a corpus"),
        (("--engine", "local", "--address", "auto"), "use it with --engine ray"),
        (("--segmenter", "none.json"), "there is no such segmenter"),
    ],
)
def test_mistakes_are_one_sentence(
    arguments: tuple[str, ...], sentence: str, films: Path, config: CurationConfig, tmp_path: Path, harken: Harken
) -> None:
    code, _, complaint = harken(
        "curate", "run", films, "--out", tmp_path, "--classifier", config.classifier, *arguments
    )
    assert code == 2
    assert sentence in complaint


def test_a_classifier_of_other_labels_is_refused(films: Path, tmp_path: Path) -> None:
    run = tmp_path / "emotion"
    quick = FastTextConfig(dimensions=4, epochs=1, word_grams=1, letter_grams=(0, 0), buckets=1)
    train(ClassifierConfig(task="emotion", corpus=STARTER, kind="fasttext", fasttext=quick), run)
    with pytest.raises(HarkenError, match="tells 32 labels of 'emotion' apart; emotionality needs the 41"):
        curate([films], tmp_path / "out", CurationConfig(classifier=run), LocalEngine(1))


@pytest.mark.slow
def test_a_full_disk_is_one_sentence_and_keeps_what_is_finished(
    reference: Path, films: Path, config: CurationConfig, tmp_path: Path
) -> None:
    """A limit on the size of files stands for the disk: the largest shard does not fit, smaller ones before it do."""
    sizes = sorted(path.stat().st_size for path in (reference / "labelled").iterdir())
    limit = sizes[-1] - 1
    assert sizes[0] < limit

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-m", "harken", "curate", "run", str(films), "--out", str(tmp_path)]
    command += ["--workers", "1", "--shard-size", "2", "--classifier", str(config.classifier)]
    full = subprocess.run(command, preexec_fn=small, capture_output=True, text=True, check=False)
    assert full.returncode == 2
    assert full.stderr.strip().startswith("harken: ")
    assert "the disk is full; free some space and run the command again" in full.stderr
    assert "Traceback" not in full.stderr
    before = times(tmp_path)
    assert before
    curate([films], tmp_path, config, LocalEngine(1))
    assert content(tmp_path) == content(reference)
    assert {name: times(tmp_path)[name] for name in before} == before
