"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Titles and rows; nothing where there are no rows."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles), *lines]) if lines else ""
