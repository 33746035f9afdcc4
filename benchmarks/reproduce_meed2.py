"""The chain of MEED2 from subtitles to listeners; benchmarks.curated_page and meed2_tables write what came out.

    python -m benchmarks.reproduce_meed2 SUBTITLES                 what is missing: curation, labels, runs
    python -m benchmarks.reproduce_meed2 SUBTITLES os os-ed        of the runs only these

The subtitles, with DailyDialog for want of more, become the corpora films-os and films-edos; every run starts from none,
or from another one, as the table RUNS says. Needs the classifier runs/labels/intent and the corpora dailydialog and
empatheticdialogues. Stopped at any moment, it goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

from benchmarks.reproduce import RUNS as FOLDER
from benchmarks.reproduce import harken, train

CONFIG = Path("configs/meed2-small.yaml")
CLASSIFIER = FOLDER / "labels" / "intent"
TURNS = FOLDER / "labels" / "ed-turns.jsonl"
CURATED = FOLDER / "curated" / "films"
OWN_LABELS = "text.turn_labels=null"
"""Curated corpora carry a label with every turn."""
BASELINE = ("network.labels=false", OWN_LABELS)


class Step(NamedTuple):
    """A run: what it reads, what it begins with, what else differs from the config."""

    corpus: str
    start: str | None = None
    changes: tuple[str, ...] = ()


RUNS = {
    "os": Step("films-os", None, (OWN_LABELS,)),
    "os-edos": Step("films-edos", "os", (OWN_LABELS, "training.max_steps=500", "training.validate_every=100")),
    "os-ed": Step("empatheticdialogues", "os"),
    "pre-trained": Step("films-os", None, BASELINE),
    "fine-tuned": Step("empatheticdialogues", "pre-trained", BASELINE),
    "raw": Step("empatheticdialogues", None, (*BASELINE, f"text.bpe_file={FOLDER / 'meed2' / 'pre-trained'}")),
    "joint-os": Step("films-os", None, (OWN_LABELS, "network.joint=true")),
    "joint-os-ed": Step("empatheticdialogues", "joint-os", ("network.joint=true",)),
}
"""MEED2 through both of the paper's ways, its three baselines, and the ablation."""


def curation(subtitles: Path, workers: int) -> None:
    """films-os and films-edos, and the labels of EmpatheticDialogues; shards that are there are not done again."""
    options = ("--corpus", "dailydialog", "--shard-size", "1", "--set", "split_by=dialogue", "--workers", str(workers))
    harken(
        *("curate", "run", str(subtitles), *options),
        *("--classifier", str(CLASSIFIER), "--out", str(CURATED), "--as", "films"),
    )
    if not TURNS.exists():
        exported = FOLDER / "ed.jsonl"
        harken("data", "export", "empatheticdialogues", "--to", str(exported))
        harken(
            "label", str(exported), "--with", "intent", "--run", str(CLASSIFIER), "--of", "turn", "--out", str(TURNS)
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subtitles", type=Path)
    parser.add_argument("runs", nargs="*", choices=[*RUNS, []], metavar="RUN")
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    curation(chosen.subtitles, chosen.threads)
    for name in chosen.runs or RUNS:
        step = RUNS[name]
        changes = [f"corpus={step.corpus}", *step.changes]
        changes += [f"start_from={FOLDER / 'meed2' / step.start}"] if step.start else []
        train(FOLDER / "meed2" / name, CONFIG, changes, chosen.threads)


if __name__ == "__main__":
    main()
