"""What a corpus is like: counts per split, the distribution of emotions, and the words of each emotion.

The last two are Figure 3 of EmpatheticDialogues (Rashkin et al. 2019): for each emotion its share of the dialogues
and the content words its speakers and its listeners use most. Counting alone favours words that are frequent
everywhere, so `by="contrast"` ranks by how far a word's odds in this emotion exceed those in the others: the log-odds
ratio with an informative Dirichlet prior, divided by its standard deviation (Monroe, Colaresi and Quinn 2008).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from harken.corpora.words import content_words, count_tokens
from harken.dialogue import ROLES, SPLITS, Dialogue, Role

Ranking = Literal["use", "contrast"]
_PRIOR = 1_000.0
"""Weight of the prior, in words: with less, words seen once or twice come first."""


@dataclass(frozen=True, kw_only=True)
class SplitStats:
    """One split, counted. Tokens are words and punctuation marks."""

    dialogues: int
    turns: int
    listener_turns: int
    tokens_per_turn: float


@dataclass(frozen=True, kw_only=True)
class EmotionStats:
    """One emotion: its share of the dialogues that have one, and the words of either side."""

    share: float
    dialogues: int
    speaker: list[str]
    listener: list[str]


@dataclass(frozen=True, kw_only=True)
class Stats:
    """A corpus, counted; emotions from the most to the least frequent."""

    splits: dict[str, SplitStats]
    emotions: dict[str, EmotionStats]

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return asdict(self)


def corpus_stats(dialogues: Iterable[Dialogue], *, top: int = 3, by: Ranking = "use") -> Stats:
    """Counts, emotions and the `top` words of either side for each emotion."""
    counts = {split: Counter[str]() for split in SPLITS}
    felt: Counter[str] = Counter()
    words: dict[Role, dict[str, Counter[str]]] = {role: defaultdict(Counter) for role in ROLES}
    for dialogue in dialogues:
        count = counts[dialogue.split]
        count["dialogues"] += 1
        if dialogue.emotion is not None:
            felt[dialogue.emotion] += 1
        for turn in dialogue.turns:
            count["turns"] += 1
            count["listener_turns"] += turn.role == "listener"
            count["tokens"] += count_tokens(turn.text)
            if dialogue.emotion is not None:
                words[turn.role][dialogue.emotion].update(content_words(turn.text))
    ranked = {role: _ranked(words[role], top, by) for role in ROLES}
    return Stats(
        splits={split: _split(count) for split, count in counts.items() if count},
        emotions={
            emotion: EmotionStats(
                share=round(n / felt.total(), 4),
                dialogues=n,
                speaker=ranked["speaker"].get(emotion, []),
                listener=ranked["listener"].get(emotion, []),
            )
            for emotion, n in sorted(felt.items(), key=lambda item: (-item[1], item[0]))
        },
    )


def _split(count: Mapping[str, int]) -> SplitStats:
    return SplitStats(
        dialogues=count["dialogues"],
        turns=count["turns"],
        listener_turns=count["listener_turns"],
        tokens_per_turn=round(count["tokens"] / count["turns"], 2),
    )


def _ranked(words: Mapping[str, Counter[str]], top: int, by: Ranking) -> dict[str, list[str]]:
    """The `top` words of each emotion; ties go by the alphabet, so that a figure can be made again."""
    everywhere: Counter[str] = Counter()
    for counter in words.values():
        everywhere.update(counter)
    return {
        emotion: sorted(scores, key=lambda word: (-scores[word], word))[:top]
        for emotion, counter in words.items()
        for scores in [counter if by == "use" else contrast(counter, everywhere)]
    }


def contrast(here: Mapping[str, int], everywhere: Mapping[str, int]) -> dict[str, float]:
    """How far each word's log-odds `here` exceed those in the rest, in standard deviations."""
    n_here, n_all = sum(here.values()), sum(everywhere.values())
    scores = {}
    for word, count in here.items():
        prior = _PRIOR * everywhere[word] / n_all
        rest, n_rest = everywhere[word] - count, n_all - n_here
        odds_here = math.log((count + prior) / (n_here + _PRIOR - count - prior))
        odds_rest = math.log((rest + prior) / (n_rest + _PRIOR - rest - prior))
        scores[word] = (odds_here - odds_rest) / math.sqrt(1 / (count + prior) + 1 / (rest + prior))
    return scores
