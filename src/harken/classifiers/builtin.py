"""Classifiers that are there without training: emotions and intents learnt from the starter corpus, and VADER.

The first use fits a linear reading of MiniLM vectors (kind `vectors`) in about a minute and keeps it in the cache; later
ones load it.
"""

from __future__ import annotations

import hashlib
import tempfile
from contextlib import suppress
from pathlib import Path

from rich.console import Console

import harken
from harken import config as configs
from harken.classifiers.base import Classifier
from harken.classifiers.config import ClassifierConfig, EncoderConfig
from harken.classifiers.run import LABELS, load_classifier
from harken.classifiers.tasks import task
from harken.classifiers.training import train
from harken.classifiers.vader import SENTIMENT, vader
from harken.corpora import STARTER, library
from harken.errors import HarkenError
from harken.runtime import cache
from harken.text.encoder import SentenceEncoder

BUILT_IN = ("emotion", "emotion-situation", "intent")
"""What the starter corpus has labels for."""


def builtin(name: str, console: Console | None = None) -> Classifier:
    """The classifier of a task that needs no run."""
    if name == SENTIMENT:
        return vader()
    if name not in BUILT_IN:
        raise HarkenError(
            f"no classifier of '{name}' ({task(name).about}) is built in; train one with: harken train "
            f"configs/{name}.yaml --out runs/{name}, and name it with --run runs/{name}"
        )
    config = ClassifierConfig(
        task=name, corpus=STARTER, kind="vectors", balance="weights", encoder=EncoderConfig(max_tokens=128)
    )
    encoder = SentenceEncoder(max_tokens=config.encoder.max_tokens)
    key = (harken.__version__, library.manifest(STARTER).sha256, encoder.fingerprint, configs.dump(config))
    folder = cache() / f"labels-{name}-{hashlib.sha256('|'.join(key).encode()).hexdigest()[:16]}"
    if (folder / LABELS).is_file():
        with suppress(HarkenError, OSError):  # a damaged cache is made again
            return load_classifier(folder)
    return _made(config, folder, console)


def _made(config: ClassifierConfig, folder: Path, console: Console | None) -> Classifier:
    """Train beside the cache and move in when whole; where nothing can be kept it is made each time."""
    with tempfile.TemporaryDirectory(prefix="harken-labels-") as temporary:
        place = Path(temporary)
        with suppress(OSError):
            folder.parent.mkdir(parents=True, exist_ok=True)
            place = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
        train(config, place / "run", console=console)
        found = load_classifier(place / "run")
        with suppress(OSError):
            (place / "run").rename(folder)
            place.rmdir()
    return found
