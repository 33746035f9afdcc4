"""Exemplars: responses that people gave in like moments, to guide a generator (LEMPEx, sections 3.3 and 3.5.1).

    paper                      here
    C(c), R(r), sim = c · r    the ranker's two sides and the index's inner product
    Algorithm 3                `exemplars`
    e_1 … e_q                  the texts of a line of an exemplar file

Never from the same dialogue, never the gold response in another's mouth. The paper lets through only responses of dialogues
with the *gold* emotion of the context, at test time too: a leak, so here it is a named option. By default the emotion is
predicted: by a classifier where one is given, else by the ranker itself if it learnt to (multitask), else by the vote of the
candidates nearest to the context.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harken import exemplar_files
from harken.classifiers.base import Classifier
from harken.corpora.library import manifest as corpus_manifest
from harken.errors import HarkenError
from harken.exemplar_files import NOTES, Filter, Guidance, Header
from harken.labels import EMOTIONS
from harken.retrieval.index import Index, Rows
from harken.retrieval.multitask import likeliest
from harken.retrieval.pairs import Pair, read_pairs
from harken.retrieval.pool import plain
from harken.text.encoder import Vectors

VOTERS = 50
_BATCH = 1_024


@dataclass(frozen=True)
class Exemplar:
    """A response from the pool, and how well it fits."""

    text: str
    score: float
    said: str
    """What it was an answer to."""
    dialogue: str
    emotions: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """What was found for one context."""

    emotion: str | None
    """The emotion the context was read as: predicted, or gold where the filter is."""
    exemplars: list[Exemplar]


class Finder:
    """Finds exemplars in an index, for files and for live conversations."""

    def __init__(self, index: Index, classifier: Classifier | None = None) -> None:
        if classifier is not None and not set(classifier.labels) <= set(EMOTIONS):
            raise HarkenError(f"a classifier of '{classifier.task}' predicts no emotions; give one of the task emotion")
        self.index, self.classifier = index, classifier
        rows: dict[str, list[int]] = defaultdict(list)
        places: Counter[str] = Counter()
        self.emotions, self.dialogues = index.table.column("emotions"), index.table.column("dialogues")
        for row, (emotions, dialogues) in enumerate(zip(self.emotions, self.dialogues, strict=True)):
            places.update(dialogues)
            for emotion in emotions:
                rows[emotion].append(row)
        self.rows: dict[str, Rows] = {emotion: np.array(those) for emotion, those in rows.items()}
        self.spare = 1 + max(places.values(), default=0)
        """Most candidates that can be forbidden for one context: its dialogue's, and the gold response."""

    @property
    def predictor(self) -> str:
        """What predicts emotions, for the header of a file."""
        if self.classifier is not None:
            return self.classifier.hash
        return f"vote-of-{VOTERS}" if self.index.ranker.added.emotions is None else "ranker"

    def predict(self, contexts: Sequence[Sequence[str]], vectors: Vectors, own: Sequence[str]) -> list[str | None]:
        """The emotion of each context; dialogues in `own` have no vote on themselves."""
        if self.classifier is not None:
            found = self.classifier.probabilities([" ".join(turns) for turns in contexts]).argmax(1)
            return [self.classifier.labels[i] for i in found]
        scores, rows = self.index.search(vectors, VOTERS + self.spare)
        voters = [
            [
                (score, self.emotions[row])
                for score, row in zip(s, r, strict=True)
                if row >= 0 and not self._from(row, key)
            ]
            for s, r, key in zip(scores.tolist(), rows.tolist(), own, strict=True)
        ]
        return [vote(nearest[:VOTERS], self.index.ranker.config.scale) for nearest in voters]

    def _from(self, row: int, dialogue: str) -> bool:
        return dialogue in self.dialogues[row]

    def live(self, context: Sequence[str], q: int = 5, *, emotions: Filter = "predicted") -> Found:
        """Exemplars of a conversation under way; there is no gold emotion to filter by."""
        if emotions == "gold":
            raise HarkenError("a live conversation has no gold emotion; use the filter predicted or none")
        return next(self.find([Pair("", tuple(context), "", "", None)], q, emotions))

    def find(self, pairs: Sequence[Pair], q: int, emotions: Filter) -> Iterator[Found]:
        """Algorithm 3: for each pair the q responses of highest similarity, with the emotion its context was read as."""
        for start in range(0, len(pairs), _BATCH):
            batch = pairs[start : start + _BATCH]
            contexts = [pair.context for pair in batch]
            vectors, logits = self.index.ranker.read_contexts(contexts)
            if emotions == "gold":
                read: list[str | None] = [_gold(pair) for pair in batch]
            elif logits is not None and self.classifier is None:
                read = [*likeliest(logits)]
            else:
                read = self.predict(contexts, vectors, [pair.dialogue for pair in batch])
            wanted = [None] * len(batch) if emotions == "none" else read
            found: dict[int, Found] = {}
            for emotion in dict.fromkeys(wanted):
                numbers = [i for i, one in enumerate(wanted) if one == emotion]
                among = None if emotion is None else self.rows.get(emotion, np.zeros(0, np.int64))
                scores, rows = self.index.search(vectors[numbers], q + self.spare, among)
                for i, s, r in zip(numbers, scores.tolist(), rows.tolist(), strict=True):
                    found[i] = Found(read[i], self._allowed(batch[i], s, r)[:q])
            yield from (found[i] for i in range(len(batch)))

    def _allowed(self, pair: Pair, scores: Sequence[float], rows: Sequence[int]) -> list[Exemplar]:
        """What was found, without the pair's own dialogue and without its response."""
        gold, allowed = plain(pair.response), []
        for score, row in zip(scores, rows, strict=True):
            if row >= 0 and not self._from(row, pair.dialogue):
                one = self.index.table[row]
                if plain(one.text) != gold:
                    allowed.append(Exemplar(one.text, score, one.said, one.dialogues[0], tuple(one.emotions)))
        return allowed


def vote(nearest: Sequence[tuple[float, Sequence[str]]], scale: float) -> str | None:
    """The emotion with the largest share of the softmax over the nearest candidates; None where none has a label.

    The softmax is the one the ranker was trained with, exp(scale · score); a candidate said under several emotions
    divides its share among them.
    """
    sums: dict[str, float] = defaultdict(float)
    best = max((score for score, _ in nearest), default=0.0)
    for score, emotions in nearest:
        for emotion in emotions:
            sums[emotion] += float(np.exp(scale * (score - best))) / len(emotions)
    return max(sorted(sums), key=sums.__getitem__) if sums else None


def _gold(pair: Pair) -> str:
    if pair.emotion is None:
        raise HarkenError(f"'{pair.id}' has no gold emotion to filter by; use the filter predicted or none")
    return pair.emotion


def write_exemplars(
    finder: Finder,
    out: Path,
    *,
    corpus: str,
    split: str,
    q: int = 5,
    emotions: Filter = "predicted",
    limit: int | None = None,
    started: Callable[[int], Callable[[int], None]] | None = None,
) -> Header:
    """Write the exemplar file of a split."""
    pairs = read_pairs([corpus], split, finder.index.ranker.config.history)[:limit]
    if not pairs:
        raise HarkenError(f"{corpus}: no listener turn in the {split} split; choose another split")
    header = Header(
        index=finder.index.manifest.hash,
        corpus=corpus,
        corpus_sha256=corpus_manifest(corpus).sha256,
        split=split,
        filter=emotions,
        emotions=None if emotions == "gold" else finder.predictor,
        q=q,
        note=NOTES[emotions],
    )
    advance = started(len(pairs)) if started else None

    def guidance() -> Iterator[Guidance]:
        for pair, found in zip(pairs, finder.find(pairs, q, emotions), strict=True):
            texts = tuple(one.text for one in found.exemplars)
            yield Guidance(pair.id, found.emotion, texts, tuple(one.score for one in found.exemplars))
            if advance:
                advance(1)

    exemplar_files.write_exemplars(out, header, guidance())
    return header
