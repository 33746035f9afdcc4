"""Trained LEMPEx runs beside each other and the paper: docs/results/lempex.md.

    python -m benchmarks.lempex_page runs/lempex/{t5-glove,without-losses,lempex,attention} --gold runs/lempex/lempex

Replies (beam 5) and likelihoods are made by `harken reply`, figures by `harken compare`, tested against the first run:
perplexities, BLEU-1 and Distinct as the paper counts them (its Table 2), and the labels that the empathy classifiers
find in replies and responses (its Table 5). The paper's perplexity is over 21,132 words of its own, so the
likelihoods are also told in the words of the training turns (`--vocabulary`), which come nearest. The run of
`--gold` answers a second time with exemplars filtered by the gold emotion, as the authors' code does. Then what each run
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
from harken.training.run import read_config

PAGE = Path(__file__).parent.parent / "docs" / "results" / "lempex.md"
PAPER_WORDS, IN_TRAINING_WORDS = "ppl-paper-words", "in-training-words.jsonl"
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
STEPS = {
    ("t5-glove", "without-losses"): "exemplars, instead of none",
    ("without-losses", "lempex"): "empathy losses besides",
    ("lempex", "attention"): "attention over the exemplars, instead of their mean",
    ("lempex", "lempex-gold"): "exemplars by the gold emotion, instead of the predicted one",
}
"""What each run has that another has not."""
TOLD = {name: title for name, title in (TABLE_2 | TABLE_5).items() if name != PAPER_WORDS}
WORTH = ("ppl-utterance", "bleu-1", "distinct-2-token", *(name for name in TABLE_5 if not name.endswith("-difference")))
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


def replied(run: Path, words: Path, exemplars: Path | None = None) -> tuple[Path, dict[str, Any]]:
    """Replies and likelihoods of a run, where they are not there yet, with its own exemplars or other ones.

    Gives the folder that holds them, and the perplexity in the vocabulary `words`.
    """
    folder = run if exemplars is None else exemplars.parent
    made: dict[str, tuple[str, ...]] = {
        "replies-test.jsonl": ("--beam", "5"),
        "likelihoods-test.jsonl": ("--likelihoods",),
        IN_TRAINING_WORDS: ("--likelihoods", "--vocabulary", str(words)),
    }
    guide = () if exemplars is None else ("--exemplars", str(exemplars))
    for file, options in made.items():
        if not (folder / file).exists():
            harken("reply", str(run), *options, *guide, "--out", str(folder / file))
    scored = harken("score", str(folder / IN_TRAINING_WORDS), "--metrics", "ppl-utterance", "--json")
    [score] = json.loads(scored)["scores"]
    return folder, {**score, "metric": PAPER_WORDS}


def gold_exemplars(run: Path) -> Path:
    """Exemplars of the test split filtered by gold emotions, in a folder beside the run."""
    guides = read_config(run).text.exemplars
    assert guides is not None and guides.index is not None, f"{run} is not guided by exemplars"
    file = run.with_name(f"{run.name}-gold") / "exemplars.jsonl"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        leak = ("--split", "test", "--filter", "gold")
        harken("retrieve", str(guides.index), *leak, "-k", f"{guides.q}", "--out", str(file))
    return file


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


def compared(folders: Sequence[Path], empathy: Path) -> dict[str, Any]:
    """Every figure of each folder, tested against the first."""
    options = ("--tokenize", "moel", "--empathy", str(empathy), "--metrics", ",".join(TOLD), "--json")
    found: dict[str, Any] = json.loads(harken("compare", *map(str, folders), *options))
    return found


def steps(folders: dict[str, Path], empathy: Path) -> str:
    """A row for each part of the model: how the figures change with it, with intervals."""
    shown = {name: TOLD[name] for name in WORTH}
    rows = []
    for (before, after), title in STEPS.items():
        if before in folders and after in folders:
            changes = compared([folders[before], folders[after]], empathy)["systems"][1]["differences"]
            by_name = {change["metric"]: change for change in changes}
            rows.append([title, *(changed(by_name[name]) for name in shown)])
    return table(["", *shown.values()], rows)


def changed(change: dict[str, Any]) -> str:
    """A difference with its interval, and a star where it is one."""
    star = "*" if change["significant"] else ""
    return f"{change['difference']:+.2f}{star} [{change['low']:+.2f}, {change['high']:+.2f}]"


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
    parser.add_argument("--gold", nargs="*", type=Path, default=[], metavar="RUN")
    parser.add_argument("--empathy", type=Path, default=Path("runs/labels"))
    parser.add_argument("--words", type=Path, default=Path("runs/training-words"), help="Where to keep these words.")
    chosen = parser.parse_args()
    words = training_words(chosen.words)
    answered = [replied(run, words) for run in chosen.runs]
    answered += [replied(run, words, gold_exemplars(run)) for run in chosen.gold]
    for run in chosen.runs:
        keep(run)
    folders = [folder for folder, _ in answered]
    found = compared(folders, chosen.empathy)
    for system, score in zip(found["systems"], (score for _, score in answered), strict=True):
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
        "## What each part is worth",
        steps({folder.name: folder for folder in folders}, chosen.empathy),
        "## The paper's moments (Tables 4, 7 and 8)",
        examples(folders),
    ]
    with atomic(PAGE) as page:
        page.write("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
