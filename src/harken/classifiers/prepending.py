"""Prepend-k while people talk: the classifier that made a run's label file is asked about each conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    """Ask the config's classifier; another one than made the label file is an error, for its labels mean other things."""
    classifier = load_classifier(config.classifier) if config.classifier else builtin(config.task)
    if config.labels.exists():
        made = read_header(config.labels).classifiers.get(config.task)
        if made is not None and made.hash != classifier.hash:
            raise HarkenError(
                f"{config.labels}: was made by the classifier {made.hash}, and this is {classifier.hash}; "
                "name the one that made it as text.prepend.classifier"
            )

    def ask(turns: Sequence[Turn]) -> tuple[str, ...]:
        [chances] = classifier.probabilities([context_text(turns)])
        return tuple(classifier.labels[i] for i in chances.argsort()[::-1][: config.k])

    return ask
