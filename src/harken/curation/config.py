"""The settings of a curation: what is made, never where or by how many workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harken.curation.cleaning import CleaningConfig


@dataclass(frozen=True, kw_only=True)
class CurationConfig:
    """From subtitles to EDOS and OS; the defaults are the paper's where it says them."""

    gap: float = 5.0
    """Seconds of silence that part two dialogues."""
    cleaning: CleaningConfig = field(default_factory=CleaningConfig)
    segmenter: Path | None = None
    """A model of `harken curate train-segmenter`; null is the one that comes with harken."""
    classifier: Path | None = None
    """A run of the task `intent`; null is the built-in one."""
    prefilter: Path | None = None
    """A faster run of the task `intent` that reads everything first; null lets the classifier read everything."""
    prefilter_share: float = 0.5
    """Share of the dialogues that the pre-filter lets pass."""
    top: int | None = None
    """How many dialogues EDOS has; null is a quarter of all, as 1M of 4M in the paper."""
    split_by: Literal["film", "dialogue"] = "film"
    """What is never divided between training, validation and test: a film with all its versions, or only a dialogue."""
    shard_size: int = 64
    """Subtitle files in a shard, at most about so many."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        if self.gap <= 0:
            yield f"gap = {self.gap} must be above 0 seconds"
        if not 0 < self.prefilter_share <= 1:
            yield f"prefilter_share = {self.prefilter_share} is a share of the dialogues and must lie in 0..1"
        if self.top is not None and self.top < 1:
            yield f"top = {self.top} must be at least 1, or null for a quarter of the dialogues"
        if self.shard_size < 1:
            yield f"shard_size = {self.shard_size} must be at least 1"
