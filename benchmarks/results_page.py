"""Writes docs/results.md: trained runs beside the published figures.

    python -m benchmarks.results_page runs/published/* runs/honest/*     measure these runs, then write the page
    python -m benchmarks.results_page                                    write the page from what was measured before

A run is measured by the commands a user has, `harken reply` and `harken score`; what came out, its config, log and metrics
are kept in docs/results/PROTOCOL-NAME, so the page can be written again without the weights.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.__main__ import commit
from harken.files import atomic, write_json
from harken.runtime import machine
from harken.scoring.published import load

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "docs" / "results"
METRICS = "bleu-moses,bleu-avg,distinct-1,distinct-2,length"
DECODINGS = {"greedy": 1, "beam 5": 5}
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
    folder = KEPT / f"{run.parent.name}-{run.name}"
    scores: dict[str, Any] = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "commit": commit(), "machine": machine()}
    for name, width in DECODINGS.items():
        replies = run / f"replies-test-beam{width}.jsonl"
        if not replies.exists():
            harken("reply", str(run), "--split", "test", "--beam", str(width), "--out", str(replies))
        found = json.loads(
            harken("score", str(replies), "--metrics", METRICS, "--tokenize", "moel", "--bootstrap", "0", "--json")
        )
        scores[name] = {score["metric"]: score["value"] for score in found["scores"]} | {"n": found["n"]}
    folder.mkdir(parents=True, exist_ok=True)
    for file in ("config.yaml", "metrics.json", "log.jsonl"):
        shutil.copy(run / file, folder / file)
    write_json(folder / "scores.json", scores)


def harken(*arguments: str) -> str:
    """What a harken command prints."""
    command = [sys.executable, "-m", "harken", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def results() -> list[Result]:
    """What was measured, in order of protocol and name."""
    found = []
    for folder in sorted(path for path in KEPT.iterdir() if (path / "scores.json").exists()):
        protocol, _, name = folder.name.partition("-")
        metrics, scores = (json.loads((folder / file).read_text()) for file in ("metrics.json", "scores.json"))
        found.append(Result(protocol, name, metrics, scores))
    return found


def published(name: str) -> str:
    """Perplexity and emotion accuracy that the re-run prints for a model; nothing for one that it has not."""
    figures, _ = load()
    told = {f.metric: f.value for f in figures if f.table == RERUN and f.system.lower() == name}
    ppl = told.get("ppl-utterance", told.get("ppl-utterance-oracle"))
    return "" if ppl is None else f"{ppl:.2f} / {told.get('emotion-top1', '–')}"


def table(found: list[Result]) -> str:
    """A row for each run."""
    lines = [
        "| run | perplexity, utterance mean | token | with gold emotions | emotion top-1/2/5, % | BLEU greedy / beam 5 | "
        "Distinct-1/2 greedy, % | parameters, M | steps | hours | published PPL / accuracy |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for result in found:
        test, metrics = result.metrics["test"], result.metrics
        oracle = metrics.get("test_oracle", {}).get("perplexity_utterance_mean")
        emotions = [test.get(f"emotion_top{top}") for top in (1, 2, 5)]
        bleu = " / ".join(f"{result.scores[name]['bleu-moses']:.2f}" for name in DECODINGS)
        distinct = " / ".join(f"{result.scores['greedy'][f'distinct-{n}']:.2f}" for n in (1, 2))
        cells = [
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
            published(result.name) if result.protocol == "published" else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_page(found: list[Result]) -> None:
    """docs/results.md."""
    head = (KEPT / "head.md").read_text(encoding="utf-8").rstrip()
    parts = [head]
    for protocol, title in (("published", "The published protocol"), ("honest", "The honest protocol")):
        rows = [result for result in found if result.protocol == protocol]
        if rows:
            parts.append(
                f"## {title}\n\n{(KEPT / f'{protocol}.md').read_text(encoding='utf-8').strip()}\n\n{table(rows)}"
            )
    made = sorted({f"{r.scores['date']} at commit {r.scores['commit']} ({r.scores['machine']})" for r in found})
    parts.append(f"Measured by `python -m benchmarks.results_page RUN …`: {'; '.join(made)}.")
    with atomic(ROOT / "docs" / "results.md") as page:
        page.write("\n\n".join(parts) + "\n")


def main(runs: list[str]) -> None:
    for run in map(Path, runs):
        measure(run)
    write_page(results())


if __name__ == "__main__":
    main(sys.argv[1:])
