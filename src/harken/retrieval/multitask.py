"""Multitask (Rashkin et al. 2019, appendix D.2): the context encoder also tells the emotion of its dialogue.

    symbol     here                                                  shape
    h          the context's vector before it is scaled to length 1  (B, D)
    W h + b    `Ranker.added.emotions`, one linear layer             (B, E)
    L          `joint_loss`                                          ()

Contexts of dialogues without a known emotion take part in the ranking alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from harken.errors import HarkenError
from harken.labels import EMOTIONS
from harken.models.losses import emotion_hits
from harken.retrieval.pairs import Pair
from harken.text.batches import NO_EMOTION
from harken.text.encoder import Vectors

_NUMBERS = {name: number for number, name in enumerate(EMOTIONS)}


def joint_loss(ranking: Tensor, emotion: Tensor, weight: float) -> Tensor:
    """The ranking's mean loss and, weighted, the emotions' mean cross-entropy, (), () -> ()."""
    return ranking + weight * emotion  # L = L_ranking + w · L_emotion


def emotion_numbers(names: Iterable[str | None]) -> Tensor:
    """Class numbers of the 32; NO_EMOTION where there is none, (B,)."""
    return torch.tensor([NO_EMOTION if name is None else _NUMBERS[name] for name in names])


def likeliest(logits: Vectors) -> list[str]:
    """The emotion each row speaks for, (N, E) -> N names."""
    return [EMOTIONS[number] for number in np.argmax(logits, axis=1)]


def emotion_figures(logits: Vectors, names: Sequence[str | None]) -> dict[str, float]:
    """How often the gold emotion is among the 1, 2 and 5 likeliest, of the contexts that have one; nothing if none has.

    The names and the unit (a share of 1) are those of the generators' `metrics.json`.
    """
    gold = emotion_numbers(names)
    if bool((gold == NO_EMOTION).all()):
        return {}
    rows = torch.from_numpy(np.ascontiguousarray(logits))
    shares = {f"emotion_top{k}": emotion_hits(rows, gold, k).mean.item() for k in (1, 2, 5)}
    return {"responses": len(names), **shares}


def check_emotions(pairs: Sequence[Pair], corpora: Sequence[str]) -> None:
    """Refuse to learn emotions where there are none."""
    if all(pair.emotion is None for pair in pairs):
        raise HarkenError(
            f"{', '.join(corpora)}: no dialogue of the train split has an emotion, and network.multitask learns them; "
            "choose a corpus with emotions, or set network.multitask=null"
        )
