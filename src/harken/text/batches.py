"""Examples as padded tensors, in batches of like length, in an order that can be resumed.

A context is one sequence `[CLS] turn turn …` with a role id per token. The order of an epoch is a function of seed and
epoch alone, so a run that stops resumes by counting, and two processes that share a batch take every second row of it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Tensor

from harken.dialogue import Dialogue, Example, Levels, Turn, examples
from harken.labels import EMOTIONS, LABELS
from harken.text.prepend import Labelled, words_of
from harken.text.vocabulary import CLS, EOS, PAD, ROLE_IDS, SYS, TextConfig, Vocabulary

NO_EMOTION = -1
NO_LABEL = -1
NO_LEVEL = -1
POOL = 50
"""Batches whose examples are sorted together: enough to waste little on padding, few enough to stay random."""
_EMOTION_INDEX = {name: index for index, name in enumerate(EMOTIONS)}
_LABEL_INDEX = {label.name: label.index for label in LABELS}


@dataclass(frozen=True, slots=True)
class Encoded:
    """One example as numbers."""

    context: list[int]
    roles: list[int]
    target: list[int]
    feedback: list[int] = field(default_factory=list)
    emotion: int = NO_EMOTION
    labels: list[int] = field(default_factory=list)
    """Of each context token's turn; none where no turn has one."""
    label: int = NO_LABEL
    asked: int = NO_LABEL
    answerer: int = SYS
    exemplars: list[list[int]] = field(default_factory=list)
    relevance: list[float] = field(default_factory=list)
    levels: Levels | None = None


@dataclass(frozen=True)
class Batch:
    """Padded tensors; every pad mask is True on padding."""

    context: Tensor  # (B, S) [CLS] turn turn …
    roles: Tensor  # (B, S) USR, SYS or CLS: rows of the word table
    pad: Tensor  # (B, S)
    target: Tensor  # (B, T) the response, then EOS
    target_pad: Tensor  # (B, T)
    emotion: Tensor  # (B,) index into labels.EMOTIONS; NO_EMOTION where the corpus has none
    feedback: Tensor  # (B, F) the speaker's next turn; all padding where there is none
    feedback_pad: Tensor  # (B, F)
    labels: Tensor  # (B, S) index into labels.LABELS of each token's turn; NO_LABEL where unknown
    label: Tensor  # (B,) the gold response's; NO_LABEL where unknown
    asked: Tensor  # (B,) what the reply shall be, where someone asked for it; else NO_LABEL
    answerer: Tensor  # (B,) USR or SYS: the role of the response
    exemplars: Tensor  # (B, Q, L) responses to like contexts
    exemplar_pad: Tensor  # (B, Q, L)
    relevance: Tensor  # (B, Q) of each exemplar, 0 where there is none
    levels: Tensor  # (B, 3) emotional presence, interpretation, exploration of the response; NO_LEVEL where unknown
    sentiment: Tensor  # (B,) of the response, -1..1; not a number where unknown

    def __len__(self) -> int:
        return self.context.shape[0]

    def to(self, device: torch.device) -> Batch:
        """The same batch on another device."""
        return Batch(**{field.name: getattr(self, field.name).to(device) for field in fields(self)})


def encode_context(
    turns: Sequence[Turn], vocabulary: Vocabulary, limit: int, labels: Sequence[str] = ()
) -> tuple[list[int], list[int], list[int]]:
    """Token, role and label ids of `[CLS] label … turn turn …`; over `limit` tokens it loses its oldest words only."""
    front = [CLS, *(token for label in labels for token in vocabulary.encode(words_of(label)))]
    tokens: list[int] = []
    roles: list[int] = []
    felt: list[int] = []
    for turn in reversed(turns):  # newest first, so that what is cut away is never read
        ids = vocabulary.encode(turn.text)
        tokens[:0] = ids
        roles[:0] = [ROLE_IDS[turn.role]] * len(ids)
        felt[:0] = [_label_index(turn)] * len(ids)
        if len(tokens) >= limit:
            break
    keep = max(0, len(tokens) - max(0, limit - len(front)))
    before = len(front) - 1
    return (
        [*front, *tokens[keep:]],
        [CLS, *[ROLE_IDS["speaker"]] * before, *roles[keep:]],
        [NO_LABEL, *[NO_LABEL] * before, *felt[keep:]],
    )


def _label_index(turn: Turn) -> int:
    return NO_LABEL if turn.label is None else _LABEL_INDEX[turn.label]


def encode_example(example: Example, vocabulary: Vocabulary, config: TextConfig) -> Encoded:
    """An example as numbers, each part cut to the config's lengths."""
    context, roles, labels = encode_context(example.context, vocabulary, config.max_context, example.labels)
    target = vocabulary.encode(example.response.text)[: config.max_response - 1]
    following = next_speaker_turn(example)
    return Encoded(
        context=context,
        roles=roles,
        target=[*target, EOS],
        feedback=vocabulary.encode(following.text)[: config.max_response] if following else [],
        emotion=NO_EMOTION if example.emotion is None else _EMOTION_INDEX[example.emotion],
        labels=labels,
        label=_label_index(example.response),
        answerer=ROLE_IDS[example.response.role],
        exemplars=[vocabulary.encode(text)[: config.max_response] for text, _ in example.exemplars],
        relevance=[score for _, score in example.exemplars],
        levels=example.levels,
    )


def next_speaker_turn(example: Example) -> Turn | None:
    """What the speaker said right after the response, where the dialogue goes on so."""
    after = int(example.id.rpartition(":")[2]) + 1
    turns = example.dialogue.turns
    return turns[after] if after < len(turns) and turns[after].role == "speaker" else None


def encode_dialogues(
    dialogues: Iterable[Dialogue],
    vocabulary: Vocabulary,
    config: TextConfig,
    roles: Collection[str] = ("listener",),
    labelled: Labelled | None = None,
) -> list[Encoded]:
    """Every listener turn of `dialogues`, or every turn of those `roles`, as numbers."""
    return [
        encode_example(labelled(example) if labelled else example, vocabulary, config)
        for dialogue in dialogues
        for example in examples(dialogue, config.history, roles)
    ]


def collate(rows: Sequence[Encoded]) -> Batch:
    """Rows padded to a batch."""
    context, pad = _padded([row.context for row in rows])
    target, target_pad = _padded([row.target for row in rows])
    feedback, feedback_pad = _padded([row.feedback for row in rows])
    most = max(1, *(len(row.exemplars) for row in rows)) if rows else 1
    slots = [row.exemplars[i] if i < len(row.exemplars) else [] for row in rows for i in range(most)]
    exemplars, exemplar_pad = _padded(slots)
    levels = [row.levels for row in rows]
    unknown = [NO_LEVEL] * 3
    return Batch(
        context=context,
        roles=_padded([row.roles for row in rows])[0],
        pad=pad,
        target=target,
        target_pad=target_pad,
        emotion=torch.tensor([row.emotion for row in rows]),
        feedback=feedback,
        feedback_pad=feedback_pad,
        labels=_padded([row.labels for row in rows], NO_LABEL, context.shape[1])[0],
        label=torch.tensor([row.label for row in rows]),
        asked=torch.tensor([row.asked for row in rows]),
        answerer=torch.tensor([row.answerer for row in rows]),
        exemplars=exemplars.view(len(rows), most, -1),
        exemplar_pad=exemplar_pad.view(len(rows), most, -1),
        relevance=torch.tensor([[*row.relevance, *[0.0] * (most - len(row.relevance))] for row in rows]),
        levels=torch.tensor([[x.emotional, x.interpretation, x.exploration] if x else unknown for x in levels]),
        sentiment=torch.tensor([x.sentiment if x else math.nan for x in levels]),
    )


def _padded(sequences: Sequence[Sequence[int]], filling: int = PAD, least: int = 1) -> tuple[Tensor, Tensor]:
    longest = max(least, *map(len, sequences)) if sequences else least
    ids = torch.full((len(sequences), longest), filling, dtype=torch.long)
    pad = torch.ones((len(sequences), longest), dtype=torch.bool)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = torch.tensor(sequence, dtype=torch.long)
        pad[row, : len(sequence)] = False
    return ids, pad


def epoch_order(rows: Sequence[Encoded], batch_size: int, *, seed: int, epoch: int) -> list[list[int]]:
    """The batches of an epoch as row numbers, rows of like length together.

    Two lengths need larger pools than one: the decoder's work goes with the longest target of a batch.
    """
    return order_by_length([_length(row) for row in rows], batch_size, seed=seed, epoch=epoch, pool=4 * POOL)


def order_by_length(
    lengths: Sequence[Any], batch_size: int, *, seed: int, epoch: int, pool: int = POOL
) -> list[list[int]]:
    """The batches of an epoch as row numbers: shuffled, sorted by length within pools, the batches shuffled again."""
    shuffle = random.Random(f"{seed}:{epoch}")
    order = list(range(len(lengths)))
    shuffle.shuffle(order)
    batches: list[list[int]] = []
    for start in range(0, len(order), batch_size * pool):
        alike = sorted(order[start : start + batch_size * pool], key=lengths.__getitem__)
        batches += [alike[at : at + batch_size] for at in range(0, len(alike), batch_size)]
    shuffle.shuffle(batches)
    return batches


def in_order_of_length(rows: Sequence[Encoded], batch_size: int) -> Iterator[tuple[list[int], Batch]]:
    """Row numbers and batch, short ones first: for scoring and replying, where the order does not matter."""
    order = sorted(range(len(rows)), key=lambda i: _length(rows[i]))
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        yield chosen, collate([rows[i] for i in chosen])


def _length(row: Encoded) -> tuple[int, int, int]:
    """Rows side by side in this order have contexts of about one length and targets of nearly one."""
    return math.isqrt(len(row.context)), len(row.target), len(row.context)
