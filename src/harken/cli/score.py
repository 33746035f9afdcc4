"""`harken score`: the figures of a reply file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harken.cli.scoring_options import (
    AllowEmpty,
    AsJson,
    Empathy,
    Encoder,
    Metrics,
    References,
    Seed,
    Tokenize,
    VocabularySize,
    WordNet,
)
from harken.errors import HarkenError

if TYPE_CHECKING:
    from rich.console import Console

    from harken.scoring.evaluate import Scored
    from harken.scoring.score import Score

_WIDE = 160
"""Columns of a pipe, which has no width of its own."""
_COLUMN = 26
"""Columns that a figure with its interval takes."""
_SHOWN = 5
"""Most frequent replies that are printed."""


def score(
    file: Annotated[
        Path,
        typer.Argument(help="Replies: JSON lines, or text with one reply a line. Likelihoods too.", show_default=False),
    ],
    metrics: Metrics = None,
    tokenize: Tokenize = "given",
    references: References = None,
    by: Annotated[
        str | None,
        typer.Option(help="Also the figures by emotion, polarity, turn or a field of the file.", show_default=False),
    ] = None,
    bootstrap: Annotated[int, typer.Option(help="Samples behind each interval; 0 for none.")] = 1000,
    seed: Seed = 13,
    vocabulary: VocabularySize = 30_522,
    encoder: Encoder = None,
    wordnet: WordNet = None,
    empathy: Empathy = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave bad lines out and count them.")] = False,
    allow_empty: AllowEmpty = False,
    as_json: AsJson = False,
) -> None:
    """Score a reply file: every figure with its interval, its n and its signature."""
    from harken.cli.progress import stages
    from harken.scoring.evaluate import score_replies
    from harken.scoring.material import Settings
    from harken.scoring.perplexity import is_likelihoods, read_likelihoods, score_likelihoods
    from harken.scoring.replies import read_replies
    from harken.scoring.uncertainty import Resamples

    names = None if metrics is None else [name.strip() for name in metrics.split(",") if name.strip()]
    resamples = Resamples(samples=bootstrap, seed=seed)
    settings = Settings(
        tokenize=tokenize, vocabulary=vocabulary, encoder=encoder, wordnet=wordnet, empathy=tuple(empathy or ())
    )
    if is_likelihoods(file):
        if by or references:
            raise HarkenError(f"{file}: holds likelihoods, for which there is no --by and no --references")
        found = read_likelihoods(file, skip_bad=skip_bad)
        skipped, scored = found.skipped, score_likelihoods(found, names, resamples=resamples)
    else:
        replies = read_replies(file, references, skip_bad=skip_bad, allow_empty=allow_empty)
        with stages() as heard:
            scored = score_replies(replies, names, settings=settings, resamples=resamples, by=by, heard=heard)
        skipped = replies.skipped
    for line in skipped.lines():
        print(line, file=sys.stderr)
    if as_json:
        print(json.dumps(scored.to_json(), ensure_ascii=False, indent=2))
    else:
        _show(scored)


def _show(scored: Scored) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False)
    bad = f", {scored.bad_lines:,} bad lines left out" if scored.bad_lines else ""
    console.print(f"{escape(scored.file)}: {scored.n:,} examples{bad}", soft_wrap=True)
    _figures(console, scored.scores)
    for top in next((one.extras["top"] for one in scored.scores if "top" in one.extras), ())[:_SHOWN]:
        console.print(f"{top['count']:>7,} × {escape(top['reply'])}", soft_wrap=True)
    if scored.groups:
        _groups(console, scored)
    if scored.left_out:
        reasons = "\n".join(f"  {name}: {reason}" for name, reason in scored.left_out.items())
        console.print(f"\nnot measured:\n{escape(reasons)}", soft_wrap=True)


def _figures(console: Console, scores: tuple[Score, ...]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column, side in (("metric", "left"), ("value", "right"), ("95 % interval", "right")):
        table.add_column(column, justify=side, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("signature", overflow="fold", style="dim")
    for one in scores:
        table.add_row(one.metric, _number(one, one.value), _interval(one), one.signature)
    console.print(table)


def _groups(console: Console, scored: Scored) -> None:
    """One row a group, as many metrics side by side as the width allows, then the next ones below."""
    from rich.markup import escape
    from rich.table import Table

    beside = max(1, (console.width - _COLUMN) // _COLUMN)
    for start in range(0, len(scored.scores), beside):
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column(scored.by or "", no_wrap=True)
        table.add_column("n", justify="right", no_wrap=True)
        for one in scored.scores[start : start + beside]:
            table.add_column(one.metric, justify="right", no_wrap=True)
        for group in scored.groups:
            shown = group.scores[start : start + beside]
            cells = (f"{_number(one, one.value)}  {_interval(one)}" for one in shown)
            table.add_row(escape(group.value), f"{group.n:,}", *cells)
        console.print()
        console.print(table)


def _number(score: Score, value: float) -> str:
    return f"{value:z.{2 if 'unit:percent' in score.signature or abs(score.value) >= 1 else 4}f}"


def _interval(score: Score) -> str:
    if score.low is None or score.high is None:
        return "–"
    return f"{_number(score, score.low)} – {_number(score, score.high)}"
