"""What one sees of a ranker's training: a line that moves on a terminal, and a line for each validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from harken.training.live import Line
from harken.training.watch import Figures, Progress


class Live(Line):
    """A watcher that prints."""

    def __init__(self, steps: int, console: Console) -> None:
        super().__init__(steps, console, "reading the corpora")

    def stepped(self, progress: Progress, figures: Figures) -> None:
        """Move the line."""
        self.moved(progress.step, f"epoch {progress.epoch + 1} loss {figures['nll']:.3f}")

    def validated(self, progress: Progress, figures: Figures, _: Sequence[Mapping[str, Any]]) -> None:
        """Print what the validation found."""
        mark = " *" if progress.best_step == progress.step else ""
        told = f"valid P@1,100 {figures['p@1,100']:.1f} %, MRR {figures['mrr']:.3f}"
        if "emotion_top1" in figures:
            told += f", emotion {figures['emotion_top1']:.1%}"
        self.noted(f"step {progress.step:,}: {told}{mark}")
