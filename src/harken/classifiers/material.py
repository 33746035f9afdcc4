"""Items with labels of a corpus, split, checked, counted; and the batches of an epoch."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from harken.classifiers.base import Item, length
from harken.classifiers.config import ClassifierConfig
from harken.classifiers.tasks import Labelled, task
from harken.corpora import library
from harken.corpora.base import at, hash_split
from harken.dialogue import SPLITS
from harken.errors import HarkenError, did_you_mean
from harken.text.batches import order_by_length

HELD_OUT = 0.1
"""Share of the training split that validates where a corpus has no validation split."""


@dataclass(frozen=True)
class Rows:
    """Items and the class numbers of their labels."""

    items: list[Item]
    gold: list[int]


@dataclass(frozen=True)
class Material:
    """What a classifier learns from."""

    labels: tuple[str, ...]
    rows: dict[str, Rows]

    def counts(self) -> list[int]:
        """Training examples of each label."""
        found = Counter(self.rows["train"].gold)
        return [found[i] for i in range(len(self.labels))]

    def drawn(self, epoch: int, seed: int) -> Rows:
        """As many training examples as there are, every label drawn as often as any other."""
        train, source = self.rows["train"], random.Random(f"{seed}:{epoch}:drawn")
        counts = self.counts()
        chosen = source.choices(range(len(train.items)), [1 / counts[label] for label in train.gold], k=len(train.gold))
        return Rows([train.items[i] for i in chosen], [train.gold[i] for i in chosen])


Found = dict[str, list[Labelled]]
"""Labelled items by split."""


def gather(config: ClassifierConfig) -> Material:
    """The labelled items of the config's corpus; what cannot be learnt from is an error."""
    found = _read(config)
    labels = _labels(config, found)
    number = {name: i for i, name in enumerate(labels)}
    return Material(
        labels,
        {split: Rows([item for item, _ in rows], [number[name] for _, name in rows]) for split, rows in found.items()},
    )


def _read(config: ClassifierConfig) -> Found:
    about = task(config.task)
    found: Found = {split: [] for split in SPLITS}
    parted: Found = {"train": [], "valid": []}
    for dialogue in library.iterate(config.corpus):
        part = hash_split(dialogue.id, valid=HELD_OUT, test=0)
        with at(f"the dialogue '{dialogue.id}' of '{config.corpus}'"):
            rows = [(item, _known(name, config)) for item, name in about.learn(dialogue)]
        rows = [(item, name) for item, name in rows if config.labels is None or name in config.labels]
        found[dialogue.split] += rows
        if dialogue.split == "train":
            parted[part] += rows
    if not found["train"]:
        raise HarkenError(
            f"the corpus '{config.corpus}' has no training example for the task '{config.task}' ({about.about}); "
            "choose another corpus"
        )
    if not found["valid"]:
        found |= parted
    if not found["valid"]:
        raise HarkenError(f"the corpus '{config.corpus}' is too small to hold out anything for validation")
    return found


def _known(name: str, config: ClassifierConfig) -> str:
    names = task(config.task).labels
    if names is not None and name not in names:
        raise HarkenError(f"the task '{config.task}' does not know its label '{name}'{did_you_mean(name, names)}")
    return name


def _labels(config: ClassifierConfig, found: Found) -> tuple[str, ...]:
    """The labels to tell apart; one that is never seen in training can neither be learnt nor tested."""
    seen = {name for _, name in found["train"]}
    labels = config.labels or task(config.task).labels or tuple(sorted(seen))
    missing = [name for name in labels if name not in seen]
    if missing:
        raise HarkenError(
            f"the corpus '{config.corpus}' has no training example of {', '.join(map(repr, missing))}; "
            "add some, or name the labels to tell apart in 'labels' of the config"
        )
    strange = sorted({name for rows in found.values() for _, name in rows} - set(labels))
    if strange:
        raise HarkenError(f"the corpus '{config.corpus}' tests '{strange[0]}', of which it has no training example")
    return labels


def epoch_batches(items: Sequence[Item], batch_size: int, *, seed: int, epoch: int) -> list[list[int]]:
    """The batches of an epoch as row numbers, items of like length together."""
    return order_by_length([length(item) for item in items], batch_size, seed=seed, epoch=epoch)
