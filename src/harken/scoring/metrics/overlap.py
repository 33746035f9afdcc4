"""What a reply shares with the response beyond BLEU: ROUGE-L, METEOR twice, sentence embeddings.

ROUGE-L of one pair, with the longest common subsequence L, P = L / reply, R = L / response: F = (1 + b²) P R / (R +
b² P); the figure is the mean over replies. b = 1 is the usual F1, b = 1.2 what nlg-eval and the COCO scorer take.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harken.scoring import meteor
from harken.scoring.material import Material
from harken.scoring.metrics.base import Metric
from harken.scoring.score import PERCENT, Measured
from harken.scoring.statistics import Sums, Values, mean, ratio


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence, by rows of bits (Hyyrö 2004): one integer operation per word."""
    places: dict[str, int] = {}
    for place, word in enumerate(first):
        places[word] = places.get(word, 0) | 1 << place
    full = (1 << len(first)) - 1
    row = full
    for word in second:
        hits = row & places.get(word, 0)
        row = (row + hits | row - hits) & full
    return len(first) - row.bit_count()


def _rouge(name: str, title: str, reported_by: str, beta: float) -> Metric:
    def measure(material: Material) -> Measured:
        pairs = zip(material.reply_tokens, material.response_tokens, strict=True)
        shared = np.array([common_subsequence(reply, response) for reply, response in pairs], dtype=np.float64)
        precision = ratio(shared, material.grams.reply_lengths.astype(np.float64))
        recall = ratio(shared, material.grams.response_lengths.astype(np.float64))
        f = ratio((1 + beta**2) * precision * recall, recall + beta**2 * precision)
        details = {"beta": f"{beta:g}", "mean": "replies", "tok": material.settings.tokenize}
        return Measured(name, mean(f, scale=100.0), len(material), PERCENT, details)

    return Metric(name=name, title=title, reported_by=reported_by, measure=measure, needs=("response",))


def _meteor(material: Material) -> Measured:
    replies = [" ".join(tokens) for tokens in material.reply_tokens]
    responses = [" ".join(tokens) for tokens in material.response_tokens]
    statistics = meteor.jar_statistics(replies, responses)
    details = {"version": "1.5", "norm": "yes", "tok": material.settings.tokenize}
    return Measured("meteor", Sums(statistics, meteor.from_statistics), len(material), PERCENT, details)


def _meteor_nltk(material: Material) -> Measured:
    values, matchers = meteor.nltk_scores(material.reply_tokens, material.response_tokens, material.settings.wordnet)
    details = {"match": matchers, "mean": "replies", "tok": material.settings.tokenize}
    return Measured("meteor-nltk", mean(values, scale=100.0), len(material), PERCENT, details)


def _similarity(material: Material) -> Measured:
    from harken.text.encoder import SentenceEncoder

    encoder = SentenceEncoder(material.settings.encoder)
    texts = list(dict.fromkeys([*material.replies, *material.responses]))
    rows = {text: row for row, text in enumerate(texts)}
    vectors = encoder.encode(texts)
    replies = vectors[[rows[text] for text in material.replies]]
    responses = vectors[[rows[text] for text in material.responses]]
    cosines: Values = np.einsum("nd,nd->n", replies.astype(np.float64), responses.astype(np.float64))
    details = {"cosine": "mean", "encoder": encoder.fingerprint}
    return Measured("similarity", mean(cosines), len(material), "cosine", details)


OVERLAP = (
    _rouge("rouge-l", "ROUGE-L", "harken", 1.0),
    _rouge("rouge-l-coco", "ROUGE-L (nlg-eval)", "nlg-eval, COCO", 1.2),
    Metric(
        name="meteor",
        title="METEOR 1.5",
        reported_by="harken",
        measure=_meteor,
        needs=("response",),
        cost="slow",
        lacks=lambda material: meteor.jar_obstacle(),
    ),
    Metric(
        name="meteor-nltk",
        title="METEOR (NLTK)",
        reported_by="harken",
        measure=_meteor_nltk,
        needs=("response",),
        cost="slow",
        lacks=lambda material: meteor.nltk_obstacle(),
    ),
    Metric(
        name="similarity",
        title="embedding similarity",
        reported_by="MEED2, with another encoder",
        measure=_similarity,
        needs=("response",),
        cost="neural",
    ),
)
