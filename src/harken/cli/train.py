"""`harken train`: train a generator, a ranker or a classifier from a config."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from harken.training.watch import Figures, Progress

NOT_GENERATORS = {"ranker": "harken.retrieval.training", "classifier": "harken.classifiers.training"}
"""Models that are trained elsewhere, by `train_run` of these modules."""


def train(
    config: Annotated[Path, typer.Argument(help="A run config, such as configs/transformer.yaml.")],
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="key=value over the config, e.g. training.batch_size=32; repeatable."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/NAME of the config by default.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the run in that folder stopped.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write curves for TensorBoard too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the final metrics as JSON.")] = False,
) -> None:
    """Train a model; stops by itself when validation no longer improves, and by Ctrl-C without losing work."""
    import json

    folder = out or Path("runs") / config.stem
    elsewhere = NOT_GENERATORS.get(_model(config, changes or ()))
    if elsewhere is not None:
        from importlib import import_module

        from rich.console import Console

        console = Console(stderr=True, highlight=False)
        found = import_module(elsewhere).train_run(config, changes or (), folder, resume=resume, console=console)
        typer.echo(json.dumps(found) if as_json else found["summary"])
        return

    from harken.decoding.replies import sample_replies
    from harken.training import train as run
    from harken.training.config import load_config
    from harken.training.session import StopRequested
    from harken.training.watch import TensorBoard, Watcher

    run_config = load_config(config, changes or ())
    watchers: list[Watcher] = [TensorBoard(folder)] if tensorboard else []
    with Live(run_config.training.last_step, quiet=os.environ.get("RANK", "0") != "0") as live:
        try:
            metrics = run(run_config, folder, resume=resume, sample=sample_replies, watchers=[live, *watchers])
        except StopRequested:
            live.noted(f"Stopped and saved; go on with: harken train {config} --out {folder} --resume")
            raise
    if os.environ.get("RANK", "0") == "0":
        measured = metrics.get("test", metrics["valid"])
        token, utterance = measured["perplexity"], measured["perplexity_utterance_mean"]
        line = f"{folder}: perplexity {token:.2f} (utterance mean {utterance:.2f}) after {metrics['steps']:,} steps"
        typer.echo(json.dumps(metrics) if as_json else line)


def _model(config: Path, changes: Sequence[str]) -> str:
    """The model a config names, or nothing; a config that cannot be read is found out by whoever loads it."""
    from harken import config as configs

    try:
        text = config.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    model = configs.with_overrides(configs.parse(text, str(config)), changes).get("model")
    return str(model)


class Live:
    """One line that moves on a terminal, and a line with samples for each validation."""

    def __init__(self, steps: int, *, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        self.console = Console(stderr=True, highlight=False, quiet=quiet)
        columns = (
            TextColumn("step {task.completed:,}"),
            BarColumn(20),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
        )
        self.bar = Bar(*columns, console=self.console, transient=True, disable=quiet or not self.console.is_terminal)
        self.task = self.bar.add_task("reading the corpus", total=steps)
        self.nll, self.speed, self.best = 0.0, 0.0, float("inf")
        self.last = (0, 0.0)

    def __enter__(self) -> Live:
        """Show the line."""
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away."""
        self.bar.stop()

    def noted(self, line: str) -> None:
        """Print the note."""
        self.console.print(line, markup=False, soft_wrap=True)

    def stepped(self, progress: Progress, figures: Figures) -> None:
        """Move the line; perplexity and speed are smoothed over about 100 steps."""
        import math

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
        self.bar.update(self.task, completed=progress.step, description=told)

    def validated(self, progress: Progress, figures: Figures, samples: Sequence[Mapping[str, Any]]) -> None:
        """Print what the validation found."""
        self.best = progress.best
        accuracy = f", emotion {figures['emotion_top1']:.1%}" if "emotion_top1" in figures else ""
        mark = " *" if progress.best_step == progress.step else ""
        self.console.print(
            f"step {progress.step:,}: valid perplexity {figures['perplexity']:.2f}{accuracy}{mark}", markup=False
        )
        for sample in samples:
            self.console.print(
                f"  {sample['context'][-1]}\n    → {sample['reply']}", style="dim", markup=False, soft_wrap=True
            )
