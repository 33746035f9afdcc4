"""MEED2's tables for trained runs, as one page and one picture.

    python -m benchmarks.meed2_tables runs/meed2/os-ed runs/meed2/raw-ed --corpora empatheticdialogues starter \\
        --labels empatheticdialogues=labels/ed-turns.jsonl --limit 2000 --out docs/results/meed2.md

Table 3 (held-out and zero-shot: every run on every corpus), Table 4 (the predictor beside random guessing), Figure 5 (labels
of the replies) and the steering table of the last run that can be steered, on the first corpus. Replies and likelihoods are
kept in runs/replies and not made again, configs and logs of the runs in docs/results; --limit takes the first responses
of the split.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.__main__ import commit
from benchmarks.results_page import keep
from harken.classifiers.builtin import builtin
from harken.classifiers.run import load_classifier
from harken.errors import HarkenError
from harken.files import atomic
from harken.runtime import machine
from harken.scoring.meed2 import (
    PUBLISHED,
    held_out,
    label_shares,
    predictions,
    random_guesses,
    steering,
    weighted,
    with_labels_of,
)
from harken.scoring.meed2_page import draw, steering_table, table_3, table_4
from harken.scoring.replies import read_replies
from harken.training.likelihoods import examples_of
from harken.training.run import load_run

RANDOM = "random"
GOLD = "gold responses"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--corpora", nargs="+", required=True)
    parser.add_argument("--labels", nargs="*", default=[], metavar="CORPUS=FILE", help="labels of every turn")
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--steer", type=int, default=200, help="contexts of the steering table")
    parser.add_argument("--beam", type=int, default=PUBLISHED.beam)
    parser.add_argument("--classifier", type=Path, help="a run of the 41-way classifier; the built-in one by default")
    parser.add_argument("--replies", type=Path, default=Path("runs/replies"), help="where replies are kept")
    parser.add_argument("--out", type=Path, required=True, help="the page; the picture has its name and .svg")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    files = {corpus: Path(file) for corpus, _, file in (pair.partition("=") for pair in chosen.labels)}
    if unknown := set(files) - set(chosen.corpora):
        raise HarkenError(f"--labels names {', '.join(sorted(unknown))}, which --corpora does not")
    if len({folder.resolve().name for folder in chosen.runs}) < len(chosen.runs):
        raise HarkenError("two runs have the same name; rename the folder of one")
    decoding = replace(PUBLISHED, beam=chosen.beam)
    kept = chosen.replies / chosen.out.stem
    cells, predicted, shares = {}, {}, dict[str, dict[str, float]]()
    steerable = None
    for folder in chosen.runs:
        keep(folder)
        run = load_run(folder)
        steerable = run if run.generator.steerable else steerable
        for corpus in chosen.corpora:
            here = with_labels_of(run, corpus, files.get(corpus))
            key = (run.name, corpus)
            cells[key] = held_out(here, corpus, kept, split=chosen.split, decoding=decoding, limit=chosen.limit)
            if run.generator.steerable:
                pairs = predictions(here, examples_of(here, chosen.split, corpus, chosen.limit))
                predicted[key] = weighted(pairs)
                predicted.setdefault((RANDOM, corpus), random_guesses([gold for gold, _ in pairs]))
                if corpus == chosen.corpora[0]:
                    records = read_replies(cells[key].replies).records
                    shares.setdefault(GOLD, label_shares(gold for gold, _ in pairs))
                    shares[run.name] = label_shares(str(record.get("intent")) for record in records)
    parts = [
        f"# {chosen.out.stem}",
        f"`python -m benchmarks.meed2_tables`, {datetime.now(UTC):%Y-%m-%d}, commit {commit()}, {machine()}; beam "
        f"{decoding.beam}, {decoding.no_repeat}-gram blocking, split {chosen.split}.",
        "## Held-out and zero-shot (Table 3)",
        table_3(cells),
    ]
    if steerable is not None:
        corpus = chosen.corpora[0]
        here = with_labels_of(steerable, corpus, files.get(corpus))
        classifier = load_classifier(chosen.classifier) if chosen.classifier else builtin("intent")
        examples = examples_of(here, chosen.split, corpus, chosen.steer)
        rows = steering(here, examples, classifier, decoding=decoding)
        picture = chosen.out.with_suffix(".svg")
        draw(picture, f"{steerable.name} on {corpus}", shares, rows)
        parts += ["## The predictor (Table 4)", table_4(predicted)]
        parts += [f"## Steering: {steerable.name} on {corpus}, classifier {classifier.hash}", steering_table(rows)]
        parts += ["## Labels of replies (Figure 5)", f"![shares of labels]({picture.name})"]
    with atomic(chosen.out) as page:
        page.write("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
