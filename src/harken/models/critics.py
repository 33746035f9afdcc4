"""EmpDG's two critics (Li et al., COLING 2020), trained as Wasserstein-1 critics (Gulrajani et al. 2017).

A critic hears a response within its conversation, what was said before and what the user said next, and gives one
score: high for what a person wrote. The semantic critic reads the whole context, the emotional one its emotion words.

    symbol          here               shape
    x               a gold response    (B, T, D)   vectors of its words
    x~              a generated one    (B, T, D)   soft tokens, so that a score has a gradient in the generator
    D(x | C, U)     Critic             (B,)        U, the next user turn, is the feedback
    W               distance()         (B,)        D(x) - D(x~), what the critic makes large
    x^              between()          (B, T, D)   a point between both
    R               penalty()          (B,)        (|gradient of D at x^| - 1)²

The critics read the words by the generator's own vectors, brought to a common length, and leave these as they are: so they need
no table of their own, and the generator cannot please them by moving its own. A critic that reads distances of L is at
rest with a slope of 1 + L / 2λ; the authors' penalty of λ = 0.1 is a light one, and only short vectors keep the slope small.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from harken.models.empdg import Empdg
from harken.models.losses import Term
from harken.text.batches import Batch


class Heard(NamedTuple):
    """A padded text in vectors; whatever stands on padding is not heard."""

    vectors: Tensor  # (B, T, D)
    pad: Tensor  # (B, T)


class Conversation(NamedTuple):
    """What the critics hear of those examples of a batch that have feedback."""

    gold: Heard
    context: Heard
    emotional: Heard
    """[CLS] and the emotion words of the context."""
    feedback: Heard


def with_feedback(batch: Batch) -> Tensor:
    """Which examples the user answered, (B,)."""
    return ~batch.feedback_pad.all(1)


@torch.no_grad()
def listen(generator: Empdg, batch: Batch) -> Conversation:
    """The conversations of the examples with feedback."""
    there = with_feedback(batch)
    places, pad = generator.emotional(batch)
    texts = (
        (batch.target, batch.target_pad),
        (batch.context, batch.pad),
        (batch.context.gather(1, places), pad),
        (batch.feedback, batch.feedback_pad),
    )
    return Conversation(*(Heard(generator.heard(ids[there]), mask[there]) for ids, mask in texts))


def distance(gold: Tensor, soft: Tensor) -> Tensor:
    """How far the critic tells the two apart, (B,), (B,) -> (B,)."""
    return gold - soft  # W = D(x) - D(x~)


def between(gold: Tensor, soft: Tensor, share: Tensor) -> Tensor:
    """A point on the line between two responses, (B, T, D), (B, T, D), (B,) -> (B, T, D)."""
    u = share[:, None, None]
    return u * gold + (1 - u) * soft  # x^ = u x + (1 - u) x~


def penalty(score: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
    """How far the slope of `score` is from one, row by row, (B, T, D) -> (B,)."""
    at = at.detach().requires_grad_()
    with torch.backends.cudnn.flags(enabled=False):  # its recurrent layers have no second derivative
        [slope] = torch.autograd.grad(score(at).sum(), at, create_graph=True)
    norm: Tensor = slope.flatten(1).norm(dim=1)
    return (norm - 1) ** 2  # R


class Critic(nn.Module):
    """A recurrent reading of each part, the response also by its bigrams, and one score of them all."""

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__()
        self.response = nn.GRU(d_model, width, batch_first=True)
        self.context = nn.GRU(d_model, width, batch_first=True)
        self.feedback = nn.GRU(d_model, width, batch_first=True)
        self.bigrams = nn.Linear(2 * d_model, width)
        self.joined = nn.Linear(4 * width, width)
        self.score = nn.Linear(width, 1)

    def around(self, context: Heard, feedback: Heard) -> Tensor:
        """What surrounds the response, read once for all that is judged in it, -> (B, 2W)."""
        return torch.cat([last_state(self.context, context), last_state(self.feedback, feedback)], dim=-1)

    def forward(self, response: Heard, around: Tensor) -> Tensor:
        """D: the score of each response, (B, T, D), (B, 2W) -> (B,)."""
        pairs = self.bigrams(bigrams(response)).masked_fill(response.pad.unsqueeze(-1), -torch.inf)
        parts = [last_state(self.response, response), F.leaky_relu(pairs.amax(1), 0.2), around]
        score: Tensor = self.score(F.leaky_relu(self.joined(torch.cat(parts, dim=-1)), 0.2)).squeeze(-1)
        return score


def last_state(gru: nn.GRU, text: Heard) -> Tensor:
    """The state after the last word that is no padding, (B, T, D) -> (B, W)."""
    states, _ = gru(text.vectors)  # padding stands behind the words, so no state of a word hears it
    last = (~text.pad).sum(1) - 1
    return cast(Tensor, states[torch.arange(len(last), device=last.device), last])


def bigrams(text: Heard) -> Tensor:
    """Each word beside the next, zero beside the last, (B, T, D) -> (B, T, 2D)."""
    vectors = text.vectors.masked_fill(text.pad.unsqueeze(-1), 0.0)
    return torch.cat([vectors, F.pad(vectors[:, 1:], (0, 0, 0, 1))], dim=-1)


class Critics(nn.Module):
    """The semantic and the emotional critic."""

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__()
        self.semantic = Critic(d_model, width)
        self.emotional = Critic(d_model, width)

    def around(self, conversation: Conversation) -> dict[str, tuple[Critic, Tensor]]:
        """Each critic by its name with what it heard around the response."""
        return {
            "semantic": (self.semantic, self.semantic.around(conversation.context, conversation.feedback)),
            "emotional": (self.emotional, self.emotional.around(conversation.emotional, conversation.feedback)),
        }

    def losses(self, conversation: Conversation, soft: Tensor, weight: float) -> dict[str, Term]:
        """What each critic minimises, -W + weight · R, and its W to look at; `soft` is (B, T, D)."""
        gold, pad = conversation.gold
        soft = soft.detach()
        place = between(gold, soft, torch.rand(len(gold), device=gold.device))
        terms = {}
        for name, (critic, around) in self.around(conversation).items():
            both = critic(Heard(torch.cat([gold, soft]), pad.repeat(2, 1)), around.repeat(2, 1))
            apart = distance(*both.chunk(2))
            slope = penalty(lambda x, c=critic, a=around: c(Heard(x, pad), a), place)  # type: ignore[misc]
            terms[f"{name}_critic"] = _over(-apart + weight * slope)
            terms[f"{name}_distance"] = _over(apart.detach())
        return terms

    def verdicts(self, conversation: Conversation, soft: Tensor) -> dict[str, Term]:
        """What the generator minimises, -D(x~) of each critic; `soft` is (B, T, D)."""
        heard = Heard(soft, conversation.gold.pad)
        return {name: _over(-critic(heard, around)) for name, (critic, around) in self.around(conversation).items()}


def _over(each: Tensor) -> Term:
    return Term(each.sum(), torch.tensor(len(each), device=each.device))
