"""Labelling: MiniLM tuned with a head, MiniLM vectors read linearly, fastText, VADER, on short utterances.

Utterances are made of frequent words, 5 to 25 of them, 12 in the mean, as turns of EmpatheticDialogues have. Every
classifier has the 41 labels of `intent` and random or barely trained weights, which cost what trained ones cost. Each
figure is the best of several runs, so that what else the machine does counts least.
"""

from __future__ import annotations

import random
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harken.classifiers import encoder, fasttext
from harken.classifiers.base import Classifier, Item, Scorer
from harken.classifiers.config import ClassifierConfig, FastTextConfig
from harken.classifiers.material import Material, Rows
from harken.classifiers.tasks import TASKS
from harken.classifiers.vader import vader
from harken.classifiers.vectors import VectorScorer
from harken.classifiers.watching import Watching
from harken.text.encoder import SentenceEncoder
from harken.text.linear import Linear

WORDS = (
    "i my the a to and was so it me of that in for is had when but we they just she he on have with got been "
    "really happy sad dog job friend mother yesterday school house money scared proud night found lost"
).split()


def _utterances(count: int) -> list[Item]:
    source = random.Random(1)
    return [" ".join(source.choices(WORDS, k=source.choice((5, 8, 10, 12, 12, 14, 25)))) for _ in range(count)]


def _speed(scorer: Scorer, items: list[Item], times: int = 3) -> float:
    """Utterances a second."""
    classifier = Classifier("intent", TASKS["intent"].labels or (), scorer, "benchmark")
    classifier.probabilities(items[:64])
    best = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        classifier.probabilities(items)
        best = min(best, time.perf_counter() - began)
    return len(items) / best


def run() -> Iterator[tuple[str, float, str]]:
    labels = TASKS["intent"].labels or ()
    config = ClassifierConfig(task="intent", corpus="starter", fasttext=FastTextConfig(epochs=1))
    items = _utterances(50_000)
    yield (
        "MiniLM tuned with a head (kind encoder)",
        _speed(encoder.build(config, len(labels)), items[:2_000]),
        "texts/s",
    )
    minilm = SentenceEncoder()
    weight = np.zeros((len(labels), minilm.dimensions), dtype=np.float32)
    linear = VectorScorer(minilm, Linear(weight, weight[:, 0]))
    yield "MiniLM vectors read linearly (kind vectors)", _speed(linear, items[:2_000]), "texts/s"
    material = Material(labels, {"train": Rows(items[:5_000], [i % len(labels) for i in range(5_000)])})
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        model = fasttext.fit(config, material, place, resume=False, watching=Watching(place / "log.jsonl"))
    yield "fastText (kind fasttext)", _speed(model, items), "texts/s"
    yield "VADER", _speed(vader().scorer, items[:5_000]), "texts/s"
    yield "peak memory of all this", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, "GB"
