"""What papers print, beside what was measured: `published.yaml`, and which of its figures may stand there.

A published figure is comparable when its metric is defined as ours, it was counted in the same tokens, and it is of
as many test turns. Everything else is listed apart with the reason, never silently beside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from harken import config
from harken.scoring.score import Score

_FILE = Path(__file__).with_name("published.yaml")
_LOOKED_AT = 1000
_PREPARED = 0.95


@dataclass(frozen=True, kw_only=True)
class Counting:
    """How a table counts one of its metrics."""

    tokens: str | None = None
    """What texts were cut into; null where the metric has nothing to do with tokens."""
    digits: int = 2
    """Digits after the point, as printed."""
    differs: str | None = None
    """What keeps the figure from ever being comparable with one of ours."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table of one paper, as published.yaml writes it."""

    group: str
    paper: str
    table: str
    protocol: str
    metrics: dict[str, Counting]
    systems: dict[str, dict[str, float | tuple[float, float]]]
    turns: int | None = None

    def problems(self) -> list[str]:
        """Figures of a metric that the table does not describe."""
        used = {name for row in self.systems.values() for name in row}
        return [f"{self.table}: '{name}' is not among its metrics" for name in sorted(used - set(self.metrics))]


@dataclass(frozen=True, kw_only=True)
class Published:
    """The whole file."""

    elsewhere: dict[str, str]
    """Metrics that reply files cannot give, and why."""
    sets: tuple[Table, ...]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One published figure with all that is needed to judge whether it compares."""

    group: str
    system: str
    paper: str
    table: str
    protocol: str
    metric: str
    value: float
    spread: float | None
    turns: int | None
    tokens: str | None
    digits: int
    differs: str | None

    def shown(self) -> str:
        """The value as a table prints it."""
        if self.metric == "parameters":
            return f"{self.value / 1e6:.2f}M"
        exact = round(self.value, self.digits) == self.value
        value = f"{self.value:.{self.digits}f}" if exact else f"{self.value:g}"
        return value if self.spread is None else f"{value} ± {self.spread:.2f}"

    def obstacle(self, measured: Mapping[str, Score], tokens: str) -> str | None:
        """Why it may not stand beside what was measured under those tokens; None if it may."""
        score = measured.get(self.metric)
        if self.differs or score is None:
            return self.differs or "it was not measured here"
        if self.metric == "parameters":
            return None
        reasons = []
        if self.turns is None:
            reasons.append("the paper does not print how many turns it scored")
        elif self.turns != score.n:
            reasons.append(f"it is of {self.turns:,} turns, here there are {score.n:,}")
        if self.tokens not in (None, tokens):
            reasons.append(f"it counts {_cut(self.tokens)}, here are {_cut(tokens)}")
        return "; ".join(reasons) or None


def _cut(tokens: str | None) -> str:
    return {
        "moel": "the MoEL family's tokens",
        "given": "the tokens given, which are not the MoEL family's",
        "13a": "13a tokens",
    }.get(str(tokens), str(tokens))


@dataclass(frozen=True)
class Apart:
    """Published figures that do not compare, for one reason."""

    group: str
    paper: str
    metric: str
    reason: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Beside:
    """The published figures sorted into those that compare and those that do not."""

    figures: tuple[Figure, ...] = ()
    apart: tuple[Apart, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For `harken compare --json`."""
        return {
            "comparable": [asdict(figure) for figure in self.figures],
            "not_comparable": [
                asdict(figure) | {"reason": part.reason} for part in self.apart for figure in part.figures
            ],
        }


@cache
def load() -> tuple[tuple[Figure, ...], Mapping[str, str]]:
    """Every published figure, and why some metrics are never measured here."""
    found = config.load(Published, _FILE)
    return tuple(_figures(found.sets)), found.elsewhere


def _figures(tables: Iterable[Table]) -> Iterable[Figure]:
    for table in tables:
        for system, row in table.systems.items():
            for metric, value in row.items():
                number, spread = value if isinstance(value, tuple) else (value, None)
                counting = table.metrics[metric]
                yield Figure(
                    group=table.group,
                    system=system,
                    paper=table.paper,
                    table=table.table,
                    protocol=table.protocol,
                    metric=metric,
                    value=number,
                    spread=spread,
                    turns=table.turns,
                    tokens=counting.tokens,
                    digits=counting.digits,
                    differs=counting.differs,
                )


def beside(measured: Mapping[str, Score], tokens: str) -> Beside:
    """Sort the published figures by whether they may stand beside these scores."""
    figures, elsewhere = load()
    comparable: list[Figure] = []
    apart: dict[tuple[str, str, str, str], list[Figure]] = {}
    for figure in figures:
        reason = elsewhere.get(figure.metric) or figure.obstacle(measured, tokens)
        if reason is None:
            comparable.append(figure)
        else:
            apart.setdefault((figure.group, figure.paper, figure.metric, reason), []).append(figure)
    order = list(measured)
    comparable.sort(key=lambda figure: order.index(figure.metric))
    return Beside(tuple(comparable), tuple(Apart(*key, tuple(found)) for key, found in apart.items()))


def tokens_of(tokenize: str, responses: Sequence[str]) -> str:
    """The tokens that figures are counted in; a file given in the MoEL family's tokens counts as prepared that way.

    It does if preparing it changes next to nothing; a few quotation marks come out otherwise the second time.
    """
    if tokenize != "given":
        return tokenize
    from harken.text.moel import words

    looked_at = responses[:_LOOKED_AT]
    same = sum(words(text) == text.split() for text in looked_at)
    return "moel" if same >= _PREPARED * len(looked_at) else "given"
