"""Kind `encoder`: a pre-trained encoder, tuned with its head."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save as to_bytes
from torch import Tensor

from harken import config as configs
from harken.classifiers.base import Advance, Floats, Item, length, softmax
from harken.classifiers.config import ClassifierConfig, LearningConfig
from harken.classifiers.material import Material, epoch_batches
from harken.classifiers.measures import figures
from harken.classifiers.network import Network, balancing, weighted_nll
from harken.classifiers.tasks import task
from harken.classifiers.watching import Watching
from harken.errors import HarkenError
from harken.files import atomic
from harken.models.pretrained import TextEncoder
from harken.runtime import device, start
from harken.training.loop import interruptible
from harken.training.run import CHECKPOINT, WEIGHTS, misfits, read_checkpoint, read_weights, write_checkpoint
from harken.training.session import StopRequested
from harken.training.watch import Progress

MODEL = "classifier"
_FRAMES = ("encoder", "post")
"""Folders of a run with tokeniser and shape of each encoder; all weights are in one file."""
_BATCH = 64


@dataclass
class EncoderScorer:
    """A network that reads items batch by batch."""

    network: Network
    max_tokens: int

    def scores(self, items: Sequence[Item], advance: Advance | None = None) -> Floats:
        """Logits; items of like length share a batch, rows go back to their own places. (N, L)"""
        self.network.eval()
        where = self.network.head.weight.device
        found = np.zeros((len(items), self.network.head.out_features), dtype=np.float32)
        order = sorted(range(len(items)), key=lambda i: length(items[i]))
        for begin in range(0, len(order), _BATCH):
            rows = order[begin : begin + _BATCH]
            with torch.inference_mode():
                batch, post = self.network.tokenize([items[i] for i in rows], self.max_tokens)
                logits = self.network(batch.to(where), None if post is None else post.to(where))
            found[rows] = logits.cpu().numpy()
            if advance is not None:
                advance(len(rows))
        return found


def build(config: ClassifierConfig, labels: int, run: Path | None = None) -> EncoderScorer:
    """The config's network: from the pre-trained folder, or as an untrained frame from a run's own folder."""
    settings, bi = config.encoder, config.encoder.pairs == "bi" and task(config.task).pairs

    def read(name: str) -> TextEncoder:
        return TextEncoder(settings.folder) if run is None else TextEncoder(run / name, weights=False)

    network = Network(read("encoder"), read("post") if bi else None, labels, settings.dropout)
    for encoder in (network.encoder, *([network.post] if network.post is not None else [])):
        if settings.frozen_layers is not None:
            encoder.freeze(settings.frozen_layers)
        if settings.inner_dropout is not None:
            encoder.set_dropout(settings.inner_dropout)
    return EncoderScorer(network, settings.max_tokens)


def load(folder: Path, config: ClassifierConfig, labels: int) -> EncoderScorer:
    """The tuned network of a run folder."""
    scorer, weights = build(config, labels, folder), read_weights(folder / WEIGHTS, MODEL)
    wrong = misfits(scorer.network, weights, missing_too=True)
    if wrong:
        raise HarkenError(f"{folder / WEIGHTS}: does not fit the run's config ({wrong[0]}); train it again")
    scorer.network.load_state_dict(weights)
    scorer.network.to(device(config.runtime.device))
    return scorer


def write_weights(folder: Path, network: Network) -> None:
    """All weights in one file, so that head and encoder are always of one moment."""
    tensors = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in network.state_dict().items()}
    with atomic(folder / WEIGHTS, "wb") as stream:
        stream.write(to_bytes(tensors, metadata={"model": MODEL}))


@dataclass
class Tuning:
    """One run under way. Random numbers are a function of seed and step, so a resumed run goes the way it would have."""

    config: ClassifierConfig
    material: Material
    folder: Path
    watching: Watching
    scorer: EncoderScorer
    progress: Progress

    @property
    def steps(self) -> int:
        """How many there will be at the most."""
        training = self.config.training
        return training.epochs * math.ceil(len(self.material.rows["train"].items) / training.batch_size)

    def batches(self) -> Iterator[tuple[list[Item], Tensor]]:
        """Items and gold labels, from where the run stands to the end of the last epoch."""
        training, seed = self.config.training, self.config.runtime.seed
        first = self.progress.batch
        for epoch in range(self.progress.epoch, training.epochs):
            rows = self.material.rows["train"]
            if self.config.balance == "sampling":
                rows = self.material.drawn(epoch, seed)
            order = epoch_batches(rows.items, training.batch_size, seed=seed, epoch=epoch)
            for number in range(first, len(order)):
                self.progress.epoch, self.progress.batch = epoch, number + 1
                torch.manual_seed(seed * 1_000_003 + self.progress.step)
                yield [rows.items[i] for i in order[number]], torch.tensor([rows.gold[i] for i in order[number]])
            first = 0

    def validate(self) -> None:
        """Measure; keep the weights if they are the best so far."""
        rows = self.material.rows["valid"]
        found = figures(softmax(self.scorer.scores(rows.items)), rows.gold)
        chosen = self.config.training.select
        value = float(found[chosen]) * (1 if chosen == "nll" else -1)
        here = self.progress
        here.validated, here.waited = here.step, here.waited + 1
        if value < here.best:
            here.best, here.best_step, here.waited = value, here.step, 0
            write_weights(self.folder, self.scorer.network)
        self.watching.validated(here, found)


def fit(
    config: ClassifierConfig, material: Material, folder: Path, *, resume: bool, watching: Watching
) -> EncoderScorer:
    """Tune the encoder until validation stops improving, and give back the best one; the run folder has its weights."""
    where, training = start(config.runtime), config.training
    scorer = build(config, len(material.labels))
    network = scorer.network.to(where)
    for name in _FRAMES:
        encoder = getattr(network, name)
        if encoder is not None and not resume:
            encoder.save(folder / name, weights=False)
    adam = _optimiser(network, training)
    tuning = Tuning(config, material, folder, watching, scorer, Progress())
    if resume:
        content = read_checkpoint(folder, config)
        network.load_state_dict(content["weights"])
        adam.load_state_dict(content["optimiser"])
        tuning.progress = Progress(**content["progress"])
    _loop(tuning, adam, where)
    (folder / CHECKPOINT).unlink(missing_ok=True)
    return load(folder, config, len(material.labels))


def _loop(tuning: Tuning, adam: torch.optim.Optimizer, where: torch.device) -> None:
    """Batches in, weights out."""
    config, network, here = tuning.config, tuning.scorer.network, tuning.progress
    training, began = config.training, time.monotonic() - here.seconds
    weight = balancing(tuning.material.counts()).to(where) if config.balance == "weights" else None
    every = training.validate_every or math.ceil(len(tuning.material.rows["train"].items) / training.batch_size)

    def save() -> None:
        content = {"weights": network.state_dict(), "optimiser": adam.state_dict(), "progress": asdict(here)}
        write_checkpoint(tuning.folder, content | {"config": configs.dump(config)})

    with interruptible(tuning.watching.stopping), tuning.watching.shown(tuning.steps, here.step):
        for items, gold in tuning.batches():
            share = rate(here.step + 1, tuning.steps, training.warmup)
            for group in adam.param_groups:
                group["lr"] = share * group["peak"]
            network.train()
            batch, post = network.tokenize(items, config.encoder.max_tokens)
            logits = network(batch.to(where), None if post is None else post.to(where))
            term = weighted_nll(logits, gold.to(where), weight)
            adam.zero_grad(set_to_none=True)
            torch.autograd.backward(term.mean)
            torch.nn.utils.clip_grad_norm_(network.parameters(), training.clip)
            adam.step()
            here.step, here.seconds = here.step + 1, time.monotonic() - began
            tuning.watching.stepped(here, float(term.mean.detach()))
            stop = tuning.watching.stopping.is_set()
            if here.step % every == 0 and not stop:
                tuning.validate()
                save()
            if stop:
                save()
                raise StopRequested
            if here.waited > training.patience:
                return
        if here.validated < here.step:
            tuning.validate()


def rate(step: int, steps: int, warmup: float) -> float:
    """The share of the peak learning rate at `step`, counted from 1: up over the warm-up, down to 0 along a line."""
    rising = max(1, round(warmup * steps))
    return min(step / rising, (steps + 1 - step) / max(1, steps + 1 - rising))


def _optimiser(network: Network, training: LearningConfig) -> torch.optim.Optimizer:
    """AdamW; the head learns at a rate of its own, matrices decay."""
    groups: list[dict[str, Any]] = []
    for head in (False, True):
        for matrices in (True, False):
            chosen = [
                weight
                for name, weight in network.named_parameters()
                if weight.requires_grad and name.startswith("head.") == head and (weight.dim() > 1) == matrices
            ]
            peak = training.head_rate if head else training.learning_rate
            if chosen:
                decay = training.weight_decay if matrices else 0.0
                groups.append({"params": chosen, "weight_decay": decay, "peak": peak, "lr": peak})
    return torch.optim.AdamW(groups, fused=True)
