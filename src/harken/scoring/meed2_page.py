"""The tables of `scoring.meed2` as Markdown, and their picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harken.pictures import GRID, INK, SERIES, save, styled
from harken.scoring.meed2 import Cell, Steered, Weighted
from harken.scoring.score import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def table_3(cells: Mapping[tuple[str, str], Cell]) -> str:
    """Every run on every corpus: perplexity under the predicted and the gold label, Distinct and similarity as ratios."""
    lines = [
        "| run | corpus | n | PPL, predicted label | PPL, gold label | PPL per word | D1 | D2 | SES |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (run, corpus), cell in cells.items():
        found = cell.scores
        gold = found.get("ppl-utterance-oracle")
        ratios = [f"{found[name].value / 100:.3f}" for name in ("distinct-1", "distinct-2")]
        row = [
            run,
            corpus,
            f"{found['distinct-1'].n:,}",
            f"{found['ppl-utterance'].value:.1f}",
            "–" if gold is None else f"{gold.value:.1f}",
            f"{found['ppl-word'].value:.1f}",
            *ratios,
            f"{found['similarity'].value:.3f}",
        ]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def table_4(rows: Mapping[tuple[str, str], Weighted]) -> str:
    """Weighted precision, recall and F1 of each run's predictor on each corpus."""
    lines = ["| run | corpus | precision | recall | F1 |", "|---|---|---|---|---|"]
    for (run, corpus), one in rows.items():
        lines.append(f"| {run} | {corpus} | {one.precision:.4f} | {one.recall:.4f} | {one.f1:.4f} |")
    return "\n".join(lines)


def steering_table(rows: Sequence[Steered]) -> str:
    """How often each intent is found, asked for and unasked, with 95 % intervals."""

    def told(score: Score) -> str:
        around = "" if score.low is None else f" ({score.low:.1f} to {score.high:.1f})"
        return f"{score.value:.1f}{around}"

    lines = ["| intent | found when asked for, % | found unasked, % | n |", "|---|---|---|---|"]
    lines += [f"| {row.intent} | {told(row.asked)} | {told(row.unasked)} | {row.asked.n:,} |" for row in rows]
    return "\n".join(lines)


def draw(path: Path, title: str, shares: Mapping[str, Mapping[str, float]], rows: Sequence[Steered]) -> None:
    """Figure 5, the shares of the frequent labels, one bar a series; beside it the steering table as bars.

    Labels come in the order of the first series; those below 1 % in every series are left out.
    """
    from matplotlib.figure import Figure

    first = next(iter(shares.values()))
    names = [name for name in first if any(one[name] >= 0.01 for one in shares.values())]
    names.sort(key=lambda name: -first[name])
    with styled():
        figure = Figure(figsize=(12, max(4.0, 0.26 * len(names) + 1.5)), layout="constrained")
        left, right = figure.subplots(1, 2)
        _bars(left, names, {series: [100 * one[name] for name in names] for series, one in shares.items()})
        left.set_title("labels of replies, %", color=INK, size=11, loc="left")
        found = {"asked for": [row.asked for row in rows], "unasked": [row.unasked for row in rows]}
        spans = {name: [(score.low, score.high) for score in scores] for name, scores in found.items()}
        values = {name: [score.value for score in scores] for name, scores in found.items()}
        _bars(right, [row.intent for row in rows], values, spans)
        right.set_title("intent found by the classifier, % of replies", color=INK, size=11, loc="left")
        figure.suptitle(title, color=INK, weight="bold", x=0.01, ha="left")
    save(figure, path)


def _bars(
    axes: Axes,
    names: Sequence[str],
    series: Mapping[str, Sequence[float]],
    spans: Mapping[str, Sequence[tuple[float | None, float | None]]] | None = None,
) -> None:
    """Horizontal bars, the series of one name under one another around its tick; thin lines are intervals."""
    height = 0.8 / max(1, len(series))
    for place, (name, values) in enumerate(series.items()):
        heights = [i + (place + 0.5) * height - 0.4 for i in range(len(names))]
        axes.barh(heights, values, height=height, label=name, color=SERIES[place % len(SERIES)])
        for at, (low, high) in zip(heights, (spans or {}).get(name, ()), strict=False):
            if low is not None and high is not None:
                axes.plot((low, high), (at, at), color=INK, linewidth=1)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(colors=INK, length=0, labelsize=9)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.margins(y=0.01)
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize=9, labelcolor=INK, loc="lower right")
