"""Trains every run of docs/results.md, one after the other; stopped at any moment, it goes on where it was.

    python -m benchmarks.reproduce --vectors glove.6B.300d.txt                 everything that is not finished
    python -m benchmarks.reproduce --vectors FILE published/mime honest/mime   only these

Runs lie in runs/PROTOCOL/NAME. *published* builds the vocabulary on all splits, as the releases do; *honest* on training
text. Since nothing but the list of words differs, an honest run starts from the weights of the published one, learns
the unknown word and goes on until the validation stops it; house and EmpDG go on from a first stage in both. Two of
these may run side by side on different names.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

RUNS = Path("runs")
SHORT = ("training.warmup=2000", "training.max_steps=4000", "training.validate_from=0", "training.validate_every=2000")
"""What ablations are trained with, and the full model that they are compared with: a fifth of the steps, for all the same."""
GOING_ON = (
    "training.schedule=constant",
    "training.learning_rate=0.0004",
    "training.warmup=100",
    "training.max_steps=2000",
    "training.validate_from=0",
    "training.validate_every=1000",
)
"""How a run goes on from a trained one: at the rate that Noam's schedule has come down to."""
LAYERS = ("network.encoder_layers=2", "network.decoder_layers=2")
"""EmpDG goes on from the Transformer, so it has the Transformer's layers."""
GAME = ("training.critic_steps=500", "training.game_steps=1000")
"""A fifth of the release's game, which takes hours."""
NAMES: dict[str, tuple[str, ...]] = {
    "transformer": (),
    "multi-tr": (),
    "moel": (),
    "mime": (),
    "house-first": (),
    "house": (),
    "empdg": (*LAYERS, *GOING_ON, "training.max_steps=4000", *GAME),
    "mime-full": SHORT,
    "mime-without-mimicry": ("network.mimicry=false", *SHORT),
    "mime-without-grouping": ("network.mimicry=false", "network.grouping=false", *SHORT),
    "mime-without-stochasticity": ("network.stochastic=false", *SHORT),
    "mime-release": ("network.variant=release", *SHORT),
}
"""Each run, and what it changes in the config it is named after."""
PROTOCOLS = {"published": ("text.source=all",), "honest": ()}
BOTH = ("transformer", "multi-tr", "moel", "mime", "house", "empdg")
"""The runs of the honest protocol; ablations are of the published one."""
FIRST = {"house": "house-first", "empdg": "transformer"}
"""Second stages, and the published run that they go on from, in both protocols."""


def plan() -> list[str]:
    """Every run, the most telling first."""
    return [f"published/{name}" for name in NAMES] + [f"honest/{name}" for name in BOTH]


def config_of(name: str) -> Path:
    """The config a run is named after."""
    return Path("configs") / f"{'mime' if name.startswith('mime') else name}.yaml"


def changes(run: str, vectors: Path) -> list[str]:
    """What a run changes in its config."""
    protocol, _, name = run.partition("/")
    found = [*PROTOCOLS[protocol], *NAMES[name], f"text.vectors={vectors}"]
    if name in FIRST:
        found.append(f"start_from={RUNS / 'published' / FIRST[name]}")
    elif protocol == "honest":
        found += [*GOING_ON, f"start_from={RUNS / 'published' / name}"]
    return found


def train(folder: Path, config: Path, changes: Iterable[str], threads: int) -> None:
    """Train a run, or go on with it; nothing for one that is finished."""
    if (folder / "metrics.json").exists():
        return
    print(folder, file=sys.stderr)
    words = [part for change in (*changes, f"runtime.threads={threads}") for part in ("--set", change)]
    words += ["--resume"] * (folder / "checkpoint.pt").exists()
    harken("train", str(config), "--out", str(folder), *words)


def harken(*words: str) -> None:
    """A harken command, its output shown; a mistake ends it all with the same code."""
    code = subprocess.run([sys.executable, "-m", "harken", *words], check=False).returncode
    if code:
        sys.exit(code)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", choices=[*plan(), []], metavar="PROTOCOL/NAME")
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    for run in chosen.runs or plan():
        train(RUNS / run, config_of(run.partition("/")[2]), changes(run, chosen.vectors), chosen.threads)


if __name__ == "__main__":
    main()
