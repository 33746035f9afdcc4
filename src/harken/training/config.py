"""What a run is made from: one YAML file with a model, its network, a corpus, the text and the training."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from harken import config as configs
from harken.errors import HarkenError, did_you_mean
from harken.models import MODELS
from harken.models.layers import Shape
from harken.runtime import RuntimeConfig
from harken.text.vocabulary import TextConfig


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The loop and its optimiser; the releases' Adam and Noam by default."""

    optimiser: Literal["adam", "adamw"] = "adam"
    schedule: Literal["noam", "cosine", "linear", "constant"] = "noam"
    learning_rate: float = 1.0
    """The highest rate; for noam its factor."""
    warmup: int = 8_000
    """Steps of rising rate."""
    betas: tuple[float, float] = (0.9, 0.98)
    epsilon: float = 1e-9
    weight_decay: float = 0.0
    """Of matrices, for adamw."""
    batch_size: int = 16
    max_steps: int = 1_000_000
    """Where training ends at the latest; cosine and linear reach zero there."""
    clip: float | None = None
    """Largest norm of the gradient."""
    weights: dict[str, float] = field(default_factory=dict)
    """Weight of each loss term by name; 1 where nothing stands."""
    summed: tuple[str, ...] = ()
    """Terms summed over the batch instead of averaged; the releases sum `response` and `kl`."""
    validate_every: int = 2_000
    validate_from: int = 0
    """No validation before this step."""
    patience: int = 2
    """Validations without a better likelihood before training stops, one more than these."""
    checkpoint_every: int | None = None
    """Steps between checkpoints; null takes validate_every."""
    samples: int = 3
    """Replies shown at each validation."""

    @property
    def last_step(self) -> int:
        """The step no run goes beyond."""
        return self.max_steps

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        for name in ("batch_size", "max_steps", "validate_every", "warmup"):
            if getattr(self, name) < 1:
                yield f"{name} = {getattr(self, name)} must be at least 1"
        for name in ("validate_from", "patience", "samples", "weight_decay"):
            if getattr(self, name) < 0:
                yield f"{name} = {getattr(self, name)} must not be negative"
        for name in ("learning_rate", "epsilon"):
            if getattr(self, name) <= 0:
                yield f"{name} = {getattr(self, name)} must be above 0"
        if not all(0 <= beta < 1 for beta in self.betas):
            yield f"betas = {list(self.betas)} must lie in 0..1"
        if self.clip is not None and self.clip <= 0:
            yield f"clip = {self.clip} must be above 0, or null"
        if self.checkpoint_every is not None and self.checkpoint_every < 1:
            yield f"checkpoint_every = {self.checkpoint_every} must be at least 1, or null"
        if self.weight_decay and self.optimiser == "adam":
            yield f"weight_decay = {self.weight_decay} is for adamw; set optimiser to adamw"
        if self.schedule in {"cosine", "linear"} and self.warmup >= self.max_steps:
            yield f"warmup = {self.warmup} must end before max_steps = {self.max_steps} for a {self.schedule} schedule"


@dataclass(frozen=True, kw_only=True)
class GameConfig(TrainingConfig):
    """As above for the generator's pre-training, which `max_steps` or the patience ends; then the game with its critics."""

    critic_width: int = 300
    """Of the critics' recurrent states."""
    critic_rate: float = 1e-4
    """Learning rate of the critics."""
    critic_steps: int = 1_000
    """Steps of the critics alone, before the game."""
    game_steps: int = 5_000
    """Steps of the game, critics' and generator's together; 0 plays none."""
    game_rate: float = 1e-4
    """Learning rate of the generator in the game."""
    generator_turns: int = 5
    """Steps of the generator after each one of the critics."""
    penalty: float = 0.1
    """Weight of the gradient penalty."""

    @property
    def last_step(self) -> int:
        """The step no run goes beyond."""
        return self.max_steps + (self.critic_steps + self.game_steps if self.game_steps else 0)

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        yield from super().problems()
        for name in ("critic_width", "generator_turns"):
            if getattr(self, name) < 1:
                yield f"{name} = {getattr(self, name)} must be at least 1"
        for name in ("critic_steps", "game_steps", "penalty"):
            if getattr(self, name) < 0:
                yield f"{name} = {getattr(self, name)} must not be negative"
        for name in ("critic_rate", "game_rate"):
            if getattr(self, name) <= 0:
                yield f"{name} = {getattr(self, name)} must be above 0"


TRAININGS: dict[str, type[TrainingConfig]] = {"likelihood": TrainingConfig, "adversarial": GameConfig}
"""What each loop is configured by."""


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """A whole run. `network` is the config of the model's own kind."""

    model: str
    """A name of `models.MODELS`."""
    network: Shape = field(default_factory=Shape)
    corpus: str
    """`starter`, or a corpus added with `harken data add`."""
    start_from: Path | None = None
    """A run whose weights to begin with: pre-training on another corpus."""
    recipe: dict[str, Any] | None = None
    """Stages that come before and fill in `text`: a section for `harken.recipes`, which leaves it empty."""
    text: TextConfig = field(default_factory=TextConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    runtime: RuntimeConfig = field(default_factory=RuntimeConfig)

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        if self.model not in MODELS:
            known = f"; use {', '.join(MODELS)}"
            yield f"model = '{self.model}' is unknown{did_you_mean(self.model, MODELS) or known}"


def load_config(path: Path, overrides: Iterable[str] = ()) -> RunConfig:
    """The run config of a YAML file with `key=value` overrides; all mistakes in one error."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise HarkenError(f"{path}: cannot be read as a config file ({problem})") from problem
    config = build_config(configs.with_overrides(configs.parse(text, str(path)), overrides), str(path))
    missing = [] if config.recipe is not None else list(config.network.wants(config.text))
    if missing:
        raise HarkenError("\n  ".join([f"{path}: something to read is missing", *missing]))
    return config


def build_config(values: dict[str, Any], where: str = "config") -> RunConfig:
    """The run config of plain values; `network` and `training` are checked against the model's own configs."""
    model = str(values.get("model"))
    if model not in MODELS:  # nothing to check the network against; the rest is checked
        return configs.build(RunConfig, {key: value for key, value in values.items() if key != "network"}, where)
    return configs.build(_kind(model), values, where)


@cache
def _kind(model: str) -> type[RunConfig]:
    """RunConfig with the model's own kind of network and of training."""
    network, training = MODELS[model].config, TRAININGS[MODELS[model].loop]
    return dataclasses.make_dataclass(
        "RunConfig",
        [("network", network, field(default_factory=network)), ("training", training, field(default_factory=training))],
        bases=(RunConfig,),
        frozen=True,
        kw_only=True,
    )
