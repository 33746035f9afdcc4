"""What a metric is: a name, what it needs, how it measures, who reports it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from harken.scoring.material import Material
from harken.scoring.score import Measured

Cost = Literal["quick", "slow", "neural"]
"""Quick ones make up the default set; slow ones start Java or NLTK; neural ones load an encoder or classifiers."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One line of the table of metrics."""

    name: str
    title: str
    """A few words for tables and reports."""
    reported_by: str
    measure: Callable[[Material], Measured]
    needs: tuple[str, ...] = ()
    """Fields that every record must have beside `reply`."""
    better: Literal["higher", "lower", "neither"] = "higher"
    cost: Cost = "quick"
    lacks: Callable[[Material], str | None] = lambda material: None
    """What else stands in the way: a program that is not installed, too few predictions; None when nothing does."""

    def obstacle(self, material: Material) -> str | None:
        """Why this metric cannot be measured on these replies, in words that say what to do; None if it can."""
        for name in self.needs:
            lacking = sum(record.get(name) is None for record in material.records)
            if lacking:
                which = "no line has" if lacking == len(material) else f"{lacking:,} lines lack"
                return f"it needs the field '{name}', which {which}"
        return self.lacks(material)
