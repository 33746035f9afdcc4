"""Replies of a run for many contexts: sample replies while training, reply files after it.

A reply file has one JSON object a line: `id`, `context`, `response`, `reply`, `emotion`, `predicted_emotion`, `run`. Where
the model chooses among the 41 labels, also `label` (the response's), `predicted_label` (the model's choice) and `intent`,
the label the reply is written in: the choice, unless another was asked for. A file appears when it is whole; until then
`FILE.part` holds what is finished, and an interrupted job goes on from there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch

from harken.decoding.search import DecodingConfig, decode_state
from harken.dialogue import Example
from harken.errors import HarkenError
from harken.files import write_json_lines
from harken.labels import EMOTIONS, LABELS, label
from harken.models.contract import Generator
from harken.text.batches import NO_LABEL, Encoded, collate, encode_example
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
    intent: str | None = None,
) -> Iterator[dict[str, Any]]:
    """A line of a reply file for each example, batch by batch; like lengths share a batch, so the order changes.

    With `intent` every reply is asked to be that.
    """
    generator.eval()
    asked = asked_label(generator, intent)
    rows = [replace(encode_example(example, vocabulary, text), asked=asked) for example in examples]
    order = sorted(range(len(rows)), key=lambda i: len(rows[i].context))
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        answered = answer(generator, vocabulary, [rows[i] for i in chosen], config, oracle=oracle)
        for i, one in zip(chosen, answered, strict=True):
            example = examples[i]
            line = {
                "id": example.id,
                "context": [turn.text for turn in example.context],
                "response": example.response.text,
                "reply": one.texts[0],
                "emotion": example.emotion,
                "predicted_emotion": one.emotion,
            }
            labels = {"label": example.response.label, "predicted_label": one.predicted_label, "intent": one.intent}
            yield line if one.intent is None else line | labels


def asked_label(generator: Generator, intent: str | None) -> int:
    """The number of the label someone asks for; a generator that does not heed it is an error."""
    if intent is None:
        return NO_LABEL
    found = label(intent)
    if not generator.steerable:
        raise HarkenError(
            f"this model cannot be asked for '{found.name}'; one that can is trained with: harken train configs/meed2.yaml"
        )
    return found.index


@dataclass(frozen=True, slots=True)
class Answered:
    """What a generator says to one context."""

    texts: list[str]
    """Its replies, best first."""
    emotion: str | None
    """What it reads in the context."""
    intent: str | None
    """The label the replies are written in."""
    predicted_label: str | None
    """The label it would choose by itself."""


def answer(
    generator: Generator,
    vocabulary: Vocabulary,
    rows: Sequence[Encoded],
    config: DecodingConfig,
    *,
    oracle: bool = False,
) -> list[Answered]:
    """What the generator says to each row."""
    batch = collate(rows).to(generator.output.weight.device)
    with torch.inference_mode():
        state = generator.encode(batch, oracle=oracle)
        found = decode_state(generator, state, batch, config)
    nothing: list[str | None] = [None] * len(rows)
    emotions, intents, choices = nothing, nothing, nothing
    if state.emotion_logits is not None:
        emotions = [EMOTIONS[i] for i in state.emotion_logits.argmax(1).tolist()]
    if state.label is not None and state.label_logits is not None:
        intents = [LABELS[i].name for i in state.label.tolist()]
        choices = [LABELS[i].name for i in state.label_logits.argmax(1).tolist()]
    said = [[vocabulary.decode(hypothesis.tokens) for hypothesis in hypotheses] for hypotheses in found]
    return [Answered(*one) for one in zip(said, emotions, intents, choices, strict=True)]


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
    intent: str | None = None,
    started: Callable[[int], Callable[[int], None]] | None = None,
) -> int:
    """Answer every listener turn of a split into a reply file, in the corpus's order; the number of lines comes back.

    With `intent` every reply is asked to be that. `started` hears how many replies there are to make and gives back a
    function that hears the progress.
    """
    asked_label(run.generator, intent)  # a mistake is told before the corpus is read
    chosen = examples_of(run, split, corpus, limit)
    head = {"run": run.name, "split": split, "oracle": oracle, "limit": limit, "decoding": asdict(config)}
    head |= {} if intent is None else {"intent": intent}
    guides = run.config.text.exemplars
    head |= {} if guides is None else {"exemplars": list(map(str, guides.files))}

    def made(left: Sequence[Example]) -> Iterator[dict[str, Any]]:
        model, words, text = run.generator, run.vocabulary, run.config.text
        for line in replies(model, words, text, left, config, oracle=oracle, intent=intent):
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
