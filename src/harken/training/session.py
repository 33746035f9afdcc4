"""The state of one training run and what every loop does with it: take batches, agree, validate, save, conclude.

Every random number is a function of the seed, the step and the process, so a run that resumes goes the way it would
have gone. Processes of `torchrun` or `accelerate launch` share each batch by rows and divide by its common counts, so
their loss is the loss of one process.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs

from harken import config as configs
from harken.dialogue import Example
from harken.errors import HarkenError
from harken.files import write_json
from harken.models.contract import Generator
from harken.models.losses import Term
from harken.runtime import start
from harken.text.batches import Batch, Encoded, collate, epoch_order
from harken.text.vocabulary import TextConfig, Vocabulary
from harken.training import run as runs
from harken.training.card import write_card
from harken.training.config import RunConfig
from harken.training.evaluate import evaluate, summary
from harken.training.material import Material, gather
from harken.training.watch import Log, Progress, Watcher

Sampler = Callable[[Generator, Vocabulary, TextConfig, Sequence[Example]], list[dict[str, Any]]]
_REMEDY = "the last good checkpoint is kept: lower training.learning_rate or set training.clip, and train again"


class Stateful(Protocol):
    """An optimiser, or whatever else must go on where it stood."""

    def state_dict(self) -> dict[str, Any]:
        """What to save."""

    def load_state_dict(self, state_dict: Any) -> Any:
        """Go on from what was saved."""


Optimisers = Mapping[str, Stateful]


class StopRequested(KeyboardInterrupt):
    """Ctrl-C was heard, and the run is at a moment that can be saved."""


@dataclass
class Session:
    """One run under way."""

    config: RunConfig
    folder: Path
    world: Accelerator
    material: Material
    watchers: Sequence[Watcher]
    sample: Sampler | None
    checkpoint: dict[str, Any] | None
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set by Ctrl-C: stop at the next whole moment."""
    progress: Progress = field(default_factory=Progress)
    began: float = field(default_factory=time.monotonic)

    @property
    def generator(self) -> Generator:
        """The model, not wrapped for data-parallel training."""
        return self.material.generator

    def restore(self, optimisers: Optimisers) -> None:
        """Go on where the checkpoint stands, if there is one."""
        if self.checkpoint is not None:
            self.generator.load_state_dict(self.checkpoint["weights"])
            for name, optimiser in optimisers.items():
                optimiser.load_state_dict(self.checkpoint["optimisers"][name])
            self.progress = Progress(**self.checkpoint["progress"])
        self.began = time.monotonic() - self.progress.seconds

    @cached_property
    def usual(self) -> dict[str, float]:
        """How many words the responses of a batch have in the mean."""
        lengths = [len(row.target) for row in self.material.rows["train"]]
        return {"response": min(self.config.training.batch_size, len(lengths)) * sum(lengths) / len(lengths)}

    def batches(self, over: Callable[[], bool] | None = None) -> Iterator[Batch]:
        """This process's rows of each batch, from where the run stands until it is over; random numbers are set.

        A run is over when it is `finished`, unless a loop with more to do says otherwise.
        """
        rows, world, seed = self.material.rows["train"], self.world, self.config.runtime.seed
        epoch, first = self.progress.epoch, self.progress.batch
        while True:
            order = epoch_order(rows, self.config.training.batch_size, seed=seed, epoch=epoch)
            order = [batch for batch in order if len(batch) >= world.num_processes]  # all must get a share
            if not order:
                raise HarkenError(f"{world.num_processes} processes cannot share batches this small; start fewer")
            for number in range(first, len(order)):
                if over() if over is not None else self.finished:
                    return
                self.progress.epoch, self.progress.batch = epoch, number + 1
                torch.manual_seed((seed * 1_000_003 + self.progress.step) * 1_009 + world.process_index)
                self.generator.train()
                self.generator.trained_steps = self.progress.step
                mine = order[number][world.process_index :: world.num_processes]
                yield collate([rows[i] for i in mine]).to(world.device)
            epoch, first = epoch + 1, 0

    @property
    def finished(self) -> bool:
        """Whether the steps are used up, or the patience."""
        training = self.config.training
        return self.progress.step >= training.max_steps or self.progress.waited > training.patience

    def agree(self, terms: Mapping[str, Term]) -> tuple[dict[str, Term], bool]:
        """The terms over all processes, and whether any wants to stop; a loss that is no number is an error for all."""
        sums = [term.sum.detach().double() for term in terms.values()]
        counts = [term.count.double() for term in terms.values()]
        stop = torch.tensor(float(self.stopping.is_set()), dtype=torch.double, device=self.world.device)
        *shared, stop = self.world.reduce(torch.stack([*sums, *counts, stop]), "sum")
        whole = {name: Term(shared[i], shared[i + len(terms)]) for i, name in enumerate(terms)}
        wrong = [name for name, term in whole.items() if not math.isfinite(term.sum.item())]
        if wrong:
            here = self.progress
            raise HarkenError(
                f"the loss '{wrong[0]}' is not a number at step {here.step + 1} "
                f"(epoch {here.epoch + 1}, batch {here.batch}); {_REMEDY}"
            )
        return whole, bool(stop)

    def note(self, line: str) -> None:
        """Tell the watchers something."""
        for watcher in self.watchers:
            watcher.noted(line)

    def stepped(self, terms: Mapping[str, Term], rate: float) -> None:
        """Count a step and tell the watchers."""
        self.progress.step += 1
        self.progress.seconds = time.monotonic() - self.began
        if self.watchers:
            means = {name: term.mean.item() for name, term in terms.items()}
            means["perplexity"] = math.exp(min(means["nll"], 50.0))
            means |= {"learning_rate": rate, "tokens": terms["nll"].count.item()}
            for watcher in self.watchers:
                watcher.stepped(self.progress, means)

    def validate_if_due(self, *, always: bool = False) -> None:
        """Validate where the config says, unless that was done before a stop."""
        training, step = self.config.training, self.progress.step
        due = always or (step % training.validate_every == 0 and step >= training.validate_from)
        if due and step > self.progress.validated:
            self.validate()

    def validate(self) -> None:
        """Measure on the validation split, and keep the weights if they are the best so far."""
        sums = self.evaluate(self.material.rows["valid"])
        self.progress.validated = self.progress.step
        nll = sums["nll"].mean.item()
        if nll < self.progress.best:
            self.progress.best, self.progress.best_step, self.progress.waited = nll, self.progress.step, 0
            if self.world.is_main_process:
                runs.write_weights(self.folder / runs.WEIGHTS, self.generator, self.config.model)
        else:
            self.progress.waited += 1
        if self.watchers:
            samples = self.samples()
            for watcher in self.watchers:
                watcher.validated(self.progress, summary(sums), samples)
        self.began = time.monotonic() - self.progress.seconds  # validation is not training time

    def samples(self) -> list[dict[str, Any]]:
        """Replies to a few validation contexts, the same ones each time."""
        wanted, valid = self.config.training.samples, self.material.valid
        if self.sample is None or not wanted:
            return []
        chosen = valid[:: max(1, len(valid) // wanted)][:wanted]
        return self.sample(self.generator, self.material.vocabulary, self.config.text, chosen)

    def evaluate(self, rows: list[Encoded], *, oracle: bool = False) -> dict[str, Term]:
        """`evaluate`, the rows shared among the processes and the sums added up."""
        mine = rows[self.world.process_index :: self.world.num_processes]
        sums = evaluate(self.generator, mine or rows[:1], oracle=oracle, advance=self._look_up)
        numbers = torch.stack([torch.stack([term.sum.double(), term.count.double()]) for term in sums.values()])
        if not mine:  # fewer rows than processes: this one was read only for the names
            numbers = torch.zeros_like(numbers)
        return {name: Term(*pair) for name, pair in zip(sums, self.world.reduce(numbers, "sum"), strict=True)}

    def _look_up(self, _: int) -> None:
        """Leave a long measurement when asked to; processes that wait for one another stop between steps only."""
        if self.stopping.is_set() and self.world.num_processes == 1:
            raise StopRequested

    def checkpoint_due(self) -> bool:
        """Whether this step is one to save at."""
        training = self.config.training
        return self.progress.step % (training.checkpoint_every or training.validate_every) == 0

    def save(self, optimisers: Optimisers) -> None:
        """Write the checkpoint, unless the weights are broken: the last good one is worth more."""
        if not all(bool(torch.isfinite(p).all()) for p in self.generator.parameters()):
            raise HarkenError(f"the weights are not numbers at step {self.progress.step}; {_REMEDY}")
        if self.world.is_main_process:
            content = {
                "config": configs.dump(self.config),
                "weights": self.generator.state_dict(),
                "optimisers": {name: optimiser.state_dict() for name, optimiser in optimisers.items()},
                "progress": asdict(self.progress),
            }
            runs.write_checkpoint(self.folder, content)

    def conclude(self) -> dict[str, Any]:
        """Measure the best weights on validation and test, write `metrics.json` and the card."""
        self.world.wait_for_everyone()
        config, progress, rows = self.config, self.progress, self.material.rows
        self.generator.load_state_dict(runs.read_weights(self.folder / runs.WEIGHTS, config.model))
        metrics: dict[str, Any] = {
            "model": config.model,
            "corpus": config.corpus,
            "parameters": sum(p.numel() for p in self.generator.parameters()),
            "vocabulary": len(self.material.vocabulary),
            "vocabulary_source": config.text.source,
            "seed": config.runtime.seed,
            "best_step": progress.best_step,
            "steps": progress.step,
            "epochs": round(progress.epoch + progress.batch * config.training.batch_size / len(rows["train"]), 2),
            "seconds": round(progress.seconds, 1),
        }
        for split in ("valid", "test"):
            part = rows["valid"] if split == "valid" else rows["test"]
            if part:
                metrics[split] = summary(self.evaluate(part))
                if self.generator.has_oracle:
                    metrics[f"{split}_oracle"] = summary(self.evaluate(part, oracle=True))
        if self.world.is_main_process:
            write_json(self.folder / "metrics.json", metrics)
            write_card(self.folder, config, metrics)
        self.world.end_training()
        return metrics


def open_session(
    config: RunConfig, folder: Path, *, resume: bool, sample: Sampler | None, watchers: Sequence[Watcher]
) -> Session:
    """Begin a run, or go on with one; a run is never overwritten."""
    if config.recipe is not None:
        raise HarkenError("this config has a recipe, whose stages come first; run it with: harken train CONFIG")
    cpu = start(config.runtime).type == "cpu"
    world = Accelerator(cpu=cpu, kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)])
    log = Log(folder / "log.jsonl")
    checkpoint = runs.read_checkpoint(folder, config) if resume else None
    if not resume and any((folder / name).exists() for name in (runs.CHECKPOINT, runs.WEIGHTS)):
        raise HarkenError(f"{folder}: holds a run already; go on with --resume, or choose another folder with --out")
    world.wait_for_everyone()
    if world.is_main_process:
        folder.mkdir(parents=True, exist_ok=True)
        if checkpoint is not None:
            log.rewind(checkpoint["progress"]["step"])
        else:
            log.path.unlink(missing_ok=True)  # of a run that ended before its first checkpoint
    world.wait_for_everyone()
    listening = [log, *watchers] if world.is_main_process else []

    def note(line: str) -> None:
        if checkpoint is None:
            for watcher in listening:
                watcher.noted(line)

    material = gather(config, folder, resumed=checkpoint is not None, note=note)
    if world.is_main_process and checkpoint is None:
        runs.write_config(folder, config)
        material.vocabulary.save(folder)
    material.generator.to(world.device)
    return Session(config, folder, world, material, listening, sample, checkpoint)
