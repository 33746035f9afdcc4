"""Trains LEMPEx and its ablations on EmpatheticDialogues; docs/results/lempex.md is made of them by benchmarks.lempex_page.

    python -m benchmarks.reproduce_lempex --vectors glove.6B.300d.txt                 what is missing
    python -m benchmarks.reproduce_lempex --vectors FILE t5-glove lempex              only these

The paper's six layers and 62,950 steps take days on two cores, so all runs have two layers and 3,000 steps with a
schedule that suits so few; they compare with each other. Needs the classifiers of runs/labels and the retriever
runs/rankers/exemplars. The vocabulary is MIME's, of all splits, so that perplexities stand beside those of
docs/results.md. Stopped at any moment, it goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.reproduce import RUNS as FOLDER
from benchmarks.reproduce import train

CONFIG = Path("configs/lempex.yaml")
REDUCED = (
    "network.encoder_layers=2",
    "network.decoder_layers=2",
    "network.d_inner=1024",
    "text.source=all",
    "training.schedule=cosine",
    "training.learning_rate=0.001",
    "training.warmup=300",
    "training.betas=[0.9, 0.98]",
    "training.max_steps=3000",
    "training.validate_every=1000",
)
READY = (
    f"recipe.emotion.run={FOLDER}/labels/emotion",
    f"recipe.ranker.run={FOLDER}/rankers/exemplars",
    *(
        f"recipe.empathy.{part}.run={FOLDER}/labels/empathy-{part}"
        for part in ("emotional", "interpretation", "exploration")
    ),
)
RUNS: dict[str, tuple[str, ...]] = {
    "t5-glove": ("network.exemplars=false", "network.empathy=false"),
    "without-losses": ("network.empathy=false",),
    "lempex": (),
    "attention": ("network.injection=attention",),
}
"""The rows of Table 2, and exemplars weighed by relevance."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", choices=[*RUNS, []], metavar="RUN")
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    for name in chosen.runs or RUNS:
        changes = (*REDUCED, *READY, *RUNS[name], f"text.vectors={chosen.vectors}")
        train(FOLDER / "lempex" / name, CONFIG, changes, chosen.threads)


if __name__ == "__main__":
    main()
