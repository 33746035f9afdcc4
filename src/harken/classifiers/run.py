"""Run folders of classifiers: `config.yaml`, `labels.json`, the weights, `metrics.json`, `log.jsonl` and a card."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from harken import config as configs
from harken.classifiers import encoder, fasttext, vectors
from harken.classifiers.base import Classifier
from harken.classifiers.config import ClassifierConfig
from harken.classifiers.tasks import task
from harken.errors import HarkenError
from harken.files import sha256, write_json
from harken.training.run import CONFIG, WEIGHTS

LABELS = "labels.json"
KINDS: dict[str, ModuleType] = {"encoder": encoder, "vectors": vectors, "fasttext": fasttext}
"""Each kind has `fit(config, material, folder, resume=, watching=)` and `load(folder, config, labels)`."""


def write_labels(folder: Path, labels: Sequence[str], temperature: float) -> None:
    """The last thing a run needs before it can be loaded."""
    write_json(folder / LABELS, {"labels": list(labels), "temperature": temperature})


def read_config(folder: Path) -> ClassifierConfig:
    """The config a run was trained with."""
    path = folder / CONFIG
    if not path.is_file():
        raise HarkenError(f"{folder}: is no run; train one with: harken train CONFIG --out {folder}")
    values = configs.parse(path.read_text(encoding="utf-8"), str(path))
    if values.get("model") != "classifier":
        raise HarkenError(f"{folder}: is a run of '{values.get('model')}', not of a classifier")
    return configs.build(ClassifierConfig, values, str(path))


def load_classifier(folder: Path) -> Classifier:
    """The trained classifier of a run folder."""
    config = read_config(folder)
    try:
        about = json.loads((folder / LABELS).read_text(encoding="utf-8"))
        labels, temperature = tuple(about["labels"]), float(about["temperature"])
    except FileNotFoundError as problem:
        raise HarkenError(f"{folder}: its training is not finished; go on with --resume") from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise HarkenError(f"{folder / LABELS}: cannot be read ({problem}); train the run again") from problem
    scorer = KINDS[config.kind].load(folder, config, len(labels))
    return Classifier(config.task, labels, scorer, fingerprint(folder), task(config.task).pairs, temperature)


def fingerprint(folder: Path) -> str:
    """Names weights, labels, temperature and settings of a run, in 16 hexadecimal digits."""
    parts = (CONFIG, LABELS, WEIGHTS, fasttext.FILE, vectors.FINGERPRINT)
    hashes = [sha256(folder / name) for name in parts if (folder / name).is_file()]
    return hashlib.sha256("|".join(hashes).encode()).hexdigest()[:16]


def runs_in(folder: Path) -> Iterator[Path]:
    """The folder itself if it is a run, else the finished runs in it."""
    if (folder / CONFIG).is_file() or not folder.is_dir():
        yield folder
    else:
        yield from sorted(path.parent for path in folder.glob(f"*/{LABELS}"))
