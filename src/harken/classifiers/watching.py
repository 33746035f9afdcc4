"""What whoever trains a classifier sees: a line that moves on a terminal, and a line for each validation."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from harken.training.watch import Progress


@dataclass
class Watching:
    """Writes `log.jsonl` and, given a console, shows progress there; `stopping` is set by Ctrl-C."""

    log: Path
    console: Console | None = None
    stopping: threading.Event = field(default_factory=threading.Event)
    _bar: Bar | None = None
    _row: TaskID | None = None
    _loss: float | None = None

    @contextmanager
    def shown(self, steps: int, done: int = 0, what: str = "training") -> Iterator[None]:
        """The moving line, while the block runs."""
        if self.console is None or not self.console.is_terminal:
            yield
            return
        columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn())
        with Bar(*columns, console=self.console, transient=True) as bar:
            row = bar.add_task(what, total=steps, completed=done)
            self._bar, self._row = bar, row
            yield
            self._bar = None

    def noted(self, line: str) -> None:
        """Say something."""
        if self.console is not None:
            self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def stepped(self, progress: Progress, loss: float) -> None:
        """A step was made; the loss shown is smoothed over about 50."""
        self._loss = loss if self._loss is None else self._loss + 0.02 * (loss - self._loss)
        if self._bar is not None and self._row is not None:
            told = f"epoch {progress.epoch + 1} loss {self._loss:.3f}"
            self._bar.update(self._row, completed=progress.step, description=told)

    def advanced(self, count: int) -> None:
        """So many more texts are done."""
        if self._bar is not None and self._row is not None:
            self._bar.advance(self._row, count)

    def validated(self, progress: Progress, found: Mapping[str, float | int]) -> None:
        """A validation was made."""
        record = {"step": progress.step, "epoch": progress.epoch, "seconds": round(progress.seconds, 1)}
        with self.log.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(record | {"loss": self._loss, "valid": dict(found)}) + "\n")
        mark = " *" if progress.best_step == progress.step else ""
        self.noted(
            f"step {progress.step:,}: valid accuracy {found['accuracy']:.1%}, macro F1 {found['macro_f1']:.1%}, "
            f"loss {self._loss or 0:.3f}{mark}"
        )
