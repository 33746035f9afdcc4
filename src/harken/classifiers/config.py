"""What a classifier is made from: one YAML file with `model: classifier`, a task, a corpus and a kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harken.classifiers.tasks import TASKS
from harken.errors import did_you_mean
from harken.runtime import RuntimeConfig


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """The pre-trained encoder that kinds `encoder` and `vectors` read with."""

    folder: Path | None = None
    """A Hugging Face directory; null is MiniLM from its package."""
    max_tokens: int = 64
    """Longer texts are cut; of a pair the longer half first."""
    pairs: Literal["cross", "bi"] = "cross"
    """Read both halves of a pair together (LEMPEx 4.3.2), or apart, the answer attending to the post (EPITOME)."""
    frozen_layers: int | None = None
    """Keep the embeddings and this many of the lowest layers as they are; null trains everything."""
    dropout: float = 0.1
    """Of the pooled vector, before the head."""
    inner_dropout: float | None = None
    """Inside the encoder; null leaves its own. Without it a step on a CPU is a quarter faster."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        if self.max_tokens < 8:
            yield f"max_tokens = {self.max_tokens} must be at least 8"
        for name in ("dropout", "inner_dropout"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 1:
                yield f"{name} = {value} must lie in 0..1"


@dataclass(frozen=True, kw_only=True)
class FastTextConfig:
    """fastText's own settings (Joulin et al. 2017), for kind `fasttext`."""

    dimensions: int = 100
    epochs: int = 10
    learning_rate: float = 0.5
    word_grams: int = 2
    """Runs of so many words are features too."""
    letter_grams: tuple[int, int] = (3, 6)
    """Pieces of words from so many letters to so many; [0, 0] for none."""
    min_count: int = 2
    """Rarer words are known by their pieces only."""
    buckets: int = 200_000
    """Rows that word runs and pieces of words share."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        for name in ("dimensions", "epochs", "word_grams", "min_count", "buckets"):
            if getattr(self, name) < 1:
                yield f"{name} = {getattr(self, name)} must be at least 1"
        if self.letter_grams[0] > self.letter_grams[1]:
            yield f"letter_grams = {list(self.letter_grams)} must not fall"


@dataclass(frozen=True, kw_only=True)
class LearningConfig:
    """How the encoder is tuned: AdamW, a rate that rises over the warm-up and falls along a line."""

    learning_rate: float = 5e-5
    head_rate: float = 1e-3
    """Of what is not pre-trained."""
    weight_decay: float = 0.01
    warmup: float = 0.06
    """Share of the steps."""
    batch_size: int = 32
    epochs: int = 3
    validate_every: int | None = None
    """Steps; null validates after each epoch."""
    patience: int = 2
    """Validations without a better one before training stops, one more than these."""
    select: Literal["accuracy", "macro_f1", "nll"] = "accuracy"
    """What the best weights are best at, on the validation split."""
    clip: float = 1.0
    """Largest norm of the gradient."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        for name in ("batch_size", "epochs"):
            if getattr(self, name) < 1:
                yield f"{name} = {getattr(self, name)} must be at least 1"
        for name in ("learning_rate", "head_rate", "clip"):
            if getattr(self, name) <= 0:
                yield f"{name} = {getattr(self, name)} must be above 0"
        if self.validate_every is not None and self.validate_every < 1:
            yield f"validate_every = {self.validate_every} must be at least 1, or null"
        if not 0 <= self.warmup < 1:
            yield f"warmup = {self.warmup} is a share of the steps and must lie in 0..1"


@dataclass(frozen=True, kw_only=True)
class ClassifierConfig:
    """A whole run."""

    model: Literal["classifier"] = "classifier"
    task: str
    """A name of `tasks.TASKS`."""
    corpus: str
    """`starter`, or a corpus added with `harken data add`."""
    kind: Literal["encoder", "vectors", "fasttext"] = "encoder"
    """Tune an encoder; read its sentence vectors linearly, in seconds; or count words and their pieces."""
    labels: tuple[str, ...] | None = None
    """The labels to tell apart; null is all of the task's."""
    balance: Literal["none", "weights", "sampling"] = "none"
    """Rare labels count as much as frequent ones: by weight in the loss, or drawn as often."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    fasttext: FastTextConfig = field(default_factory=FastTextConfig)
    training: LearningConfig = field(default_factory=LearningConfig)
    runtime: RuntimeConfig = field(default_factory=RuntimeConfig)

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        if self.task not in TASKS:
            others = f"; use {', '.join(TASKS)}"
            yield f"task = '{self.task}' is unknown{did_you_mean(self.task, TASKS) or others}"
            return
        known = TASKS[self.task].labels
        for name in self.labels or ():
            if known is not None and name not in known:
                yield f"labels has '{name}', which the task '{self.task}' has not{did_you_mean(name, known)}"
        if self.labels is not None and len(set(self.labels)) < 2:
            yield f"labels = {list(self.labels)} must name at least two labels"
        if self.kind == "fasttext" and self.balance == "weights":
            yield "balance = weights is not for fasttext, which weighs every line alike; use sampling"
