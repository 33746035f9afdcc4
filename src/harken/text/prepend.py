"""Prepend-k (Rashkin et al. 2019, section 4.3 and Figure 5): the likeliest labels of a text stand before its words.

    I finally got promoted!      becomes, with k = 1,      proud I finally got promoted!

The labels are a classifier's, so that nothing gold is seen. Training reads them from a label file, which says what made
it; a listener asks the same classifier as people talk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from harken.dialogue import Example
from harken.label_files import read_header, read_labels

Labelled = Callable[[Example], Example]
"""Gives an example its labels."""


@dataclass(frozen=True, kw_only=True)
class PrependConfig:
    """Which labels stand before a context."""

    labels: Path
    """A label file of the corpus's contexts: harken label CORPUS --with emotion --of context --out FILE."""
    task: str = "emotion"
    """Which of its labels: emotion (EmoPrepend), topic (TopicPrepend), or any other it has."""
    k: int = 1
    """How many, the likeliest first."""
    classifier: Path | None = None
    """The run that made them, to be asked in a chat; null is the built-in one."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        if self.k < 1:
            yield f"k = {self.k} must be at least 1"


def from_file(config: PrependConfig) -> Labelled:
    """Labels looked up by the example's id; one that is missing is an error that says how to make it."""
    file = read_labels(config.labels)
    return lambda example: replace(example, labels=file.top(example.id, config.task, config.k))


def prepended_words(config: PrependConfig) -> list[str]:
    """What may stand before a text: every label of the file's classifier, as words."""
    header = read_header(config.labels)
    return [words_of(label) for label in header.classifier(config.task, str(config.labels)).labels]


def words_of(label: str) -> str:
    """A label as words: `rec.sport.hockey` gives `rec sport hockey`."""
    return re.sub(r"[\W_]+", " ", label).strip()
