"""Prepend-k for rankers (Rashkin et al. 2019, section 4.3, Figure 5): contexts and candidates run through a classifier, and
the likeliest labels stand before their words.

A ranker asks its classifier itself, so training, indexes and chat see the same labels; fastText labels tens of thousands of
texts a second. What was asked once is remembered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harken.classifiers.builtin import builtin
from harken.classifiers.run import load_classifier
from harken.errors import HarkenError
from harken.text.prepend import words_of

REMEMBERED = 300_000
"""Texts whose labels are kept in memory."""


@dataclass(frozen=True, kw_only=True)
class RankerPrepend:
    """Whose labels stand before a text, and how many."""

    classifier: Path | None = None
    """A trained classifier's run; null is the built-in one of `task`."""
    task: str = "emotion"
    k: int = 1

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        if self.k < 1:
            yield f"k = {self.k} must be at least 1"


class Prepend:
    """Texts in, label words out."""

    def __init__(self, config: RankerPrepend) -> None:
        self.config = config
        self.classifier = load_classifier(config.classifier) if config.classifier else builtin(config.task)
        if self.classifier.task.partition("-")[0] != config.task.partition("-")[0] or self.classifier.pairs:
            raise HarkenError(
                f"{config.classifier}: is a classifier of '{self.classifier.task}', not of '{config.task}'; "
                "set network.prepend.task, or name another run"
            )
        self.known: dict[str, str] = {}

    @property
    def words(self) -> list[str]:
        """Every label, as words."""
        return [words_of(label) for label in self.classifier.labels]

    def __call__(self, texts: Sequence[Sequence[str]]) -> list[str]:
        """The words of the k likeliest labels of each text, which is turns joined by spaces."""
        joined = [" ".join(turns) for turns in texts]
        new = [text for text in dict.fromkeys(joined) if text not in self.known]
        if len(self.known) + len(new) > REMEMBERED:
            self.known.clear()
            new = list(dict.fromkeys(joined))
        for text, chances in zip(new, self.classifier.probabilities(new), strict=True):
            best = chances.argsort()[::-1][: self.config.k]
            self.known[text] = " ".join(words_of(self.classifier.labels[i]) for i in best)
        return [self.known[text] for text in joined]
