"""The HTML report: one file that opens offline, with tables, charts and all replies side by side.

`report.html` is the frame, `report.css` the looks, `report.js` the heat map and the replies. Tables and other charts
are written here. Replies are spooled to a temporary file while the comparison reads them, so that memory does
not grow with the number of files.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import IO, Any

import numpy as np

import harken
from harken.files import atomic
from harken.labels import EMOTIONS, polarity
from harken.scoring import report_tables as tables
from harken.scoring.compare import Comparison, compare, number
from harken.scoring.compare_files import Options
from harken.scoring.compare_sources import Source, read_emotions
from harken.scoring.material import Heard, Material
from harken.scoring.report_charts import Bins, histogram, scatter
from harken.scoring.statistics import Integers


def write_report(path: Path, sources: Sequence[Source], options: Options, *, heard: Heard | None = None) -> Comparison:
    """Compare the sources and write the report; the comparison comes back."""
    with atomic(path) as out, tempfile.TemporaryFile("w+", encoding="utf-8") as spool:
        spooled = _Spool(spool)
        comparison = compare(sources, replace(options, emotions=True), heard=heard, witness=spooled.hear)
        for piece in _page(comparison, spooled):
            if isinstance(piece, str):
                out.write(piece)
            else:
                shutil.copyfileobj(piece, out)
    return comparison


class _Spool:
    """What the report needs of each file's texts: the replies on disk, the counts of their lengths in memory."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self.files: list[Source] = []
        self.lengths: dict[str, Integers] = {}
        self.responses: Integers | None = None

    def hear(self, source: Source, material: Material) -> None:
        """Take down one file."""
        self.files.append(source)
        self.stream.write(_json_script(material.replies, "replies") + "\n")
        counts = np.bincount(material.grams.reply_lengths)
        self.lengths[source.name] = _sum(self.lengths.get(source.name), counts)
        if self.responses is None:
            self.responses = np.bincount(material.grams.response_lengths)

    def rewound(self) -> IO[str]:
        """The spooled replies from their beginning."""
        self.stream.seek(0)
        return self.stream


def _sum(first: Integers | None, second: Integers) -> Integers:
    if first is None:
        return second
    size = max(len(first), len(second))
    return np.pad(first, (0, size - len(first))) + np.pad(second, (0, size - len(second)))


def _json_script(value: object, kind: str) -> str:
    return f'<script type="application/json" class="{kind}">{script_json(value)}</script>'


def script_json(value: object) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element or open another."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _page(comparison: Comparison, spooled: _Spool) -> Iterator[str | IO[str]]:
    sections = list(_sections(comparison, spooled))
    n_systems = len(comparison.systems)
    heading = f"{n_systems} system{'s' * (n_systems != 1)}, {comparison.n:,} examples"
    names = ", ".join(system.name for system in comparison.systems)
    content: dict[str, str | IO[str]] = {
        "heading": escape(heading),
        "about": escape(names),
        "css": _resource("report.css"),
        "js": _resource("report.js"),
        "nav": "".join(f'<li><a href="#{key}">{escape(title)}</a></li>' for key, title, _ in sections),
        "sections": "\n".join(
            f'<section id="{key}" aria-labelledby="{key}-h"><h2 id="{key}-h">{escape(title)}</h2>{body}</section>'
            for key, title, body in sections
        ),
        "version": harken.__version__,
        "data": script_json(_data(comparison, spooled)),
        "replies": spooled.rewound(),
    }
    for place, piece in enumerate(re.split(r"\{\{(\w+)\}\}", _resource("report.html"))):
        yield content[piece] if place % 2 else piece


def _resource(name: str) -> str:
    return files("harken.scoring").joinpath(name).read_text(encoding="utf-8")


def _sections(comparison: Comparison, spooled: _Spool) -> Iterator[tuple[str, str, str]]:
    """Key, title and body of each part of the report that has something to show."""
    yield "summary", "Figures", tables.summary(comparison) + _legend(comparison)
    words = (
        "Whiskers are 95 % intervals, over seeds where a system has several. Dashed bars are published, by "
        "the paper in brackets."
    )
    yield "bars", "Bars", f'<p>{words}</p><div class="cards">{tables.charts(comparison)}</div>'
    if comparison.groups:
        yield "groups", "By " + " and ".join(comparison.groups), '<div id="map"></div>'
    if spooled.lengths and spooled.responses is not None:
        yield "lengths", "Lengths", _lengths(comparison, spooled, spooled.responses)
    plots = list(_embeddings(comparison))
    if plots:
        words = (
            "<p>The vector that each model has learnt for each emotion, in the plane of the first two principal "
            'components. <span class="key positive">● positive</span> <span class="key negative">▲ negative</span></p>'
        )
        yield "embeddings", "Emotion embeddings", words + "".join(plots)
    if spooled.files:
        yield "replies", "Replies side by side", '<div id="browser"></div>'
    yield "published", "Published figures", tables.published(comparison)
    yield "notes", "Notes", tables.notes(comparison)


def _legend(comparison: Comparison) -> str:
    if not any(system.differences for system in comparison.systems):
        return ""
    return (
        f'<p class="legend"><span class="mark better">▲ better</span> <span class="mark worse">▼ worse</span> '
        f'<span class="mark differs">◆ differs</span> significantly from <b>{escape(comparison.baseline)}</b>: '
        f"{escape(comparison.test_words())}.</p>"
    )


def _lengths(comparison: Comparison, spooled: _Spool, responses: Integers) -> str:
    names = [system.name for system in comparison.systems]
    bins = Bins.over([*spooled.lengths.values(), responses])
    highest = max(float(bins.shares(counts).max()) for counts in (*spooled.lengths.values(), responses))
    cards = "".join(
        tables.card(
            f"<b>{escape(name)}</b> <span>mean {_mean(counts):.1f} tokens</span>",
            histogram(f"Lengths of the replies of {name}", counts, responses, bins, highest, _colour(names, name)),
        )
        for name, counts in sorted(spooled.lengths.items(), key=lambda one: names.index(one[0]))
    )
    words = f"Tokens per reply, in percent of replies. The line shows the gold responses, mean {_mean(responses):.1f}."
    return f'<p>{words}</p><div class="cards">{cards}</div>'


def _colour(names: Sequence[str], name: str) -> int:
    return names.index(name) % tables.COLOURS


def _mean(counts: Integers) -> float:
    return float(counts @ np.arange(len(counts)) / max(1, counts.sum()))


def _embeddings(comparison: Comparison) -> Iterator[str]:
    shown = set()
    for system in comparison.systems:
        for source in system.sources:
            if source.folder is None or source.folder in shown:
                continue
            shown.add(source.folder)
            if (embedding := read_emotions(source.folder)) is not None:
                name = source.folder.resolve().name
                chart = scatter(f"Emotion embeddings of {name}", embedding)
                yield tables.card(f"<b>{escape(name)}</b>", tables.scroll(f"Emotions of {name}", chart), "plot")


def _data(comparison: Comparison, spooled: _Spool) -> dict[str, Any]:
    """What the page's script shows: breakdowns, and what the replies answer."""
    names = [system.name for system in comparison.systems]
    examples = comparison.examples.records if comparison.examples is not None and spooled.files else ()
    return {
        "systems": names,
        "baseline": names.index(comparison.baseline),
        "files": [{"label": source.label, "system": names.index(source.name)} for source in spooled.files],
        "polarity": {name: polarity(name) for name in EMOTIONS},
        "groups": [_group(comparison, by) for by in comparison.groups],
        "examples": [[one.id, list(one.context or ()), one.response, one.emotion] for one in examples],
    }


def _group(comparison: Comparison, by: str) -> dict[str, Any]:
    """The figures of every group: for each metric a row for each value of the field, a cell for each system."""
    values = comparison.groups[by]
    metrics = []
    for metric in comparison.metrics:
        rows = [
            [
                one.value if (one := system.groups.get(by, {}).get(value, {}).get(metric)) else None
                for system in comparison.systems
            ]
            for value in values
        ]
        if any(cell is not None for row in rows for cell in row):
            digits = _digits(comparison, metric)
            metrics.append(
                {
                    "name": metric,
                    "title": tables.title(metric),
                    "better": tables.better(metric),
                    "digits": digits,
                    "rows": rows,
                }
            )
    return {"by": by, "values": [[value, n] for value, n in values.items()], "metrics": metrics}


def _digits(comparison: Comparison, metric: str) -> int:
    """As many as the tables print."""
    score = next(system.scores[metric] for system in comparison.systems if metric in system.scores)
    return len(number(score, score.value).partition(".")[2])
