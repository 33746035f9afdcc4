"""The game of EmpDG (Li et al. 2020): a generator against two critics, on a page of its own.

First the generator is trained by likelihood until validation stops improving, and its best weights go on. Then the critics
learn to tell its soft responses from the gold ones. Then they take turns, one step of the critics to five of the generator,
which trains on its likelihood and on both critics' scores. Examples the user did not answer train the likelihood only.

The game has its own best: of its validations, the one of the best likelihood is the run's result. What differs by turn is
in `_turn`; what surrounds a step is `session.py`'s, as for the loop of the other models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import torch
from accelerate import Accelerator
from torch import nn

from harken.models.critics import Critics, listen, with_feedback
from harken.models.empdg import Empdg
from harken.models.losses import Term
from harken.text.batches import Batch
from harken.training import run as runs
from harken.training.config import GameConfig, RunConfig
from harken.training.loop import interruptible, objective, saved_on_stop
from harken.training.optimisers import learning_rate, optimiser
from harken.training.session import Sampler, Session, Stateful, StopRequested, open_session
from harken.training.watch import Watcher

Turn = Literal["likelihood", "critics", "generator"]


@dataclass
class Referee:
    """Knows whose turn a step is; all it keeps is the step the critics came in at."""

    config: GameConfig
    began: int | None = None
    """None as long as the generator is pre-trained."""

    def turn(self, step: int) -> Turn:
        """Who makes the step after `step` steps."""
        if self.began is None:
            return "likelihood"
        played = step - self.began - self.config.critic_steps
        return "critics" if played < 0 or played % (1 + self.config.generator_turns) == 0 else "generator"

    def untouched(self, step: int) -> bool:
        """Whether the generator is still as the game found it: there is nothing to validate."""
        return self.began is not None and step - self.began <= self.config.critic_steps + 1

    def over(self, step: int) -> bool:
        """Whether the game has been played to its end."""
        return self.began is not None and step - self.began >= self.config.critic_steps + self.config.game_steps

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"began": self.began}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on with the game of a checkpoint."""
        self.began = state["began"]


def train(
    config: RunConfig,
    folder: Path,
    *,
    resume: bool = False,
    sample: Sampler | None = None,
    watchers: Sequence[Watcher] = (),
) -> dict[str, Any]:
    """Pre-train and play into a run folder; gives what `metrics.json` holds."""
    session = open_session(config, folder, resume=resume, sample=sample, watchers=watchers)
    training = cast(GameConfig, config.training)
    generator, critics = cast(Empdg, session.generator), Critics(config.network.d_model, training.critic_width)
    critics.to(session.world.device)
    adams = {"generator": optimiser(generator, training), "critics": optimiser(critics, training)}
    referee = Referee(training)
    kept: dict[str, Stateful] = {
        "adam": adams["generator"],
        "critics_adam": adams["critics"],
        "critics": critics,
        "game": referee,
    }
    session.restore(kept)

    def make_steps() -> None:
        if not referee.untouched(session.progress.step):  # a validation that was interrupted is made good
            session.validate_if_due()
        for batch in session.batches(None if referee.began is None else lambda: referee.over(session.progress.step)):
            turn = referee.turn(session.progress.step)
            moving = "critics" if turn == "critics" else "generator"
            terms = _turn(turn, generator, critics, batch, training.penalty)
            whole, stop = session.agree(terms)
            rate = _rate(turn, session.progress.step + 1, config)
            if turn != "critics" or whole["semantic_critic"].count > 0:
                adams[moving].zero_grad(set_to_none=True)
                if any(term.sum.requires_grad for term in terms.values()):  # else only other processes heard something
                    shared = session.world.num_processes
                    torch.autograd.backward(objective(terms, whole, training, shared, session.usual))
                _move(critics if turn == "critics" else generator, adams[moving], rate, training.clip, session.world)
            session.stepped(whole, rate)
            if stop:
                raise StopRequested
            if not referee.untouched(session.progress.step):
                session.validate_if_due()
            if session.checkpoint_due():
                session.save(kept)

    with interruptible(session.stopping), saved_on_stop(session, kept):
        if referee.began is None:
            make_steps()
            session.validate_if_due(always=True)
            if training.game_steps:
                _kick_off(session, referee, adams["generator"])
            session.save(kept)
        if referee.began is not None:
            make_steps()
            session.validate_if_due(always=True)
            session.save(kept)
    return session.conclude()


def _turn(turn: Turn, generator: Empdg, critics: Critics, batch: Batch, penalty: float) -> dict[str, Term]:
    """The terms of one step; only those of whoever moves have a gradient."""
    if turn == "likelihood":
        return generator.losses(batch)
    heard = with_feedback(batch)
    with torch.set_grad_enabled(turn == "generator"):
        terms, soft = generator.play(batch, heard)
    if not heard.any():
        names = ("semantic_critic", "semantic_distance", "emotional_critic", "emotional_distance")
        nothing = Term(torch.zeros((), device=soft.device), torch.zeros((), device=soft.device))
        return terms | dict.fromkeys(names if turn == "critics" else ("semantic", "emotional"), nothing)
    critics.requires_grad_(turn == "critics")
    conversation = listen(generator, batch)
    if turn == "critics":
        return terms | critics.losses(conversation, soft, penalty)
    return terms | critics.verdicts(conversation, soft)


def _rate(turn: Turn, step: int, config: RunConfig) -> float:
    training = cast(GameConfig, config.training)
    if turn == "likelihood":
        return learning_rate(step, training, config.network.d_model)
    return training.critic_rate if turn == "critics" else training.game_rate


def _move(player: nn.Module, adam: torch.optim.Optimizer, rate: float, clip: float | None, world: Accelerator) -> None:
    """One step of a player. Processes share gradients here: a penalty on gradients cannot go through torch's own sharing."""
    if world.num_processes > 1:
        for parameter in player.parameters():
            own = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            parameter.grad = world.reduce(own, "mean")
    if clip is not None:
        nn.utils.clip_grad_norm_(player.parameters(), clip)
    for group in adam.param_groups:
        group["lr"] = rate
    adam.step()


def _kick_off(session: Session, referee: Referee, adam: torch.optim.Optimizer) -> None:
    """Begin the game: the best weights so far, without the momentum of what came after them, and a best of its own."""
    session.world.wait_for_everyone()
    best = runs.read_weights(session.folder / runs.WEIGHTS, session.config.model)
    session.generator.load_state_dict(best)
    adam.state.clear()
    progress = session.progress
    session.note(
        f"step {progress.step:,}: the generator goes on from step {progress.best_step:,}, and the critics come in"
    )
    progress.best, progress.waited = float("inf"), 0
    referee.began = progress.step
