"""Word vectors in GloVe's or fastText's text format, plain, `.gz` or `.zip`, streamed: only needed rows stay."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from harken.errors import HarkenError
from harken.text.vocabulary import SPECIALS, Words


@dataclass(frozen=True)
class WordVectors:
    """The rows of a vector file for the words of a vocabulary."""

    ids: Tensor  # (N,) numbers of the words found
    rows: Tensor  # (N, D)
    words: int
    """Words of the vocabulary, specials not counted."""

    def __str__(self) -> str:
        """`vectors for 3,140 of 21,000 words (15.0 %)`."""
        share = len(self.ids) / max(1, self.words)
        return f"vectors for {len(self.ids):,} of {self.words:,} words ({share:.1%})"


def read_vectors(path: Path, vocabulary: Words, width: int) -> WordVectors:
    """The vectors of the vocabulary's words; another width is an error, and so is a row that is not all numbers."""
    wanted = {word.encode(): number for word, number in vocabulary.index.items() if number >= len(SPECIALS)}
    found: dict[int, np.ndarray[tuple[int], np.dtype[np.float32]]] = {}
    with _opened(path, width) as stream:
        for line_number, line in _rows(stream, path, width):
            # From the right, since some words of GloVe hold spaces.
            word, *numbers = line.rsplit(b" ", width)
            number = wanted.get(word)
            if number is None or number in found:
                continue
            try:
                found[number] = np.array(numbers, dtype=np.float32)
            except ValueError as problem:
                raise HarkenError(
                    f"{path}:{line_number}: the vector of '{word.decode()}' is not all numbers"
                ) from problem
    ids = sorted(found)
    rows = np.stack([found[i] for i in ids]) if ids else np.zeros((0, width), dtype=np.float32)
    return WordVectors(torch.tensor(ids, dtype=torch.long), torch.from_numpy(rows), len(wanted))


def _rows(stream: Iterable[bytes], path: Path, width: int) -> Iterator[tuple[int, bytes]]:
    """Line number and content of each vector; fastText's first line, its counts, is left out."""
    try:
        for line_number, raw in enumerate(stream, start=1):
            line = raw.rstrip()
            if line_number == 1 and line.count(b" ") == 1:
                continue
            if line.count(b" ") < width or (line_number <= 2 and line.count(b" ") != width):
                raise HarkenError(
                    f"{path}:{line_number}: a vector of {line.count(b' ')} numbers, and the model wants {width}; "
                    f"use vectors of {width} dimensions or set network.d_model"
                )
            yield line_number, line
    except (EOFError, OSError, zlib.error, zipfile.BadZipFile) as problem:
        raise HarkenError(f"{path}: is damaged ({problem}); fetch it again") from problem


@contextmanager
def _opened(path: Path, width: int) -> Iterator[Iterable[bytes]]:
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as stream:
                yield stream
        elif path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                names = [name for name in archive.namelist() if not name.endswith("/")]
                if len(names) > 1:  # glove.6B.zip has one file for each width
                    names = [name for name in names if f".{width}d." in name]
                if len(names) != 1:
                    raise HarkenError(f"{path}: holds no single file of {width} dimensions; take out the one to use")
                with archive.open(names[0]) as stream:
                    yield stream
        else:
            with path.open("rb") as stream:
                yield stream
    except FileNotFoundError as problem:
        raise HarkenError(f"{path}: there is no such vector file") from problem
    except (zipfile.BadZipFile, gzip.BadGzipFile) as problem:
        raise HarkenError(f"{path}: is not a {path.suffix} file ({problem})") from problem
