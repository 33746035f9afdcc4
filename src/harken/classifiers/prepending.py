"""Prepend-k while people talk: the classifier that made a run's label file is asked about each conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from harken.classifiers.base import Classifier
from harken.classifiers.builtin import builtin
from harken.classifiers.run import load_classifier
from harken.classifiers.tasks import context_text
from harken.dialogue import Turn
from harken.errors import HarkenError
from harken.label_files import read_header
from harken.text.prepend import PrependConfig

Ask = Callable[[Sequence[Turn]], tuple[str, ...]]
"""The labels of a conversation so far, the likeliest first."""


def live(config: PrependConfig) -> Ask:
    """Ask the config's classifier."""
    classifier = same_classifier(config.task, config.labels, config.classifier)

    def ask(turns: Sequence[Turn]) -> tuple[str, ...]:
        [chances] = classifier.probabilities([context_text(turns)])
        return tuple(classifier.labels[i] for i in chances.argsort()[::-1][: config.k])

    return ask


def same_classifier(task: str, labels: Path | None, run: Path | None) -> Classifier:
    """A run's classifier, or the built-in one; another than made the label file is an error: its labels mean other things."""
    classifier = load_classifier(run) if run else builtin(task)
    if labels is not None and labels.exists():
        made = read_header(labels).classifiers.get(task)
        if made is not None and made.hash != classifier.hash:
            raise HarkenError(
                f"{labels}: was made by the classifier {made.hash}, and this is {classifier.hash}; "
                "name the one that made it as the config's classifier beside the label file"
            )
    return classifier
