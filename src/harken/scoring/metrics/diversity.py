"""How varied the replies are: Distinct-n, its length-corrected form, repeated replies and repeated phrases.

All replies of the file are pooled. Distinct-n falls as the file grows, so compare only figures of the same n.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np

from harken.scoring.material import Material
from harken.scoring.metrics.base import Metric
from harken.scoring.score import PERCENT, Measured
from harken.scoring.statistics import Integers, Kinds, Mode, Values, mean, ratio

_GRAM = {1: "unigram", 2: "bigram"}
_SHOWN = 10
_PHRASE = 4


def _pairs(material: Material, order: int) -> tuple[Integers, Integers]:
    """Which reply holds which n-gram, each pair once."""
    replies, grams = material.grams.reply_grams(order)
    size = int(grams.max(initial=0)) + 1
    pairs = np.unique(replies * size + grams)
    return pairs // size, pairs % size


def _per(different: Values, sums: Values) -> Values:
    return 100.0 * ratio(different, sums[:, 0])


def _distinct(order: int, per_token: bool) -> Metric:
    """Different n-grams over all n-grams, or over all tokens as LEMPEx divides."""
    name = f"distinct-{order}-token" if per_token else f"distinct-{order}"

    def measure(material: Material) -> Measured:
        whole = material.grams.totals(1 if per_token else order)[:, None].astype(np.float64)
        extras: dict[str, object] = {}
        if order == 2:
            # The releases join a bigram's words without a space, so that "no w" and "now " meet; a handful do.
            joined = {a + b for tokens in material.reply_tokens for a, b in pairwise(tokens)}
            extras["joined"] = 100.0 * len(joined) / max(1.0, float(whole.sum()))
        return Measured(
            name,
            Kinds(*_pairs(material, order), whole, _per),
            len(material),
            PERCENT,
            {"per": "token" if per_token else _GRAM[order], "tok": material.settings.tokenize},
            extras,
        )

    return Metric(
        name=name,
        title=f"Distinct-{order}" + (" per token" if per_token else ""),
        reported_by="LEMPEx" if per_token else "EmpDG; MEED2 as a ratio",
        measure=measure,
    )


def _ead(order: int) -> Metric:
    """Different n-grams over how many an equal number of draws from V^n would give: V^n (1 - (1 - 1/V^n)^C)."""

    def measure(material: Material) -> Measured:
        size = float(material.settings.vocabulary) ** order

        def finish(different: Values, sums: Values) -> Values:
            expected = -size * np.expm1(sums[:, 0] * np.log1p(-1.0 / size))
            return 100.0 * ratio(different, expected)

        whole = material.grams.totals(order)[:, None].astype(np.float64)
        details = {"per": f"expected-{_GRAM[order]}", "V": str(material.settings.vocabulary)}
        return Measured(
            f"ead-{order}",
            Kinds(*_pairs(material, order), whole, finish),
            len(material),
            PERCENT,
            {**details, "tok": material.settings.tokenize},
        )

    return Metric(
        name=f"ead-{order}",
        title=f"expectation-adjusted Distinct-{order}",
        reported_by="Liu et al. 2022",
        measure=measure,
    )


def _texts(material: Material) -> list[str]:
    """Replies as compared with one another: white space at the ends and between words does not count."""
    return [" ".join(text.split()) for text in material.replies]


def _numbered(texts: list[str]) -> Integers:
    return np.unique(np.array(texts, dtype=object), return_inverse=True)[1].astype(np.int64)


def _unique(material: Material) -> Measured:
    n = len(material)
    statistic = Kinds(np.arange(n), _numbered(_texts(material)), np.ones((n, 1)), _per)
    return Measured("unique", statistic, n, PERCENT, {"per": "reply"})


def _top(material: Material) -> Measured:
    texts = _texts(material)
    top = [{"reply": text, "count": count} for text, count in Counter(texts).most_common(_SHOWN)]
    return Measured("top-replies", Mode(_numbered(texts)), len(material), PERCENT, {"per": "reply"}, {"top": top})


def _repetition(material: Material) -> Measured:
    replies, grams = material.grams.reply_grams(_PHRASE)
    size = int(grams.max(initial=0)) + 1
    pairs, counts = np.unique(replies * size + grams, return_counts=True)
    repeats = np.bincount((pairs // size)[counts > 1], minlength=len(material)) > 0
    return Measured(
        "repetition-4",
        mean(repeats, scale=100.0),
        len(material),
        PERCENT,
        {"per": "reply", "tok": material.settings.tokenize},
    )


def _length(material: Material) -> Measured:
    lengths = material.grams.reply_lengths
    return Measured(
        "length", mean(lengths), len(material), "tokens", {"mean": "replies", "tok": material.settings.tokenize}
    )


DIVERSITY = (
    *(_distinct(order, per_token) for per_token in (False, True) for order in (1, 2)),
    *(_ead(order) for order in (1, 2)),
    Metric(name="unique", title="different replies", reported_by="harken", measure=_unique),
    Metric(
        name="top-replies",
        title="share of the commonest reply",
        reported_by="harken",
        measure=_top,
        better="lower",
    ),
    Metric(
        name="repetition-4",
        title="replies that repeat four words",
        reported_by="harken",
        measure=_repetition,
        better="lower",
    ),
    Metric(name="length", title="tokens per reply", reported_by="EmpDG", measure=_length, better="neither"),
)
