"""Contexts with their responses from any mix of corpora, and the negatives LEMPEx draws for them."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from harken.corpora.library import iterate
from harken.dialogue import Dialogue, examples
from harken.errors import HarkenError


@dataclass(frozen=True, slots=True)
class Pair:
    """What was said and what the listener answered."""

    id: str
    context: tuple[str, ...]
    response: str
    dialogue: str
    """Unique over corpora: the source stands before the dialogue's id."""
    emotion: str | None


def pairs_of(dialogue: Dialogue, history: int | None) -> list[Pair]:
    """The pairs of one dialogue, empty turns left out of contexts and responses."""
    key = f"{dialogue.source}/{dialogue.id}"
    found = []
    for example in examples(dialogue, history):
        context = tuple(turn.text for turn in example.context if turn.text.strip())
        if context and example.response.text.strip():
            found.append(Pair(example.id, context, example.response.text, key, example.emotion))
    return found


def read_pairs(corpora: Sequence[str], split: str, history: int | None) -> list[Pair]:
    """The pairs of a split of all the corpora, in their order."""
    return [pair for name in corpora for dialogue in iterate(name, split) for pair in pairs_of(dialogue, history)]


class Negatives:
    """LEMPEx Algorithm 2: for a dialogue d of emotion e, one response of emotion e and one of another, neither from d."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = pairs
        self.by_emotion: dict[str | None, list[int]] = defaultdict(list)
        for number, pair in enumerate(pairs):
            self.by_emotion[pair.emotion].append(number)
        self._check()

    def _check(self) -> None:
        """Both kinds of negatives must exist for everyone, or a draw would not end."""
        if len(self.by_emotion) < 2:
            raise HarkenError(
                "negatives of another emotion need a corpus with at least two emotions; "
                "choose a labelled corpus, or set training.negatives to batch"
            )
        for emotion, numbers in self.by_emotion.items():
            if len({self.pairs[i].dialogue for i in numbers}) < 2:
                raise HarkenError(
                    f"only one dialogue has the emotion '{emotion}', so it has no same-emotion negative; "
                    "add dialogues, or set training.negatives to batch"
                )

    def draw(self, number: int, chance: random.Random) -> tuple[str, str]:
        """r1- from D1 (same emotion) and r2- from D2 (another); drawn again until it lies in the set, which is large."""
        pair, near = self.pairs[number], self.by_emotion[self.pairs[number].emotion]
        same = self.pairs[chance.choice(near)]
        while same.dialogue == pair.dialogue:
            same = self.pairs[chance.choice(near)]
        other = chance.choice(self.pairs)
        while other.emotion == pair.emotion:
            other = chance.choice(self.pairs)
        return same.response, other.response
