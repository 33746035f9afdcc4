"""The scale study of curation: made films through the whole pipeline, and what that says about all of OpenSubtitles.

    python -m benchmarks.curation_scale [--files 1000 3000 10000] [--workers 2]

Films have the measures of the real corpus: OPUS's English OpenSubtitles has 447 thousand files with 441 million sentences, so
987 sentences a file. They lie in a zip archive like the corpus's own and go through reading, segmenting, splitting,
cleaning, labelling (by a fastText classifier, so that the study ends) and selection. Each stage is timed; the memory is that
of the largest process at its peak. A tuned MiniLM is timed apart. Writes docs/results/curation-scale.md.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.__main__ import commit
from benchmarks.curation import film, opus
from benchmarks.labels import run as labelling
from benchmarks.markdown import table
from harken.classifiers.training import train_run
from harken.curation.config import CurationConfig
from harken.curation.engines import engine_named
from harken.curation.pipeline import curate
from harken.files import atomic
from harken.runtime import machine

PAGE = Path(__file__).parent.parent / "docs" / "results" / "curation-scale.md"
FILES, SENTENCES = 447_000, 441_000_000
CUES = SENTENCES // FILES
DISTINCT = 100
"""Films that differ; more files repeat them under other names, which no stage notices, since films are worked on apart."""
WORKERS = (1, 8, 64)


def archive(path: Path, files: int) -> int:
    """A corpus zip of so many files; the number of sentences in them comes back."""
    films = [opus(film(seed, CUES)).encode() for seed in range(min(files, DISTINCT))]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as zipped:
        for at in range(files):
            zipped.writestr(f"OpenSubtitles/xml/en/{1950 + at % 70}/{at}/1.xml", films[at % len(films)])
    return files * CUES


class Clock:
    """Seconds of each stage, as its progress is told."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.last = time.perf_counter()

    def __call__(self, what: str, done: int, total: int | None) -> None:
        now = time.perf_counter()
        self.seconds[what] = self.seconds.get(what, 0.0) + now - self.last
        self.last = now
        if total and sys.stderr.isatty():
            print(f"\r{what} {done}/{total} ", end="", file=sys.stderr)


def quick_classifier(folder: Path) -> Path:
    """A fastText classifier of the 41 labels, learnt from the starter corpus."""
    config = folder / "quick.yaml"
    config.write_text("model: classifier\ntask: intent\ncorpus: starter\nkind: fasttext\n", encoding="utf-8")
    train_run(config, (), folder / "quick", resume=False, console=None)
    return folder / "quick"


def measured(files: int, workers: int, classifier: Path, folder: Path) -> dict[str, Any]:
    """One size: sentences, seconds of each stage, the largest process."""
    sentences = archive(folder / "en.zip", files)
    clock = Clock()
    engine = engine_named("local", workers=workers, address=None)
    config = CurationConfig(classifier=classifier)
    curate([folder / "en.zip"], folder / f"out-{files}", config, engine, progress=clock)
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {"files": files, "sentences": sentences, "seconds": clock.seconds, "peak": peak / 1024}


def minilm_rate() -> float:
    """Utterances a second of a tuned MiniLM on this machine, all its cores."""
    return next(value for what, value, _ in labelling() if what.startswith("MiniLM tuned"))


def days(seconds: float) -> str:
    return f"{seconds / 86_400:.1f} days" if seconds > 172_800 else f"{seconds / 3_600:.1f} hours"


def page(rows: list[dict[str, Any]], workers: int, rate: float) -> Iterator[str]:
    """The page, line by line."""
    yield "# Curation at scale, on made films\n"
    when = f"{datetime.now(UTC):%Y-%m-%d}, commit {commit()}, {machine()}"
    yield f"`python -m benchmarks.curation_scale`, {when}, {workers} workers.\n"
    yield (__doc__ or "").split("\n\n")[2].replace("\n", " ").rsplit(" Writes", 1)[0] + "\n"
    stages = list(rows[-1]["seconds"])
    sizes = []
    for row in rows:
        spent = [row["seconds"].get(stage, 0.0) for stage in stages]
        ends = f"{row['sentences'] / sum(spent):,.0f}", f"{row['peak']:,.0f}"
        sizes.append([f"{row['files']:,}", f"{row['sentences']:,}", *(f"{one:.1f}" for one in spent), *ends])
    timed = [f"{stage}, s" for stage in stages]
    yield table(["files", "sentences", *timed, "sentences/s in all", "peak memory, MB"], sizes)
    most = rows[-1]
    first = most["sentences"] / most["seconds"]["Dialogues"]
    yield f"\nReading, segmenting, splitting and cleaning, the stage *Dialogues*: {first:,.0f} sentences a second. Memory does"
    yield "not grow with the input: a worker holds one shard."
    a_core = sum(most["seconds"].values()) * workers / most["files"]
    yield f"\nWith the largest size, a file costs {a_core:.2f} s of one worker, labels by fastText included"
    yield f"({workers} workers × {sum(most['seconds'].values()):,.0f} s / {most['files']:,} files)."
    each = rate / 2
    yield f"A tuned MiniLM labels {rate:,.0f} utterances a second on two cores, so {each:,.0f} on one.\n"
    yield f"All of OpenSubtitles, {FILES:,} files and {SENTENCES:,} sentences, at most one utterance each:\n"
    projected = []
    for many in WORKERS:
        quick, read = FILES * a_core / many, SENTENCES / each / many
        first = f"{FILES:,} × {a_core:.2f} s / {many} = {days(quick)}"
        projected.append([f"{many}", first, f"+ {SENTENCES:,} / {each:,.0f} / {many} s = {days(quick + read)}"])
    yield table(["workers", "with fastText labels", "with MiniLM labels"], projected)
    yield "\nThe projection takes workers as fast as these cores and a disk that keeps up; of a network it says nothing."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="+", default=[1_000, 3_000, 10_000])
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        classifier = quick_classifier(Path(folder))
        rows = [measured(files, chosen.workers, classifier, Path(folder)) for files in sorted(chosen.files)]
    with atomic(PAGE) as stream:
        stream.write("\n".join(page(rows, chosen.workers, minilm_rate())) + "\n")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
