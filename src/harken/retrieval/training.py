"""Train a ranker: in-batch softmax or LEMPEx's negatives, cached gradients, the best P@1,100 kept.

Every random number is a function of the seed, the epoch and the step, so a run that resumes goes the way it would have gone.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from harken import config as configs
from harken.errors import HarkenError
from harken.files import write_json
from harken.retrieval import rankers
from harken.retrieval.added import MODEL
from harken.retrieval.card import write_card
from harken.retrieval.config import RankerRunConfig, load_config, read_config
from harken.retrieval.gradients import batch_backward
from harken.retrieval.multitask import check_emotions, emotion_figures
from harken.retrieval.pairs import Negatives, Pair, read_pairs
from harken.retrieval.ranking import figures
from harken.retrieval.watch import Live
from harken.runtime import start
from harken.training import run as runs
from harken.training.loop import interruptible
from harken.training.optimisers import learning_rate, optimiser
from harken.training.session import StopRequested
from harken.training.watch import Log, Progress, Watcher


def train_run(
    path: Path, changes: Sequence[str], folder: Path, *, resume: bool = False, console: Console | None = None
) -> dict[str, Any]:
    """Train the ranker of a config file into a run folder; gives what `metrics.json` holds and a `summary` line."""
    config = load_config(path, changes)
    with Live(config.training.max_steps, console or Console(stderr=True, quiet=True)) as live:
        try:
            metrics = train(config, folder, resume=resume, watchers=[live])
        except StopRequested:
            live.noted(f"Stopped and saved; go on with: harken train {path} --out {folder} --resume")
            raise
    measured = metrics.get("test", metrics["valid"])
    summary = f"{folder}: P@1,100 {measured['p@1,100']:.1f} % after {metrics['steps']:,} steps"
    return metrics | {"summary": summary}


def train(
    config: RankerRunConfig, folder: Path, *, resume: bool = False, watchers: Sequence[Watcher] = ()
) -> dict[str, Any]:
    """Train until P@1,100 on validation stops improving; gives what `metrics.json` holds."""
    session = open_session(config, folder, resume=resume, watchers=watchers)
    training = config.training
    with interruptible(session.stopping):
        try:
            session.validate_if_due()
            for number, batch in session.batches():
                rate = learning_rate(session.progress.step + 1, training, session.ranker.width)
                for group in session.adam.param_groups:
                    group["lr"] = rate
                session.stepped(session.step(batch, number), rate)
                if session.stopping.is_set():
                    raise StopRequested
                session.validate_if_due()
                if session.progress.step % (training.checkpoint_every or training.validate_every) == 0:
                    session.save()
            session.validate_if_due(always=True)
        except StopRequested:
            session.save()
            raise
        session.save()
        return session.conclude()


@dataclass
class Session:
    """One run under way."""

    config: RankerRunConfig
    folder: Path
    ranker: rankers.Ranker
    pairs: dict[str, list[Pair]]
    adam: torch.optim.Optimizer
    watchers: Sequence[Watcher]
    negatives: Negatives | None
    stopping: threading.Event = field(default_factory=threading.Event)
    progress: Progress = field(default_factory=Progress)
    """Its `best` is the negated P@1,100, so that less is better as with a likelihood."""
    began: float = field(default_factory=time.monotonic)

    def batches(self) -> Iterator[tuple[int, list[int]]]:
        """The number of each step's batch in its epoch and its pairs, from where the run stands; full batches only."""
        size, count = self.config.training.batch_size, len(self.pairs["train"])
        epoch, first = self.progress.epoch, self.progress.batch
        while True:
            order = list(range(count))
            random.Random(f"{self.config.runtime.seed}:{epoch}").shuffle(order)
            starts = range(0, max(1, count - size + 1), size)
            for number in range(first, len(starts)):
                if self.finished:
                    return
                self.progress.epoch, self.progress.batch = epoch, number + 1
                yield number, order[starts[number] : starts[number] + size]
            epoch, first = epoch + 1, 0

    @property
    def finished(self) -> bool:
        """Whether the steps are used up, or the patience."""
        training = self.config.training
        return self.progress.step >= training.max_steps or self.progress.waited > training.patience

    def step(self, rows: Sequence[int], number: int) -> dict[str, float]:
        """One step of the optimiser; gives the mean losses."""
        seed = f"{self.config.runtime.seed}:{self.progress.epoch}:{number}"
        batch = [self.pairs["train"][row] for row in rows]
        candidates = [pair.response for pair in batch]
        if self.negatives is not None:
            chance = random.Random(seed)
            drawn = [self.negatives.draw(row, chance) for row in rows]
            candidates += [text for two in drawn for text in two]
        self.ranker.train()
        self.adam.zero_grad(set_to_none=True)
        losses = batch_backward(
            self.ranker,
            [pair.context for pair in batch],
            candidates,
            self.config,
            random.Random(seed).getrandbits(40),
            [pair.emotion for pair in batch],
        )
        if not all(map(torch.isfinite, losses.values())):
            raise HarkenError(
                f"the loss is not a number at step {self.progress.step + 1}; the last good checkpoint is kept: "
                "lower training.learning_rate or set training.clip, and train again"
            )
        if self.config.training.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.ranker.parameters(), self.config.training.clip)
        self.adam.step()
        return {name: loss.item() for name, loss in losses.items()}

    def stepped(self, losses: dict[str, float], rate: float) -> None:
        """Count a step and tell the watchers."""
        self.progress.step += 1
        self.progress.seconds = time.monotonic() - self.began
        for watcher in self.watchers:
            watcher.stepped(self.progress, {**losses, "learning_rate": rate})

    def validate_if_due(self, *, always: bool = False) -> None:
        """Validate where the config says (before the first step too, to know where it began)."""
        step, done = self.progress.step, self.progress.validated
        due = always or step % self.config.training.validate_every == 0
        if due and (step > done or self.progress.best == float("inf")):
            valid = self.pairs["valid"]
            part = valid[:: max(1, len(valid) // self.config.training.validation_size)]
            found = measure(self.ranker, part, advance=self._look_up)
            self.progress.validated = step
            if -found["p@1,100"] < self.progress.best:
                self.progress.best, self.progress.best_step, self.progress.waited = -found["p@1,100"], step, 0
                self.ranker.save(self.folder)
            else:
                self.progress.waited += 1
            for watcher in self.watchers:
                watcher.validated(self.progress, found, [])
            self.began = time.monotonic() - self.progress.seconds  # validation is not training time

    def _look_up(self, _: int) -> None:
        if self.stopping.is_set():
            raise StopRequested

    def save(self) -> None:
        """Write where training stands."""
        content = {
            "config": configs.dump(self.config),
            "weights": self.ranker.state_dict(),
            "optimiser": self.adam.state_dict(),
            "progress": asdict(self.progress),
        }
        runs.write_checkpoint(self.folder, content)

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Go on where a checkpoint stands."""
        self.ranker.load_state_dict(checkpoint["weights"])
        self.adam.load_state_dict(checkpoint["optimiser"])
        self.progress = Progress(**checkpoint["progress"])
        self.began = time.monotonic() - self.progress.seconds

    def conclude(self) -> dict[str, Any]:
        """Measure the best weights, and what they began with, on the whole splits; write `metrics.json` and the card."""
        best, progress = rankers.load(self.folder).to(self.ranker.device), self.progress
        metrics: dict[str, Any] = {
            "model": MODEL,
            "corpora": list(self.config.corpora),
            "parameters": sum(p.numel() for p in best.parameters()),
            "seed": self.config.runtime.seed,
            "best_step": progress.best_step,
            "steps": progress.step,
            "epochs": round(progress.step * self.config.training.batch_size / len(self.pairs["train"]), 2),
            "seconds": round(progress.seconds, 1),
        }
        for split in ("valid", "test"):
            if len(self.pairs[split]) >= 100:
                metrics[split] = measure(best, self.pairs[split], advance=self._look_up)
        write_json(self.folder / "metrics.json", metrics)
        write_card(self.folder, self.config, metrics)
        return metrics


def measure(
    ranker: rankers.Ranker, pairs: Sequence[Pair], *, advance: Callable[[int], None] | None = None
) -> dict[str, float]:
    """P@1,100 of a ranker, shuffled and in order, recall@10 and MRR; with multitask, how well it tells emotions."""
    contexts, emotions = ranker.read_contexts([pair.context for pair in pairs], advance)
    found = figures(contexts, ranker.encode_candidates([pair.response for pair in pairs], advance))
    return found if emotions is None else found | emotion_figures(emotions, [pair.emotion for pair in pairs])


def open_session(config: RankerRunConfig, folder: Path, *, resume: bool, watchers: Sequence[Watcher]) -> Session:
    """Begin a run, or go on with one; a run is never overwritten."""
    device = start(config.runtime)
    checkpoint = runs.read_checkpoint(folder, config) if resume else None
    if not resume and any((folder / name).exists() for name in (runs.CHECKPOINT, "metrics.json")):
        raise HarkenError(f"{folder}: holds a run already; go on with --resume, or choose another folder with --out")
    history, last = config.network.history, config.corpora[-1:]
    pairs = {split: read_pairs(last, split, history) for split in ("valid", "test")}
    pairs["train"] = read_pairs(config.corpora, "train", history)
    for split, least in (("train", 1), ("valid", 100)):
        if len(pairs[split]) < least:
            raise HarkenError(
                f"{', '.join(config.corpora if split == 'train' else last)}: {len(pairs[split])} listener turns in the "
                f"{split} split, and a ranker needs at least {least}; choose another corpus"
            )
    if config.network.emotion_weight is not None:
        check_emotions(pairs["train"], config.corpora)
    negatives = None if config.training.negatives == "batch" else Negatives(pairs["train"])
    ranker = _beginning(config, pairs["train"]).to(device)
    session = Session(config, folder, ranker, pairs, optimiser(ranker, config.training), watchers, negatives)
    folder.mkdir(parents=True, exist_ok=True)
    log = Log(folder / "log.jsonl")
    session.watchers = [log, *watchers]
    if checkpoint is not None:
        log.rewind(checkpoint["progress"]["step"])
        session.restore(checkpoint)
    else:
        log.path.unlink(missing_ok=True)
        runs.write_config(folder, config)
        counts = ", ".join(f"{split} {len(pairs[split]):,}" for split in ("train", "valid", "test"))
        for watcher in session.watchers:
            watcher.noted(f"{', '.join(config.corpora)}: {counts} responses")
    return session


def _beginning(config: RankerRunConfig, pairs: Sequence[Pair]) -> rankers.Ranker:
    """The ranker before its first step: untrained, or an earlier run's."""
    earlier = config.start_from
    if earlier is None:
        return rankers.build(
            config.network, lambda: (text for pair in pairs for text in (*pair.context, pair.response))
        )
    kind = read_config(earlier).network
    if (kind.kind, kind.separate) != (config.network.kind, config.network.separate):
        raise HarkenError(f"{earlier}: cannot be started from, its ranker is a {kind.kind} one built otherwise")
    if kind.ensemble is not None and config.network.ensemble is None:
        raise HarkenError(
            f"{earlier}: cannot be started from, its ranker has an ensemble encoder; add the same network.ensemble"
        )
    return rankers.load(earlier, config.network)
