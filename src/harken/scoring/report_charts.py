"""The report's charts, as inline SVG whose colours come from the page's style sheet.

Every chart has a title for screen readers, every mark a tooltip; colour never stands alone: bars carry names, the two
polarities also differ in shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil

import numpy as np

from harken.labels import polarity
from harken.scoring.compare_sources import Embedding
from harken.scoring.statistics import Integers, Values

_WIDTH = 320
_ROW = 36


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One figure of a chart: a system's, or a published one."""

    name: str
    value: float
    low: float | None
    high: float | None
    shown: str
    tip: str
    colour: int | None
    """Which of the systems' colours; None for a published figure."""


def bars(title: str, rows: Sequence[Bar]) -> str:
    """Horizontal bars from nought, each with its interval as a whisker, its name and value above it."""
    ends = [0.0, *(end for row in rows for end in (row.value, row.low, row.high) if end is not None)]
    low, high = min(ends), max(ends)
    span = (high - low) * 1.02 or 1.0

    def x(value: float) -> float:
        return 2 + (value - low) / span * (_WIDTH - 8)

    parts = []
    for place, row in enumerate(rows):
        top = place * _ROW
        left, right = sorted((x(0.0), x(row.value)))
        style = "published" if row.colour is None else f"s{row.colour}"
        parts.append(
            f'<g><title>{escape(row.tip)}</title><rect class="hit" y="{top}" width="{_WIDTH}" height="{_ROW}"/>'
            f'<text class="name" x="2" y="{top + 13}">{escape(_cut(row.name, 34))}</text>'
            f'<text class="value" x="{_WIDTH - 2}" y="{top + 13}">{escape(row.shown)}</text>'
            f'<rect class="bar {style}" x="{left:.1f}" y="{top + 19}" width="{max(right - left, 0.5):.1f}" height="10"/>'
            f"{_whisker(x, row, top + 24)}</g>"
        )
    axis = f'<line class="axis" x1="{x(0.0):.1f}" x2="{x(0.0):.1f}" y1="16" y2="{len(rows) * _ROW - 4}"/>'
    return _svg(title, _WIDTH, len(rows) * _ROW, [*parts, axis])


def _whisker(x: Callable[[float], float], row: Bar, y: float) -> str:
    if row.low is None or row.high is None:
        return ""
    left, right = x(row.low), x(row.high)
    caps = f"M{left:.1f} {y - 4}v8M{right:.1f} {y - 4}v8"
    return f'<path class="whisker" d="M{left:.1f} {y}H{right:.1f}{caps}"/>'


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"


def _svg(title: str, width: int, height: int, parts: Iterable[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


@dataclass(frozen=True)
class Bins:
    """Equal bins of lengths; the last one takes whatever is longer."""

    width: int
    count: int

    @classmethod
    def over(cls, counts: Sequence[Integers]) -> Bins:
        """About thirty bins that hold 99 % of all the lengths; `counts[i][l]` texts of file i have l tokens."""
        size = max(len(one) for one in counts)
        total = np.sum([np.pad(one, (0, size - len(one))) for one in counts], axis=0)
        most = int(np.searchsorted(np.cumsum(total), 0.99 * total.sum()))
        width = max(1, ceil((most + 1) / 30))
        return cls(width, most // width + 1)

    def shares(self, counts: Integers) -> Values:
        """The percentage of texts in each bin."""
        places = np.minimum(np.arange(len(counts)) // self.width, self.count - 1)
        binned = np.zeros(self.count)
        np.add.at(binned, places, counts)
        return 100.0 * binned / max(1, int(counts.sum()))

    def label(self, place: int) -> str:
        """`12`, `12–13`, or `40 and more`."""
        first = place * self.width
        if place == self.count - 1:
            return f"{first} and more"
        return str(first) if self.width == 1 else f"{first}–{first + self.width - 1}"


def histogram(title: str, counts: Integers, responses: Integers, bins: Bins, highest: float, colour: int) -> str:
    """Lengths of replies as bars, those of the responses as an outline, all systems on one scale."""
    height, base, left = 150, 124, 28
    step = (_WIDTH - left - 4) / bins.count
    shares, gold = bins.shares(counts), bins.shares(responses)

    def y(share: float) -> float:
        return base - share / highest * (base - 10)

    parts = []
    for tick in _ticks(highest):
        parts.append(f'<line class="grid" x1="{left}" x2="{_WIDTH - 4}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        parts.append(f'<text class="tick end" x="{left - 4}" y="{y(tick) + 3.5:.1f}">{tick:g}</text>')
    for place, share in enumerate(shares):
        x = left + place * step
        tip = f"{bins.label(place)} tokens: {share:.1f} % of replies, {gold[place]:.1f} % of responses"
        parts.append(
            f'<g><title>{tip}</title><rect class="hit" x="{x:.1f}" y="0" width="{step:.2f}" height="{base}"/>'
            f'<rect class="bar s{colour}" x="{x + 0.5:.1f}" y="{y(share):.1f}" width="{max(step - 1, 0.5):.2f}"'
            f' height="{base - y(share):.1f}"/></g>'
        )
    outline = "".join(f"V{y(share):.1f}h{step:.2f}" for share in gold)
    parts.append(f'<path class="outline" d="M{left} {base}{outline}V{base}"/>')
    for place in range(0, bins.count, max(1, bins.count // 6)):
        x = left + (place + 0.5) * step
        parts.append(f'<text class="tick mid" x="{x:.1f}" y="{base + 13}">{place * bins.width}</text>')
    parts.append(f'<text class="tick mid" x="{(left + _WIDTH) / 2}" y="{height - 1}">tokens</text>')
    return _svg(title, _WIDTH, height, parts)


def _ticks(highest: float) -> list[float]:
    step = next(size for size in (0.5, 1, 2, 5, 10, 20, 25, 50) if highest / size <= 4 or size == 50)
    return [float(tick) for tick in np.arange(0, highest + 1e-9, step)]


def principal(vectors: Values) -> tuple[Values, Values]:
    """The vectors in the plane of their two principal components, (E, 2), and the shares of variance, (2,)."""
    centred = vectors - vectors.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    points = left[:, :2] * sizes[:2]
    signs = np.where(points[np.abs(points).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)  # a sign says nothing; fix it
    return points * signs, sizes[:2] ** 2 / max(float((sizes**2).sum()), 1e-12)


def scatter(title: str, embedding: Embedding) -> str:
    """Emotion vectors as points in the plane, with their names beside them; MIME's Figure 3."""
    width, height, edge = 760, 540, 46
    points, shares = principal(embedding.vectors)
    spans = np.maximum(points.max(axis=0) - points.min(axis=0), 1e-9)
    places = (points - points.min(axis=0)) / spans * [width - 250, height - 2 * edge] + [130, edge]
    places[:, 1] = height - places[:, 1]
    parts = [
        f'<text class="tick mid" x="{width / 2}" y="{height - 6}">first component, {shares[0]:.0%} of variance</text>',
        f'<text class="tick mid" transform="translate(14 {height / 2}) rotate(-90)">second, {shares[1]:.0%}</text>',
    ]
    marks, texts = [], []
    for name, (x, y), (left, top) in zip(embedding.emotions, places, _labels(places, embedding.emotions), strict=True):
        side = polarity(name) or "none"
        shape = (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
            if side == "positive"
            else f'<path d="M{x:.1f} {y - 5.5:.1f}l5.5 10h-11z"/>'
        )
        near_x, near_y = np.clip(x, left, left + _wide(name)), np.clip(y, top, top + _TALL)
        if np.hypot(near_x - x, near_y - y) > 10:
            parts.append(f'<line class="leader" x1="{x:.1f}" y1="{y:.1f}" x2="{near_x:.1f}" y2="{near_y:.1f}"/>')
        marks.append(f'<g class="{side}"><title>{escape(name)} ({side})</title>{shape}</g>')
        texts.append(f'<text x="{left + 2:.1f}" y="{top + 11.5:.1f}">{escape(name)}</text>')
    return _svg(title, width, height, [*parts, *marks, *texts])


_TALL = 15.0
_ANGLES = np.arange(24) * np.pi / 12
_WAYS = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])


def _wide(name: str) -> float:
    return 7.0 * len(name) + 4


def _labels(places: Values, names: Sequence[str]) -> Values:
    """The upper left corner of each name: as near to its point as it gets without covering points or other names."""
    corners = np.zeros_like(places)
    taken: list[tuple[float, float, float, float]] = [(x - 6, y - 6, x + 6, y + 6) for x, y in places]
    crowd = (np.linalg.norm(places[:, None] - places[None], axis=2) < 60).sum(axis=1)
    for place in np.argsort(-crowd, kind="stable"):  # where it is densest, names choose first
        wide = _wide(names[place])
        for reach in range(8, 160, 6):
            # A step around the point to the middle of the name, pushed out by half its size in that direction.
            middles = places[place] + _WAYS * reach + _WAYS * [wide / 2, _TALL / 2]
            boxes = [(x - wide / 2, y - _TALL / 2, x + wide / 2, y + _TALL / 2) for x, y in middles]
            free = [box for box in boxes if box[0] > 24 and not any(_overlap(box, other) for other in taken)]
            if free or reach > 150:
                corners[place] = (free or boxes)[0][:2]
                taken.append((free or boxes)[0])
                break
    return corners


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
