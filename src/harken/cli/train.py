"""`harken train`: train a generator, a ranker or a classifier from a config, with all the stages of its recipe."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

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

    from rich.console import Console

    first = os.environ.get("RANK", "0") == "0"  # of the processes of torchrun, one speaks
    console = Console(stderr=True, highlight=False, quiet=not first)
    folder = out or Path("runs") / config.stem
    elsewhere = NOT_GENERATORS.get(_model(config, changes or ()))
    if elsewhere is not None:
        from importlib import import_module

        from harken.errors import HarkenError

        if tensorboard:
            raise HarkenError(
                f"{config}: only generators write for TensorBoard; leave out --tensorboard, see log.jsonl"
            )
        found = import_module(elsewhere).train_run(config, changes or (), folder, resume=resume, console=console)
        typer.echo(json.dumps(found) if as_json else found["summary"])
        return

    from harken.decoding.replies import sample_replies
    from harken.training import train as run
    from harken.training.config import load_config
    from harken.training.live import Live
    from harken.training.session import StopRequested
    from harken.training.watch import TensorBoard, Watcher

    run_config, metrics = load_config(config, changes or ()), None
    if run_config.recipe is not None:
        from harken.cli.progress import counted
        from harken.recipes import prepare, standing

        run_config = prepare(run_config, config.parent, console=console, counted=counted)
        metrics, resume = standing(folder, run_config, console)
    if metrics is None:
        watchers: list[Watcher] = [TensorBoard(folder)] if tensorboard else []
        with Live(run_config.training.last_step, console) as live:
            try:
                metrics = run(run_config, folder, resume=resume, sample=sample_replies, watchers=[live, *watchers])
            except StopRequested:
                live.noted(f"Stopped and saved; go on with: harken train {config} --out {folder} --resume")
                raise
    if first:
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
