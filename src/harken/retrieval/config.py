"""What a ranker's run is made from: `model: ranker` in a YAML file, with its network, corpora, text and training."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harken import config as configs
from harken.errors import HarkenError
from harken.retrieval.ensemble import RankerEnsemble
from harken.retrieval.prepend import RankerPrepend
from harken.runtime import RuntimeConfig
from harken.training.config import TrainingConfig
from harken.training.run import CONFIG

Negatives = Literal["batch", "own", "both"]


@dataclass(frozen=True, kw_only=True)
class RankerConfig:
    """The two encoders and what they read. The transformer's measures are the benchmark's (Rashkin et al. 2019)."""

    kind: Literal["pretrained", "transformer"] = "pretrained"
    """A Hugging Face encoder to tune, or the benchmark's transformer from scratch."""
    encoder: Path | None = None
    """The Hugging Face folder of kind pretrained; null is MiniLM from its package."""
    separate: bool = False
    """Of kind pretrained: an encoder each for contexts and candidates, as in DPR; else one reads both."""
    frozen_layers: int | None = 0
    """Of kind pretrained: this many of the lowest layers stay as they are, and the embeddings, whose rows of rare words
    would move by a few examples; null trains everything."""
    d_model: int = 300
    n_heads: int = 6
    n_layers: int = 4
    d_inner: int = 1_200
    vectors: Path | None = None
    """Word vectors (GloVe or fastText text) for the transformer to start from."""
    min_count: int = 2
    """Rarer words of the training text are the transformer's unknown word."""
    dropout: float = 0.0
    normalise: bool = True
    """Vectors of length 1, so that dot products are cosines."""
    scale: float = 20.0
    """Dot products are multiplied by this before the softmax."""
    history: int = 4
    """Turns of context."""
    max_context: int = 100
    """Tokens of context; of a longer one the last stay."""
    max_candidate: int = 100
    """Tokens of a candidate; of a longer one the first stay. The benchmark's transformer reads 20."""
    prepend: RankerPrepend | None = None
    """Predicted labels before contexts and candidates (EmoPrepend, TopicPrepend); null for none."""
    multitask: Literal["emotion"] | float | None = None
    """The context encoder also learns its dialogue's emotion: the weight of that loss beside the ranking's, `emotion` for
    1; null for none."""
    ensemble: RankerEnsemble | None = None
    """A classifier's vectors beside the ranker's own, joined by a linear layer; null for none."""

    @property
    def emotion_weight(self) -> float | None:
        """The weight of the emotions in the loss; None where they are not learnt."""
        return 1.0 if self.multitask == "emotion" else self.multitask

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        for name in ("d_model", "n_heads", "n_layers", "d_inner", "min_count", "history"):
            if getattr(self, name) < 1:
                yield f"{name} = {getattr(self, name)} must be at least 1"
        for name in ("max_context", "max_candidate"):
            if getattr(self, name) < 3:
                yield f"{name} = {getattr(self, name)} must be at least 3"
        if self.n_heads >= 1 and self.d_model % self.n_heads:
            yield f"d_model = {self.d_model} must be a multiple of n_heads = {self.n_heads}"
        if not 0 <= self.dropout < 1:
            yield f"dropout = {self.dropout} must lie in 0..1"
        if self.scale <= 0:
            yield f"scale = {self.scale} must be above 0"
        if self.emotion_weight is not None and not 0 <= self.emotion_weight < math.inf:
            yield f"multitask = {self.multitask} is the weight of a loss and must not be negative"
        if self.kind == "pretrained" and self.vectors is not None:
            yield "vectors are for kind = transformer; a pre-trained encoder has its own"
        if self.kind == "transformer" and (self.encoder is not None or self.separate or self.frozen_layers):
            yield "encoder, separate and frozen_layers are for kind = pretrained; the transformer always has two encoders"


@dataclass(frozen=True, kw_only=True)
class RankerTraining(TrainingConfig):
    """The loop of a ranker; patience counts validations without a better P@1,100."""

    negatives: Negatives = "batch"
    """batch: the other responses of the batch (Rashkin et al.). own: one response of the same emotion and one of another,
    as LEMPEx's Eq. 11 prints it. both: these and the batch's, as DPR trains."""
    both_ways: bool = False
    """Also find the context of each response among the batch's contexts."""
    chunk: int = 32
    """Texts encoded together; like lengths share a chunk."""
    kept: int = 16
    """Chunks of a step whose graph stays in memory; the others are encoded twice (cached gradients)."""
    validation_size: int = 2_000
    """Validation examples measured while training, spread over the split; metrics.json has the whole split."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        yield from super().problems()
        if self.batch_size < 2 and self.negatives == "batch":
            yield f"batch_size = {self.batch_size} leaves no negatives; it must be at least 2"
        if self.chunk < 1:
            yield f"chunk = {self.chunk} must be at least 1"
        if self.kept < 0:
            yield f"kept = {self.kept} must not be negative"
        if self.validation_size < 100:
            yield f"validation_size = {self.validation_size} must be at least 100, the size of a block"


@dataclass(frozen=True, kw_only=True)
class RankerRunConfig:
    """A whole run."""

    model: Literal["ranker"]
    corpora: tuple[str, ...]
    """Names of corpora to train on; validation and test are those of the last one."""
    start_from: Path | None = None
    """A ranker's run to begin with: pre-training on other corpora."""
    network: RankerConfig = field(default_factory=RankerConfig)
    training: RankerTraining = field(default_factory=RankerTraining)
    runtime: RuntimeConfig = field(default_factory=RuntimeConfig)

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        if not self.corpora:
            yield "corpora names none; name at least one"
        ensemble = self.network.ensemble
        if ensemble is not None and ensemble.frozen and self.network.kind == "transformer" and self.start_from is None:
            yield "network.ensemble.frozen keeps a transformer that has learnt nothing; name a trained one as start_from"


def load_config(path: Path, overrides: Iterable[str] = ()) -> RankerRunConfig:
    """The run config of a YAML file with `key=value` overrides; all mistakes in one error."""
    return configs.load(RankerRunConfig, path, overrides)


def is_ranker(folder: Path) -> bool:
    """Whether a run folder holds a ranker."""
    path = folder / CONFIG
    return path.is_file() and configs.parse(path.read_text(encoding="utf-8"), str(path)).get("model") == "ranker"


def read_config(folder: Path) -> RankerRunConfig:
    """The config of a ranker's run folder; another kind of folder is an error."""
    if not folder.is_dir():
        raise HarkenError(f"{folder}: there is no such run; train one with: harken train CONFIG --out {folder}")
    if not is_ranker(folder):
        raise HarkenError(
            f"{folder}: is not the run of a ranker; train one with: harken train configs/ranker-minilm.yaml"
        )
    return load_config(folder / CONFIG)
