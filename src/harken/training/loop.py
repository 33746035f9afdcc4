"""The loop: batches in, weights out. One page, one optimiser; what surrounds a step is `session.py`'s."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from harken.models.losses import Term
from harken.training.config import RunConfig, TrainingConfig
from harken.training.optimisers import learning_rate, optimiser
from harken.training.session import Optimisers, Sampler, Session, StopRequested, open_session
from harken.training.watch import Watcher


def train(
    config: RunConfig,
    folder: Path,
    *,
    resume: bool = False,
    sample: Sampler | None = None,
    watchers: Sequence[Watcher] = (),
) -> dict[str, Any]:
    """Train into a run folder until validation stops improving; gives what `metrics.json` holds."""
    session = open_session(config, folder, resume=resume, sample=sample, watchers=watchers)
    world, training = session.world, config.training
    adam = optimiser(session.generator, training)
    session.restore({"adam": adam})
    model, prepared = world.prepare(session.generator, adam)
    with interruptible(session.stopping), saved_on_stop(session, {"adam": adam}):
        session.validate_if_due()
        for batch in session.batches():
            rate = learning_rate(session.progress.step + 1, training, config.network.d_model)
            for group in adam.param_groups:
                group["lr"] = rate
            terms: dict[str, Term] = model(batch)
            whole, stop = session.agree(terms)
            prepared.zero_grad(set_to_none=True)
            world.backward(objective(terms, whole, training, world.num_processes, session.usual))
            if training.clip is not None:
                world.clip_grad_norm_(model.parameters(), training.clip)
            prepared.step()
            session.stepped(whole, rate)
            if stop:
                raise StopRequested
            session.validate_if_due()
            if session.checkpoint_due():
                session.save({"adam": adam})
        session.validate_if_due(always=True)
        session.save({"adam": adam})
    return session.conclude()


def objective(
    terms: Mapping[str, Term],
    whole: Mapping[str, Term],
    config: TrainingConfig,
    processes: int = 1,
    usual: Mapping[str, float] = MappingProxyType({}),
) -> Tensor:
    """The number to minimise: each trained term summed, or averaged over the whole batch, weighted, added up.

    `terms` are this process's, `whole` those of all. Processes average their gradients, so each counts its share
    `processes` times. A term with a `usual` count is divided by it instead of by the batch's own: batches are of like
    length, and a word must not weigh more for being in a batch of short responses.
    """
    parts = []
    for name, term in terms.items():
        if term.sum.requires_grad:
            count = 1.0 if name in config.summed else usual.get(name, whole[name].count.clamp(min=1))
            parts.append(config.weights.get(name, 1.0) * term.sum / count)
    return torch.stack(parts).sum() * processes


@contextmanager
def saved_on_stop(session: Session, optimisers: Optimisers) -> Iterator[None]:
    """Write a checkpoint when Ctrl-C was heard at a moment that can be saved."""
    try:
        yield
    except StopRequested:
        session.save(optimisers)
        raise


@contextmanager
def interruptible(asked: threading.Event) -> Iterator[None]:
    """Ctrl-C asks to stop after the step under way; a second one stops at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(*_: object) -> None:
        asked.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
