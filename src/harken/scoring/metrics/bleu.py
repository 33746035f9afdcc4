"""BLEU under its four definitions.

    BP · exp(mean over n = 1..N of log p_n),  p_n = clipped matches / n-grams,  BP = min(1, exp(1 - r/c))

Corpus BLEU sums matches, n-grams and the lengths c (replies) and r (responses) over the file before dividing.
Nothing is smoothed: one p_n of nought makes the whole figure nought. Each example has one reference, so r is simply
its length.
"""

from __future__ import annotations

import numpy as np

from harken.scoring.material import Material
from harken.scoring.metrics.base import Metric
from harken.scoring.score import PERCENT, Measured
from harken.scoring.statistics import Sums, Values, mean, ratio

ORDERS = 4


def bleu(sums: Values, order: int) -> Values:
    """BLEU-`order` in percent of sums in the columns of `Grams.overlap`, (S, 10) -> (S,)."""
    matches, totals = sums[:, :order], sums[:, ORDERS : ORDERS + order]
    replied, wanted = sums[:, 2 * ORDERS], sums[:, 2 * ORDERS + 1]
    whole = matches.min(axis=1) > 0
    precisions = np.where(whole[:, None], ratio(matches, totals), 1.0)
    brevity = np.exp(np.minimum(0.0, 1.0 - ratio(wanted, replied)))
    return np.where(whole, 100.0 * brevity * np.exp(np.log(precisions).mean(axis=1)), 0.0)


def _average(sums: Values) -> Values:
    return sum((bleu(sums, order) for order in range(1, ORDERS + 1)), np.zeros(len(sums))) / ORDERS


def _parts(overlap: Values) -> dict[str, object]:
    """What multi-bleu.perl prints beside the figure."""
    sums = overlap.sum(axis=0)
    replied, wanted = sums[2 * ORDERS], sums[2 * ORDERS + 1]
    return {
        "precisions": (100.0 * ratio(sums[:ORDERS], sums[ORDERS : 2 * ORDERS])).tolist(),
        "brevity": float(np.exp(min(0.0, 1.0 - wanted / replied))) if replied else 0.0,
        "tokens": int(replied),
        "reference_tokens": int(wanted),
    }


def _moses(material: Material) -> Measured:
    overlap = material.moses_grams.overlap
    details = {"order": "4", "case": "lower", "smooth": "none", "tok": material.settings.tokenize}
    return Measured(
        "bleu-moses", Sums(overlap, lambda sums: bleu(sums, ORDERS)), len(material), PERCENT, details, _parts(overlap)
    )


def _order(order: int) -> Metric:
    def measure(material: Material) -> Measured:
        details = {"order": str(order), "case": "kept", "smooth": "none", "tok": material.settings.tokenize}
        statistic = Sums(material.grams.overlap, lambda sums: bleu(sums, order))
        return Measured(f"bleu-{order}", statistic, len(material), PERCENT, details)

    reporters = {1: "LEMPEx"}.get(order, "part of bleu-avg")
    return Metric(
        name=f"bleu-{order}", title=f"BLEU-{order}", reported_by=reporters, measure=measure, needs=("response",)
    )


def _avg(material: Material) -> Measured:
    details = {"order": "1-4", "case": "kept", "smooth": "none", "tok": material.settings.tokenize}
    return Measured("bleu-avg", Sums(material.grams.overlap, _average), len(material), PERCENT, details)


def _sentence(material: Material) -> Measured:
    overlap = material.grams.overlap
    precisions = 100.0 * ratio(overlap[:, :ORDERS], overlap[:, ORDERS : 2 * ORDERS]).mean(axis=0)
    details = {"order": "4", "case": "kept", "smooth": "none", "mean": "replies", "tok": material.settings.tokenize}
    extras = {"precisions": precisions.tolist()}
    return Measured("bleu-sentence", mean(bleu(overlap, ORDERS)), len(material), PERCENT, details, extras)


BLEU = (
    Metric(
        name="bleu-moses",
        title="BLEU (multi-bleu)",
        reported_by="MoEL, MIME",
        measure=_moses,
        needs=("response",),
    ),
    *(_order(order) for order in range(1, ORDERS + 1)),
    Metric(
        name="bleu-avg", title="BLEU, mean of 1–4", reported_by="EmpatheticDialogues", measure=_avg, needs=("response",)
    ),
    Metric(
        name="bleu-sentence",
        title="BLEU-4, mean of replies",
        reported_by="EmpDG",
        measure=_sentence,
        needs=("response",),
    ),
)
