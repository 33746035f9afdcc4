"""Figure 2 of MEED2: how often each emotion or intent is that of the last utterance, as bars."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harken.curation.stats import CurationStats
from harken.errors import HarkenError
from harken.labels import label
from harken.pictures import INK, PALE, POLARITIES, picture_format, save, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = POLARITIES | {"intent": "#5b8c6a", "neutral": "#9aa5b1"}


def plot_last(stats: CurationStats, path: Path, title: str) -> None:
    """Draw the distribution into a PNG, SVG or PDF file, as the file's name says."""
    picture_format(path)
    if not stats.last:
        raise HarkenError(f"{title} has no dialogue whose last utterance has a label, so there is nothing to draw")
    save(draw(stats, title), path)


def draw(stats: CurationStats, title: str) -> Figure:
    """One bar a label, the most frequent first; colours tell polarities, intents and neutral apart."""
    from matplotlib.figure import Figure

    shares = stats.shares()
    with styled():
        figure = Figure(figsize=(max(4.0, 1.2 + 0.27 * len(shares)), 3.9), layout="constrained")
        axes = figure.add_subplot()
        kinds = [label(name).polarity or label(name).kind for name in shares]
        axes.bar(range(len(shares)), list(shares.values()), color=[_COLOURS[kind] for kind in kinds], width=0.74)
        axes.set_xticks(range(len(shares)), list(shares), rotation=60, ha="right", rotation_mode="anchor", size=8.5)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.tick_params(colors=INK, length=0, labelsize=8.5)
        axes.set_ylabel("share of the last utterances", color=PALE, size=9)
        axes.set_title(f"{title} (n = {sum(stats.last.values()):,})", color=INK, size=11, loc="left", weight="bold")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.margins(x=0.01)
        for kind in (kind for kind in _COLOURS if kind in kinds):
            axes.bar(0, 0, color=_COLOURS[kind], label=kind if kind in ("intent", "neutral") else f"{kind} emotion")
        axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)
    return figure
