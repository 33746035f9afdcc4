"""What one sees of training: a line that moves on a terminal, and lines that stay."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from harken.training.watch import Figures, Progress


class Line:
    """The moving line and the notes; a watcher of training adds what it tells at a step and a validation."""

    def __init__(self, steps: int, console: Console, begins: str) -> None:
        self.console = console
        columns = (TextColumn("step {task.completed:,}"), BarColumn(20), TimeElapsedColumn())
        hidden = console.quiet or not console.is_terminal
        self.bar = Bar(*columns, TextColumn("{task.description}"), console=console, transient=True, disable=hidden)
        self.task = self.bar.add_task(begins, total=steps)

    def __enter__(self) -> Self:
        """Show the line."""
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away."""
        self.bar.stop()

    def noted(self, line: str) -> None:
        """Print the note."""
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def moved(self, step: int, told: str) -> None:
        """Move the line."""
        self.bar.update(self.task, completed=step, description=told)


class Live(Line):
    """Follows a generator: perplexity and speed, and sample replies at each validation."""

    def __init__(self, steps: int, console: Console) -> None:
        super().__init__(steps, console, "reading the corpus")
        self.nll, self.speed, self.best = 0.0, 0.0, float("inf")
        self.last = (0, 0.0)

    def stepped(self, progress: Progress, figures: Figures) -> None:
        """Move the line; perplexity and speed are smoothed over about 100 steps."""
        first = self.last == (0, 0.0)
        seconds = progress.seconds - self.last[1]
        self.last = (progress.step, progress.seconds)
        share = 1.0 if first else 0.01
        self.nll += share * (figures["nll"] - self.nll)
        if not first:
            self.speed += (share if self.speed else 1.0) * (figures["tokens"] / max(seconds, 1e-9) - self.speed)
        best = f" best {math.exp(min(self.best, 50)):.2f}" if self.best < float("inf") else ""
        told = (
            f"epoch {progress.epoch + 1} perplexity {math.exp(min(self.nll, 50)):.2f}{best} {self.speed:,.0f} tokens/s"
        )
        self.moved(progress.step, told)

    def validated(self, progress: Progress, figures: Figures, samples: Sequence[Mapping[str, Any]]) -> None:
        """Print what the validation found."""
        self.best = progress.best
        kinds = [kind for kind in ("emotion", "label") if f"{kind}_top1" in figures]
        accuracy = "".join(f", {kind} {figures[f'{kind}_top1']:.1%}" for kind in kinds)
        mark = " *" if progress.best_step == progress.step else ""
        self.noted(f"step {progress.step:,}: valid perplexity {figures['perplexity']:.2f}{accuracy}{mark}")
        for sample in samples:
            self.console.print(
                f"  {sample['context'][-1]}\n    → {sample['reply']}", style="dim", markup=False, soft_wrap=True
            )
