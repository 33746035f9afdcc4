"""The likelihood of each gold response, as `harken score` reads it for every kind of perplexity.

A file has one JSON object a line: `id`, `nll` in nats over `tokens` (the end included), `words` and `characters` of the
text, `protocol` (*predicted*, or *oracle* where the model saw the gold emotion) and `vocabulary`, without which a
perplexity means nothing.

More words are harder to predict, so two perplexities compare only in one vocabulary. A run's likelihoods can be told in a
smaller one than its own: the words outside count as one, the unknown word, whose probability is the sum of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from harken import dialogue
from harken.dialogue import Example
from harken.errors import HarkenError
from harken.files import write_json_lines
from harken.labels import EMOTIONS
from harken.models.contract import Generator, State, shifted
from harken.text.annotations import annotator
from harken.text.batches import Batch, encode_example, in_order_of_length
from harken.text.vocabulary import UNK, Vocabulary, Words
from harken.training.run import Run, corpus_sha256, read_corpus

BATCH = 64


@torch.inference_mode()
def likelihoods(
    run: Run, examples: Sequence[Example], *, oracle: bool = False, within: Vocabulary | None = None
) -> Iterator[dict[str, Any]]:
    """A line for each example, batch by batch, so in no particular order; `within` a smaller vocabulary, if given."""
    generator, vocabulary, text = run.generator.eval(), run.vocabulary, run.config.text
    name = f"{text.kind}-{text.source}-{len(vocabulary)}"
    outside = None
    if within is not None:
        outside, name = words_outside(vocabulary, within), f"{name}-in-{len(within)}"
    rows = [encode_example(example, vocabulary, text) for example in examples]
    for chosen, on_cpu in in_order_of_length(rows, BATCH):
        batch = on_cpu.to(generator.output.weight.device)
        state = generator.encode(batch, oracle=oracle)
        words = generator.nll(batch, state) if outside is None else merged_nll(generator, batch, state, outside)
        nll = words.double().sum(1).tolist()
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
                "vocabulary": name,
                "emotion": examples[i].emotion,
                "predicted_emotion": None if emotion is None else EMOTIONS[emotion],
            }


def words_outside(own: Vocabulary, within: Vocabulary) -> Tensor:
    """Which words of `own` are the unknown word `within` the other vocabulary, (V,), that one among them."""
    if not (isinstance(own, Words) and isinstance(within, Words)):
        raise HarkenError("--vocabulary is for runs of whole words (text.kind = words), and so must the other one be")
    if missing := within.index.keys() - own.index.keys():
        raise HarkenError(
            f"the run does not know {len(missing):,} words of the vocabulary, such as '{min(missing)}'; likelihoods can "
            "only be told in a vocabulary whose words it all knows"
        )
    outside = torch.tensor([word not in within.index for word in own.tokens])
    outside[UNK] = True
    return outside


def merged_nll(generator: Generator, batch: Batch, state: State, outside: Tensor) -> Tensor:
    """As `nll`, the words `outside` counted as one: its probability is the sum of theirs, (B, T)."""
    outside = outside.to(batch.target.device)
    nll = torch.zeros(batch.target.shape, device=batch.target.device)
    for t, (before, gold) in enumerate(zip(shifted(batch.target).t(), batch.target.t(), strict=True)):
        log_p = generator.step(before, state).log_softmax(1)  # (B, V)
        one = log_p[:, outside].logsumexp(1)
        nll[:, t] = -torch.where(outside[gold], one, log_p.gather(1, gold.unsqueeze(1)).squeeze(1))
    return nll.masked_fill(batch.target_pad, 0.0)


def write_likelihoods(
    run: Run,
    split: str,
    out: Path,
    *,
    corpus: str | None = None,
    limit: int | None = None,
    oracle: bool = False,
    within: Vocabulary | None = None,
    started: Callable[[int], Callable[[int], None]] | None = None,
) -> int:
    """Write the likelihoods of a split; with `oracle` each response has two lines, the honest one first."""
    chosen = examples_of(run, split, corpus, limit)
    protocols = (False, True) if oracle else (False,)
    advance = started(len(chosen) * len(protocols)) if started else None

    def lines() -> Iterator[dict[str, Any]]:
        for protocol in protocols:
            found = {}
            for line in likelihoods(run, chosen, oracle=protocol, within=within):
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
