"""`harken compare`: the same examples, the same figures as `harken score`, paired tests, seeds, published figures."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from harken.errors import HarkenError
from harken.scoring.compare import Comparison, System, compare
from harken.scoring.compare_files import Options, paired_test
from harken.scoring.compare_sources import find_sources, read_emotions, run_scores
from harken.scoring.evaluate import compare_replies, score_replies
from harken.scoring.material import Settings
from harken.scoring.metrics import METRICS
from harken.scoring.perplexity import PERPLEXITIES, Likelihood, write_likelihoods
from harken.scoring.published import beside, load, tokens_of
from harken.scoring.replies import read_replies, write_replies
from harken.scoring.score import Score
from harken.scoring.uncertainty import Resamples
from starter_replies import blunt, change, half, near, records, reorder, write, write_run

FEW = Resamples(samples=200)
NAMES = ("bleu-1", "distinct-2", "length", "emotion-top5")


@pytest.fixture
def two(tmp_path: Path) -> list[str]:
    return [str(write(tmp_path / "near.jsonl", near)), str(write(tmp_path / "blunt.jsonl", blunt))]


def run(arguments: list[str], **options: object) -> Comparison:
    given = Options(**{"metrics": NAMES, "resamples": FEW} | options)  # type: ignore[arg-type]
    return compare(find_sources(arguments), given)


def system(comparison: Comparison, name: str) -> System:
    return next(one for one in comparison.systems if one.name == name)


def harken(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harken", "compare", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# ---- figures and tests ----


def test_figures_and_intervals_are_those_of_score(two: list[str]) -> None:
    found = run(two)
    assert [one.name for one in found.systems] == ["near", "blunt"]
    assert found.baseline == "near"
    assert found.n == 160
    for one, path in zip(found.systems, two, strict=True):
        alone = score_replies(read_replies(Path(path)), NAMES, resamples=FEW)
        assert [score.to_json() for score in one.scores.values()] == [score.to_json() for score in alone.scores]


@pytest.mark.parametrize("test", ["bootstrap", "randomisation"])
def test_paired_tests_are_those_of_two_files_scored_together(two: list[str], test: str) -> None:
    """Files scored apart and subtracted sample by sample give what scoring them side by side gives."""
    found = run(two, test=paired_test(test))
    first, second = (read_replies(Path(path)) for path in two)
    together = compare_replies(first, second, NAMES, resamples=FEW, test=paired_test(test))
    assert not system(found, "near").differences
    for expected in together:
        one = system(found, "blunt").differences[expected.metric]
        assert (one.test, one.samples) == (test, 200)
        for name in ("a", "b", "difference", "low", "high", "p"):
            assert getattr(one, name) == pytest.approx(getattr(expected, name)), (expected.metric, name)


def test_real_differences_are_marked_and_a_system_never_differs_from_its_copy(tmp_path: Path) -> None:
    files = [
        str(write(tmp_path / f"{name}.jsonl", half if name == "half" else near)) for name in ("near", "copy", "half")
    ]
    found = run(files)
    for metric in NAMES:
        assert system(found, "copy").differences[metric].p == 1
        assert not system(found, "copy").differs(metric)
    assert system(found, "half").differs("bleu-1")
    assert system(found, "half").differences["bleu-1"].difference > 0
    assert not system(found, "half").differs("emotion-top5")  # all three guess the same


def test_the_baseline_may_be_any_system_and_keeps_its_place(two: list[str]) -> None:
    found = run(two, baseline="blunt")
    assert [one.name for one in found.systems] == ["near", "blunt"]
    there = run(two)
    forth, back = system(there, "blunt").differences["bleu-1"], system(found, "near").differences["bleu-1"]
    assert back.difference == pytest.approx(-forth.difference)
    assert back.p == forth.p
    with pytest.raises(HarkenError, match="no such system; did you mean 'blunt'"):
        run(two, baseline="blund")


def test_no_samples_no_intervals_and_no_tests(two: list[str]) -> None:
    found = run(two, resamples=Resamples(samples=0))
    assert all(score.low is None for one in found.systems for score in one.scores.values())
    assert not system(found, "blunt").differences


def test_metrics_that_only_some_files_can_have(two: list[str], tmp_path: Path) -> None:
    bare = tmp_path / "bare.jsonl"
    write_replies(bare, [replace(record, predicted_emotion=None) for record in records(half)])
    found = run([*two, str(bare)], metrics=None)
    assert "emotion-top5" in found.metrics
    assert "emotion-top5" not in system(found, "bare").scores
    assert "emotion-top5" not in system(found, "bare").differences
    assert "predicted_emotion" in system(found, "bare").left_out["emotion-top5"]
    with pytest.raises(HarkenError, match=r"bare\.jsonl: emotion-top5 cannot be measured here"):
        run([*two, str(bare)])


def test_breakdowns_are_those_of_score(two: list[str]) -> None:
    found = run(two, by="polarity")
    alone = score_replies(read_replies(Path(two[1])), NAMES, resamples=FEW, by="polarity")
    assert found.groups == {"polarity": {group.value: group.n for group in alone.groups}}
    for group in alone.groups:
        assert list(system(found, "blunt").groups["polarity"][group.value].values()) == list(group.scores)


# ---- seeds ----


def test_seeds_of_one_run_by_hand(tmp_path: Path) -> None:
    """Lengths 1, 2 and 3 tokens: mean 2, standard deviation 1."""
    files = [str(write(tmp_path / f"say-seed{k}.jsonl", lambda *_, k=k: " ".join(["so"] * k))) for k in (1, 2, 3)]
    base = str(write(tmp_path / "base.jsonl", lambda *_: "so so"))
    found = compare(find_sources([base, *files], group=True), Options(metrics=["length"], resamples=FEW, by="polarity"))
    assert [one.name for one in found.systems] == ["base", "say"]
    score = system(found, "say").scores["length"]
    assert (score.value, score.extras["sd"], score.extras["values"]) == (2, 1, [1, 2, 3])
    assert score.signature.endswith("|seeds:3")
    assert system(found, "say").differences["length"].difference == 0
    assert system(found, "say").groups["polarity"]["positive"]["length"].extras["sd"] == 1
    apart = compare(find_sources([base, *files]), Options(metrics=["length"], resamples=FEW))
    assert len(apart.systems) == 4
    named = find_sources([f"a={files[0]}", f"a={files[1]}", f"b={base}"])
    assert [(one.name, one.label) for one in named] == [("a", "say-seed1"), ("a", "say-seed2"), ("b", "base")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("moel-seed1", "moel"), ("moel_s2", "moel"), ("MIME.Seed=3", "MIME"), ("bus2", "bus2"), ("seed1", "seed1")],
)
def test_names_that_differ_only_in_a_seed(tmp_path: Path, name: str, expected: str) -> None:
    file = write(tmp_path / f"{name}.jsonl", near, 3)
    assert find_sources([str(file)], group=True)[0].name == expected


def test_randomisation_refuses_seeds(two: list[str]) -> None:
    with pytest.raises(HarkenError, match="approximate randomisation compares single files"):
        run([f"a={two[0]}", f"a={two[1]}"], test="randomisation")
    with pytest.raises(HarkenError, match=r"use bootstrap or randomisation; did you mean 'bootstrap'"):
        paired_test("bootstrapp")


# ---- the same examples ----


def test_another_order_is_refused_with_its_first_line(two: list[str]) -> None:
    reorder(Path(two[1]), [0, 1, 2, 4, 3, *range(5, 160)])
    with pytest.raises(
        HarkenError, match=r"blunt\.jsonl:4: its id is 'afraid-\d+:\d' where .*near\.jsonl:4 has 'afraid"
    ):
        run(two)


def test_another_length_is_refused_with_the_line_that_is_missing(two: list[str]) -> None:
    reorder(Path(two[1]), range(150))
    with pytest.raises(
        HarkenError, match=r"near\.jsonl:151: answers an example that .*blunt\.jsonl lacks \(160 and 150"
    ):
        run(two)


def test_other_responses_and_contexts_are_refused_with_their_line(two: list[str]) -> None:
    text = Path(two[1]).read_text(encoding="utf-8")
    change(Path(two[1]), 7, response="Something {else}.")
    with pytest.raises(
        HarkenError, match=r"blunt\.jsonl:7: its response is “Something \{else\}\.” where .*near\.jsonl:7"
    ):
        run(two)
    Path(two[1]).write_text(text, encoding="utf-8")
    change(Path(two[1]), 9, context=["Nobody said this."])
    with pytest.raises(
        HarkenError, match=r"blunt\.jsonl:9: its context is not that of .*near\.jsonl:9; give files with"
    ):
        run(two)


def test_blank_lines_do_not_shift_the_line_that_is_named(two: list[str]) -> None:
    change(Path(two[1]), 3, id="other")
    path = Path(two[1])
    path.write_text("\n\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(HarkenError, match=r"blunt\.jsonl:5: its id is 'other' where .*near\.jsonl:3 has"):
        run(two)


def test_prepared_text_and_shorter_contexts_are_the_same_examples(two: list[str], tmp_path: Path) -> None:
    """Case, spaces, punctuation and contractions apart, and with the last turn only; a note says what it means."""
    from harken.text.moel import words

    prepared = tmp_path / "prepared.jsonl"
    write_replies(
        prepared,
        [
            replace(one, response=" ".join(words(one.response or "")), context=(one.context or ())[-1:])
            for one in records(half)
        ],
    )
    found = run([*two, str(prepared)])
    assert "write the same responses differently" in found.notes[0]
    assert not run([*two, str(prepared)], settings=Settings(tokenize="moel")).notes
    assert found.examples is not None
    assert max(len(one.context or ()) for one in found.examples.records) > 1


def test_skip_bad_keeps_what_all_files_share(two: list[str]) -> None:
    """One bad line here, two missing and one exchanged there: four of 160 examples are lost."""
    first, second = map(Path, two)
    change(first, 1, reply="")
    change(second, 20, response="Another one altogether.")
    reorder(second, [*range(30), *range(32, 160)][::-1])
    with pytest.raises(HarkenError, match=r"near\.jsonl:1: the reply is empty"):
        run(two)
    found = run(two, skip_bad=True)
    assert found.n == 156
    assert system(found, "near").bad_lines == 1
    assert found.notes[0].startswith("3 examples of the first file are missing or different")
    assert found.examples is not None
    kept = {record.id for record in found.examples.records}
    expected = score_replies(
        replace(read_replies(second), records=tuple(one for one in read_replies(second).records if one.id in kept)),
        NAMES,
    )
    values = [score.value for score in system(found, "blunt").scores.values()]
    assert values == pytest.approx([score.value for score in expected.scores])


def test_nothing_in_common_is_refused_even_with_skip_bad(tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl", near, 3)
    second = tmp_path / "b.jsonl"
    write_replies(second, [replace(one, id=f"x{one.id}") for one in records(near, 3)])
    with pytest.raises(HarkenError, match="have no example in common"):
        run([str(first), str(second)], skip_bad=True)


def test_plain_text_is_matched_by_line(two: list[str], tmp_path: Path) -> None:
    plain, gold = tmp_path / "plain.txt", tmp_path / "gold.txt"
    plain.write_text("".join(f"{one.reply}\n" for one in records(half)), encoding="utf-8")
    gold.write_text("".join(f"{one.response}\n" for one in records(half)), encoding="utf-8")
    found = run([*two, str(plain)], references=gold, metrics=["bleu-1"], by="polarity")
    assert system(found, "plain").differs("bleu-1")
    assert set(system(found, "plain").groups["polarity"]) == {"positive", "negative"}  # known from the other files
    lines = plain.read_text(encoding="utf-8").splitlines()
    plain.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    with pytest.raises(HarkenError, match=r"has 159 replies but .* has 160 references"):
        run([*two, str(plain)], references=gold)


# ---- runs ----


def test_a_run_brings_its_replies_and_its_metrics(tmp_path: Path, two: list[str]) -> None:
    found = run([two[0], str(write_run(tmp_path / "mime", half))], metrics=None)
    scores = system(found, "mime").scores
    assert scores["ppl-token"].value == 40
    assert scores["ppl-utterance"].value == 43
    assert scores["ppl-token-oracle"].value == 35
    assert scores["ppl-token"].signature.startswith("ppl-token|from:metrics.json|protocol:predicted|vocabulary:23712|")
    assert scores["parameters"].value == 17_800_000
    assert scores["emotion-top2"].signature.startswith("emotion-top2|among:2|unit")  # measured beats told
    assert "ppl-token" not in system(found, "mime").differences
    only = run([str(tmp_path / "mime")], metrics=["ppl-token"])
    assert set(system(only, "mime").scores) == {"ppl-token", "ppl-token-oracle"}


def test_told_emotion_accuracies_count_labelled_responses_of_the_same_examples(tmp_path: Path) -> None:
    """Training measures emotions on the responses that have one; a part of the split is not what it measured."""
    folder = write_run(tmp_path / "mime", half)
    some = [
        replace(one, predicted_emotion=None, emotion=one.emotion if i % 4 else None)
        for i, one in enumerate(records(half))
    ]
    write_replies(folder / "replies-test.jsonl", some)
    score = system(run([str(folder)], metrics=None), "mime").scores["emotion-top2"]
    assert (score.value, score.n) == (50, 120)
    assert score.signature.startswith("emotion-top2|from:metrics.json|among:2|unit:percent|n:120|")
    write_replies(folder / "replies-test.jsonl", some[:100])
    assert "emotion-top2" not in system(run([str(folder)], metrics=None), "mime").scores


def test_a_run_with_several_reply_files_or_none(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "mime", half)
    write(folder / "replies-test-beam5.jsonl", near)
    write(folder / "replies-valid.jsonl", near, 20)
    assert [one.name for one in find_sources([str(folder)])] == ["mime beam5", "mime"]
    assert [str(one.path.name) for one in find_sources([str(folder)], split="valid")] == ["replies-valid.jsonl"]
    for file in folder.glob("replies*"):
        file.unlink()
    alone = run([str(folder)], metrics=None)
    assert alone.n == 160
    assert "ppl-token" in system(alone, "mime").scores
    (folder / "metrics.json").unlink()
    with pytest.raises(HarkenError, match=r"holds neither replies nor metrics\.json; write replies with: harken reply"):
        find_sources([str(folder)])


def test_perplexities_are_paired_where_they_compare(tmp_path: Path) -> None:
    """Twice the vocabulary: perplexities per token are not tested, those per word are."""
    for name, vocabulary, nats in (("small", "words-10", 4.0), ("large", "words-20", 3.0)):
        lines = [
            Likelihood(str(i), nats + i % 7, 2, 2, 9, vocabulary=vocabulary, protocol=protocol)
            for protocol in ("predicted", "oracle")
            for i in range(40)
        ]
        write_likelihoods(tmp_path / f"{name}.jsonl", lines)
    files = [str(tmp_path / "small.jsonl"), str(tmp_path / "large.jsonl")]
    found = run(files, metrics=None)
    assert set(system(found, "large").differences) == {"ppl-word", "bits-per-character"}
    assert system(found, "large").differs("ppl-word")
    write_likelihoods(tmp_path / "large.jsonl", [Likelihood(str(i + (i > 4)), 3.0, 2) for i in range(40)])
    with pytest.raises(HarkenError, match=r"large\.jsonl: likelihood 6 is of '6' where .*small\.jsonl has '5'"):
        run(files, metrics=None)


def test_emotions_of_a_run(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "mime", half)
    embedding = read_emotions(folder)
    assert embedding is not None
    assert embedding.vectors.shape == (32, 3)
    for broken, message in (
        ('{"emotions": ["sad"], "vectors": []}', "a vector for each of at least 3"),
        ('{"emotions": ["sad", "joyful", "angry"], "vectors": [[1, 2], [1], [2, 3]]}', "all of one length"),
        ('{"emotions": ["sad", "joyful", "hungry"], "vectors": [[1, 2], [1, 3], [2, 3]]}', "unknown label 'hungry'"),
        ("{", "is not JSON"),
    ):
        (folder / "emotions.json").write_text(broken, encoding="utf-8")
        with pytest.raises(HarkenError, match=message):
            read_emotions(folder)
    (folder / "emotions.json").unlink()
    assert read_emotions(folder) is None
    assert run_scores(folder, "valid") == [one for one in run_scores(folder, "test") if one.metric == "parameters"]


def test_arguments_that_name_nothing(tmp_path: Path, two: list[str]) -> None:
    with pytest.raises(HarkenError, match="there is no such file or run"):
        find_sources([str(tmp_path / "absent.jsonl")])
    with pytest.raises(HarkenError, match="is named twice"):
        find_sources([two[0], two[0]])
    with pytest.raises(HarkenError, match="with a name before the '='"):
        find_sources([f"={two[0]}"])
    with pytest.raises(HarkenError, match=r"^unknown metric 'blue-1'; did you mean 'bleu-1'"):
        run(two, metrics=["blue-1"])
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    same = [write(tmp_path / folder / "out.jsonl", near, 3) for folder in "ab"]
    assert [one.name for one in find_sources(list(map(str, same)))] == list(map(str, same))


# ---- published figures ----


def score_of(metric: str, n: int, value: float = 1.0) -> dict[str, Score]:
    return {metric: Score(metric, value, None, None, n, f"{metric}|n:{n}")}


def test_published_figures_compare_only_under_their_protocol() -> None:
    """MIME's BLEU is of 5,255 turns in the MoEL family's tokens; nothing else may stand beside it."""
    found = beside(score_of("bleu-moses", 5255), "moel")
    assert {(one.system, one.value) for one in found.figures} == {
        ("Multi-TR", 2.92),
        ("MoEL", 2.90),
        ("MIME", 2.98),
        ("MIME without mimicry", 2.96),
        ("MIME without mimicry and grouping", 2.45),
    }
    assert [one.shown() for one in found.figures if one.system == "MIME"] == ["2.98 ± 0.01"]
    for scores, tokens, reason in (
        (score_of("bleu-moses", 5257), "moel", "it is of 5,255 turns, here there are 5,257"),
        (score_of("bleu-moses", 5255), "13a", "it counts the MoEL family's tokens, here are 13a tokens"),
        (score_of("bleu-4", 5255), "moel", "it was not measured here"),
    ):
        apart = beside(scores, tokens)
        assert not apart.figures
        assert next(one for one in apart.apart if one.metric == "bleu-moses").reason == reason


def test_perplexities_and_human_ratings_never_compare() -> None:
    found = beside(score_of("ppl-utterance", 5255), "moel")
    assert not found.figures
    reasons = {one.metric: one.reason for one in found.apart}
    assert reasons["ppl-utterance"].startswith("a perplexity compares only within one vocabulary")
    assert reasons["human-empathy"] == "it is a human rating from 1 to 5"


def test_every_published_metric_is_one_of_ours_or_explained() -> None:
    figures, elsewhere = load()
    ours = {*METRICS, *PERPLEXITIES, *(f"{name}-oracle" for name in PERPLEXITIES), "parameters"}
    assert {one.metric for one in figures} <= ours | set(elsewhere)
    assert not ours & set(elsewhere)
    assert {one.group for one in figures} == {"G1", "G2", "G5", "G6"}
    assert len({(one.paper, one.table, one.system, one.metric) for one in figures}) == len(figures) == 186


def test_published_figures_show_the_digits_of_their_paper() -> None:
    figures, _ = load()
    shown = {(one.group, one.system, one.metric): one.shown() for one in figures}
    assert shown["G1", "retrieval, TopicPrepend-1", "bleu-avg"] == "6.00"
    assert shown["G2", "MIME", "emotion-top5"] == "77"
    assert shown["G5", "MIME", "sentiment-error"] == "0.4484"
    assert shown["G2", "MoEL", "parameters"] == "23.10M"


def test_tokens_are_recognised_as_prepared(two: list[str]) -> None:
    from harken.text.moel import words

    raw = [one.response or "" for one in read_replies(Path(two[0])).records]
    prepared = [" ".join(words(text)) for text in raw]
    assert tokens_of("given", raw) == "given"
    assert tokens_of("given", prepared) == "moel"
    assert tokens_of("moel", raw) == "moel"
    assert tokens_of("13a", prepared) == "13a"


# ---- the command ----


@pytest.mark.slow
def test_the_command_prints_a_table_or_json(two: list[str], tmp_path: Path) -> None:
    options = ("--metrics", "bleu-1,length", "--bootstrap", "100", "--by", "polarity")
    shown = harken(*two, *options)
    assert shown.returncode == 0, shown.stderr
    assert "near (baseline)" in shown.stdout
    assert "* differs from near, p < 0.05: paired bootstrap, 100 samples, seed 13" in shown.stdout
    assert "bleu-1 by polarity" in shown.stdout
    assert "published, but not comparable" in shown.stdout
    found = json.loads(harken(*two, *options, "--json").stdout)
    assert [one["system"] for one in found["systems"]] == ["near", "blunt"]
    assert found["test"] == {"name": "bootstrap", "samples": 100, "seed": 13, "level": 0.95, "alpha": 0.05}
    scores = {one["metric"]: one for one in found["systems"][1]["scores"]}
    differences = {one["metric"]: one for one in found["systems"][1]["differences"]}
    assert set(scores) == {"bleu-1", "length"}
    assert scores["length"]["signature"].startswith("length|mean:replies|unit:tokens|tok:given|n:160|")
    assert differences["length"]["difference"] == pytest.approx(
        scores["length"]["value"] - found["systems"][0]["scores"][1]["value"]
    )
    assert set(found["systems"][1]["groups"]["polarity"]) == {"positive", "negative"}
    report = harken(*two, "--metrics", "length", "--bootstrap", "10", "--html", str(tmp_path / "report.html"))
    assert report.returncode == 0, report.stderr
    assert "by emotion" not in report.stdout  # the heat map of the report is not asked for in the table
    assert (tmp_path / "report.html").exists()
    assert len(found["published"]["comparable"]) + len(found["published"]["not_comparable"]) == 186


def test_the_command_leaves_with_two_and_one_sentence(two: list[str]) -> None:
    reorder(Path(two[1]), range(10))
    failed = harken(*two)
    assert failed.returncode == 2
    assert failed.stdout == ""
    assert len(failed.stderr.strip().splitlines()) == 1
    assert "near.jsonl:11" in failed.stderr


@pytest.mark.slow
def test_the_commands_of_the_documentation_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line of the first block of docs/compare.md, on files of the names it uses."""
    monkeypatch.chdir(tmp_path)
    for name, answer in (("moel", near), ("mime", half), ("a", near), ("b1", half), ("b2", blunt)):
        write(tmp_path / f"{name}.jsonl", answer)
    for name, answer in (("moel", near), ("mime", half)):
        for k in (1, 2):
            write(tmp_path / f"{name}-seed{k}.jsonl", answer)
        (tmp_path / f"{name}.txt").write_text("".join(f"{one.reply}\n" for one in records(answer)), encoding="utf-8")
    (tmp_path / "gold.txt").write_text("".join(f"{one.response}\n" for one in records(near)), encoding="utf-8")
    (tmp_path / "runs").mkdir()
    write_run(tmp_path / "runs" / "moel", near)
    write_run(tmp_path / "runs" / "mime", half)
    text = (Path(__file__).parents[1] / "docs" / "compare.md").read_text(encoding="utf-8")
    commands = [line.partition("#")[0].split() for line in text.split("```")[1].strip().splitlines()]
    assert len(commands) == 10
    for _, _, *words in commands:
        given = [str(one) for word in words for one in (sorted(Path().glob(word)) if "*" in word else [word])]
        few = [] if "--bootstrap" in given else ["--bootstrap", "50"]
        done = harken(*[word.replace("10000", "50") for word in given], *few)
        assert done.returncode == 0, (words, done.stderr)
    assert (tmp_path / "report.html").exists()
    exec(compile(text.split("```python")[1].split("```")[0], "docs/compare.md", "exec"), {})


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_files(tmp_path: Path) -> None:
    """Eight files take hardly more than two."""

    def peak(count: int) -> int:
        files = [str(write(tmp_path / f"{count}-{i}.jsonl", near if i % 2 else half, 1300)) for i in range(count)]
        tracemalloc.start()
        run(files, metrics=["bleu-1", "distinct-2"], resamples=Resamples(samples=5))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(2)  # caches of responses fill
    assert peak(8) < 1.15 * peak(2)
