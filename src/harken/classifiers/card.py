"""The model card of a classifier: its README."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harken import config as configs
from harken.classifiers.config import ClassifierConfig
from harken.classifiers.tasks import task
from harken.files import atomic

_CARD = """# {name}

A classifier trained with harken {harken}: **{about}**, {count} labels, from **{corpus}** ({examples:,} training examples).

Labels: {labels}.

## Results

| split | accuracy | macro F1 | weighted F1 | calibration error, before → after | examples |
|---|---|---|---|---|---|
{rows}

Probabilities are calibrated with the temperature {temperature} found on the validation split (expected calibration
error over 15 bins).

## Use

    harken label FILE --with {family} --run {folder}

Labels are guesses from words alone. They carry the biases and the licence of the training corpus, and must not be used
to judge or diagnose a person.

## Config

```yaml
{config}```
"""


def write_card(folder: Path, config: ClassifierConfig, labels: Sequence[str], metrics: dict[str, Any]) -> None:
    """Write the card into a run folder."""
    rows = [
        f"| {split} | {part['accuracy']:.2%} | {part['macro_f1']:.2%} | {part['weighted_f1']:.2%} "
        f"| {part['calibration_error_before']:.3f} → {part['calibration_error']:.3f} | {part['examples']:,} |"
        for split in ("valid", "test")
        if (part := metrics.get(split))
    ]
    text = _CARD.format(
        name=folder.resolve().name,
        harken=metrics["harken"],
        about=task(config.task).about,
        count=len(labels),
        corpus=config.corpus,
        examples=metrics["training_examples"],
        labels=", ".join(labels),
        rows="\n".join(rows),
        temperature=metrics["temperature"],
        family=config.task.split("-")[0],
        folder=folder.name,
        config=configs.dump(config),
    )
    with atomic(folder / "README.md") as stream:
        stream.write(text)
