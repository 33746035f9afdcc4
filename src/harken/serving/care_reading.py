"""The second layer: what written patterns miss, read by likeness to several thousand written sentences.

`care_training.jsonl` holds sentences of people in danger and of people who only sound like it, all written for harken; the
speakers of the starter corpus, who are in no danger, join them. Two readers of different eyesight look at a text and their
scores add up: a support vector machine with a Gaussian kernel over MiniLM sentence vectors (meaning), and logistic
regression over weighted word and letter sequences (wording). Fitted once, kept in the cache; reading needs only numpy.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from harken.corpora.starter import starter_dialogues
from harken.errors import HarkenError
from harken.files import atomic
from harken.runtime import cache
from harken.serving.care_patterns import KINDS, Kind
from harken.text.encoder import SentenceEncoder, Vectors

THRESHOLD = 0.0
"""Scores above it are signals: 0 is where the readers are undecided."""
_VERSION = 1
_GAMMA = 1.0
_SVM_STRENGTH = 10.0
_MEANING = 3.0
"""What the margin of the support vector machine counts against the log-odds of the wording."""
_NEIGHBOURS = 9

Floats = NDArray[np.float32]
Started = Callable[[int], Callable[[int], None]]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A written sentence and the kind of danger in it; None for none."""

    text: str
    kind: Kind | None


def training_sentences() -> list[Sentence]:
    """What the package ships, then every speaker turn of the starter corpus."""
    source = files("harken.serving").joinpath("care_training.jsonl").read_text(encoding="utf-8")
    written = [
        Sentence(record["text"], None if record["kind"] == "none" else record["kind"])
        for record in map(json.loads, source.splitlines())
    ]
    calm = dict.fromkeys(turn.text for d in starter_dialogues() for turn in d.turns if turn.role == "speaker")
    return written + [Sentence(text, None) for text in calm]


def sequences(text: str) -> Counter[str]:
    """Runs of one to three words, and of two to five letters inside a word, with how often each occurs."""
    words = re.findall(r"[a-z']+", text.lower().replace("’", "'"))
    runs = [" ".join(words[i : i + n]) for n in (1, 2, 3) for i in range(len(words) - n + 1)]
    for word in words:
        padded = f" {word} "
        runs += [f"#{padded[i : i + n]}" for n in (2, 3, 4, 5) for i in range(len(padded) - n + 1)]
    return Counter(runs)


class Reading:
    """Both readers, fitted."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self._support: Vectors = arrays["support"]  # (S, D)
        self._dual: Floats = arrays["dual"]  # (S,)
        self._bias: Floats = arrays["bias"]  # (2,) of the margin and of the log-odds
        self._column = {run: i for i, run in enumerate(arrays["runs"].tolist())}
        self._rarity: Floats = arrays["rarity"]  # (R,)
        self._weight: Floats = arrays["weight"]  # (R,)
        self._danger: Vectors = arrays["danger"]  # (P, D) the sentences with a kind
        self._kinds: NDArray[np.int64] = arrays["kinds"]  # (P,)

    def score(self, text: str, vector: Vectors) -> float:
        """How much a text sounds like danger: above 0 rather yes, below rather no."""
        kernel = np.exp(-2 * _GAMMA * (1 - self._support @ vector))  # unit vectors: |a - b|² = 2 - 2 a·b
        margin = float(kernel @ self._dual + self._bias[0])
        found = [(self._column[run], n) for run, n in sequences(text).items() if run in self._column]
        odds = float(self._bias[1])
        if found:
            columns = np.array([column for column, _ in found])
            weights = (1 + np.log([n for _, n in found])) * self._rarity[columns]
            odds += float(weights @ self._weight[columns] / np.linalg.norm(weights))
        return _MEANING * margin + odds

    def kind(self, vector: Vectors) -> Kind:
        """The kind of danger most of the nearest training sentences have."""
        near = np.argsort(-(self._danger @ vector))[:_NEIGHBOURS]
        return KINDS[Counter(self._kinds[near].tolist()).most_common(1)[0][0]]


def load_reading(encoder: SentenceEncoder, started: Started | None = None) -> Reading:
    """The readers over this encoder, from the cache or fitted anew."""
    sentences = training_sentences()
    key = hashlib.sha256(f"{_VERSION}|{encoder.fingerprint}|".encode())
    for sentence in sentences:
        key.update(f"{sentence.kind}|{sentence.text}\n".encode())
    path = cache() / f"care-{key.hexdigest()[:16]}.npz"
    try:
        with np.load(path) as stored:
            arrays = dict(stored)
    except (OSError, ValueError, EOFError, BadZipFile):
        vectors = encoder.encode([s.text for s in sentences], advance=started(len(sentences)) if started else None)
        arrays = fit_reading(sentences, vectors)
        with suppress(HarkenError), atomic(path, "wb") as stream:  # where nothing can be kept, it is fitted each time
            np.savez(stream, **arrays)
    return Reading(arrays)


def fit_reading(sentences: Sequence[Sentence], vectors: Vectors) -> dict[str, Any]:
    """Fit both readers; the arrays make a `Reading`."""
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    danger = np.array([sentence.kind is not None for sentence in sentences])
    machine = SVC(C=_SVM_STRENGTH, gamma=_GAMMA, class_weight="balanced").fit(vectors, danger)
    counts = [sequences(sentence.text) for sentence in sentences]
    texts_with = Counter(run for count in counts for run in count)
    runs = sorted(run for run, n in texts_with.items() if n >= (3 if run.startswith("#") else 2))
    column = {run: i for i, run in enumerate(runs)}
    rarity = np.array([np.log((1 + len(counts)) / (1 + texts_with[run])) + 1 for run in runs])
    rows, columns, values = [], [], []
    for row, count in enumerate(counts):
        known = [(column[run], n) for run, n in count.items() if run in column]
        weights = np.array([(1 + np.log(n)) * rarity[c] for c, n in known])
        rows += [row] * len(known)
        columns += [c for c, _ in known]
        values += (weights / (np.linalg.norm(weights) or 1.0)).tolist()
    wording = csr_matrix((values, (rows, columns)), shape=(len(counts), len(runs)))
    regression = LogisticRegression(C=10, max_iter=1000).fit(wording, danger)
    return {
        "support": machine.support_vectors_.astype(np.float32),
        "dual": machine.dual_coef_[0].astype(np.float32),
        "bias": np.array([machine.intercept_[0], regression.intercept_[0]], dtype=np.float32),
        "runs": np.array(runs),
        "rarity": rarity.astype(np.float32),
        "weight": regression.coef_[0].astype(np.float32),
        "danger": vectors[danger],
        "kinds": np.array([KINDS.index(s.kind) for s in sentences if s.kind is not None]),
    }
