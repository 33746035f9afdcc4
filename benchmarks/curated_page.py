"""What curation finds in real subtitles: docs/results/curation.md.

    python -m benchmarks.curated_page runs/curated/films --classifier runs/labels/intent

Three parts. Turn segmentation, learnt and measured on MELD in both of its protocols. Tables 1 and 2 and Figure 2 of MEED2
for the folder that `python -m benchmarks.reproduce_meed2` curated. And what a fast pre-filter loses: a fastText
classifier learns the labels that the encoder gave to that folder, then MELD's scenes, which neither has seen, are
curated with it (the corpus films-all stays in the data home).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.__main__ import commit
from benchmarks.markdown import table
from benchmarks.results_page import harken
from harken.files import atomic
from harken.runtime import machine

PAGE = Path(__file__).parent.parent / "docs" / "results" / "curation.md"
PUBLISHED = "76.69 % (Lison and Meena 2016)"
SHARES = (0.3, 0.5, 0.7)


def told(*words: str) -> Any:
    """What a harken command tells as JSON."""
    return json.loads(harken(*words, "--json"))


def segmentation(folder: Path) -> Iterator[str]:
    """Accuracy beside the majority class, precision and recall by class, for both kinds of lines."""
    rows = []
    for protocol in ("sentences", "utterances"):
        words = ("curate", "train-segmenter", "meld", "--protocol", protocol, "--out", str(folder / "segmenter.json"))
        one = next(found for found in told(*words) if found["protocol"] == protocol)
        classes = [f"{100 * one[name][part]:.1f}" for name in ("same", "change") for part in ("precision", "recall")]
        accuracy = f"{100 * one['accuracy']:.1f} [{100 * one['low']:.1f}, {100 * one['high']:.1f}]"
        margin = 100 * (one["accuracy"] - one["majority"])
        above = f"{margin:+.1f} [{100 * one['margin_low']:+.1f}, {100 * one['margin_high']:+.1f}]"
        rows.append(
            [
                protocol,
                f"{one['pairs']:,}",
                accuracy,
                f"{100 * one['majority']:.1f}",
                above,
                " / ".join(classes[:2]),
                " / ".join(classes[2:]),
            ]
        )
    yield "## Who speaks\n"
    yield (
        "Two lines, one speaker or two: a linear SVM, learnt on MELD's training scenes and measured on its test scenes, once "
        "with the utterances cut into sentences as subtitles are, once with whole utterances. Published: "
        f"{PUBLISHED}; other data, so the margin over the majority class is what compares. Intervals are 95 %, over scenes.\n"
    )
    titles = ["lines", "pairs", "accuracy, %", "majority, %", "above it, points", "same P / R, %", "change P / R, %"]
    yield table(titles, rows)


def statistics(curated: Path) -> Iterator[str]:
    """Tables 1 and 2, and Figure 2."""
    picture = PAGE.with_suffix(".svg")
    found = told("curate", "stats", str(curated), "--plot", str(picture))
    yield "\n## What is in it (Tables 1 and 2, Figure 2)\n"
    read = json.loads((curated / "manifest.json").read_text(encoding="utf-8"))["dialogues"]
    removed = ", ".join(f"{name} {count:,}" for name, count in read["removed"].items() if count)
    yield (
        f"{read['files']:,} inputs (subtitles, and DailyDialog in parts of 2,000 dialogues): {read['lines']:,} subtitle "
        f"lines, {read['turns']:,} turns, {read['found']:,} dialogues, {read['dialogues']:,} after cleaning. Turns that "
        f"filters removed: {removed}. Nearly all of it is DailyDialog: the tables show that the chain works on real text, "
        "and say little about films.\n"
    )
    tables = found["tables"]
    names = list(next(iter(tables.values())))
    yield table(["", *tables], [[name, *(f"{column[name]:,}" for column in tables.values())] for name in names])
    yield f"\n![Labels of the last utterances]({picture.name})"


def prefilter(classifier: Path, folder: Path) -> Iterator[str]:
    """Recall of what the classifier alone would have selected."""
    own = folder / "own.jsonl"
    with own.open("wb") as joined:
        for name in ("films-os", "films-edos"):
            part = folder / f"{name}.jsonl"
            harken("data", "export", name, "--to", str(part))
            joined.write(part.read_bytes())
    harken("data", "add", "own", "--from", str(own), "--as", "films-all")
    quick = folder / "quick"
    changes = ("kind=fasttext", "corpus=films-all")
    words = ["train", "configs/intent.yaml", "--out", str(quick)]
    words += [part for change in changes for part in ("--set", change)]
    harken(*words)
    rows = []
    for share in SHARES:
        options = ("--classifier", str(classifier), "--prefilter", str(quick), "--set", f"prefilter_share={share}")
        out = folder / f"meld-{share}"
        found = told("curate", "run", "--corpus", "meld", "--shard-size", "1", *options, "--out", str(out))["labelled"]
        rows.append([f"{share:.0%}", f"{100 * found['recall']:.1f}", f"{found['recall_sample']:,}"])
    yield "\n## What a pre-filter loses\n"
    yield (
        "A fastText classifier, learnt from the labels that the encoder gave to the corpora above, reads MELD's scenes first; "
        "the encoder reads only the share that seems most emotional. Recall is of the quarter that the encoder alone "
        "would have selected.\n"
    )
    yield table(["share read by the encoder", "recall, %", "dialogues of the sample"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("curated", type=Path)
    parser.add_argument("--classifier", type=Path, required=True)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        made = f"`python -m benchmarks.curated_page`, {datetime.now(UTC):%Y-%m-%d}, commit {commit()}, {machine()}.\n"
        parts = ["# Curation, measured\n", made, *segmentation(folder), *statistics(chosen.curated)]
        parts += prefilter(chosen.classifier, folder)
    with atomic(PAGE) as stream:
        stream.write("\n".join(parts) + "\n")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
