"""Replies of a run for many contexts: sample replies while training, reply files after it.

A reply file has one JSON object a line: `id`, `context`, `response`, `reply`, `emotion`, `predicted_emotion`, `run`. It
appears when it is whole; until then `FILE.part` holds what is finished, and an interrupted job goes on from there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch

from harken.decoding.search import DecodingConfig, decode_state
from harken.dialogue import Example
from harken.files import write_json_lines
from harken.labels import EMOTIONS
from harken.models.contract import Generator
from harken.text.batches import Encoded, collate, encode_example
from harken.text.vocabulary import TextConfig, Vocabulary
from harken.training.likelihoods import examples_of
from harken.training.run import Run

BATCH = 64
T = TypeVar("T", bound="Named")


def replies(
    generator: Generator,
    vocabulary: Vocabulary,
    text: TextConfig,
    examples: Sequence[Example],
    config: DecodingConfig,
    *,
    oracle: bool = False,
) -> Iterator[dict[str, Any]]:
    """A line of a reply file for each example, batch by batch; like lengths share a batch, so the order changes."""
    generator.eval()
    rows = [encode_example(example, vocabulary, text) for example in examples]
    order = sorted(range(len(rows)), key=lambda i: len(rows[i].context))
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        answered = answer(generator, vocabulary, [rows[i] for i in chosen], config, oracle=oracle)
        for i, (texts, emotion) in zip(chosen, answered, strict=True):
            example = examples[i]
            yield {
                "id": example.id,
                "context": [turn.text for turn in example.context],
                "response": example.response.text,
                "reply": texts[0],
                "emotion": example.emotion,
                "predicted_emotion": emotion,
            }


def answer(
    generator: Generator,
    vocabulary: Vocabulary,
    rows: Sequence[Encoded],
    config: DecodingConfig,
    *,
    oracle: bool = False,
) -> list[tuple[list[str], str | None]]:
    """For each row its replies, best first, and the emotion the generator reads in it."""
    batch = collate(rows).to(generator.output.weight.device)
    with torch.inference_mode():
        state = generator.encode(batch, oracle=oracle)
        logits = state.emotion_logits
        found = decode_state(generator, state, batch, config)
    emotions = [None] * len(rows) if logits is None else [EMOTIONS[i] for i in logits.argmax(1).tolist()]
    return [
        ([vocabulary.decode(hypothesis.tokens) for hypothesis in hypotheses], emotion)
        for hypotheses, emotion in zip(found, emotions, strict=True)
    ]


def sample_replies(
    generator: Generator, vocabulary: Vocabulary, text: TextConfig, examples: Sequence[Example]
) -> list[dict[str, Any]]:
    """Greedy replies to a few examples, for the eyes of whoever watches a training run."""
    keys = ("context", "response", "reply", "emotion", "predicted_emotion")
    found = {line["id"]: line for line in replies(generator, vocabulary, text, examples, DecodingConfig())}
    return [{key: found[example.id][key] for key in keys} for example in examples]


def write_replies(
    run: Run,
    split: str,
    out: Path,
    *,
    config: DecodingConfig,
    corpus: str | None = None,
    limit: int | None = None,
    oracle: bool = False,
    started: Callable[[int], Callable[[int], None]] | None = None,
) -> int:
    """Answer every listener turn of a split into a reply file, in the corpus's order; the number of lines comes back.

    `started` hears how many replies there are to make and gives back a function that hears the progress.
    """
    chosen = examples_of(run, split, corpus, limit)
    head = {"run": run.name, "split": split, "oracle": oracle, "limit": limit, "decoding": asdict(config)}

    def made(left: Sequence[Example]) -> Iterator[dict[str, Any]]:
        for line in replies(run.generator, run.vocabulary, run.config.text, left, config, oracle=oracle):
            yield line | {"run": run.name}

    return write_resumable(out, head, chosen, made, started)


class Named(Protocol):
    """Whatever a line of a reply file answers."""

    @property
    def id(self) -> str:
        """Unique in the file."""


def write_resumable(
    out: Path,
    head: dict[str, Any],
    chosen: Sequence[T],
    made: Callable[[Sequence[T]], Iterator[dict[str, Any]]],
    started: Callable[[int], Callable[[int], None]] | None = None,
) -> int:
    """Write a line for each of `chosen`, in their order; `made` makes those an earlier job with the same `head` left out."""
    partial = out.with_name(out.name + ".part")
    done = _taken_up(partial, head)
    left = [one for one in chosen if one.id not in done]
    advance = started(len(left)) if started else None
    write_json_lines(partial, [head, *done.values()])
    with partial.open("a", encoding="utf-8") as stream:
        for line in made(left):
            done[line["id"]] = line
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            stream.flush()
            if advance:
                advance(1)
    count = write_json_lines(out, (done[one.id] for one in chosen))
    partial.unlink()
    return count


def _taken_up(partial: Path, head: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The finished lines of an interrupted job with the same head; a line cut short by a crash is dropped."""
    try:
        lines = partial.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    if not lines or lines[0] != json.dumps(head):
        return {}
    done: dict[str, dict[str, Any]] = {}
    for line in lines[1:]:
        try:
            record = json.loads(line)
        except ValueError:
            break
        done[record["id"]] = record
    return done
