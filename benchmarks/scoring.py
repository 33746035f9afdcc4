"""Scoring a reply file of the size of EmpatheticDialogues' test set: the time a user waits, and memory over many files.

The replies are responses that people gave to other examples of the same emotion, drawn when this runs; every field
that a metric needs is there. Times are of `harken score`, its own process, start of Python included. METEOR and
embedding similarity, which start Java or load NLTK or an encoder, stand apart. Needs the corpora that are not part of
the project.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from harken.corpora import CORPORA
from harken.corpora.base import Skips
from harken.dialogue import Example, examples
from harken.scoring import meteor
from harken.scoring.replies import ReplyRecord, write_replies

DATA = Path(__file__).parents[1].parent / "shared" / "data" / "empatheticdialogues"
SIZE = 5255
_MANY = """
import resource, sys; from pathlib import Path
from harken.scoring.evaluate import score_replies
from harken.scoring.replies import read_replies
for path in sys.argv[1:]:
    score_replies(read_replies(Path(path)))
    print(resource.getrusage(0).ru_maxrss)
"""


def run() -> Iterator[tuple[str, float, str]]:
    if not DATA.is_dir():
        sys.exit(f"needs EmpatheticDialogues in {DATA}")
    gold = _gold("test")[:SIZE]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HARKEN_HOME"] = folder
        files = [_write(Path(folder) / f"replies{seed}.jsonl", gold, seed) for seed in range(4)]
        yield "replies", len(gold), ""
        yield "all quick metrics, no intervals", _score(files[0], "--bootstrap", "0"), "s"
        yield "all quick metrics, 1,000 resamples", _score(files[0]), "s"
        yield "all quick metrics, 1,000 resamples, by emotion", _score(files[0], "--by", "emotion"), "s"
        yield (
            "all quick metrics, no intervals, moel tokens",
            _score(files[0], "--bootstrap", "0", "--tokenize", "moel"),
            "s",
        )
        yield "meteor-nltk, no intervals", _score(files[0], "--metrics", "meteor-nltk", "--bootstrap", "0"), "s"
        if meteor.jar_obstacle() is None:
            yield "meteor, no intervals", _score(files[0], "--metrics", "meteor", "--bootstrap", "0"), "s"
        yield "similarity, no intervals", _score(files[0], "--metrics", "similarity", "--bootstrap", "0"), "s"
        peaks = _memory([*files, *files])
        yield "peak memory after one file", peaks[0], "MB"
        yield "peak memory after eight files", peaks[-1], "MB"
    yield from _variety(gold)
    yield from _honesty()


def _gold(split: str) -> list[Example]:
    dialogues = CORPORA["empatheticdialogues"].read(DATA, Skips())
    return [one for dialogue in dialogues if dialogue.split == split for one in examples(dialogue)]


def _write(path: Path, gold: list[Example], seed: int) -> Path:
    chance = random.Random(seed)
    same: dict[str | None, list[str]] = {}
    for one in gold:
        same.setdefault(one.emotion, []).append(one.response.text)
    names = sorted(str(name) for name in same)
    records = [
        ReplyRecord(
            id=one.id,
            reply=chance.choice(same[one.emotion]),
            context=tuple(turn.text for turn in one.context),
            response=one.response.text,
            emotion=one.emotion,
            predicted_emotion=tuple(chance.sample(names, 5)),
            label=chance.choice(names),
            predicted_label=chance.choice(names),
        )
        for one in gold
    ]
    write_replies(path, records)
    return path


def _score(path: Path, *options: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "harken", "score", str(path), *options], capture_output=True, check=True)
    return time.perf_counter() - began


def _memory(paths: list[Path]) -> list[float]:
    done = subprocess.run([sys.executable, "-c", _MANY, *map(str, paths)], capture_output=True, text=True, check=True)
    return [float(line) / 1_000 for line in done.stdout.split()]


def _variety(gold: list[Example]) -> Iterator[tuple[str, float, str]]:
    """Distinct-1 of the human responses, of all and of 500, under each tokenisation."""
    from harken.scoring.material import Material, Settings
    from harken.scoring.metrics import metric

    said = [ReplyRecord(one.id, one.response.text) for one in gold]
    for count, records in ((len(said), said), (500, random.Random(0).sample(said, 500))):
        for name in ("given", "moel", "13a"):
            value = metric("distinct-1").measure(Material(records, Settings(tokenize=name))).value
            yield f"Distinct-1 of {count:,} human responses, {name}", value, "%"


def _honesty() -> Iterator[tuple[str, float, str]]:
    """How wide the interval of Distinct is, beside how far other samples of the same size really scatter."""
    import numpy as np

    from harken.scoring.evaluate import measure
    from harken.scoring.material import Material
    from harken.scoring.uncertainty import Resamples, with_intervals

    said = [ReplyRecord(one.id, one.response.text.lower()) for one in _gold("train")]
    chance = random.Random(1)
    for name in ("distinct-1", "distinct-2"):
        real = [measure(Material(chance.sample(said, 500)), [name])[0].value for _ in range(200)]
        low, high = np.percentile(real, [2.5, 97.5])
        widths, hits = [], 0
        for _ in range(40):
            found = with_intervals(measure(Material(chance.sample(said, 500)), [name]), Resamples(samples=400))[0]
            assert found.low is not None and found.high is not None
            widths.append(found.high - found.low)
            hits += found.low <= float(np.mean(real)) <= found.high
        yield f"{name} of 500: where 95 % of 200 samples lie, width", float(high - low), "points"
        yield f"{name} of 500: width of the interval, mean of 40", float(np.mean(widths)), "points"
        yield f"{name} of 500: intervals that hold the mean", 100 * hits / 40, "%"
