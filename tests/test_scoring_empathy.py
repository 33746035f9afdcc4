"""Empathy by synthetic labels: worked by hand, against scikit-learn, laws, then classifiers trained on a few pairs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harken import config as configs
from harken.classifiers.config import ClassifierConfig
from harken.classifiers.run import fingerprint
from harken.classifiers.sources import read_texts
from harken.classifiers.training import train
from harken.corpora import store
from harken.dialogue import SPLITS, Dialogue, Turn
from harken.errors import HarkenError
from harken.scoring import empathy
from harken.scoring.compare import compare
from harken.scoring.compare_files import Options
from harken.scoring.compare_sources import find_sources
from harken.scoring.evaluate import Scored, choose, compare_replies, score_replies
from harken.scoring.material import Material, Settings
from harken.scoring.metrics import METRICS, SETS
from harken.scoring.metrics.labels import averaged, counts
from harken.scoring.published import beside
from harken.scoring.replies import Replies, ReplyRecord, read_replies, write_replies
from harken.scoring.statistics import Sums
from harken.scoring.uncertainty import Resamples

Harken = Callable[..., tuple[int, str, str]]
pytestmark = pytest.mark.xdist_group("classifiers")

ANSWERS = {  # emotional presence, interpretation, exploration
    "hugs and sorrow": (2, 0, 0),
    "oh dear": (1, 1, 0),
    "you must feel torn": (0, 2, 0),
    "which town was this": (0, 0, 2),
    "fine": (0, 0, 0),
}
SORROW, DEAR, TORN, TOWN, FINE = ANSWERS
POSTS = ("my dog ran off", "we moved away", "the exam is over", "i lost my keys")
FIELDS = ("emotional_reactions", "interpretations", "explorations")
EMPATHY = SETS["empathy"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The three classifiers, trained on a few written pairs until they know them by heart."""
    talks = [
        Dialogue(f"{split}-{i}-{j}", (Turn("speaker", post), Turn("listener", answer, extra=extra)), split=split)
        for split in SPLITS
        for i, post in enumerate(POSTS)
        for j, (answer, levels) in enumerate(ANSWERS.items())
        for extra in [{name: {"level": level} for name, level in zip(FIELDS, levels, strict=True)}]
    ]
    folder = tmp_path_factory.mktemp("empathy")
    small = {"dimensions": 8, "epochs": 200, "buckets": 1000, "min_count": 1, "word_grams": 1, "letter_grams": [0, 0]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARKEN_HOME", str(folder / "home"))
        store.save("pairs", talks, title="pairs", citation="", licence="", origin="tests")
        for task in empathy.MECHANISMS.values():
            labels = ["no", "strong"] if task == "empathy-exploration" else None  # no answer explores a little
            values = {"task": task, "corpus": "pairs", "kind": "fasttext", "fasttext": small, "labels": labels}
            metrics = train(configs.build(ClassifierConfig, values), folder / "runs" / task)
            assert metrics["test"]["accuracy"] == 1
    yield folder / "runs"


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the test's own, no judge loaded, and no runs in the current folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    empathy._loaded.cache_clear()


def replies(pairs: Sequence[tuple[str, str]]) -> Replies:
    """Replies with their responses, each to a post."""
    return Replies(
        "replies",
        tuple(
            ReplyRecord(str(i), said, (POSTS[i % len(POSTS)],), gold, emotion="sad")
            for i, (said, gold) in enumerate(pairs)
        ),
    )


def scored(found: Replies, runs: Path, names: Sequence[str] = ("empathy",), samples: int = 200) -> Scored:
    return score_replies(
        found, names, settings=Settings(empathy=(runs,)), resamples=Resamples(samples=samples), by="emotion"
    )


def values(found: Scored) -> dict[str, float]:
    return {one.metric: one.value for one in found.scores}


# ------------------------------------------------------------------------------------------------------------ by hand


WORKED = [(FINE, TOWN), (DEAR, FINE), (DEAR, DEAR), (TORN, SORROW)]
"""Emotional presence: replies 0, 1, 1, 0 and responses 0, 0, 1, 2."""


def test_macro_f1_and_difference_by_hand(runs: Path) -> None:
    """Of level 0 one is right of 2 + 2, F1 1/2; of 1 one of 2 + 1, 2/3; of 2 none of 0 + 1: (1/2 + 2/3 + 0) / 3 = 7/18.

    Interpretation: replies 0, 1, 1, 2, responses 0, 0, 1, 0: (2/4 + 2/3 + 0) / 3 again, and +3/4 of a level. Exploration:
    replies 0, 0, 0, 0, responses 2, 0, 0, 0: (6/7 + 0) / 2 = 3/7; no one has level 1.
    """
    found = scored(replies(WORKED), runs)
    assert [one.metric for one in found.scores] == list(EMPATHY)
    assert {name: value for name, value in values(found).items() if "sentiment" not in name} == pytest.approx(
        {
            "emotional-presence-f1-macro": 700 / 18,
            "interpretation-f1-macro": 700 / 18,
            "exploration-f1-macro": 300 / 7,
            "emotional-presence-difference": (0 + 1 + 0 - 2) / 4,
            "interpretation-difference": (0 + 1 + 0 + 2) / 4,
            "exploration-difference": (-2 + 0 + 0 + 0) / 4,
        }
    )
    levels = found.scores[0].extras["levels"]
    assert levels == {"replies": {"no": 2, "weak": 2, "strong": 0}, "responses": {"no": 2, "weak": 1, "strong": 1}}


def test_sentiment_by_hand() -> None:
    """VADER gives good 1.9 / √(1.9² + 15) = .4404 and bad -2.5 / √(2.5² + 15) = -.5423; a word it does not know, 0."""
    material = Material(replies([("good", "bad"), ("table", "good")]).records)
    found = {name: METRICS[name].measure(material).value for name in ("sentiment-error", "sentiment-difference")}
    assert found == pytest.approx(
        {"sentiment-error": (0.9827 + 0.4404) / 2, "sentiment-difference": (0.9827 - 0.4404) / 2}, abs=1e-9
    )


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=1, max_size=40))
@settings(deadline=None)
def test_macro_f1_of_levels_agrees_with_scikit_learn(levels: list[tuple[int, int]]) -> None:
    from sklearn.metrics import f1_score

    gold, guessed = zip(*levels, strict=True)
    statistic = Sums(counts(gold, guessed), averaged("f1", "macro"))
    expected = f1_score(gold, guessed, average="macro", zero_division=0)
    assert statistic(np.ones((1, len(levels))))[0] == pytest.approx(100 * expected)


def test_the_pairs_are_those_of_harken_label(tmp_path: Path) -> None:
    """The last four turns, joined, and the answer without white space around it."""
    record = ReplyRecord("1", " a reply ", ("one", "two", "three", "four", "five"), "gold")
    write_replies(tmp_path / "r.jsonl", [record])
    for part, answer in (("reply", record.reply), ("response", "gold")):
        asked = read_texts(tmp_path / "r.jsonl", of=part, pairs=True)
        assert [one.item for one in asked] == [empathy.pair(record, answer)]
    assert empathy.pair(record, record.reply) == ("two three four five", "a reply")


# --------------------------------------------------------------------------------------------------------------- laws


def test_responses_as_replies_are_perfect(runs: Path) -> None:
    found = scored(replies([(gold, gold) for _, gold in WORKED]), runs)
    for one in found.scores:
        perfect = 100 if one.metric.endswith("f1-macro") else 0
        assert (one.value, one.low, one.high) == (perfect, perfect, perfect)


def test_the_order_of_lines_never_matters(runs: Path) -> None:
    forth = replies(WORKED)
    back = Replies("back", forth.records[::-1])
    assert values(scored(back, runs)) == values(scored(forth, runs))
    empathy._loaded.cache_clear()
    asked: list[str] = []
    score_replies(
        back, ["empathy"], settings=Settings(empathy=(runs,)), heard=lambda what, done, total: asked.append(what)
    )
    assert not any("of the re" in what for what in asked)  # the cache knows both orders


def test_an_empty_reply_shows_nothing(runs: Path) -> None:
    found = values(scored(replies([("", SORROW), (" ", TOWN), ("", "")]), runs))
    assert found["emotional-presence-difference"] == pytest.approx(-2 / 3)
    assert found["exploration-difference"] == pytest.approx(-2 / 3)


def test_intervals_surround_and_groups_agree(runs: Path) -> None:
    found = scored(replies(WORKED * 10), runs)
    for one in found.scores:
        assert one.low is not None and one.high is not None
        assert one.low < one.value < one.high
    assert {one.metric: one.value for one in found.groups[0].scores} == values(found)


def test_the_signature_names_the_classifier(runs: Path) -> None:
    found = {one.metric: one.signature for one in scored(replies(WORKED), runs).scores}
    for mechanism, task in empathy.MECHANISMS.items():
        made = f"of:reply-response|history:4|classifier:{fingerprint(runs / task)}"
        assert found[f"{mechanism}-f1-macro"] == f"{mechanism}-f1-macro|average:macro|{made}|unit:percent|n:4|v:0.1.0"
        assert found[f"{mechanism}-difference"] == f"{mechanism}-difference|{made}|unit:level|n:4|v:0.1.0"


# ---------------------------------------------------------------------------------------------------------- the cache


def test_levels_are_kept_and_a_damaged_cache_is_made_again(runs: Path, tmp_path: Path) -> None:
    first = values(scored(replies(WORKED), runs))
    kept = sorted((tmp_path / "cache" / "harken").glob("empathy-*.txt"))
    assert len(kept) == 6  # replies and responses of three mechanisms
    for path in kept:
        path.write_text(path.read_text(encoding="ascii").translate(str.maketrans("012", "210")), encoding="ascii")
    empathy._loaded.cache_clear()
    turned = values(scored(replies(WORKED), runs))
    assert turned["interpretation-difference"] == -first["interpretation-difference"] != 0  # they were read
    for path, damage in zip(kept, ("", "9999", "01", "abcd", "00000", "é"), strict=True):
        path.write_text(damage, encoding="utf-8")
    empathy._loaded.cache_clear()
    assert values(scored(replies(WORKED), runs)) == first


def test_another_classifier_asks_anew(runs: Path, tmp_path: Path) -> None:
    """A run trained again in the same place, in the same process, gives its own labels under its own hash."""
    place = tmp_path / "mine"
    shutil.copytree(runs, place)
    first = scored(replies(WORKED), place, ["interpretation-difference"]).scores[0]
    labels = place / "empathy-interpretation" / "labels.json"
    written = json.loads(labels.read_text(encoding="utf-8"))
    labels.write_text(json.dumps(written | {"labels": written["labels"][::-1]}), encoding="utf-8")
    second = scored(replies(WORKED), place, ["interpretation-difference"]).scores[0]
    assert second.value == -first.value != 0
    assert second.signature != first.signature


# ------------------------------------------------------------------------------------------------------- two systems


def test_paired_tests_of_two_systems(runs: Path, tmp_path: Path) -> None:
    """One system repeats the responses, the other always says fine: 3/5 of a level less presence, significantly."""
    gold = list(ANSWERS) * 8
    files = {"ours": replies([(one, one) for one in gold]), "dull": replies([(FINE, one) for one in gold])}
    for name, answered in files.items():
        write_replies(tmp_path / f"{name}.jsonl", answered.records)
    sources = find_sources([str(tmp_path / f"{name}.jsonl") for name in files])
    for test in ("bootstrap", "randomisation"):
        options = Options(
            metrics=["empathy"], settings=Settings(empathy=(runs,)), resamples=Resamples(samples=200), test=test
        )
        ours, dull = compare(sources, options).systems
        assert set(dull.differences) == set(ours.scores) == set(EMPATHY)
        found = dull.differences["emotional-presence-difference"]
        assert found.difference == pytest.approx(-3 / 5)
        assert found.low < -3 / 5 < found.high < 0
        assert dull.differs("emotional-presence-f1-macro") and dull.differs("exploration-difference")
    pairwise = compare_replies(
        files["ours"], files["dull"], ["exploration-f1-macro"], settings=Settings(empathy=(runs,))
    )
    assert pairwise[0].a == 100 and pairwise[0].p < 0.05


def test_published_figures_are_of_other_classifiers(runs: Path) -> None:
    found = beside({one.metric: one for one in scored(replies(WORKED), runs).scores}, "given")
    reasons = {part.metric: part.reason for part in found.apart}
    assert reasons["exploration-f1-macro"] == "it is made with the paper's own empathy classifiers"


# ------------------------------------------------------------------------------------------------------ command line


def test_the_command_scores_and_compares(harken: Harken, runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    write_replies(file, replies(WORKED).records)
    code, out, err = harken("score", file, "--metrics", "empathy,length", "--empathy", runs, "--json")
    assert (code, err) == (0, "")
    shown = {one["metric"]: one for one in json.loads(out)["scores"]}
    assert list(shown) == [*EMPATHY, "length"]
    assert shown["emotional-presence-difference"]["value"] == -0.25
    shutil.copytree(runs, tmp_path / "runs" / "labels")  # one of the places where runs are looked for
    again_file = shutil.copy(file, tmp_path / "again.jsonl")
    code, out, _ = harken("compare", file, again_file, "--metrics", "empathy", "--json")
    assert code == 0
    again = json.loads(out)["systems"][1]
    assert [one["metric"] for one in again["scores"]] == list(EMPATHY)
    assert {one["difference"] for one in again["differences"]} == {0.0}


def test_one_run_for_each_mechanism_by_name(runs: Path) -> None:
    named = [runs / task for task in empathy.MECHANISMS.values()]
    assert [empathy.run_of(task, named) for task in empathy.MECHANISMS.values()] == named


def test_a_missing_classifier_says_which_command_makes_it(harken: Harken, runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    write_replies(file, replies(WORKED).records)
    begun = tmp_path / "begun" / "empathy-emotional"
    begun.mkdir(parents=True)
    shutil.copy(runs / "empathy-emotional" / "config.yaml", begun)
    train = "harken train configs/empathy-emotional.yaml --out"
    for named, says in (
        ((), f"no classifier of 'empathy-emotional' in runs and runs/labels; train one with: {train} runs/empathy-em"),
        ((runs / "empathy-exploration",), "there is no classifier of 'empathy-emotional' in"),
        ((begun.parent,), f"go on with: {train} {begun} --resume"),
        ((begun,), f"go on with: {train} {begun} --resume"),
        ((tmp_path / "nowhere",), "nowhere: there is no such folder"),
    ):
        options = [part for path in named for part in ("--empathy", path)]
        code, out, err = harken("score", file, "--metrics", "empathy", *options)
        assert (code, out) == (2, "")
        assert says in err
        assert err.startswith("harken: emotional-presence-f1-macro cannot be measured here: ")
        assert err.count("\n") == 1


def test_two_runs_of_one_mechanism_are_refused(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "empathy-emotional", tmp_path / "other")
    with pytest.raises(HarkenError, match="are both runs of 'empathy-emotional'; name one of them with --empathy"):
        empathy.run_of("empathy-emotional", [runs, tmp_path / "other"])
    assert empathy.run_of("empathy-emotional", [runs, runs]) == runs / "empathy-emotional"


def test_a_classifier_with_other_labels_is_refused(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs, tmp_path / "strange")
    labels = tmp_path / "strange" / "empathy-interpretation" / "labels.json"
    labels.write_text('{"labels": ["low", "mid", "high"], "temperature": 1.0}', encoding="utf-8")
    with pytest.raises(HarkenError, match="has the label 'low', but levels of empathy are no, weak, strong; train it"):
        scored(replies(WORKED), tmp_path / "strange")


def test_what_applies_without_classifiers_or_contexts(runs: Path, tmp_path: Path) -> None:
    """`all` leaves out what cannot be measured; a name asked for is an error; the default set asks no classifier."""
    material = Material(replies(WORKED).records)
    chosen, left_out = choose(material, ["all"])
    assert "sentiment-difference" in chosen
    assert "train one with" in left_out["exploration-f1-macro"]
    assert "ask for it with --metrics exploration-f1-macro" in choose(material, None)[1]["exploration-f1-macro"]
    file = tmp_path / "bare.jsonl"
    file.write_text('{"reply": "fine", "response": "oh dear"}\n', encoding="utf-8")
    with pytest.raises(HarkenError, match="it needs the field 'context', which no line has"):
        score_replies(read_replies(file), ["empathy"], settings=Settings(empathy=(runs,)))
    with pytest.raises(HarkenError, match=r"unknown metric 'empaty'; did you mean 'empathy'\?"):
        choose(material, ["empaty"])


def test_progress_is_told(runs: Path) -> None:
    told: list[tuple[str, int, int]] = []
    score_replies(
        replies(WORKED),
        ["exploration-f1-macro"],
        settings=Settings(empathy=(runs,)),
        heard=lambda what, done, total: told.append((what, done, total)),
    )
    assert told[1:] == [("exploration of the responses", 4, 4), ("exploration of the replies", 3, 3)]
