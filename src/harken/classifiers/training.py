"""Train a classifier: gather, fit, calibrate on the validation split, measure, write the card."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console

import harken
from harken import config as configs
from harken.classifiers.base import Classifier, Floats, softmax
from harken.classifiers.card import write_card
from harken.classifiers.config import ClassifierConfig
from harken.classifiers.material import Material, gather
from harken.classifiers.measures import best_temperature, figures
from harken.classifiers.run import KINDS, load_classifier, read_config, write_labels
from harken.classifiers.watching import Watching
from harken.errors import HarkenError
from harken.files import write_json
from harken.training.run import CHECKPOINT, CONFIG, read_checkpoint, write_config

METRICS, LOG = "metrics.json", "log.jsonl"


def train_run(
    path: Path, changes: Iterable[str], folder: Path, *, resume: bool = False, console: Console | None = None
) -> dict[str, Any]:
    """Train what a YAML file describes into a run folder; gives what `metrics.json` holds, with the line to print."""
    return train(configs.load(ClassifierConfig, path, changes), folder, resume=resume, console=console)


def train(
    config: ClassifierConfig, folder: Path, *, resume: bool = False, console: Console | None = None
) -> dict[str, Any]:
    """Train into a run folder. A finished run that is resumed gives its metrics; an interrupted one goes on."""
    watching = Watching(folder / LOG, console)
    if (folder / CONFIG).exists():
        _check(folder, config, resume)
        if (folder / METRICS).exists():
            return dict(json.loads((folder / METRICS).read_text(encoding="utf-8")))
    elif resume:
        raise HarkenError(f"{folder}: there is no run to resume; leave out --resume to begin")
    material = gather(config)
    folder.mkdir(parents=True, exist_ok=True)
    write_config(folder, config)
    sizes = ", ".join(f"{len(rows.items):,} {split}" for split, rows in material.rows.items())
    watching.noted(f"{config.task} from {config.corpus}: {len(material.labels)} labels; {sizes}")
    resume = resume and (folder / CHECKPOINT).exists()
    earlier = float(read_checkpoint(folder, config)["progress"]["seconds"]) if resume else 0.0
    began = time.monotonic() - earlier
    scorer = KINDS[config.kind].fit(config, material, folder, resume=resume, watching=watching)
    return _conclude(config, material, folder, Classifier(config.task, material.labels, scorer, ""), began)


def _check(folder: Path, config: ClassifierConfig, resume: bool) -> None:
    """A folder with a run in it is never written over, nor resumed under other settings."""
    if not resume:
        raise HarkenError(f"{folder}: has a run in it; go on with --resume, or choose another folder with --out")
    if read_config(folder) != config:
        raise HarkenError(f"{folder / CONFIG}: says otherwise; resume with its settings, or train into another folder")


def _conclude(
    config: ClassifierConfig, material: Material, folder: Path, fitted: Classifier, began: float
) -> dict[str, Any]:
    """Calibrate, measure every split but the training one, and write what the folder still lacks."""
    scores = {split: _scores(fitted, material, split) for split in ("valid", "test") if material.rows[split].items}
    temperature = best_temperature(scores["valid"], material.rows["valid"].gold)
    write_labels(folder, material.labels, temperature)
    metrics: dict[str, Any] = {
        "model": "classifier",
        "task": config.task,
        "kind": config.kind,
        "corpus": config.corpus,
        "harken": harken.__version__,
        "labels": len(material.labels),
        "training_examples": len(material.rows["train"].items),
        "temperature": round(temperature, 4),
        "seconds": round(time.monotonic() - began, 1),
        "hash": load_classifier(folder).hash,
    }
    for split, found in scores.items():
        gold = material.rows[split].gold
        before = figures(softmax(found), gold)["calibration_error"]
        metrics[split] = figures(softmax(found / temperature), gold) | {"calibration_error_before": before}
    metrics["summary"] = _summary(folder, metrics)
    write_card(folder, config, material.labels, metrics)
    write_json(folder / METRICS, metrics)
    return metrics


def _scores(fitted: Classifier, material: Material, split: str) -> Floats:
    return fitted.scorer.scores(material.rows[split].items)


def _summary(folder: Path, metrics: dict[str, Any]) -> str:
    split = "test" if "test" in metrics else "valid"
    part = metrics[split]
    return (
        f"{folder}: {metrics['task']}, {split} accuracy {part['accuracy']:.2%}, macro F1 {part['macro_f1']:.2%}, "
        f"weighted F1 {part['weighted_f1']:.2%}, calibration error {part['calibration_error_before']:.3f} → "
        f"{part['calibration_error']:.3f} ({part['examples']:,} examples)"
    )
