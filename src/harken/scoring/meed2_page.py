"""The tables of `scoring.meed2` as Markdown, and their picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from harken.files import atomic
from harken.scoring.meed2 import Cell, Steered, Weighted
from harken.scoring.score import Score

_INK, _ASKED, _UNASKED = "#22303c", "#e0a43a", "#4f7ea8"


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
    """Figure 5, the shares of the labels that occur, one bar a series; beside it the steering table as bars."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    names = [name for name in next(iter(shares.values())) if any(one[name] > 0 for one in shares.values())]
    with mpl.rc_context({"font.family": "DejaVu Sans", "svg.fonttype": "none"}):
        figure = Figure(figsize=(13, max(4.0, 0.3 * len(names) + 1.5)), layout="constrained")
        left, right = figure.subplots(1, 2)
        _bars(left, names, {series: [100 * one[name] for name in names] for series, one in shares.items()})
        left.set(title="labels of replies", xlabel="% of replies")
        asked = {"asked for": [row.asked.value for row in rows], "unasked": [row.unasked.value for row in rows]}
        _bars(right, [row.intent for row in rows], asked)
        right.set(title="intent found by the classifier", xlabel="% of replies")
        figure.suptitle(title, color=_INK)
    with atomic(path, "wb") as stream:
        figure.savefig(stream, format=path.suffix.removeprefix("."), dpi=120, facecolor="white")


def _bars(axes: object, names: Sequence[str], series: Mapping[str, Sequence[float]]) -> None:
    """Horizontal bars, the series of one name under one another."""
    height = 0.8 / max(1, len(series))
    colours = (_ASKED, _UNASKED, _INK)
    for place, (name, values) in enumerate(series.items()):
        heights = [i + place * height for i in range(len(names))]
        axes.barh(heights, values, height=height, label=name, color=colours[place % len(colours)])  # type: ignore[attr-defined]
    axes.set_yticks([i + 0.4 - height / 2 for i in range(len(names))], names)  # type: ignore[attr-defined]
    axes.invert_yaxis()  # type: ignore[attr-defined]
    axes.legend()  # type: ignore[attr-defined]
