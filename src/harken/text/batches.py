"""Examples as padded tensors, in batches of like length, in an order that can be resumed.

A context is one sequence `[CLS] turn turn …` with a role id per token. The order of an epoch is a function of seed and
epoch alone, so a run that stops resumes by counting, and two processes that share a batch take every second row of it.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from harken.dialogue import Dialogue, Example, Turn, examples
from harken.labels import EMOTIONS
from harken.text.prepend import Labelled, words_of
from harken.text.vocabulary import CLS, EOS, PAD, ROLE_IDS, TextConfig, Vocabulary

NO_EMOTION = -1
POOL = 50
"""Batches whose examples are sorted together: enough to waste little on padding, few enough to stay random."""
_EMOTION_INDEX = {name: index for index, name in enumerate(EMOTIONS)}


@dataclass(frozen=True, slots=True)
class Encoded:
    """One example as numbers."""

    context: list[int]
    roles: list[int]
    target: list[int]
    feedback: list[int]
    emotion: int


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

    def __len__(self) -> int:
        return self.context.shape[0]

    def to(self, device: torch.device) -> Batch:
        """The same batch on another device."""
        return Batch(**{field.name: getattr(self, field.name).to(device) for field in fields(self)})


def encode_context(
    turns: Sequence[Turn], vocabulary: Vocabulary, limit: int, labels: Sequence[str] = ()
) -> tuple[list[int], list[int]]:
    """Token and role ids of `[CLS] label … turn turn …`; over `limit` tokens it loses its oldest words, nothing else."""
    front = [CLS, *(token for label in labels for token in vocabulary.encode(words_of(label)))]
    tokens: list[int] = []
    roles: list[int] = []
    for turn in reversed(turns):  # newest first, so that what is cut away is never read
        ids = vocabulary.encode(turn.text)
        tokens[:0] = ids
        roles[:0] = [ROLE_IDS[turn.role]] * len(ids)
        if len(tokens) >= limit:
            break
    keep = max(0, len(tokens) - max(0, limit - len(front)))
    speaker = ROLE_IDS["speaker"]
    return [*front, *tokens[keep:]], [CLS, *[speaker] * (len(front) - 1), *roles[keep:]]


def encode_example(example: Example, vocabulary: Vocabulary, config: TextConfig) -> Encoded:
    """An example as numbers, each part cut to the config's lengths."""
    context, roles = encode_context(example.context, vocabulary, config.max_context, example.labels)
    target = vocabulary.encode(example.response.text)[: config.max_response - 1]
    following = next_speaker_turn(example)
    feedback = vocabulary.encode(following.text)[: config.max_response] if following else []
    emotion = NO_EMOTION if example.emotion is None else _EMOTION_INDEX[example.emotion]
    return Encoded(context, roles, [*target, EOS], feedback, emotion)


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
    return Batch(
        context=context,
        roles=_padded([row.roles for row in rows])[0],
        pad=pad,
        target=target,
        target_pad=target_pad,
        emotion=torch.tensor([row.emotion for row in rows]),
        feedback=feedback,
        feedback_pad=feedback_pad,
    )


def _padded(sequences: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    longest = max(1, *map(len, sequences)) if sequences else 1
    ids = torch.full((len(sequences), longest), PAD, dtype=torch.long)
    pad = torch.ones((len(sequences), longest), dtype=torch.bool)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = torch.tensor(sequence, dtype=torch.long)
        pad[row, : len(sequence)] = False
    return ids, pad


def epoch_order(rows: Sequence[Encoded], batch_size: int, *, seed: int, epoch: int) -> list[list[int]]:
    """The batches of an epoch as row numbers, rows of like length together."""
    return order_by_length([_length(row) for row in rows], batch_size, seed=seed, epoch=epoch)


def order_by_length(lengths: Sequence[Any], batch_size: int, *, seed: int, epoch: int) -> list[list[int]]:
    """The batches of an epoch as row numbers: shuffled, sorted by length within pools, the batches shuffled again."""
    shuffle = random.Random(f"{seed}:{epoch}")
    order = list(range(len(lengths)))
    shuffle.shuffle(order)
    batches: list[list[int]] = []
    for start in range(0, len(order), batch_size * POOL):
        pool = sorted(order[start : start + batch_size * POOL], key=lengths.__getitem__)
        batches += [pool[at : at + batch_size] for at in range(0, len(pool), batch_size)]
    shuffle.shuffle(batches)
    return batches


def in_order_of_length(rows: Sequence[Encoded], batch_size: int) -> Iterator[tuple[list[int], Batch]]:
    """Row numbers and batch, shortest first: for scoring and replying, where the order does not matter."""
    order = sorted(range(len(rows)), key=lambda i: _length(rows[i]))
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        yield chosen, collate([rows[i] for i in chosen])


def _length(row: Encoded) -> tuple[int, int]:
    return len(row.context), len(row.target)
