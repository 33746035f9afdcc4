"""MEED2 at the paper's sizes: one reply with a beam of 32 and 4-gram blocking, byte pairs of 50,265 tokens, two threads.

The weights are random, which cost what trained ones cost, and every hypothesis is made to run on to the given length, so that
nothing ends early. CPU seconds are those of one thread, which other work on the machine hardly changes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import torch

from harken.decoding import decode
from harken.models.meed2 import Meed2, Meed2Config
from harken.scoring.meed2 import PUBLISHED
from harken.text.batches import Batch, Encoded, collate
from harken.text.vocabulary import CLS, EOS, SPECIALS, USR, Words

TOKENS = 50_265
CONTEXT = 60
REPEATS = 5


def model() -> Meed2:
    """Untrained, of the paper's sizes."""
    torch.manual_seed(13)
    words = Words([f"w{number}" for number in range(TOKENS - len(SPECIALS))])
    return Meed2(Meed2Config(positions=100), words).eval()


def context() -> Batch:
    """One context of the usual length."""
    words = list(range(len(SPECIALS), len(SPECIALS) + CONTEXT))
    return collate([Encoded([CLS, *words], [CLS] + [USR] * CONTEXT, [EOS])])


def run() -> Iterator[tuple[str, float, str]]:
    generator, batch = model(), context()
    threads = torch.get_num_threads()
    yield "parameters", sum(p.numel() for p in generator.parameters()) / 1e6, "million"
    for length in (20, 50):
        config = replace(PUBLISHED, min_length=length, max_length=length)
        for count, clock, unit in ((2, time.perf_counter, "s"), (1, time.process_time, "CPU s")):
            torch.set_num_threads(count)
            taken = []
            for _ in range(REPEATS):
                began = clock()
                decode(generator, batch, config)
                taken.append(clock() - began)
            yield (
                f"a reply of {length} tokens, {count} thread{'s' if count > 1 else ''}, best of {REPEATS}",
                min(taken),
                unit,
            )
    torch.set_num_threads(threads)
