"""How emotional a dialogue is (Xie and Pu 2021, section 3.2).

The 41-way classifier gives each utterance a distribution over 32 emotions, 8 intents and neutral. The emotionality of
an utterance is the sum of the 32, that of a dialogue the mean over its utterances.

A *pre-filter* is a second, much faster classifier that reads everything first, so that only the share of the dialogues
it finds most emotional goes to the slow one. What that costs is measured: `recall` is the part of the dialogues to be
selected that the pre-filter let pass.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from harken.classifiers.base import Classifier, Floats
from harken.dialogue import Dialogue
from harken.errors import HarkenError
from harken.labels import EMOTIONS, LABELS

NAMES = tuple(label.name for label in LABELS)
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Labelled:
    """Dialogues whose turns have labels, with what the labels were chosen from."""

    dialogues: list[Dialogue]
    probabilities: Floats  # (U, 41), one row an utterance, dialogue after dialogue
    emotionality: Doubles  # (N,), one a dialogue


def utterance_emotionality(probabilities: Floats) -> Doubles:
    """The sum over the 32 emotions, which come first in the table of labels. (U, 41) -> (U,)"""
    return np.asarray(probabilities[:, : len(EMOTIONS)].sum(axis=1, dtype=np.float64))


def dialogue_emotionality(utterances: Doubles, lengths: Sequence[int]) -> Doubles:
    """The mean over the utterances of each dialogue; `lengths` are their numbers. (U,) -> (N,)"""
    if not lengths:
        return np.zeros(0)
    sizes = np.asarray(lengths)
    return np.asarray(np.add.reduceat(utterances, np.cumsum(sizes) - sizes) / sizes)


def label(dialogues: Sequence[Dialogue], classifier: Classifier) -> Labelled:
    """Every utterance with its likeliest label. A text that comes twice is read once: films repeat themselves."""
    texts = sorted({turn.text for dialogue in dialogues for turn in dialogue.turns})
    row = {text: i for i, text in enumerate(texts)}
    with one_thread():
        found = in_order(classifier, classifier.probabilities(texts))
    chosen = [NAMES[i] for i in found.argmax(axis=1)]
    labelled = [
        replace(dialogue, turns=tuple(replace(turn, label=chosen[row[turn.text]]) for turn in dialogue.turns))
        for dialogue in dialogues
    ]
    rows = [row[turn.text] for dialogue in dialogues for turn in dialogue.turns]
    probabilities = found[rows]
    lengths = [len(dialogue.turns) for dialogue in dialogues]
    return Labelled(labelled, probabilities, dialogue_emotionality(utterance_emotionality(probabilities), lengths))


def in_order(classifier: Classifier, probabilities: Floats) -> Floats:
    """Columns in the order of the table of labels, (N, 41)."""
    return probabilities[:, [classifier.labels.index(name) for name in NAMES]]


@contextmanager
def one_thread() -> Iterator[None]:
    """Numbers computed by one thread, so that they have the same bits wherever and beside whatever they are computed."""
    from threadpoolctl import threadpool_limits

    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch is not None else 1
    with threadpool_limits(1):
        if torch is not None:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch is not None:
                torch.set_num_threads(threads)


@dataclass(frozen=True)
class Chosen:
    """Which classifier a run uses, as its workers find it: a run folder or, without one, the built-in one."""

    run: str | None
    hash: str

    def load(self) -> Classifier:
        """The classifier; one that is not the one the run began with is refused."""
        found = load(self.run)
        if found.hash != self.hash:
            where = self.run or "the built-in classifier here"
            raise HarkenError(
                f"{where}: is {found.hash}, not {self.hash} as where the run began; put the classifier on a disk "
                "that all machines share and name it with --classifier"
            )
        return found


def choose(run: Path | None, console: Console | None = None) -> Chosen:
    """Look at a classifier before work begins; one that does not tell the 41 labels apart is an error."""
    name = None if run is None else str(run.resolve())
    if run is None:
        from harken.classifiers.builtin import builtin

        builtin("intent", console)  # made at first use, which takes a while and shows it
    found = load(name)
    if found.pairs or set(found.labels) != set(NAMES):
        raise HarkenError(
            f"{run}: tells {len(found.labels)} labels of '{found.task}' apart; emotionality needs the {len(NAMES)} of "
            "'intent': harken train configs/intent.yaml --out RUN"
        )
    return Chosen(name, found.hash)


@lru_cache(maxsize=2)
def load(run: str | None) -> Classifier:
    """A classifier, kept in memory for the next shard."""
    if run is None:
        from harken.classifiers.builtin import builtin

        return builtin("intent")
    from harken.classifiers.run import load_classifier

    return load_classifier(Path(run))


def recall(judged: Sequence[tuple[bool, float]], top: float) -> float:
    """Of the share `top` that the slow classifier finds most emotional, the part that the pre-filter let pass.

    `judged` has whether it passed and the slow classifier's emotionality of each dialogue of a sample.
    """
    if not judged:
        return 1.0
    best = sorted(judged, key=lambda one: (-one[1], one[0]))[: max(1, round(top * len(judged)))]
    return sum(passed for passed, _ in best) / len(best)
