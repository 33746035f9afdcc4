"""Learning who goes on speaking: a linear SVM (scikit-learn) over the features of pairs, and how well it does."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harken.curation.segmentation import Segmenter, title
from harken.curation.segmentation_features import BAG, BAGS, TEMPLATES, Ints, Lists, read, size, words
from harken.curation.segmentation_pairs import (
    PROTOCOLS,
    Bools,
    Passage,
    Protocol,
    measured_passages,
    training_passages,
)
from harken.dialogue import Dialogue
from harken.errors import HarkenError

PUBLISHED_ACCURACY = 0.7669
"""Xie and Pu (2021), section 3.1, on subtitles aligned with scripts: other lines, and another share of changes."""
COSTS = (0.001, 0.003, 0.01, 0.03)
"""The SVM's C; the valid split chooses."""
_LEAST = {"first": 10, "opening": 8, "last": 8, BAG: 8}
"""How often a word must be seen to be listed, and ..."""
_LEAST_PAIRS = 3
"""... a feature, to have a weight."""
_DIGITS = 4
_INSIDE = re.compile(r"(?<=[a-z,] )[A-Za-z]+")


@dataclass(frozen=True)
class ClassFigures:
    """How well one of the two answers is found."""

    precision: float
    recall: float
    f1: float
    pairs: int


@dataclass(frozen=True)
class Evaluation:
    """A segmenter on held-out pairs."""

    protocol: Protocol
    pairs: int
    accuracy: float
    low: float
    high: float
    """95 % of the accuracies when whole dialogues are drawn anew, with replacement."""
    majority: float
    """The accuracy of always giving the more frequent answer."""
    margin_low: float
    margin_high: float
    """The same draws of the accuracy less that of the more frequent answer."""
    same: ClassFigures
    change: ClassFigures

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, figures to four digits."""
        return asdict(self, dict_factory=_rounded)


def _rounded(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: round(value, _DIGITS) if isinstance(value, float) else value for name, value in fields}


def learnt_lists(texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The words that are frequent at the first, first two and last places, and anywhere.

    Names are left out: they belong to the corpus's series. A name is mostly capital even inside a sentence.
    """
    seen: dict[str, Counter[str]] = {name: Counter() for name in _LEAST}
    inside, capital = Counter[str](), Counter[str]()
    for text in texts:
        found = words(text)
        seen["first"].update(found[:1])
        seen["opening"].update([" ".join(found[:2])] if len(found) > 1 else [])
        seen["last"].update(found[-1:])
        seen[BAG].update(set(found))
        for word in _INSIDE.findall(text):
            inside[word.lower()] += 1
            capital[word.lower()] += word[0].isupper()
    people = {word for word, times in capital.items() if 2 * times > inside[word]} - {"i"}
    return {
        name: tuple(sorted(w for w, n in counts.items() if n >= _LEAST[name] and people.isdisjoint(w.split())))
        for name, counts in seen.items()
    }


def _design(passages: Iterable[Passage], lists: Lists) -> tuple[Any, Bools]:
    """The pairs as a sparse matrix of features (templates one after the other, then the bags), and their answers."""
    from scipy.sparse import csr_matrix

    offsets = np.cumsum([0, *(size(template, lists) for template in (*TEMPLATES, *BAGS))])
    rows: list[Ints] = []
    columns: list[Ints] = []
    answers: list[Bools] = []
    done = 0
    for lines, same in passages:
        if len(lines) < 2:
            continue
        reading, n = read(lines, lists), len(same)
        for offset, template in zip(offsets, TEMPLATES, strict=False):
            rows.append(np.arange(done, done + n))
            columns.append(offset + reading.codes(template, lists))
        for offset, pair in zip(offsets[len(TEMPLATES) :], (reading.row, reading.row - 1), strict=False):
            there = (pair >= 0) & (pair < n)
            rows.append(done + pair[there])
            columns.append(offset + reading.word[there])
        answers.append(same)
        done += n
    if not answers or len(set(np.concatenate(answers).tolist())) < 2:
        raise HarkenError(
            "the corpus has no pairs of lines to learn from: it needs dialogues of several turns, and both pairs by one "
            "speaker and pairs by two"
        )
    place = (np.concatenate(rows), np.concatenate(columns))
    return csr_matrix((np.ones(len(place[0])), place), shape=(done, int(offsets[-1]))), np.concatenate(answers)


def train_segmenter(
    dialogues: Sequence[Dialogue], valid: Sequence[Dialogue], protocol: Protocol = "sentences", seed: int = 0
) -> Segmenter:
    """A linear SVM on the pairs of `dialogues`, its C the one that is best on the pairs of `valid`."""
    from sklearn.svm import LinearSVC

    passages = training_passages(dialogues, protocol, seed)
    lists = learnt_lists(line.text for lines, _ in measured_passages(dialogues, protocol) for line in lines)
    matrix, same = _design(passages, lists)
    frequent = np.flatnonzero(matrix.getnnz(axis=0) >= _LEAST_PAIRS)
    held_out = measured_passages(valid, protocol)
    best: tuple[float, Segmenter] | None = None
    for cost in COSTS:
        svm = LinearSVC(C=cost, random_state=seed).fit(matrix[:, frequent], same)
        weights = np.zeros(matrix.shape[1])
        weights[frequent] = np.round(svm.coef_[0], _DIGITS)
        made = {
            "protocol": protocol,
            "dialogues": len(dialogues),
            "pairs": len(same),
            "same": int(same.sum()),
            "cost": cost,
        }
        segmenter = Segmenter(round(float(svm.intercept_[0]), _DIGITS), lists, _by_template(weights, lists), made)
        accuracy = float(np.concatenate(_hits(segmenter, held_out)).mean())
        if best is None or accuracy > best[0]:
            best = accuracy, replace(segmenter, provenance={**made, "valid_accuracy": round(accuracy, _DIGITS)})
    assert best is not None
    return best[1]


def _by_template(weights: NDArray[np.float64], lists: Lists) -> dict[str, NDArray[np.float64]]:
    templates = (*TEMPLATES, *BAGS)
    borders = np.cumsum([size(template, lists) for template in templates])[:-1]
    return {title(template): part for template, part in zip(templates, np.split(weights, borders), strict=True)}


def _hits(segmenter: Segmenter, passages: Iterable[Passage]) -> list[Bools]:
    return [segmenter.same_speaker(lines) == same for lines, same in passages]


def evaluate_segmenter(
    segmenter: Segmenter, dialogues: Sequence[Dialogue], protocol: Protocol = "sentences", samples: int = 1000
) -> Evaluation:
    """Accuracy with its interval, and precision, recall and F1 of both answers."""
    passages = [passage for passage in measured_passages(dialogues, protocol) if len(passage[1])]
    if not passages:
        raise HarkenError("there are no pairs of lines to measure on; the dialogues need at least two turns")
    hits, answers = _hits(segmenter, passages), [same for _, same in passages]
    hit, same = np.concatenate(hits), np.concatenate(answers)
    usual = bool(same.mean() >= 0.5)
    pairs = np.array([len(part) for part in hits])
    right = np.array([part.sum() for part in hits])
    by_majority = np.array([(part == usual).sum() for part in answers])
    drawn = np.random.default_rng(0).integers(0, len(hits), (samples, len(hits)))
    accuracies = right[drawn].sum(axis=1) / pairs[drawn].sum(axis=1)
    margins = accuracies - by_majority[drawn].sum(axis=1) / pairs[drawn].sum(axis=1)
    low, high, margin_low, margin_high = np.percentile([accuracies, margins], (2.5, 97.5), axis=1).T.ravel().tolist()
    return Evaluation(
        protocol,
        len(same),
        float(hit.mean()),
        low,
        high,
        float((same == usual).mean()),
        margin_low,
        margin_high,
        same=_figures(hit, same),
        change=_figures(hit, ~same),
    )


def _figures(hit: Bools, gold: Bools) -> ClassFigures:
    found, answered = int((hit & gold).sum()), int((hit == gold).sum())
    precision, recall = found / max(1, answered), found / max(1, int(gold.sum()))
    return ClassFigures(precision, recall, 2 * found / max(1, answered + int(gold.sum())), int(gold.sum()))


def train_from_corpus(corpus: str, out: Path, protocol: Protocol = "sentences") -> tuple[Segmenter, list[Evaluation]]:
    """Train on a stored corpus's train split, choose on valid, measure on test under both protocols; written to `out`."""
    from harken.corpora.library import iterate, manifest

    train, valid, test = (list(iterate(corpus, split)) for split in ("train", "valid", "test"))
    segmenter = train_segmenter(train, valid, protocol)
    evaluations = [evaluate_segmenter(segmenter, test, measured) for measured in PROTOCOLS]
    provenance = {
        "corpus": corpus,
        "corpus_sha256": manifest(corpus).sha256,
        **segmenter.provenance,
        "test": [evaluation.to_json() for evaluation in evaluations],
        "date": datetime.now(UTC).date().isoformat(),
        "command": f"harken curate train-segmenter {corpus} --out {out.name}"
        + ("" if protocol == "sentences" else f" --protocol {protocol}"),
    }
    segmenter = replace(segmenter, provenance=provenance)
    segmenter.save(out)
    return segmenter, evaluations
