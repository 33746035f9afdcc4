"""Kind `fasttext`: a bag of words, word runs and pieces of words (Joulin et al. 2017), by the floret package.

Tens of thousands of texts a second on one core, and a model that knows nothing but its training texts.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import floret
import numpy as np

from harken.classifiers.base import Advance, Floats, Item
from harken.classifiers.config import ClassifierConfig
from harken.classifiers.material import Material
from harken.classifiers.watching import Watching
from harken.errors import HarkenError

FILE = "model.bin"
_PREFIX = "__label__"
_PUNCTUATION = re.compile(r"([^\w\s'])")
_BATCH = 5_000


def prepared(item: Item) -> str:
    """One line of lower-case words, punctuation apart; a pair's halves are told apart by a word of their own."""
    if not isinstance(item, str):
        return f"{prepared(item[0])} <answer> {prepared(item[1])}"
    return " ".join(_PUNCTUATION.sub(r" \1 ", item.lower()).split())


@dataclass
class FastTextScorer:
    """A floret model whose labels are class numbers.

    The scores are computed here from floret's text vectors and its output matrix, exact logits instead of rounded
    probabilities: floret's own `predict` repeats the first probability for every label, or fails, under NumPy 2.
    """

    model: Any

    @cached_property
    def output(self) -> Floats:
        """The output matrix, its rows in the order of the class numbers, (L, D)."""
        rows = np.argsort([int(name.removeprefix(_PREFIX)) for name in self.model.get_labels()])
        return np.asarray(self.model.get_output_matrix()[rows], dtype=np.float32)

    def scores(self, items: Sequence[Item], advance: Advance | None = None) -> Floats:
        """Logits, (N, L)."""
        found = np.empty((len(items), len(self.output)), dtype=np.float32)
        for begin in range(0, len(items), _BATCH):
            chosen = items[begin : begin + _BATCH]
            vectors = np.stack([self.model.get_sentence_vector(prepared(item)) for item in chosen])  # (B, D)
            found[begin : begin + len(chosen)] = vectors @ self.output.T
            if advance is not None:
                advance(len(chosen))
        return found


def fit(
    config: ClassifierConfig, material: Material, folder: Path, *, resume: bool, watching: Watching
) -> FastTextScorer:
    """Train on one thread, which makes it repeatable; it takes seconds, so an interrupted one begins again."""
    del resume
    settings, rows = config.fasttext, material.rows["train"]
    if config.balance == "sampling":
        rows = material.drawn(0, config.runtime.seed)
    watching.noted(f"fitting fastText on {len(rows.items):,} texts")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fasttext.") as temporary:
        lines = Path(temporary) / "train.txt"
        order = list(range(len(rows.items)))
        random.Random(config.runtime.seed).shuffle(order)  # fastText reads line after line, and forgets the first ones
        with lines.open("w", encoding="utf-8") as stream:
            for i in order:
                stream.write(f"{_PREFIX}{rows.gold[i]} {prepared(rows.items[i])}\n")
        model = floret.train_supervised(
            str(lines),
            dim=settings.dimensions,
            epoch=settings.epochs,
            lr=settings.learning_rate,
            wordNgrams=settings.word_grams,
            minn=settings.letter_grams[0],
            maxn=settings.letter_grams[1],
            minCount=settings.min_count,
            bucket=settings.buckets,
            loss="softmax",
            thread=1,
            seed=config.runtime.seed,
            verbose=0,
        )
        whole = Path(temporary) / FILE
        model.save_model(str(whole))
        whole.replace(folder / FILE)
    return FastTextScorer(model)


def load(folder: Path, config: ClassifierConfig, labels: int) -> FastTextScorer:
    """The model in a run folder."""
    del config
    try:
        model = floret.load_model(str(folder / FILE))
        known = len(model.get_labels())
    except (ValueError, OSError, MemoryError) as problem:
        raise HarkenError(f"{folder / FILE}: cannot be read ({problem}); train the run again") from problem
    if known != labels:
        raise HarkenError(f"{folder / FILE}: has {known} labels, not {labels}; train the run again")
    return FastTextScorer(model)
