"""The one table of metrics; `docs/metrics.md` has each one's formula, signature and origin."""

from __future__ import annotations

from collections.abc import Sequence

from harken.errors import HarkenError, did_you_mean
from harken.scoring.metrics.base import Metric
from harken.scoring.metrics.bleu import BLEU
from harken.scoring.metrics.diversity import DIVERSITY
from harken.scoring.metrics.empathy import EMPATHY, EMPATHY_SET
from harken.scoring.metrics.labels import LABELS
from harken.scoring.metrics.overlap import OVERLAP
from harken.scoring.metrics.sentiment import SENTIMENT

METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (*BLEU, *OVERLAP, *DIVERSITY, *SENTIMENT, *EMPATHY, *LABELS)
}
SETS: dict[str, tuple[str, ...]] = {"empathy": EMPATHY_SET}
"""Names that stand for several metrics."""

_OF_LIKELIHOODS = ("ppl-", "bits-per-character")


def metric(name: str) -> Metric:
    """The metric of that name; an unknown name is an error that suggests the nearest."""
    if name.startswith(_OF_LIKELIHOODS):
        raise HarkenError(f"{name} is measured on likelihoods, not on replies; score the file that holds them")
    if name not in METRICS:
        near = did_you_mean(name, [*METRICS, *SETS])
        raise HarkenError(f"unknown metric '{name}'{near or '; the metrics are ' + ', '.join([*METRICS, *SETS])}")
    return METRICS[name]


def expanded(names: Sequence[str]) -> list[str]:
    """The names, sets replaced by what they stand for, each once."""
    return list(dict.fromkeys(one for name in names for one in SETS.get(name, (name,))))
