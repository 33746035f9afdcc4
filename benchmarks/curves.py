"""How runs learnt, drawn from their logs: validation perplexity and emotion accuracy over the examples seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from harken.pictures import GRID, INK, PALE, SERIES, save, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = "os^Dvp"


@dataclass(frozen=True)
class Curve:
    """One run's validations: thousands of examples seen, and what was measured then."""

    name: str
    seen: tuple[float, ...]
    perplexity: tuple[float, ...]
    accuracy: tuple[float | None, ...]
    """The first choice of emotion, in per cent; None where none is read."""
    kept: int
    """Which of them had the best likelihood, so that its weights were kept."""


def read_curve(folder: Path, name: str) -> Curve:
    """The validations in `log.jsonl` of a run's folder; a validation done twice after a stop counts as done last."""
    config = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    lines = map(json.loads, (folder / "log.jsonl").read_text(encoding="utf-8").splitlines())
    found: dict[int, dict[str, Any]] = {line["step"]: line["valid"] for line in lines if "valid" in line}
    steps = sorted(found)
    return Curve(
        name,
        tuple(step * config["training"]["batch_size"] / 1000 for step in steps),
        tuple(found[step]["perplexity_utterance_mean"] for step in steps),
        tuple(None if (hit := found[step].get("emotion_top1")) is None else 100 * hit for step in steps),
        min(range(len(steps)), key=lambda place: found[steps[place]]["perplexity"]),
    )


def gone_on(first: Curve, second: Curve) -> Curve:
    """Two stages as one curve under the second's name, which begins with the weights the first has kept.

    What the first knew of emotions is left out, for it was not taught.
    """
    until = first.kept + 1
    begun = first.seen[first.kept]
    return Curve(
        second.name,
        (*first.seen[:until], *(begun + seen for seen in second.seen)),
        (*first.perplexity[:until], *second.perplexity),
        (*(None for _ in first.seen[:until]), *second.accuracy),
        until + second.kept,
    )


def draw(path: Path, curves: Sequence[Curve]) -> None:
    """Perplexity on the left, accuracy on the right; a ring around the validation whose weights were kept."""
    from matplotlib.figure import Figure

    with styled():
        figure = Figure(figsize=(11, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        for place, curve in enumerate(curves):
            colour, mark = SERIES[place % len(SERIES)], _MARKS[place % len(_MARKS)]
            style = {"color": colour, "marker": mark, "markersize": 4, "linewidth": 1.4, "label": curve.name}
            left.plot(curve.seen, curve.perplexity, **style)
            best = curve.seen[curve.kept], curve.perplexity[curve.kept]
            left.plot(*best, "o", color=colour, markersize=10, fillstyle="none")
            known = [(seen, hit) for seen, hit in zip(curve.seen, curve.accuracy, strict=True) if hit is not None]
            if known:
                right.plot(*zip(*known, strict=True), **style)
        left.set_yscale("log")
        _furnish(left, "perplexity on validation (utterance mean)", (28, 30, 32, 35, 40, 45, 50, 60, 75))
        _furnish(right, "emotion on validation, %", ())
    save(figure, path)


def _furnish(axes: Axes, title: str, ticks: Sequence[float]) -> None:
    axes.set_title(title, color=INK, size=11, loc="left", weight="bold")
    axes.set_xlabel("thousands of examples seen", color=PALE, size=9)
    if ticks:
        reach = axes.get_ylim()
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_yticks([], minor=True)
        axes.set_ylim(reach)
    axes.tick_params(colors=INK, length=0, labelsize=8.5)
    axes.grid(color=GRID, linewidth=0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)
