"""Training: one loop for every model, and a game for the one that has an opponent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harken.training.config import RunConfig


def train(config: RunConfig, folder: Path, **options: Any) -> dict[str, Any]:
    """Train by the loop the model names (see `loop.train` for the options); gives what `metrics.json` holds."""
    from harken.models import MODELS
    from harken.runtime import subnormals_flushed
    from harken.training import adversarial, loop

    pages = {"likelihood": loop.train, "adversarial": adversarial.train}
    with subnormals_flushed():
        return pages[MODELS[config.model].loop](config, folder, **options)
