"""Reading and storing the real corpora: the time a user waits for `harken data add`, and its peak memory.

Each `add` is its own process in a new data home, start of Python included; loading is measured inside one process.
Needs the corpora that are not part of the project (see `tests/conftest.py`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from harken.corpora import CORPORA

DATA = Path(__file__).parents[1].parent / "shared" / "data"
_ADD = "import resource; from harken.cli import main\ntry: main()\nfinally: print(resource.getrusage(0).ru_maxrss)"


def run() -> Iterator[tuple[str, float, str]]:
    if not DATA.is_dir():
        sys.exit(f"needs the real corpora in {DATA}")
    with tempfile.TemporaryDirectory() as home:
        os.environ["HARKEN_HOME"] = home
        for name in CORPORA:
            if (DATA / name).is_dir():
                seconds, megabytes = _add(name)
                yield f"{name}: read and store", seconds, "s"
                yield f"{name}: peak memory", megabytes, "MB"
        yield from _load("empatheticdialogues")


def _add(name: str) -> tuple[float, float]:
    began = time.perf_counter()
    command = [sys.executable, "-c", _ADD, "data", "add", name, "--from", str(DATA / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - began, float(done.stdout.split()[-1]) / 1_000


def _load(name: str) -> Iterator[tuple[str, float, str]]:
    from harken.corpora import store
    from harken.corpora.stats import corpus_stats

    began = time.perf_counter()
    dialogues = store.load(name)
    yield f"{name}: load all", time.perf_counter() - began, "s"
    began = time.perf_counter()
    store.load(name, "test")
    yield f"{name}: load the test split", time.perf_counter() - began, "s"
    began = time.perf_counter()
    corpus_stats(dialogues)
    yield f"{name}: statistics", time.perf_counter() - began, "s"
