"""Searching candidates on made vectors of 384 numbers: the time of a query in batches, recall, building, memory.

Real sentence vectors lie in clouds around topics, so these are made so: 20,000 centres, and points about them that
keep a cosine of some 0.8 to their centre; queries are further points. Threads are as OMP_NUM_THREADS says. Recall is
the share of the exact ten nearest. Encoding is timed with the ranker's own reading of short made sentences.
"""

from __future__ import annotations

import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import faiss
import numpy as np

from harken.retrieval.index import approximate, exact, open_ranker
from harken.text.encoder import Vectors

WIDTH, QUERIES, K = 384, 512, 10
_WORDS = (
    "i we you my lost found dog cat exam job friend sister happy sad proud yesterday today very really never".split()
)


def run() -> Iterator[tuple[str, float, str]]:
    yield from _exact()
    yield from _approximate()
    yield from _linear()
    yield from _encoding()
    yield "peak memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000, "MB"


def made(count: int, seed: int, centres: int = 20_000) -> Vectors:
    """Unit vectors in clouds; the centres are the same for every seed."""
    middle = np.random.default_rng(0).standard_normal((centres, WIDTH), dtype=np.float32)
    draw = np.random.default_rng(seed)
    points = np.empty((count, WIDTH), dtype=np.float32)
    for start in range(0, count, 100_000):  # in parts, so that a million needs little beside itself
        part = points[start : start + 100_000]
        part[:] = middle[draw.integers(0, centres, len(part))]
        part += 0.75 * draw.standard_normal(part.shape, dtype=np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return points


def _timed(work: Callable[[], object]) -> float:
    """The best of three, in seconds: others share the machine."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def _exact() -> Iterator[tuple[str, float, str]]:
    index, queries = exact(made(40_000, 1)), made(QUERIES, 2)
    seconds = _timed(lambda: index.search(queries, K))
    yield "exact search over 40,000, a query, in batches of 512", 1_000 * seconds / QUERIES, "ms"
    yield "exact search over 40,000, a query alone", 1_000 * _timed(lambda: index.search(queries[:1], K)), "ms"


def _approximate() -> Iterator[tuple[str, float, str]]:
    points, queries = made(1_000_000, 1), made(QUERIES, 2)
    began = time.perf_counter()
    index, _ = approximate(points, made(256, 3))  # tuned on other queries than those measured
    yield "approximate index of 1,000,000, build with its tuning", time.perf_counter() - began, "s"
    yield "cells looked into", index.nprobe, f"of {index.nlist}"
    _, gold = faiss.knn(queries, points, K, metric=faiss.METRIC_INNER_PRODUCT)
    _, found = index.search(queries, K)
    hits = np.mean([len(np.intersect1d(a, b)) / K for a, b in zip(found, gold, strict=True)])
    yield "recall@10", float(hits), ""
    seconds = _timed(lambda: index.search(queries, K))
    yield "approximate search over 1,000,000, a query, in batches of 512", 1_000 * seconds / QUERIES, "ms"
    del points
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "vectors.faiss")
        faiss.write_index(index, path)
        yield "its size on the disk", Path(path).stat().st_size / 1e6, "MB"
        began = time.perf_counter()
        faiss.read_index(path, faiss.IO_FLAG_MMAP_IFC)  # type: ignore[attr-defined,unused-ignore]
        yield "opening it memory-mapped", 1_000 * (time.perf_counter() - began), "ms"


def _linear() -> Iterator[tuple[str, float, str]]:
    """Assigning candidates to cells, once these are known, is what grows with the pool."""
    index, _ = approximate(made(90_000, 1), made(64, 3))
    for count in (100_000, 200_000, 400_000):
        points = made(count, 4)
        index.reset()
        began = time.perf_counter()
        index.add(points)
        yield f"adding {count:,} to {index.nlist:,} cells, each", 1e6 * (time.perf_counter() - began) / count, "µs"


def _encoding() -> Iterator[tuple[str, float, str]]:
    draw = random.Random(0)
    texts = [" ".join(draw.choices(_WORDS, k=draw.randint(6, 20))) for _ in range(512)]
    ranker = open_ranker("minilm")
    ranker.encode_candidates(texts[:64])
    yield "encoding candidates with MiniLM", len(texts) / _timed(lambda: ranker.encode_candidates(texts)), "texts/s"
