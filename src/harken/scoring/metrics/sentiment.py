"""Sentiment by VADER's compound score, -1 to 1 (Hutto and Gilbert 2014), on the texts as they stand in the file."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harken.scoring.material import Material
from harken.scoring.metrics.base import Metric
from harken.scoring.score import Measured
from harken.scoring.statistics import Values, mean


def _vader(name: str, details: dict[str, str], values: Callable[[Material], Values]) -> Callable[[Material], Measured]:
    def measure(material: Material) -> Measured:
        return Measured(name, mean(values(material)), len(material), "compound", details)

    return measure


SENTIMENT = (
    Metric(
        name="vader",
        title="sentiment of the replies",
        reported_by="harken",
        measure=_vader("vader", {"of": "reply"}, lambda material: material.reply_sentiment),
        better="neither",
    ),
    Metric(
        name="vader-gain",
        title="sentiment over the context's",
        reported_by="harken",
        measure=_vader(
            "vader-gain",
            {"of": "reply-context", "context": "joined"},
            lambda material: material.reply_sentiment - material.context_sentiment,
        ),
        needs=("context",),
        better="neither",
    ),
    Metric(
        name="sentiment-error",
        title="sentiment error (MAE)",
        reported_by="LEMPEx",
        measure=_vader(
            "sentiment-error",
            {"of": "abs-reply-response"},
            lambda material: np.abs(material.reply_sentiment - material.response_sentiment),
        ),
        needs=("response",),
        better="lower",
    ),
    Metric(
        name="sentiment-difference",
        title="sentiment over the response's",
        reported_by="harken",
        measure=_vader(
            "sentiment-difference",
            {"of": "reply-response"},
            lambda material: material.reply_sentiment - material.response_sentiment,
        ),
        needs=("response",),
        better="neither",
    ),
)
