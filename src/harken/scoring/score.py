"""Score: a figure that says what it is. Its signature names the definition, the unit, the tokens, n and the version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import harken
from harken.scoring.statistics import Statistic

PERCENT = "percent"


@dataclass(frozen=True)
class Score:
    """One figure: its value, its interval (None without resampling, or of fewer than two examples), its n."""

    metric: str
    value: float
    low: float | None
    high: float | None
    n: int
    signature: str
    extras: Mapping[str, Any] = field(default_factory=dict)
    """What else the metric tells: the ratio of a percentage, BLEU's precisions, the most frequent replies."""

    def to_json(self) -> dict[str, Any]:
        """As `harken score --json` prints it."""
        return {
            "metric": self.metric,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "signature": self.signature,
            **self.extras,
        }

    def __str__(self) -> str:
        """`distinct-2|per:bigram|unit:percent|tok:given|n:5255|v:0.1.0 = 2.89`."""
        return f"{self.signature} = {self.value:.2f}"


@dataclass(frozen=True)
class Measured:
    """What a metric found on one file, before it is a figure: the statistic, and what the signature must say."""

    metric: str
    statistic: Statistic
    n: int
    unit: str
    details: Mapping[str, str] = field(default_factory=dict)
    extras: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The figure of the file as it is."""
        return float(self.statistic(np.ones((1, self.n)))[0])

    def signature(self) -> str:
        """The parts in their order: name, details of the definition, unit, tokens, n, version."""
        details = {key: text for key, text in self.details.items() if key != "tok"}
        tokens = {"tok": self.details["tok"]} if "tok" in self.details else {}
        parts = {**details, "unit": self.unit, **tokens, "n": str(self.n), "v": harken.__version__}
        return "|".join([self.metric, *(f"{key}:{text}" for key, text in parts.items())])

    def score(self, low: float | None = None, high: float | None = None) -> Score:
        """The figure, with its interval if one was found."""
        value = self.value
        ratio = {"ratio": value / 100} if self.unit == PERCENT else {}
        return Score(self.metric, value, low, high, self.n, self.signature(), {**ratio, **self.extras})

    def take(self, examples: np.ndarray[Any, np.dtype[np.int64]]) -> Measured:
        """The same metric on some of the examples; what was told of the whole file is left out."""
        return Measured(self.metric, self.statistic.take(examples), len(examples), self.unit, self.details)
