"""A comparison as text: the table, the breakdowns, the published figures, and what was left out."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harken.scoring.compare import ALPHA, Comparison, System, with_spread
from harken.scoring.score import Score

_WIDE = 160
"""Columns of a pipe, which has no width of its own."""
_COLUMN = 26
"""Columns that a figure with its interval takes."""


def show(comparison: Comparison) -> None:
    """Print it on standard output."""
    console = Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False, markup=False)
    count = len(comparison.systems)
    console.print(f"{count} system{'s' * (count != 1)}, {comparison.n:,} examples", soft_wrap=True)
    beside = max(1, (console.width - _COLUMN) // _COLUMN)
    for start in range(0, count, beside):
        console.print(_figures(comparison, comparison.systems[start : start + beside]))
    if any(system.differences for system in comparison.systems):
        console.print(f"* differs from {comparison.baseline}, p < {ALPHA}: {comparison.test_words()}", soft_wrap=True)
    if any(len(system.sources) > 1 for system in comparison.systems):
        console.print("± is the standard deviation over the seeds of a run", soft_wrap=True)
    if by := comparison.options.by:
        for table in filter(None, (_groups(comparison, by, metric) for metric in comparison.metrics)):
            console.print()
            console.print(table)
    _published(console, comparison)
    _left_out(console, comparison)


def _figures(comparison: Comparison, systems: tuple[System, ...]) -> Table:
    table = _table("metric", *(_heading(system, comparison.baseline) for system in systems))
    for metric in comparison.metrics:
        table.add_row(metric, *(_cell(system.scores.get(metric), system.differs(metric)) for system in systems))
    return table


def _groups(comparison: Comparison, by: str, metric: str) -> Table | None:
    """One metric by a field, if it was broken down; the perplexities were not."""
    found = [system.groups.get(by, {}) for system in comparison.systems]
    if not any(metric in scores for groups in found for scores in groups.values()):
        return None
    table = _table(f"{metric} by {by}", "n", *(system.name for system in comparison.systems))
    for value, n in comparison.groups[by].items():
        table.add_row(Text(value), f"{n:,}", *(_cell(groups.get(value, {}).get(metric)) for groups in found))
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(Text(first), no_wrap=True)
    for name in others:
        table.add_column(Text(name), justify="right", no_wrap=True)
    return table


def _heading(system: System, baseline: str) -> str:
    seeds = f", {len(system.sources)} seeds" if len(system.sources) > 1 else ""
    return f"{system.name}{seeds}" + (" (baseline)" if system.name == baseline else "")


def _cell(score: Score | None, differs: bool = False) -> Text:
    return Text("–" if score is None else with_spread(score) + ("*" if differs else " "))


def _published(console: Console, comparison: Comparison) -> None:
    found = comparison.published
    if found.figures:
        console.print("\npublished for EmpatheticDialogues, with this definition, these tokens, this number of turns:")
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("metric", "system", "value", "source"):
            table.add_column(name, no_wrap=True, justify="right" if name == "value" else "left")
        for figure in found.figures:
            table.add_row(figure.metric, figure.system, figure.shown(), f"{figure.paper}, {figure.table}")
        console.print(table)
    apart = [part for part in found.apart if part.metric in comparison.metrics]
    if apart:
        console.print("\npublished, but not comparable:")
    for part in apart:
        console.print(f"  {part.group} {part.metric}, {len(part.figures)} ×: {part.reason}", soft_wrap=True)


def _left_out(console: Console, comparison: Comparison) -> None:
    for note in comparison.notes:
        console.print(f"\nnote: {note}", soft_wrap=True)
    for system in comparison.systems:
        if system.bad_lines:
            console.print(f"{system.name}: {system.bad_lines:,} bad lines left out", soft_wrap=True)
    reasons: dict[str, dict[str, None]] = {}
    for system in comparison.systems:
        for metric, reason in system.left_out.items():
            reasons.setdefault(f"{metric}: {reason}", {})[system.name] = None
    if reasons:
        console.print("\nnot measured:")
    for reason, names in reasons.items():
        where = "" if len(names) == len(comparison.systems) else f" ({', '.join(names)})"
        console.print(f"  {reason}{where}", soft_wrap=True)
