"""Who follows a training run: the log file, TensorBoard, and whoever else asks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from harken.errors import HarkenError
from harken.files import write_json_lines

Figures = Mapping[str, float | int]
EVERY = 50
"""Steps that one line of the log sums up."""


@dataclass
class Progress:
    """Where training stands."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    """Batches of the epoch already taken."""
    best: float = float("inf")
    """Best validation NLL per token."""
    best_step: int = 0
    waited: int = 0
    """Validations since the best one."""
    validated: int = 0
    """The last step a validation was finished at."""
    seconds: float = 0.0
    """Training time over all parts of a resumed run."""


class Watcher(Protocol):
    """Someone who follows a run."""

    def noted(self, line: str) -> None:
        """Something was found out before the first step."""

    def stepped(self, progress: Progress, figures: Figures) -> None:
        """A step was made; figures are of this step alone."""

    def validated(self, progress: Progress, figures: Figures, samples: Sequence[Mapping[str, Any]]) -> None:
        """A validation was made."""


@dataclass
class Log:
    """`log.jsonl`: a line for every 50 steps and for every validation, with its samples."""

    path: Path
    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    """Steps that had the figure: players of a game have their own."""

    def rewind(self, step: int) -> None:
        """Forget what was written after `step`: training goes on from there."""
        if self.path.exists():
            lines = self.path.read_text(encoding="utf-8").splitlines()
            records = [json.loads(line) for line in lines]
            write_json_lines(self.path, [record for record in records if record.get("step", 0) <= step])

    def _write(self, record: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")

    def noted(self, line: str) -> None:
        """Write the note."""
        self._write({"note": line})

    def stepped(self, progress: Progress, figures: Figures) -> None:
        """Add up, and write a line when it is full."""
        for name, value in figures.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
            self.counts[name] = self.counts.get(name, 0) + 1
        if progress.step % EVERY == 0:
            means = {name: round(value / self.counts[name], 6) for name, value in self.sums.items()}
            self._write({"step": progress.step, "epoch": progress.epoch, "seconds": round(progress.seconds, 1)} | means)
            self.sums, self.counts = {}, {}

    def validated(self, progress: Progress, figures: Figures, samples: Sequence[Mapping[str, Any]]) -> None:
        """Write the figures and the samples."""
        place = {"step": progress.step, "epoch": progress.epoch, "seconds": round(progress.seconds, 1)}
        self._write(place | {"valid": dict(figures), "samples": list(samples)})


class TensorBoard:
    """Curves in `tensorboard/` of the run folder."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as problem:
            raise HarkenError("TensorBoard is not installed; run: pip install 'harken[train]'") from problem
        self.writer = SummaryWriter(str(folder / "tensorboard"))

    def noted(self, line: str) -> None:
        """Keep the note."""
        self.writer.add_text("note", line)

    def stepped(self, progress: Progress, figures: Figures) -> None:
        """Draw the training curves."""
        for name, value in figures.items():
            self.writer.add_scalar(f"train/{name}", value, progress.step)

    def validated(self, progress: Progress, figures: Figures, samples: Sequence[Mapping[str, Any]]) -> None:
        """Draw the validation curves and keep the samples."""
        for name, value in figures.items():
            self.writer.add_scalar(f"valid/{name}", value, progress.step)
        for number, sample in enumerate(samples):
            text = "\n\n".join(f"**{key}** {value}" for key, value in sample.items())
            self.writer.add_text(f"sample/{number}", text, progress.step)
        self.writer.flush()
