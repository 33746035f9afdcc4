"""Generators in the releases' sizes: a vocabulary of 23,600, width 300, batches of 16 of the benchmark's lengths.

A training step is forward, backward and Adam on synthetic rows whose lengths follow EmpatheticDialogues (contexts of 36
tokens in the mean, responses of 14.6). Replies are forced to exactly 50 tokens. Each figure is the best of several
runs, so that what else the machine does counts least. For comparison, the released MIME code takes 0.51 s a step (1,500
tokens/s) and, one reply at a time, 0.34 s greedy and 1.08 s with a beam of 5, on two cores.
"""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable, Iterator

import torch

from harken.decoding import DecodingConfig, decode
from harken.labels import EMOTIONS
from harken.models import MODELS
from harken.models.contract import Generator
from harken.text.batches import Batch, Encoded, collate
from harken.text.vocabulary import CLS, EOS, SPECIALS, USR, Words
from harken.training.config import TrainingConfig
from harken.training.loop import objective
from harken.training.optimisers import optimiser

WORDS = 23_600


def _rows(count: int, seed: int) -> list[Encoded]:
    source = random.Random(seed)

    def text(mean: float) -> list[int]:
        return [
            source.randrange(len(SPECIALS), WORDS)
            for _ in range(max(3, min(100, round(source.gammavariate(3, mean / 3)))))
        ]

    rows = []
    for _ in range(count):
        context = text(35.6)
        rows.append(
            Encoded(
                [CLS, *context],
                [CLS] + [USR] * len(context),
                [*text(13.6), EOS],
                text(14),
                source.randrange(len(EMOTIONS)),
            )
        )
    return rows


def _best(work: Callable[[], object], times: int) -> float:
    work()
    found = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def _training(model: Generator, batches: list[Batch]) -> tuple[float, float]:
    """Seconds a step and target tokens a second."""
    training = TrainingConfig(summed=("response", "kl"))
    adam = optimiser(model, training)
    model.train()

    def epoch() -> None:
        for batch in batches:
            terms = model.losses(batch)
            adam.zero_grad(set_to_none=True)
            torch.autograd.backward(objective(terms, terms, training))
            adam.step()

    seconds = _best(epoch, 4)
    tokens = sum(int((~batch.target_pad).sum()) + int((~batch.pad).sum()) for batch in batches)
    return seconds / len(batches), tokens / seconds


def run() -> Iterator[tuple[str, float, str]]:
    vocabulary = Words([f"w{i}" for i in range(WORDS - len(SPECIALS))])
    rows = sorted(_rows(64, 1), key=lambda row: len(row.context))
    for name, entry in MODELS.items():
        torch.manual_seed(1)
        model = entry.model(entry.config(), vocabulary)
        yield f"{name}: parameters", sum(p.numel() for p in model.parameters()) / 1e6, "M"
        for size in (16, 64):
            seconds, tokens = _training(model, [collate(rows[i : i + size]) for i in range(0, 64, size)])
            yield f"{name}: training step, batch {size}", seconds, "s"
            yield f"{name}: training, batch {size}, context and response", tokens, "tokens/s"
        model.eval()
        one, many = collate(rows[32:33]), collate(rows)
        for what, beam in (("greedy", 1), ("beam 5", 5)):
            fifty = DecodingConfig(beam=beam, min_length=50, max_length=50)
            alone = _best(lambda: decode(model, one, fifty), 5)  # noqa: B023 (called at once)
            yield f"{name}: reply of 50 tokens, {what}", alone, "s"
            together = _best(lambda: decode(model, many, fifty), 2) / len(many)  # noqa: B023
            yield f"{name}: reply of 50 tokens, {what}, 64 at a time, each", together, "s"
        hundred = DecodingConfig(min_length=100, max_length=100)
        yield f"{name}: reply of 100 tokens, greedy", _best(lambda: decode(model, one, hundred), 3), "s"  # noqa: B023
    yield "peak memory of all this", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, "GB"
