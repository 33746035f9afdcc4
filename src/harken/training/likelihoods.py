"""The likelihood of each gold response, as `harken score` reads it for every kind of perplexity.

A file has one JSON object a line: `id`, `nll` in nats over `tokens` (the end included), `words` and `characters` of the
text, `protocol` (*predicted*, or *oracle* where the model saw the gold emotion) and `vocabulary`, without which a
perplexity means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from harken import dialogue
from harken.dialogue import Example
from harken.errors import HarkenError
from harken.files import write_json_lines
from harken.labels import EMOTIONS
from harken.text.annotations import annotator
from harken.text.batches import encode_example, in_order_of_length
from harken.training.run import Run, corpus_sha256, read_corpus

BATCH = 64


@torch.inference_mode()
def likelihoods(run: Run, examples: Sequence[Example], *, oracle: bool = False) -> Iterator[dict[str, Any]]:
    """A line for each example, batch by batch, so in no particular order."""
    generator, vocabulary, text = run.generator.eval(), run.vocabulary, run.config.text
    rows = [encode_example(example, vocabulary, text) for example in examples]
    for chosen, on_cpu in in_order_of_length(rows, BATCH):
        batch = on_cpu.to(generator.output.weight.device)
        state = generator.encode(batch, oracle=oracle)
        nll = generator.nll(batch, state).double().sum(1).tolist()
        emotions = [None] * len(chosen) if state.emotion_logits is None else state.emotion_logits.argmax(1).tolist()
        for i, value, emotion in zip(chosen, nll, emotions, strict=True):
            said = examples[i].response.text
            yield {
                "id": examples[i].id,
                "nll": value,
                "tokens": len(rows[i].target),
                "words": max(1, len(said.split())),
                "characters": max(1, len(said)),
                "protocol": "oracle" if oracle else "predicted",
                "vocabulary": f"{text.kind}-{text.source}-{len(vocabulary)}",
                "emotion": examples[i].emotion,
                "predicted_emotion": None if emotion is None else EMOTIONS[emotion],
            }


def write_likelihoods(
    run: Run,
    split: str,
    out: Path,
    *,
    corpus: str | None = None,
    limit: int | None = None,
    oracle: bool = False,
    started: Callable[[int], Callable[[int], None]] | None = None,
) -> int:
    """Write the likelihoods of a split; with `oracle` each response has two lines, the honest one first."""
    chosen = examples_of(run, split, corpus, limit)
    protocols = (False, True) if oracle else (False,)
    advance = started(len(chosen) * len(protocols)) if started else None

    def lines() -> Iterator[dict[str, Any]]:
        for protocol in protocols:
            found = {}
            for line in likelihoods(run, chosen, oracle=protocol):
                found[line["id"]] = line
                if advance:
                    advance(1)
            yield from (found[example.id] for example in chosen)

    return write_json_lines(out, lines())


def examples_of(run: Run, split: str, corpus: str | None = None, limit: int | None = None) -> list[Example]:
    """The responses of a split of the run's corpus, or of another one, with the run's history."""
    wanted = dialogue.split(split)
    found = (
        example
        for talk in read_corpus(corpus or run.config.corpus)
        if talk.split == wanted
        for example in dialogue.examples(talk, run.config.text.history)
    )
    chosen = list(found)[:limit]
    if not chosen:
        raise HarkenError(f"the corpus '{corpus or run.config.corpus}' has no listener turn in its {wanted} split")
    attach = annotator(run.config.text, corpus_sha256(corpus or run.config.corpus))
    return list(map(attach, chosen)) if attach else chosen
