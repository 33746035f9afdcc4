"""Figure 3 of EmpatheticDialogues for any corpus: each emotion's share as a bar, beside the words of either side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from harken.corpora.stats import Stats
from harken.errors import HarkenError
from harken.labels import polarity
from harken.pictures import INK, PALE, POLARITIES, picture_format, save, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW, _HEAD, _MARGIN = 0.27, 1.15, 0.35
_NAME, _BARS = 1.55, 3.0
_CHARACTER = 0.083
"""All in inches."""


def plot_stats(stats: Stats, path: Path, title: str) -> None:
    """Draw `stats` into a PNG, SVG or PDF file, as the file's name says."""
    picture_format(path)
    if not stats.emotions:
        raise HarkenError(f"{title} has no dialogue with an emotion, so there is nothing to draw")
    save(draw(stats, title), path)


def draw(stats: Stats, title: str) -> Figure:
    """The figure itself: one row per emotion, the most frequent on top. Its coordinates are inches."""
    from matplotlib.figure import Figure

    emotions = stats.emotions
    spoken, heard = (
        max(1.4, 0.3 + _CHARACTER * max(len(", ".join(getattr(emotion, side))) for emotion in emotions.values()))
        for side in ("speaker", "listener")
    )
    columns = (0.0, _NAME, _NAME + spoken, _NAME + spoken + heard)
    width, height = columns[-1] + _BARS, _HEAD + _ROW * len(emotions)
    with styled():
        figure = Figure(figsize=(width + 2 * _MARGIN, height + 2 * _MARGIN))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(-_MARGIN, width + _MARGIN), ylim=(height + _MARGIN, -_MARGIN))
        axes.axis("off")
        _header(axes, stats, title, columns, width)
        longest = max(emotion.share for emotion in emotions.values())
        for row, (name, emotion) in enumerate(emotions.items()):
            y = _HEAD + _ROW * (row + 0.5)
            if row % 2 == 0:
                axes.fill_between((0, width), y - _ROW / 2, y + _ROW / 2, color="#f4f6f8", linewidth=0)
            axes.text(0.08, y, name, color=INK, va="center", weight="bold", size=9.5)
            for x, words in zip(columns[1:3], (emotion.speaker, emotion.listener), strict=True):
                axes.text(x, y, ", ".join(words), color=INK, va="center", size=9.5)
            length = (_BARS - 0.6) * emotion.share / longest
            colour = POLARITIES[polarity(name) or "negative"]
            axes.barh(y, length, left=columns[3], height=0.62 * _ROW, color=colour)
            axes.text(columns[3] + length + 0.07, y, f"{emotion.share:.1%}", color=PALE, va="center", size=8.5)
    return figure


def _header(axes: Any, stats: Stats, title: str, columns: tuple[float, ...], width: float) -> None:
    axes.text(0, 0.1, title, color=INK, va="center", size=14, weight="bold")
    counts = " · ".join(f"{name} {split.dialogues:,}" for name, split in stats.splits.items())
    axes.text(0, 0.42, f"dialogues: {counts}", color=PALE, va="center", size=9.5)
    for x, kind in ((width - 1.75, "positive"), (width - 0.85, "negative")):
        axes.text(x, 0.42, f"■ {kind}", color=POLARITIES[kind], va="center", size=9.5)
    for x, head in zip(columns, ("emotion", "speakers say", "listeners say", "share of dialogues"), strict=True):
        axes.text(x or 0.08, _HEAD - 0.19, head, color=PALE, va="center", size=9.5)
    axes.plot((0, width), (_HEAD - 0.03, _HEAD - 0.03), color=PALE, linewidth=0.8)
