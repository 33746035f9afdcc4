"""Pools and indexes: what is kept, what is found, what is refused; the listener and the commands on top of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from harken.cli import app
from harken.corpora import store
from harken.dialogue import Dialogue, Turn
from harken.errors import HarkenError
from harken.listeners import load_listener
from harken.listeners.retrieval import write_replies
from harken.retrieval.config import RankerRunConfig
from harken.retrieval.index import Index, approximate, build_index, exact
from harken.retrieval.pool import gather, read_pool
from harken.retrieval.rankers import Ranker
from harken.training.run import write_config
from retrieval_parts import WORDS, small_transformer


def talk(name: str, *said: str, emotion: str | None = None, split: str = "train") -> Dialogue:
    turns = tuple(Turn("listener" if i % 2 else "speaker", text) for i, text in enumerate(said))
    return Dialogue(name, turns, emotion=emotion, split=split, source="own")  # type: ignore[arg-type]


TALKS = [
    talk("a", "i lost my dog", "Oh no", "that is sad", "So sorry", emotion="sad"),
    talk("b", "i won the race", "well done", "how did it go", "  oh   NO ", emotion="proud"),
    talk("c", "my cat died", " ", "so sad", "that is so sad", emotion="sad"),
    talk("t", "the dog died", "oh no", emotion="sad", split="test"),
]


@pytest.fixture
def run(home: Path, tmp_path: Path) -> Path:
    """A run folder with an untrained ranker, and its corpus in the data home."""
    store.save("own", TALKS, title="", citation="", licence="", origin="here")
    folder = tmp_path / "run"
    ranker = small_transformer(normalise=True)
    write_config(folder, RankerRunConfig(model="ranker", corpora=("own",), network=ranker.config))
    ranker.save(folder)
    return folder


@pytest.fixture
def index(run: Path) -> Index:
    ranker = small_transformer(normalise=True)
    return build_index(ranker, str(run), read_pool(["own"]), run / "index", corpora=["own"])


def test_a_pool_has_each_text_once_and_no_empty_one() -> None:
    """Six listener turns in training: one empty, one said before in other capitals; its places are all remembered."""
    pool = gather(TALKS[:3])
    assert [one.text for one in pool.candidates] == ["Oh no", "So sorry", "well done", "that is so sad"]
    assert (pool.duplicates, pool.empty) == (1, 1)
    assert pool.candidates[0].dialogues == ["own/a", "own/b"]
    assert pool.candidates[0].emotions == ["sad", "proud"]
    assert pool.candidates[2].said == "i won the race"
    both = gather(TALKS[:3], both_sides=True)
    assert [one.text for one in both.candidates if one.text not in {c.text for c in pool.candidates}] == [
        "that is sad", "how did it go", "so sad"
    ]  # fmt: skip


def test_a_pool_of_nothing(home: Path) -> None:
    store.save("own", TALKS, title="", citation="", licence="", origin="here")
    with pytest.raises(HarkenError, match="no listener turn in the valid split"):
        read_pool(["own"], split="valid")
    with pytest.raises(HarkenError, match="the corpus 'owm' is not in the data home; did you mean 'own'"):
        read_pool(["owm"])


def test_search_is_sorting_by_dot_product(index: Index) -> None:
    contexts = [("i lost my cat",), ("how did it go", "well", "so sad")]
    vectors = index.ranker.encode_candidates([index.table[i].text for i in range(len(index))])
    wanted = index.ranker.encode_contexts(contexts) @ vectors.T
    scores, rows = index.search(index.ranker.encode_contexts(contexts), 99)
    assert scores.shape == (2, 4)  # no more than there are
    assert rows.tolist() == np.argsort(-wanted, axis=1).tolist()
    assert scores == pytest.approx(-np.sort(-wanted, axis=1), abs=1e-6)
    _, among = index.search(index.ranker.encode_contexts(contexts), 3, np.array([1, 3]))
    assert [sorted(row) for row in among.tolist()] == [[1, 3], [1, 3]]


def test_an_index_comes_back_memory_mapped(index: Index, run: Path) -> None:
    again = Index.open(run / "index")
    assert again.manifest == index.manifest
    assert (again.manifest.count, again.manifest.duplicates, again.manifest.empty) == (4, 1, 1)
    assert again.manifest.corpora == {"own": store.manifest("own").sha256}
    assert again.retrieve([("i won",)], 4) == index.retrieve([("i won",)], 4)
    with pytest.raises(HarkenError, match="holds an index already"):
        build_index(again.ranker, str(run), gather(TALKS), run / "index", corpora=["own"])


def test_an_index_moves_with_its_run(index: Index, run: Path, tmp_path: Path) -> None:
    shutil.move(run, tmp_path / "elsewhere")
    assert len(Index.open(tmp_path / "elsewhere" / "index")) == len(index)


def test_an_index_of_another_encoder_is_refused(index: Index, run: Path) -> None:
    other = small_transformer(normalise=True)
    with torch.no_grad():
        other.embedding.weight.add_(0.1)
    with pytest.raises(HarkenError) as caught:
        Index.open(run / "index", other)
    for part in (index.manifest.ranker, other.fingerprint(), str(run), "build the index again", "--corpus own"):
        assert part in str(caught.value)


@pytest.mark.parametrize("name", ["vectors.faiss", "candidates.arrow"])
@pytest.mark.parametrize("harm", ["cut", "flip", "gone"])
def test_a_corrupt_index_is_refused(index: Index, run: Path, name: str, harm: str) -> None:
    path = run / "index" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()
    if harm != "gone":
        path.write_bytes(content if harm == "flip" else content[:40])
    with pytest.raises(HarkenError, match=f"{name}: is damaged"):
        Index.open(run / "index")


def test_a_manifest_that_is_none(index: Index, run: Path) -> None:
    path = run / "index" / "manifest.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(HarkenError, match="is not a manifest of this version"):
        Index.open(run / "index")
    path.unlink()
    with pytest.raises(HarkenError, match="is not a whole index"):
        Index.open(run / "index")


def test_the_approximate_kind_reaches_its_recall() -> None:
    """Two thousand vectors in 50 cells: the cells looked into are as many as the recall asked for needs, and not all."""
    draw = np.random.default_rng(0)
    centres = draw.normal(size=(60, 16))
    points = (np.repeat(centres, 34, axis=0) + 0.4 * draw.normal(size=(2_040, 16))).astype(np.float32)
    queries = (centres + 0.4 * draw.normal(size=centres.shape)).astype(np.float32)
    index, recall = approximate(points, queries)
    assert index.nlist == 51
    assert 1 <= index.nprobe < index.nlist
    _, found = index.search(queries, 10)
    _, gold = exact(points).search(queries, 10)
    real = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found.tolist(), gold.tolist(), strict=True)])
    assert recall == pytest.approx(real)
    assert recall >= 0.95


def test_an_approximate_index_on_the_disk(run: Path) -> None:
    talks = [talk(f"{a}{b}", f"{a} {b}", f"{b} {a}") for a in WORDS[:14] for b in WORDS[:14]]
    ranker: Ranker = small_transformer(normalise=True)
    built = build_index(ranker, str(run), gather(talks), run / "near", corpora=["own"], kind="approximate")
    again = Index.open(run / "near")
    assert again.manifest.cells == len(again) // 40
    assert again.manifest.recall >= 0.95
    assert again.retrieve([("oh no",)], 5) == built.retrieve([("oh no",)], 5)
    _, rows = again.search(ranker.encode_contexts([("oh no",)]), 2, np.array([3, 7, 9]))
    assert set(rows[0].tolist()) <= {3, 7, 9, -1}


def test_a_run_listens(run: Path) -> None:
    """Its index is made on first use; an answer is a candidate, not one just given, and its source is told."""
    listener = load_listener(run)
    said = [Turn("speaker", "i lost my dog")]
    reply = listener.reply(said)
    texts = {"Oh no", "So sorry", "well done", "that is so sad"}
    assert {reply.text, *reply.alternatives} == texts
    assert reply.exemplars[0].answered == reply.text
    assert reply.exemplars[0].source.startswith("own/")
    assert reply.emotion in {"sad", "proud"}
    second = listener.reply([*said, Turn("listener", reply.text), Turn("speaker", "i lost my dog")])
    assert second.text != reply.text
    assert (run / "index" / "manifest.json").is_file()


def test_a_run_answers_a_split(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "replies.jsonl"
    assert write_replies(run, "test", out) == 1
    record = json.loads(out.read_text(encoding="utf-8"))
    assert (record["id"], record["context"], record["response"]) == ("t:1", ["the dog died"], "oh no")
    assert record["reply"] in {"Oh no", "So sorry", "well done", "that is so sad"}
    assert (record["emotion"], record["run"]) == ("sad", "run")
    write_replies(run, "train", out)
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    own = {"a": {"Oh no", "So sorry"}, "b": {"Oh no", "well done"}, "c": {"that is so sad"}}
    assert [line["id"] for line in lines] == ["a:1", "a:3", "b:1", "b:3", "c:3"]
    assert not any(line["reply"] in own[line["id"][0]] for line in lines)


def test_the_commands(run: Path, tmp_path: Path) -> None:
    call = CliRunner().invoke
    made = call(app, ["index", str(run), "--corpus", "own"])
    assert made.stdout == f"4 candidates in {run}/index (exact; 1 duplicates and 1 empty turns left out)\n"
    place = str(run / "index")
    found = call(app, ["retrieve", place, "-", "-k", "2", "--json"], input='i won\n\n["my cat died", "oh no", "yes"]\n')
    records = [json.loads(line) for line in found.stdout.splitlines()]
    assert [record["query"] for record in records] == [["i won"], ["my cat died", "oh no", "yes"]]
    assert [len(record["found"]) for record in records] == [2, 2]
    shown = call(app, ["retrieve", place, "i won", "-k", "1"]).stdout
    assert shown == f"{records[0]['found'][0]['score']:.3f}  {records[0]['found'][0]['text']}\n"
    file = tmp_path / "e.jsonl"
    told = call(app, ["retrieve", place, "--split", "test", "--filter", "gold", "--out", str(file)])
    assert "leaks the label" in told.stdout
    assert json.loads(file.read_text(encoding="utf-8").splitlines()[0])["filter"] == "gold"
    table = call(app, ["retrieve", place, "--split", "test", "--against", place, "--filter", "none"]).stdout
    assert "reference: oh no" in table
    assert "words an exemplar" in table
    replied = call(app, ["reply", str(run), "--split", "test"])
    assert replied.stdout == f"1 replies in {run}/replies-test.jsonl\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["retrieve", "{index}", "  "], "query 1 is empty"),
        (["retrieve", "{index}"], "either a query"),
        (["retrieve", "{index}", "i won", "--filter", "predict"], "did you mean 'predicted'"),
        (["retrieve", "{index}", "i won", "--filter", "gold"], "no gold emotion"),
        (["retrieve", "{run}", "i won"], "is not a whole index"),
        (["index", "{run}", "--corpus", "own"], "holds an index already"),
        (["index", "{index}", "--corpus", "own"], "is not the run of a ranker"),
        (["index", "minilm", "--corpus", "own"], "name one with --out"),
        (["reply", "{run}", "--likelihoods"], "a ranker chooses replies"),
    ],
)
def test_mistakes_at_the_command_line(index: Index, run: Path, arguments: list[str], message: str) -> None:
    given = [part.format(run=run, index=run / "index") for part in arguments]
    result = CliRunner().invoke(app, given)
    assert isinstance(result.exception, HarkenError)
    assert message in str(result.exception)
