"""The evaluation of MEED2 (Xie and Pu 2021, section 5) for any runs and corpora, and whether steering works.

    Table 3     held_out()        perplexity under the predicted and under the gold label, Distinct-1 and -2, similarity
    Table 4     predictions(), weighted(), random_guesses()      precision, recall and F1 of the predicted label
    Figure 5    label_shares()    how often each label occurs
    steering    steering()        how often a classifier finds an intent in the replies, asked for it and unasked

The paper's perplexity knows the label of the gold response; here it stands beside the honest one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from harken.classifiers.base import Classifier
from harken.decoding.replies import replies, write_replies
from harken.decoding.search import DecodingConfig
from harken.dialogue import Example
from harken.errors import HarkenError
from harken.labels import INTENTS, LABELS
from harken.scoring.evaluate import score_replies
from harken.scoring.metrics.labels import PARTS, averaged, counts
from harken.scoring.perplexity import read_likelihoods, score_likelihoods
from harken.scoring.replies import read_replies
from harken.scoring.score import PERCENT, Measured, Score
from harken.scoring.statistics import mean
from harken.scoring.uncertainty import Resamples, with_intervals
from harken.text.annotations import TurnLabelsConfig
from harken.text.batches import encode_example, in_order_of_length
from harken.training.likelihoods import write_likelihoods
from harken.training.run import Run

PUBLISHED = DecodingConfig(beam=32, no_repeat=4)
"""Appendix B: beam 32, no 4-gram twice, length norm 1."""
REPLY_METRICS = ("distinct-1", "distinct-2", "similarity")
BATCH = 64
Advance = Callable[[int], None]


def with_labels_of(run: Run, corpus: str, labels: Path | None) -> Run:
    """The run reading turn labels of `corpus`: from a label file, else its own file, else those the corpus itself has."""
    text, own = run.config.text, run.config.text.turn_labels
    if labels is None and corpus == run.config.corpus:
        return run
    found = None if labels is None else TurnLabelsConfig(labels=labels, classifier=own.classifier if own else None)
    return replace(run, config=replace(run.config, text=replace(text, turn_labels=found)))


@dataclass(frozen=True)
class Cell:
    """A run on a corpus: its figures by name, and the replies they are of."""

    scores: dict[str, Score]
    replies: Path


def held_out(
    run: Run,
    corpus: str,
    folder: Path,
    *,
    split: str = "test",
    decoding: DecodingConfig = PUBLISHED,
    limit: int | None = None,
    resamples: Resamples | None = None,
) -> Cell:
    """A run's part of Table 3 on one corpus; replies and likelihoods are kept in `folder` and not made again."""
    of = f"{run.name}-on-{corpus}-{split}{'' if limit is None else limit}"
    likely, said = folder / f"{of}-likelihoods.jsonl", folder / f"{of}-beam{decoding.beam}-replies.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    if not likely.exists():
        write_likelihoods(run, split, likely, corpus=corpus, limit=limit, oracle=run.generator.has_oracle)
    if not said.exists():
        write_replies(run, split, said, config=decoding, corpus=corpus, limit=limit)
    found = [
        *score_likelihoods(read_likelihoods(likely), ["ppl-utterance", "ppl-word"], resamples=resamples).scores,
        *score_replies(read_replies(said), REPLY_METRICS, resamples=resamples).scores,
    ]
    return Cell({score.metric: score for score in found}, said)


@torch.inference_mode()
def predictions(run: Run, examples: Sequence[Example]) -> list[tuple[str, str]]:
    """Gold and predicted label of every response whose label is known, in their order."""
    known = [example for example in examples if example.response.label is not None]
    if not known:
        raise HarkenError(f"{run.name}: no response has a label to predict; label the turns and name the label file")
    rows = [encode_example(example, run.vocabulary, run.config.text) for example in known]
    guessed: dict[int, str] = {}
    for chosen, batch in in_order_of_length(rows, BATCH):
        logits = run.generator.encode(batch.to(run.generator.output.weight.device)).label_logits
        if logits is None:
            raise HarkenError(f"{run.name}: its model does not predict labels; give a run of meed2")
        guessed |= {i: LABELS[label].name for i, label in zip(chosen, logits.argmax(1).tolist(), strict=True)}
    return [(str(example.response.label), guessed[i]) for i, example in enumerate(known)]


@dataclass(frozen=True)
class Weighted:
    """Precision, recall and F1, each label weighed by how often it is gold, as ratios."""

    precision: float
    recall: float
    f1: float


def weighted(pairs: Sequence[tuple[str, str]]) -> Weighted:
    """The scores of (gold, predicted) pairs."""
    gold, guessed = zip(*pairs, strict=True)
    sums = counts(gold, guessed).sum(axis=0, keepdims=True)
    return Weighted(*(float(averaged(part, "weighted")(sums)[0]) / 100 for part in PARTS))


def random_guesses(gold: Sequence[str], *, draws: int = 20, seed: int = 13) -> Weighted:
    """The mean scores of guessing, each of the 41 alike."""
    source = np.random.default_rng(seed)
    names = [label.name for label in LABELS]
    found = [
        weighted(
            [(label, names[i]) for label, i in zip(gold, source.integers(len(names), size=len(gold)), strict=True)]
        )
        for _ in range(draws)
    ]
    return Weighted(*(float(np.mean([getattr(one, part) for one in found])) for part in PARTS))


def label_shares(labels: Iterable[str]) -> dict[str, float]:
    """The share of each of the 41, in their order."""
    found = Counter(labels)
    total = max(1, found.total())
    return {label.name: found[label.name] / total for label in LABELS}


@dataclass(frozen=True)
class Steered:
    """One intent: the share of replies in which the classifier finds it, in percent."""

    intent: str
    asked: Score
    unasked: Score


def steering(
    run: Run,
    examples: Sequence[Example],
    classifier: Classifier,
    *,
    decoding: DecodingConfig = PUBLISHED,
    intents: Sequence[str] = INTENTS,
    resamples: Resamples | None = None,
    advance: Advance | None = None,
) -> list[Steered]:
    """For each intent, whether a classifier finds it more often when it is asked for."""

    def heard(intent: str | None) -> list[str]:
        lines = {}
        for line in replies(run.generator, run.vocabulary, run.config.text, examples, decoding, intent=intent):
            lines[line["id"]] = line["reply"]
            if advance:
                advance(1)
        best = classifier.probabilities([lines[example.id] or "…" for example in examples]).argmax(axis=1)
        return [classifier.labels[i] for i in best]

    def share(found: list[str], intent: str) -> Measured:
        hits = [label == intent for label in found]
        return Measured("intent-found", mean(hits, scale=100.0), len(hits), PERCENT, {"classifier": classifier.hash})

    by_choice = heard(None)
    table = []
    for intent in intents:
        measured = [share(heard(intent), intent), share(by_choice, intent)]
        table.append(Steered(intent, *with_intervals(measured, resamples or Resamples())))
    return table
