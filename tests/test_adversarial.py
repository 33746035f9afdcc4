"""EmpDG's critics and their game: every formula by hand, then runs that learn, stop and go on."""

from __future__ import annotations

import dataclasses
import json
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from harken.corpora import store
from harken.corpora.starter import starter_dialogues
from harken.dialogue import Dialogue
from harken.errors import HarkenError
from harken.models.critics import Critic, Critics, Heard, between, bigrams, distance, last_state, listen, penalty
from harken.models.empdg import Empdg, EmpdgConfig
from harken.text.batches import Batch, Encoded, collate
from harken.text.vocabulary import CLS, EOS, SPECIALS, USR, Words
from harken.training import adversarial, loop, train
from harken.training.adversarial import Referee
from harken.training.config import GameConfig, RunConfig, build_config
from harken.training.run import load_run, read_checkpoint
from harken.training.watch import Figures, Log, Progress

WORDS = Words("happy sad dog the a cried oh no".split())
SAD, DOG, THE, OH, NO = (WORDS.index[word] for word in "sad dog the oh no".split())


def batch_of(*feedback: list[int]) -> Batch:
    context = [CLS, THE, SAD, DOG]
    return collate([Encoded(context, [CLS, USR, USR, USR], [OH, NO, EOS], said, 3) for said in feedback])


def generator() -> Empdg:
    torch.manual_seed(4)
    return Empdg(EmpdgConfig(d_model=16), WORDS)


def test_the_penalty_of_a_linear_critic_by_hand() -> None:
    """D(x) = w·x has the slope w everywhere: |w| = 5 over two words of two numbers costs (5 - 1)², |w| = 1 nothing."""
    w = torch.tensor([[0.0, 3.0], [4.0, 0.0]], requires_grad=True)
    costs = penalty(lambda x: (x * w).sum((1, 2)), torch.randn(3, 2, 2))
    torch.testing.assert_close(costs, torch.full((3,), 16.0))
    [slope] = torch.autograd.grad(costs.sum(), w)
    torch.testing.assert_close(slope, 3 * 2 * 4 * w.detach() / 5)  # the critic can follow it down
    torch.testing.assert_close(penalty(lambda x: (x * w / 5).sum((1, 2)), torch.zeros(1, 2, 2)), torch.zeros(1))


def test_between_and_distance_by_hand() -> None:
    gold, soft = torch.tensor([[[8.0]], [[8.0]]]), torch.tensor([[[0.0]], [[4.0]]])
    assert between(gold, soft, torch.tensor([0.25, 0.5])).flatten().tolist() == [2.0, 6.0]
    assert distance(torch.tensor([3.0]), torch.tensor([1.0])).tolist() == [2.0]


def test_signs_by_hand() -> None:
    """A critic that scores the first number of a response: gold 3 against soft 1 is a loss of -2, and the generator's -1.

    Its slope is 1 in one place, so the penalty adds nothing.
    """

    class First(Critic):
        def forward(self, response: Heard, around: Tensor) -> Tensor:
            return response.vectors[:, 0, 0]

    critics = Critics(16, 4)
    critics.semantic = critics.emotional = First(16, 4)
    conversation = listen(generator(), batch_of([SAD]))
    gold, soft = torch.zeros(1, 3, 16), torch.zeros(1, 3, 16)
    gold[0, 0, 0], soft[0, 0, 0] = 3.0, 1.0
    conversation = conversation._replace(gold=Heard(gold, conversation.gold.pad))
    terms = critics.losses(conversation, soft, 0.1)
    assert {name: term.sum.item() for name, term in terms.items()} == {
        "semantic_critic": -2.0,
        "semantic_distance": 2.0,
        "emotional_critic": -2.0,
        "emotional_distance": 2.0,
    }
    assert {name: term.mean.item() for name, term in critics.verdicts(conversation, soft).items()} == {
        "semantic": -1.0,
        "emotional": -1.0,
    }


def test_bigrams_by_hand() -> None:
    """Words 1, 2 and padding: (1, 2), (2, 0)."""
    text = Heard(torch.tensor([[[1.0], [2.0], [9.0]]]), torch.tensor([[False, False, True]]))
    assert bigrams(text).tolist() == [[[1.0, 2.0], [2.0, 0.0], [0.0, 0.0]]]


def test_padding_is_not_heard() -> None:
    torch.manual_seed(0)
    critic = Critic(4, 6)
    vectors, pad = torch.randn(2, 5, 4), torch.arange(5) >= torch.tensor([[3], [1]])
    wild = torch.where(pad.unsqueeze(-1), 99.0, vectors)
    around = critic.around(Heard(vectors, pad), Heard(vectors, pad))
    torch.testing.assert_close(critic(Heard(vectors, pad), around), critic(Heard(wild, pad), around))
    alone = Heard(vectors[:1, :3], pad[:1, :3])
    torch.testing.assert_close(last_state(critic.response, alone), last_state(critic.response, Heard(wild, pad))[:1])
    torch.testing.assert_close(critic(alone, around[:1]), critic(Heard(wild, pad), around)[:1])


def test_the_emotional_critic_hears_emotion_words_only() -> None:
    model = generator()
    conversation = listen(model, batch_of([SAD], [], [NO, SAD]))
    assert len(conversation.gold.pad) == 2, "one example has no feedback"
    torch.testing.assert_close(conversation.emotional.vectors[0], model.heard(torch.tensor([CLS, SAD])))
    torch.testing.assert_close(conversation.context.vectors[0], model.heard(torch.tensor([CLS, THE, SAD, DOG])))
    assert not conversation.gold.vectors.requires_grad


def test_critics_hear_no_lengths_of_the_table() -> None:
    """However long training makes the words, critics hear them one long in the mean."""
    model, batch = generator(), batch_of([SAD])
    every = torch.ones(len(batch), dtype=torch.bool)
    with torch.no_grad():
        before = listen(model, batch).gold.vectors
        model.embedding.weight.mul_(7)
        lengths = model.heard(torch.arange(len(WORDS))).norm(dim=1)
        _, soft = model.play(batch, every)
    torch.testing.assert_close(listen(model, batch).gold.vectors, before)
    assert lengths.mean().item() == pytest.approx(1.0)
    assert soft.norm(dim=-1).max() <= lengths.max() + 1e-5, "a mean of words is no longer than the longest"


def test_soft_and_hard_responses_get_one_score() -> None:
    model, critic = generator(), Critic(16, 8)
    conversation = listen(model, batch_of([SAD]))
    around = critic.around(conversation.context, conversation.feedback)
    one_hot = torch.nn.functional.one_hot(torch.tensor([[OH, NO, EOS]]), len(WORDS)).float()
    soft = one_hot @ model.heard(torch.arange(len(WORDS)))
    torch.testing.assert_close(critic(Heard(soft, conversation.gold.pad), around), critic(conversation.gold, around))


def test_critics_learn_to_tell_and_the_generator_to_please() -> None:
    """Both players lower their own loss when the other holds still."""
    model, critics, batch = generator(), Critics(16, 16), batch_of([SAD], [NO, SAD])
    adams = {
        "critics": torch.optim.Adam(critics.parameters(), 0.01),
        "generator": torch.optim.Adam(model.parameters(), 0.01),
    }
    for turn, watched in (("critics", "semantic_distance"), ("generator", "semantic")):
        seen = []
        for _ in range(15):
            terms = adversarial._turn(turn, model, critics, batch, 0.1)  # type: ignore[arg-type]
            names = ("semantic_critic", "emotional_critic") if turn == "critics" else ("semantic", "emotional")
            adams[turn].zero_grad()
            torch.autograd.backward(torch.stack([terms[name].mean for name in names]).sum())
            adams[turn].step()
            seen.append(terms[watched].mean.item())
        assert seen[-1] > seen[0] + 0.1 if turn == "critics" else seen[-1] < seen[0] - 0.1


@pytest.mark.parametrize("turn", ["critics", "generator"])
def test_only_the_player_moves(turn: Any) -> None:
    model, critics = generator(), Critics(16, 8)
    terms = adversarial._turn(turn, model, critics, batch_of([SAD], []), 0.1)
    torch.autograd.backward(torch.stack([term.sum for term in terms.values() if term.sum.requires_grad]).sum())
    moved = {"critics": critics, "generator": model}
    for name, player in moved.items():
        assert any(p.grad is not None for p in player.parameters()) == (name == turn)


def test_without_feedback_only_the_likelihood_is_trained() -> None:
    """In a batch of both kinds, the critics' verdict has no gradient in the words of an example without feedback."""
    model, critics = generator(), Critics(16, 8)
    terms = adversarial._turn("generator", model, critics, batch_of([], []), 0.1)
    assert [name for name, term in terms.items() if term.sum.requires_grad] == ["response", "emotion"]
    assert terms["semantic"].count == 0
    terms = adversarial._turn("critics", model, critics, batch_of([], []), 0.1)
    assert not any(term.sum.requires_grad for term in terms.values())
    both = adversarial._turn("generator", model, critics, batch_of([SAD], []), 0.1)
    alone = adversarial._turn("generator", model, critics, batch_of([SAD]), 0.1)
    assert both["semantic"].count == 1
    torch.testing.assert_close(both["semantic"].sum, alone["semantic"].sum)
    torch.testing.assert_close(both["nll"].sum, 2 * alone["nll"].sum)


def test_turns_by_hand() -> None:
    """Two steps of the critics, then 1 to 2: C C | C G G C G, and over at 7 steps after the 10 of pre-training."""
    referee = Referee(GameConfig(critic_steps=2, game_steps=5, generator_turns=2))
    assert referee.turn(9) == "likelihood"
    assert not referee.over(9)
    referee.began = 10
    assert "".join(referee.turn(step)[0] for step in range(10, 17)) == "cccggcg"
    assert [referee.over(step) for step in (16, 17)] == [False, True]
    assert [referee.untouched(step) for step in (10, 13, 14)] == [True, True, False]
    again = Referee(referee.config)
    again.load_state_dict(referee.state_dict())
    assert again == referee


def few() -> list[Dialogue]:
    """Six dialogues of the starter corpus, also as validation."""
    longest = [talk for talk in starter_dialogues() if talk.emotion and len(talk.turns) > 3][:6]
    return [
        dataclasses.replace(talk, id=f"{talk.id}-{split}", split=split)
        for talk in longest
        for split in ("train", "valid")
    ]


@pytest.fixture
def corpus(home: Path) -> None:
    store.save("few", few(), title="Few", citation="", licence="", origin="tests")


def config(**training: Any) -> RunConfig:
    settings = {
        "schedule": "constant",
        "learning_rate": 0.005,
        "warmup": 5,
        "batch_size": 4,
        "max_steps": 8,
        "validate_every": 4,
        "critic_steps": 3,
        "game_steps": 9,
        "generator_turns": 2,
        "critic_width": 8,
        "game_rate": 0.002,
    } | training
    network = {"d_model": 16, "dropout": 0.1}
    text = {"source": "all"}
    return build_config({"model": "empdg", "corpus": "few", "network": network, "text": text, "training": settings})


class Follow:
    """Remembers each step's figures; Ctrl-C after one of them."""

    def __init__(self, stop: int | None = None) -> None:
        self.stop = stop
        self.steps: list[dict[str, float]] = []
        self.notes: list[str] = []

    def noted(self, line: str) -> None:
        self.notes.append(line)

    def stepped(self, progress: Progress, figures: Figures) -> None:
        self.steps.append(dict(figures))
        if progress.step == self.stop:
            signal.raise_signal(signal.SIGINT)

    def validated(self, progress: Progress, figures: Figures, samples: Sequence[Mapping[str, Any]]) -> None: ...


@pytest.mark.usefixtures("corpus")
def test_a_whole_game(tmp_path: Path) -> None:
    """Eight steps by likelihood, three of the critics, nine of the game; each says what it measures."""
    follow = Follow()
    metrics = train(config(), tmp_path / "run", watchers=[follow])
    told = [
        "".join(sorted({"semantic_critic": "c", "semantic": "g"}.get(name, "") for name in step))
        for step in follow.steps
    ]
    assert told == [""] * 8 + ["c"] * 3 + list("cgg" * 3)
    assert metrics["steps"] == 20
    assert metrics["best_step"] > 11, "the run's result is the game's"
    assert "the critics come in" in follow.notes[-1]
    log = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").open()]
    assert [line["step"] for line in log if "valid" in line] == [4, 8, 16, 20]
    assert follow.steps[7]["nll"] < follow.steps[0]["nll"], "pre-training learns"
    assert load_run(tmp_path / "run").config.training == config().training


@pytest.mark.slow
@pytest.mark.usefixtures("corpus")
def test_the_generator_learns_through_the_game(tmp_path: Path) -> None:
    """The likelihood goes on to fall while the critics are listened to."""
    follow = Follow()
    train(config(max_steps=40, critic_steps=10, game_steps=60, validate_every=50), tmp_path / "run", watchers=[follow])
    first, end, last = (
        sum(step["nll"] for step in part) / len(part)
        for part in (follow.steps[:10], follow.steps[30:40], follow.steps[-10:])
    )
    assert first > end + 0.5
    assert end > last + 0.1


@pytest.mark.slow
@pytest.mark.usefixtures("corpus")
def test_resuming_equals_an_uninterrupted_run(tmp_path: Path) -> None:
    """Ctrl-C in pre-training, before the kick-off, among the critics, in the game and before one of its validations."""
    train(config(), tmp_path / "whole")
    expected = read_checkpoint(tmp_path / "whole", config())
    assert expected["optimisers"]["game"] == {"began": 8}
    for step in (5, 8, 10, 15, 16):
        broken = tmp_path / str(step)
        with pytest.raises(KeyboardInterrupt):
            train(config(), broken, watchers=[Follow(step)])
        train(config(), broken, resume=True)
        found = read_checkpoint(broken, config())
        assert found["optimisers"]["game"] == expected["optimisers"]["game"]
        assert same(found["weights"], expected["weights"])
        assert same(found["optimisers"]["critics"], expected["optimisers"]["critics"])
        assert found["progress"] | {"seconds": 0} == expected["progress"] | {"seconds": 0}
        told = [
            [json.loads(line).get("valid") for line in (run / "log.jsonl").open()]
            for run in (tmp_path / "whole", broken)
        ]
        assert told[0] == told[1]


def same(mine: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> bool:
    """To the last bit."""
    return mine.keys() == theirs.keys() and all(torch.equal(tensor, mine[name]) for name, tensor in theirs.items())


@pytest.mark.usefixtures("corpus")
def test_no_game_is_the_likelihood_loop(tmp_path: Path) -> None:
    """The same steps as the loop of the other models, to the last bit."""
    bare = config(game_steps=0)
    train(bare, tmp_path / "game")
    loop.train(bare, tmp_path / "loop")
    mine, theirs = (read_checkpoint(tmp_path / name, bare)["weights"] for name in ("game", "loop"))
    assert same(mine, theirs)


@pytest.mark.usefixtures("corpus")
def test_a_loss_that_is_no_number_stops_the_game(tmp_path: Path) -> None:
    wild = config(critic_rate=1e30, checkpoint_every=1)
    with pytest.raises(
        HarkenError, match=r"'(semantic|emotional)\w*' is not a number at step \d+.*last good checkpoint"
    ):
        train(wild, tmp_path / "run")
    kept = read_checkpoint(tmp_path / "run", wild)["weights"]
    assert all(bool(torch.isfinite(weight).all()) for weight in kept.values())


def test_the_log_averages_each_players_own_steps(tmp_path: Path) -> None:
    """Scores 4 and 8 of two steps in fifty have the mean 6."""
    log = Log(tmp_path / "log.jsonl")
    for step in range(1, 51):
        log.stepped(Progress(step=step), {"nll": 2.0} | ({"semantic": 4.0 * step} if step < 3 else {}))
    line = json.loads(log.path.read_text())
    assert (line["nll"], line["semantic"]) == (2.0, 6.0)


def test_specials_are_no_emotion_words() -> None:
    assert not generator().lexicon[: len(SPECIALS)].any()
