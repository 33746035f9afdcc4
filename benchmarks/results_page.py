"""Writes docs/results.md: trained runs beside the published figures.

    python -m benchmarks.results_page runs/published/* runs/labels/*     measure these runs, then write the page
    python -m benchmarks.results_page                                    write the page from what was measured before

A run is measured by the commands a user has, `harken reply` and `harken score`; what came out, its config, log and metrics
are kept in docs/results/PROTOCOL-NAME, so the page can be written again without the weights.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import markdown
from benchmarks.__main__ import commit
from benchmarks.curves import draw, gone_on, read_curve
from benchmarks.reproduce import FIRST, PROTOCOLS
from benchmarks.results_labels import labels_table, rankers_table
from harken.files import atomic, write_json, write_json_lines
from harken.models import MODELS
from harken.runtime import machine
from harken.scoring.compare_sources import read_emotions
from harken.scoring.published import load
from harken.scoring.report_charts import scatter

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "docs" / "results"
METRICS = "bleu-moses,bleu-avg,distinct-1,distinct-2,length"
DECODINGS: dict[str, tuple[str, ...]] = {"greedy": ("--beam", "1"), "beam 5": ("--beam", "5")}
MAP, CURVES = "emotions.svg", "curves.svg"
TITLES = (
    "run",
    "perplexity, utterance mean",
    "token",
    "with gold emotions",
    "emotion top-1/2/5, %",
    "BLEU greedy / beam 5",
    "Distinct-1/2 greedy, %",
    "parameters, M",
    "steps",
    "hours",
)
BESIDE = {
    "published": "published PPL / accuracy",
    "honest": "the published run in these words, utterance mean / token",
}
"""What stands beside the runs of a protocol."""
STYLE = (
    "<style>svg{background:#fff;font:13px sans-serif}text{fill:#222}.tick{fill:#666}.mid{text-anchor:middle}"
    ".positive{fill:#1b7f4d}.negative{fill:#b3402e}.leader{stroke:#bbb}</style>"
)
RERUN = "a second group's re-run"
"""The table of published.yaml whose figures stand beside ours: one group, one protocol, all models."""


@dataclass(frozen=True)
class Result:
    """One measured run."""

    protocol: str
    name: str
    metrics: dict[str, Any]
    scores: dict[str, Any]


def measure(run: Path) -> None:
    """Replies and scores of a run, kept beside its log."""
    folder = kept(run)
    model = json.loads((run / "metrics.json").read_text())["model"]
    scores: dict[str, Any] = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "commit": commit(), "machine": machine()}
    for name, options in ways(run, model).items():
        replies = run / f"replies-test-{name.replace(' ', '')}.jsonl"
        if not replies.exists():
            harken("reply", str(run), "--split", "test", *options, "--out", str(replies))
        scores[name] = scored(replies, METRICS, "--tokenize", "moel")
    twin = run.parent.with_name("published") / run.name
    if run.parent.name == "honest" and twin.exists():
        scores["twin"] = in_words_of(run, twin)
    keep(run)
    if run.name in FIRST:
        keep(run.parent.with_name("published") / FIRST[run.name])
    write_json(folder / "scores.json", scores)
    emotions = read_emotions(run) if model in MODELS else None
    if emotions is not None:
        with atomic(folder / MAP) as picture:
            drawn = scatter(f"Emotions as {run.name} has learnt them", emotions)
            picture.write(
                drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ').replace(">", f">{STYLE}", 1)
            )


def in_words_of(run: Path, other: Path) -> dict[str, float]:
    """Perplexities of another run in the vocabulary of this one: only so do the two compare."""
    found = other / f"likelihoods-test-in-{run.parent.name}.jsonl"
    if not found.exists():
        harken("reply", str(other), "--split", "test", "--likelihoods", "--vocabulary", str(run), "--out", str(found))
    return scored(found, "ppl-utterance,ppl-token")


def scored(file: Path, metrics: str, *options: str) -> dict[str, float]:
    """The figures of a reply or likelihood file by metric, and how many examples it has."""
    found = json.loads(harken("score", str(file), "--metrics", metrics, *options, "--bootstrap", "0", "--json"))
    return {score["metric"]: score["value"] for score in found["scores"]} | {"n": found["n"]}


def kept(run: Path) -> Path:
    """The folder of docs/results for a run."""
    return KEPT / f"{run.parent.name}-{run.name}"


def keep(run: Path) -> None:
    """Config, metrics and log of a run into the repository; weights stay where they are."""
    folder = kept(run)
    folder.mkdir(parents=True, exist_ok=True)
    for file in ("config.yaml", "metrics.json"):
        shutil.copy(run / file, folder / file)
    if (run / "log.jsonl").exists():
        lines = map(json.loads, (run / "log.jsonl").read_text(encoding="utf-8").splitlines())
        write_json_lines(folder / "log.jsonl", map(without_samples, lines))


def without_samples(line: dict[str, Any]) -> dict[str, Any]:
    """A line of a log without the sample replies, whose contexts are the corpus's words and not ours to publish."""
    return {key: value for key, value in line.items() if key != "samples"}


def ways(run: Path, model: str) -> dict[str, tuple[str, ...]]:
    """How the run answers, under the names of the table; a classifier does not."""
    if model == "ranker":
        if not (run / "index").exists():
            harken("index", str(run), "--corpus", "empatheticdialogues")
        return {"retrieval": ()}
    return DECODINGS if model in MODELS else {}


def harken(*arguments: str) -> str:
    """What a harken command prints."""
    command = [sys.executable, "-m", "harken", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def results() -> list[Result]:
    """What was measured, in order of protocol and name."""
    found = []
    for folder in sorted(path for path in KEPT.iterdir() if (path / "scores.json").exists()):
        protocol, _, name = folder.name.partition("-")
        if protocol not in PROTOCOLS:
            continue
        metrics, scores = (json.loads((folder / file).read_text()) for file in ("metrics.json", "scores.json"))
        found.append(Result(protocol, name, metrics, scores))
    return found


def published(name: str) -> str:
    """Perplexity and emotion accuracy that the re-run prints for a model; nothing for one that it has not."""
    figures, _ = load()
    told = {f.metric: f.value for f in figures if f.table == RERUN and f.system.lower() == name}
    ppl = told.get("ppl-utterance", told.get("ppl-utterance-oracle"))
    return "" if ppl is None else f"{ppl:.2f} / {told.get('emotion-top1', '–')}"


def beside(result: Result) -> str:
    """The figures a run has to be read beside."""
    if result.protocol == "published":
        return published(result.name)
    twin = result.scores.get("twin")
    return f"{twin['ppl-utterance']:.2f} / {twin['ppl-token']:.2f}" if twin else ""


def table(found: list[Result]) -> str:
    """A row for each run of a protocol; nothing for none."""
    rows = []
    for result in found:
        test, metrics = result.metrics["test"], result.metrics
        oracle = metrics.get("test_oracle", {}).get("perplexity_utterance_mean")
        emotions = [test.get(f"emotion_top{top}") for top in (1, 2, 5)]
        bleu = " / ".join(f"{result.scores[name]['bleu-moses']:.2f}" for name in DECODINGS)
        distinct = " / ".join(f"{result.scores['greedy'][f'distinct-{n}']:.2f}" for n in (1, 2))
        row = [
            f"[{result.name}](results/{result.protocol}-{result.name}/config.yaml)",
            f"**{test['perplexity_utterance_mean']:.2f}**",
            f"{test['perplexity']:.2f}",
            "–" if oracle is None else f"{oracle:.2f}",
            "–" if emotions[0] is None else " / ".join(f"{100 * value:.1f}" for value in emotions if value is not None),
            bleu,
            distinct,
            f"{metrics['parameters'] / 1e6:.2f}",
            f"{metrics['best_step']:,} of {metrics['steps']:,}",
            f"{metrics['seconds'] / 3600:.1f}",
            beside(result),
        ]
        rows.append(row)
    return markdown.table((*TITLES, BESIDE[found[0].protocol]), rows) if rows else ""


def learnt(found: list[Result]) -> str:
    """How the runs learnt, as a picture; nothing for none."""
    if not found:
        return ""
    curves = []
    for result in found:
        curve = read_curve(KEPT / f"{result.protocol}-{result.name}", result.name)
        if result.name in FIRST:
            curve = gone_on(read_curve(KEPT / f"{result.protocol}-{FIRST[result.name]}", ""), curve)
        curves.append(curve)
    draw(KEPT / CURVES, curves)
    return f"![Validation perplexity and emotion accuracy over the examples seen](results/{CURVES})"


def maps(found: list[Result]) -> str:
    """The plots of emotion vectors."""
    return "\n\n".join(
        f"![Emotions as {result.name} has learnt them](results/{folder}/{MAP})"
        for result in found
        if (KEPT / (folder := f"{result.protocol}-{result.name}") / MAP).exists() and "-" not in result.name
    )


def section(name: str, title: str, body: str) -> list[str]:
    """A title, the words written for it in docs/results, and what was measured; nothing where there is nothing."""
    return [f"## {title}\n\n{(KEPT / f'{name}.md').read_text(encoding='utf-8').strip()}\n\n{body}"] if body else []


def included(name: str) -> str:
    """A page of docs/results without its title, its headings one level down; nothing where it is not written yet."""
    page = KEPT / f"{name}.md"
    if not page.exists():
        return ""
    body = page.read_text(encoding="utf-8").partition("\n")[2].strip()
    return re.sub(r"^## ", "### ", body, flags=re.MULTILINE).replace("](", "](results/")


def write_page(found: list[Result]) -> None:
    """docs/results.md."""
    published = [result for result in found if result.protocol == "published"]
    ablated = [result for result in published if result.name.startswith("mime-")]
    whole = [result for result in published if result not in ablated]
    parts = [
        (KEPT / "head.md").read_text(encoding="utf-8").rstrip(),
        *section("published", "The published protocol", f"{table(whole)}\n\n{learnt(whole)}".strip()),
        *section("ablations", "MIME's ablations", table(ablated) if len(ablated) > 1 else ""),
        *section("emotions", "The emotions as the models know them", maps(published)),
        *section("honest", "The honest protocol", table([r for r in found if r.protocol == "honest"])),
        *section("labels", "Labels", labels_table(KEPT)),
        *section("rankers", "Retrieval", rankers_table(KEPT)),
        *section("exemplars", "Exemplars", (KEPT / "exemplars-examples.md").read_text(encoding="utf-8").strip()),
        *section("guided", "Replies guided by exemplars", included("lempex")),
        *section("subtitles", "From subtitles to dialogues", included("curation")),
        *section("controllable", "Replies in a chosen emotion or intent", included("meed2")),
    ]
    told = [json.loads(path.read_text(encoding="utf-8")) for path in KEPT.glob("*/scores.json")]
    made = sorted({f"{scores['date']} at commit {scores['commit']} ({scores['machine']})" for scores in told})
    parts.append(f"Measured by `python -m benchmarks.results_page RUN …`: {'; '.join(made)}.")
    with atomic(ROOT / "docs" / "results.md") as page:
        page.write("\n\n".join(parts) + "\n")


def main(runs: list[str]) -> None:
    for run in map(Path, runs):
        measure(run)
    write_page(results())


if __name__ == "__main__":
    main(sys.argv[1:])
