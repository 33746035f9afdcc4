"""Trained LEMPEx runs beside each other and the paper: docs/results/lempex.md.

    python -m benchmarks.lempex_page runs/lempex/t5-glove runs/lempex/without-losses runs/lempex/lempex

Replies (beam 5) and likelihoods are made by `harken reply`, figures by `harken compare`, tested against the first run:
perplexities, BLEU-1 and Distinct as the paper counts them (its Table 2), and the labels that the empathy classifiers
find in replies and responses (its Table 5). The paper's perplexity is over 21,132 words of its own, so the
likelihoods are also told in the words of the training turns (`--vocabulary`), which come nearest. Then what each run
answers in the moments the paper prints (Tables 4, 7 and 8), named by their ids in EmpatheticDialogues.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.__main__ import commit
from benchmarks.markdown import table
from benchmarks.results_page import harken, keep
from harken.corpora import library
from harken.files import atomic
from harken.runtime import machine
from harken.text.vocabulary import TextConfig, build_vocabulary

PAGE = Path(__file__).parent.parent / "docs" / "results" / "lempex.md"
PAPER_WORDS = "ppl-paper-words"
TABLE_2 = {
    "ppl-utterance": "PPL, utterance mean",
    PAPER_WORDS: "PPL, training words",
    "ppl-token": "PPL, token",
    "ppl-word": "PPL, word",
    "bits-per-character": "bits per character",
    "bleu-1": "BLEU-1",
    "distinct-1": "Distinct-1",
    "distinct-2-token": "Distinct-2 per token",
}
TABLE_5 = {
    "emotional-presence-f1-macro": "emotional presence, F1",
    "interpretation-f1-macro": "interpretation, F1",
    "exploration-f1-macro": "exploration, F1",
    "sentiment-error": "sentiment error",
    "emotional-presence-difference": "presence, difference",
    "interpretation-difference": "interpretation, difference",
    "exploration-difference": "exploration, difference",
}
MOMENTS = {
    "hit:10902_conv:21804": "Table 4, terrified; Table 7, the last",
    "hit:310_conv:621": "Table 4, confident (an interview)",
    "hit:2741_conv:5482": "Table 4, sentimental",
    "hit:9947_conv:19895": "Table 4, annoyed",
    "hit:10246_conv:20493": "Table 4, confident (the gym)",
    "hit:4735_conv:9471": "Table 7, anxious",
    "hit:4913_conv:9826": "Table 7, grateful (a neighbour)",
    "hit:11309_conv:22618": "Table 7, furious",
    "hit:2379_conv:4758": "Table 8, joyful",
    "hit:10421_conv:20843": "Table 8, surprise",
}
"""The dialogues of EmpatheticDialogues whose first turn the paper prints."""


def replied(run: Path, words: Path) -> dict[str, Any]:
    """Replies and likelihoods of a run, where they are not there yet; gives its perplexity in the vocabulary `words`."""
    if not (run / "replies-test.jsonl").exists():
        harken("reply", str(run), "--beam", "5")
    if not (run / "likelihoods-test.jsonl").exists():
        harken("reply", str(run), "--likelihoods")
    fewer = run / "in-training-words.jsonl"
    if not fewer.exists():
        harken("reply", str(run), "--likelihoods", "--vocabulary", str(words), "--out", str(fewer))
    [score] = json.loads(harken("score", str(fewer), "--metrics", "ppl-utterance", "--json"))["scores"]
    return {**score, "metric": PAPER_WORDS}


def training_words(folder: Path) -> Path:
    """The vocabulary of every word in the training turns."""
    folder.mkdir(parents=True, exist_ok=True)
    build_vocabulary(library.iterate("empatheticdialogues"), TextConfig(min_count=1)).save(folder)
    return folder


def figures(names: dict[str, str], systems: Sequence[dict[str, Any]]) -> str:
    """A row for each run: figures with intervals, and a star where the first run differs."""
    rows = []
    for system in systems:
        scores = {score["metric"]: score for score in system["scores"]}
        differs = {one["metric"] for one in system["differences"] if one["significant"]}
        rows.append([system["system"], *(told(scores.get(name), name in differs) for name in names)])
    return table(["run", *names.values()], rows)


def told(score: dict[str, Any] | None, differs: bool) -> str:
    """A figure with its interval."""
    if score is None:
        return "–"
    low, high = score.get("low"), score.get("high")
    around = "" if low is None else f" [{low:.2f}, {high:.2f}]"
    return f"{score['value']:.2f}{'*' if differs else ''}{around}"


def examples(runs: Sequence[Path]) -> str:
    """What each run answers there."""
    replies = []
    for run in runs:
        with (run / "replies-test.jsonl").open(encoding="utf-8") as lines:
            replies.append({line["id"]: line["reply"] for line in map(json.loads, lines)})
    rows = [[where, f"`{name}`", *(said[f"{name}:1"] for said in replies)] for name, where in MOMENTS.items()]
    return table(["in the paper", "dialogue", *(run.name for run in runs)], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--empathy", type=Path, default=Path("runs/labels"))
    parser.add_argument("--words", type=Path, default=Path("runs/training-words"), help="Where to keep these words.")
    chosen = parser.parse_args()
    words = training_words(chosen.words)
    within = []
    for run in chosen.runs:
        within.append(replied(run, words))
        keep(run)
    shared = [*map(str, chosen.runs), "--tokenize", "moel", "--json", "--empathy", str(chosen.empathy)]
    asked = ",".join(name for name in (*TABLE_2, *TABLE_5) if not name.startswith(("ppl", "bits")))
    found = json.loads(harken("compare", *shared, "--metrics", asked))
    for system, score in zip(found["systems"], within, strict=True):
        system["scores"].append(score)
    parts = [
        "# LEMPEx",
        f"`python -m benchmarks.lempex_page`, {datetime.now(UTC):%Y-%m-%d}, commit {commit()}, {machine()}; beam 5, "
        f"{found['n']:,} listener turns of the test split. Intervals are 95 %; a star marks p < 0.05 against "
        f"{found['baseline']} (paired bootstrap).",
        "## Words (Table 2)",
        figures(TABLE_2, found["systems"]),
        "## Empathy of replies beside that of the responses (Table 5)",
        figures(TABLE_5, found["systems"]),
        "## The paper's moments (Tables 4, 7 and 8)",
        examples(chosen.runs),
    ]
    with atomic(PAGE) as page:
        page.write("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
