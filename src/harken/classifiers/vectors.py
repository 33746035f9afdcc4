"""Kind `vectors`: a linear reading of frozen sentence vectors, fitted in closed form as soon as the texts are encoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from safetensors.numpy import save as to_bytes

from harken.classifiers.base import Advance, Floats, Item, halves
from harken.classifiers.config import ClassifierConfig
from harken.classifiers.material import Material
from harken.classifiers.watching import Watching
from harken.errors import HarkenError
from harken.files import atomic
from harken.text.encoder import SentenceEncoder, Vectors
from harken.text.linear import Linear
from harken.text.linear import fit as fit_linear
from harken.training.run import WEIGHTS

FINGERPRINT = "encoder.txt"
"""Names the encoder whose vectors the reading was learnt from; another one's mean nothing to it."""


@dataclass
class VectorScorer:
    """An encoder and the reading of its vectors; a pair is its two vectors side by side."""

    encoder: SentenceEncoder
    linear: Linear

    def scores(self, items: Sequence[Item], advance: Advance | None = None) -> Floats:
        """Linear scores, (N, L)."""
        found = encoded(self.encoder, items, advance) @ self.linear.weight.T + self.linear.bias
        return np.asarray(found, dtype=np.float32)


def encoded(encoder: SentenceEncoder, items: Sequence[Item], advance: Advance | None = None) -> Vectors:
    """(N, D), or (N, 2 D) for pairs; a text that comes twice is encoded once."""
    first, second = halves(items)
    texts = list(dict.fromkeys([*first, *(second or ())]))
    row = {text: i for i, text in enumerate(texts)}
    done = _Spread(len(items), len(texts), advance)
    vectors = encoder.encode(texts, advance=done.heard)
    sides = [vectors[[row[text] for text in side]] for side in (first, second) if side is not None]
    return np.concatenate(sides, axis=1)


@dataclass
class _Spread:
    """Turns progress over distinct texts into progress over items, which must add up to their number."""

    items: int
    texts: int
    advance: Advance | None
    seen: int = 0

    def heard(self, texts: int) -> None:
        before, self.seen = self.seen, self.seen + texts
        if self.advance is not None:
            self.advance(self.items * self.seen // self.texts - self.items * before // self.texts)


def _encoder(config: ClassifierConfig) -> SentenceEncoder:
    return SentenceEncoder(config.encoder.folder, max_tokens=config.encoder.max_tokens)


def fit(
    config: ClassifierConfig, material: Material, folder: Path, *, resume: bool, watching: Watching
) -> VectorScorer:
    """Encode the training texts and fit the reading; it is so quick that an interrupted one simply begins again.

    The reading takes every label to be equally likely; unless labels shall be balanced, the logarithms of their shares
    come back in, which is the same analysis with the shares as priors.
    """
    del resume
    encoder, train = _encoder(config), material.rows["train"]
    with watching.shown(len(train.items), what="encoding"):
        vectors = encoded(encoder, train.items, watching.advanced)
    linear = fit_linear(vectors, train.gold, len(material.labels))
    if config.balance == "none":
        linear = Linear(linear.weight, linear.bias + np.log(np.array(material.counts()) / len(train.gold)))
    with atomic(folder / WEIGHTS, "wb") as stream:
        stream.write(to_bytes({"weight": linear.weight, "bias": linear.bias.astype(np.float32)}))
    with atomic(folder / FINGERPRINT) as stream:
        stream.write(encoder.fingerprint + "\n")
    return VectorScorer(encoder, linear)


def load(folder: Path, config: ClassifierConfig, labels: int) -> VectorScorer:
    """The reading in a run folder; an encoder other than the one it was learnt with is refused."""
    encoder = _encoder(config)
    made_with = (folder / FINGERPRINT).read_text(encoding="utf-8").strip()
    if made_with != encoder.fingerprint:
        raise HarkenError(
            f"{folder}: was learnt from vectors of the encoder {made_with}, but {encoder.folder} is "
            f"{encoder.fingerprint}; train it again, or name its own encoder in {folder / 'config.yaml'}"
        )
    try:
        arrays = load_file(folder / WEIGHTS)
        linear = Linear(arrays["weight"], arrays["bias"])
    except Exception as problem:  # a damaged file fails in many ways
        raise HarkenError(f"{folder / WEIGHTS}: cannot be read ({problem}); train the run again") from problem
    if len(linear.bias) != labels:
        raise HarkenError(f"{folder / WEIGHTS}: has {len(linear.bias)} labels, not {labels}; train the run again")
    return VectorScorer(encoder, linear)
