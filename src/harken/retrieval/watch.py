"""What one sees of a ranker's training: a line that moves on a terminal, and a line for each validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from harken.training.watch import Figures, Progress


class Live:
    """A watcher that prints."""

    def __init__(self, steps: int, console: Console) -> None:
        self.console = console
        columns = (TextColumn("step {task.completed:,}"), BarColumn(20), TimeElapsedColumn())
        self.bar = Bar(
            *columns, TextColumn("{task.description}"), console=console, transient=True, disable=not console.is_terminal
        )
        self.task = self.bar.add_task("reading the corpora", total=steps)

    def __enter__(self) -> Live:
        """Show the line."""
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away."""
        self.bar.stop()

    def noted(self, line: str) -> None:
        """Print the note."""
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def stepped(self, progress: Progress, figures: Figures) -> None:
        """Move the line."""
        told = f"epoch {progress.epoch + 1} loss {figures['nll']:.3f}"
        self.bar.update(self.task, completed=progress.step, description=told)

    def validated(self, progress: Progress, figures: Figures, _: Sequence[Mapping[str, Any]]) -> None:
        """Print what the validation found."""
        mark = " *" if progress.best_step == progress.step else ""
        self.noted(f"step {progress.step:,}: valid P@1,100 {figures['p@1,100']:.1f} %, MRR {figures['mrr']:.3f}{mark}")
