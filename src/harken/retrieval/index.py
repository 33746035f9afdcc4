"""Indexes of candidates: FAISS, exact or approximate, on the disk with all that says where they come from.

An index is a folder: `vectors.faiss`, `candidates.arrow`, `manifest.json`. The manifest is written last, so that a folder with
one is whole; it holds the ranker's fingerprint, the corpora's hashes, the counts and the files' checksums. Vectors of another
ranker would be searched without an error and with no sense, so an index refuses every ranker but its own.

The approximate kind is an inverted file: candidates lie in the cells of a k-means, two bytes for each number, and a query
looks into the nearest cells only. How many it needs for a recall of 0.95 is measured when the index is built, with real
contexts.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import faiss as _faiss
import numpy as np
from numpy.typing import NDArray

import harken
from harken.corpora.library import manifest as corpus_manifest
from harken.errors import HarkenError
from harken.files import atomic, sha256, write_json
from harken.retrieval.config import RankerConfig
from harken.retrieval.pool import Pool, Table, write_table
from harken.retrieval.rankers import Ranker, build, load
from harken.text.encoder import Vectors

faiss: Any = _faiss
"""Its stubs know little of what it has."""
Kind = Literal["exact", "approximate"]
Rows = NDArray[np.int64]
MINILM = "minilm"
"""Names the untouched MiniLM in place of a run."""
_VECTORS, _TABLE, _MANIFEST = "vectors.faiss", "candidates.arrow", "manifest.json"
_CELLS, _PER_CELL = 4_096, 40
_RECALL, _LOOKED_AT = 0.96, 10
"""What the trial contexts must reach, so that others reach 0.95: the mean of 256 scatters by half a percent."""
_TRIALS = 256


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Where an index comes from."""

    harken: str
    kind: Kind
    run: str
    """The ranker's run, as a path from the index's folder; or `minilm`."""
    ranker: str
    """The ranker's fingerprint."""
    corpora: dict[str, str]
    """Content hash by name."""
    split: str
    count: int
    duplicates: int
    empty: int
    width: int
    cells: int = 1
    looked_into: int = 1
    """Cells a query looks into."""
    recall: float = 1.0
    """Share of the exact ten nearest that this kind finds, as measured at the build."""
    files: dict[str, str]
    """Checksum by name."""

    @property
    def hash(self) -> str:
        """Identifies the index: candidates, vectors, kind."""
        told = json.dumps([self.kind, self.ranker, self.looked_into, sorted(self.files.items())])
        return hashlib.sha256(told.encode()).hexdigest()[:16]


def open_ranker(name: str) -> Ranker:
    """The ranker of a run folder, an untouched Hugging Face folder, or `minilm`."""
    folder = Path(name)
    if name == MINILM:
        return build(RankerConfig(), tuple)
    if (folder / "config.json").is_file():
        return build(RankerConfig(encoder=folder), tuple)
    return load(folder)


def exact(vectors: Vectors) -> Any:
    """A flat index: every candidate is looked at."""
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return index


def approximate(vectors: Vectors, queries: Vectors, *, seed: int = 13) -> tuple[Any, float]:
    """An inverted file that looks into as few cells as give a good recall over `queries`, and that recall."""
    cells = max(1, min(_CELLS, len(vectors) // _PER_CELL))
    width, half = vectors.shape[1], faiss.ScalarQuantizer.QT_fp16
    index = faiss.IndexIVFScalarQuantizer(faiss.IndexFlatIP(width), width, cells, half, faiss.METRIC_INNER_PRODUCT)
    index.cp.seed, index.cp.niter, index.cp.max_points_per_centroid = seed, 6, _PER_CELL
    index.train(vectors)
    index.add(vectors)
    k = min(_LOOKED_AT, len(vectors))
    _, gold = faiss.knn(queries, vectors, k, metric=faiss.METRIC_INNER_PRODUCT)
    steps = [1, *(step for power in range(1, cells.bit_length()) for step in (2**power, 3 * 2 ** (power - 1)))]
    for index.nprobe in [*(step for step in steps if step < cells), cells]:
        _, found = index.search(queries, k)
        recall = float(np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(found, gold, strict=True)]))
        if recall >= _RECALL:
            break
    return index, recall


def build_index(
    ranker: Ranker,
    run: str,
    pool: Pool,
    out: Path,
    *,
    corpora: Sequence[str],
    split: str = "train",
    kind: Kind = "exact",
    started: Callable[[int], Callable[[int], None]] | None = None,
) -> Index:
    """Encode a pool and write its index into the folder `out`."""
    if (out / _MANIFEST).exists():
        raise HarkenError(f"{out}: holds an index already; choose another folder with --out, or remove it")
    texts = [candidate.text for candidate in pool.candidates]
    advance = started(len(texts)) if started else None
    vectors = ranker.encode_candidates(texts, advance)
    about: dict[str, Any] = {}
    if kind == "exact":
        index = exact(vectors)
    else:
        trial = pool.candidates[:: max(1, len(texts) // _TRIALS)][:_TRIALS]
        index, recall = approximate(vectors, ranker.encode_contexts([(one.said,) for one in trial]))
        about = {"cells": index.nlist, "looked_into": index.nprobe, "recall": round(recall, 4)}
    out.mkdir(parents=True, exist_ok=True)
    write_table(out / _TABLE, pool.candidates)
    with atomic(out / _VECTORS, "wb") as stream:
        faiss.write_index(index, faiss.PyCallbackIOWriter(stream.write))
    manifest = Manifest(
        harken=harken.__version__,
        kind=kind,
        run=run if run == MINILM else os.path.relpath(run, out),
        ranker=ranker.fingerprint(),
        corpora={name: corpus_manifest(name).sha256 for name in corpora},
        split=split,
        count=len(texts),
        duplicates=pool.duplicates,
        empty=pool.empty,
        width=vectors.shape[1],
        files={name: sha256(out / name) for name in (_VECTORS, _TABLE)},
        **about,
    )
    write_json(out / _MANIFEST, asdict(manifest))
    return Index(out, manifest, index, Table(out / _TABLE), ranker)


class Index:
    """Candidates ready to be searched, with the ranker that reads queries."""

    def __init__(self, folder: Path, manifest: Manifest, vectors: Any, table: Table, ranker: Ranker) -> None:
        self.folder, self.manifest, self.table, self.ranker = folder, manifest, table, ranker
        self._vectors = vectors

    @classmethod
    def open(cls, folder: Path, ranker: Ranker | None = None) -> Index:
        """The index of a folder, memory-mapped; with no `ranker`, that of the run it was built with."""
        manifest = _read_manifest(folder)
        for name, checksum in manifest.files.items():
            path = folder / name
            if not path.is_file() or sha256(path) != checksum:
                raise HarkenError(
                    f"{path}: is damaged, or not the file the index was written with; build the index again"
                )
        if ranker is None:
            ranker = open_ranker(manifest.run if manifest.run == MINILM else str(folder / manifest.run))
        own = ranker.fingerprint()
        if own != manifest.ranker:
            raise HarkenError(
                f"{folder}: was built by another encoder ({manifest.ranker}, of the run {_shown(folder, manifest)}) than the "
                f"one given ({own}); build the index again with: harken index RUN --corpus "
                f"{' --corpus '.join(manifest.corpora)} --out FOLDER"
            )
        vectors = faiss.read_index(str(folder / _VECTORS), faiss.IO_FLAG_MMAP_IFC)
        if manifest.kind == "approximate":
            vectors.nprobe = manifest.looked_into
        return cls(folder, manifest, vectors, Table(folder / _TABLE), ranker)

    def __len__(self) -> int:
        return self.manifest.count

    def search(self, queries: Vectors, k: int, among: Rows | None = None) -> tuple[Vectors, Rows]:
        """The k best candidates of each query, (B, D) -> scores (B, k), rows (B, k); row -1 where there are no more.

        `among` are the rows that may be found.
        """
        k = min(k, len(self) if among is None else len(among))
        if k < 1 or not len(queries):
            return np.zeros((len(queries), 0), np.float32), np.zeros((len(queries), 0), np.int64)
        options: dict[str, Any] = {}
        if among is not None:
            selector = faiss.IDSelectorBatch(among)
            options["params"] = (
                faiss.SearchParameters(sel=selector)
                if self.manifest.kind == "exact"
                else faiss.SearchParametersIVF(sel=selector, nprobe=self.manifest.looked_into)
            )
        scores, rows = self._vectors.search(queries, k, **options)
        return scores, rows

    def retrieve(self, contexts: Sequence[Sequence[str]], k: int) -> list[list[tuple[int, float]]]:
        """The k best candidates of each context, as rows with their scores."""
        scores, rows = self.search(self.ranker.encode_contexts(contexts), k)
        return [
            [(int(row), float(score)) for row, score in zip(a, b, strict=True) if row >= 0]
            for a, b in zip(rows, scores, strict=True)
        ]


def _read_manifest(folder: Path) -> Manifest:
    path = folder / _MANIFEST
    try:
        return Manifest(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError as problem:
        raise HarkenError(
            f"{folder}: is not a whole index; build one with: harken index RUN --out {folder}"
        ) from problem
    except (OSError, ValueError, TypeError) as problem:
        raise HarkenError(f"{path}: is not a manifest of this version of harken; build the index again") from problem


def _shown(folder: Path, manifest: Manifest) -> str:
    return manifest.run if manifest.run == MINILM else os.path.normpath(folder / manifest.run)
