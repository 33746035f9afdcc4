"""What is compared: reply files and runs, each under a name; several files under one name are seeds of one run.

A run is a folder. It may hold `replies*.jsonl`, `likelihoods*.jsonl`, `metrics.json`, and `emotions.json`, the vector
that the model has learnt for each emotion:

    {"emotions": ["afraid", "angry", …], "vectors": [[0.12, …], [0.07, …], …]}
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import harken
from harken.errors import HarkenError
from harken.labels import emotion
from harken.scoring.perplexity import is_likelihoods
from harken.scoring.score import Score
from harken.scoring.statistics import Values

EMOTIONS_FILE, METRICS_FILE = "emotions.json", "metrics.json"
_SEED = re.compile(r"[-_. ]*(?:seed|(?<![a-z])s)[-_.=]?\d+$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file or run to compare."""

    name: str
    """The system it belongs to."""
    label: str
    """Its own name among the seeds of that system."""
    replies: Path | None = None
    likelihoods: Path | None = None
    folder: Path | None = None

    @property
    def path(self) -> Path:
        """What to call it in a message."""
        found = self.replies or self.likelihoods or self.folder
        assert found is not None
        return found


def find_sources(arguments: Sequence[str], *, split: str = "test", group: bool = False) -> list[Source]:
    """The files and runs that `PATH` or `NAME=PATH` arguments name; `group` joins names that differ only in a seed."""
    found: list[Source] = []
    for argument in arguments:
        given, equals, rest = argument.partition("=")
        named = bool(equals) and not Path(argument).exists()
        path = Path(rest if named else argument)
        if named and not given.strip():
            raise HarkenError(f"'{argument}': write it as NAME=PATH, with a name before the '='")
        found += [replace(source, name=given.strip() if named else "") for source in _sources(path, split)]
    labels = Counter(source.label for source in found)
    found = [replace(one, label=str(one.path)) if labels[one.label] > 1 else one for one in found]
    found = [one if one.name else replace(one, name=one.label) for one in found]
    if group:
        found = [replace(one, name=_SEED.sub("", one.name) or one.name) for one in found]
    seen: set[Path] = set()
    for one in found:
        if (place := one.path.resolve()) in seen:
            raise HarkenError(f"{one.path}: is named twice; compare each file with others, not with itself")
        seen.add(place)
    return found


def _sources(path: Path, split: str) -> Iterator[Source]:
    """A file is one source, a run one for each of its reply files of the split; their names are still open."""
    if not path.exists():
        raise HarkenError(f"{path}: there is no such file or run")
    if path.is_file():
        kind = "likelihoods" if is_likelihoods(path) else "replies"
        label = path.resolve().parent.name if path.stem.startswith(("replies", "likelihoods")) else path.stem
        yield Source(name="", label=label, **{kind: path})
        return
    if not path.is_dir():
        raise HarkenError(f"{path}: is a pipe, which can be read only once; write it to a file first")
    likelihoods = _of_split(path, "likelihoods", split)
    replies = _of_split(path, "replies", split)
    if not likelihoods and not replies and not (path / METRICS_FILE).is_file():
        raise HarkenError(
            f"{path}: holds neither replies nor {METRICS_FILE}; write replies with: harken reply {path} --split {split}"
        )
    first = likelihoods[0] if likelihoods else None
    own = path.resolve().name
    if len(replies) < 2:
        yield Source(name="", label=own, folder=path, likelihoods=first, replies=replies[0] if replies else None)
        return
    for place, file in enumerate(replies):
        mark = file.stem.removeprefix("replies").removeprefix(f"-{split}").strip("-_. ")
        yield Source(
            name="",
            label=f"{own} {mark}".strip(),
            folder=path,
            replies=file,
            likelihoods=None if place else first,  # a perplexity does not depend on how replies are decoded
        )


def _of_split(folder: Path, kind: str, split: str) -> list[Path]:
    """`kind*.jsonl`; where some carry the split in their name, only those."""
    found = sorted(folder.glob(f"{kind}*.jsonl"))
    return [path for path in found if path.stem.startswith(f"{kind}-{split}")] or [
        path for path in found if path.stem == kind
    ]


def run_scores(folder: Path, split: str, labelled: int | None = None) -> list[Score]:
    """What a run's metrics.json tells of a split: perplexities, emotion accuracy, parameters; no intervals.

    Emotion accuracies are of the `labelled` responses, whose number the file does not tell; None if all have emotions.
    """
    metrics = _read_json(folder / METRICS_FILE)
    vocabulary = str(metrics.get("vocabulary", "unnamed"))
    found = []
    for part, protocol, suffix in ((split, "predicted", ""), (f"{split}_oracle", "oracle", "-oracle")):
        figures = metrics.get(part)
        if not isinstance(figures, dict):
            continue
        details = {"protocol": protocol, "vocabulary": vocabulary}
        for key, name in (("perplexity", "ppl-token"), ("perplexity_utterance_mean", "ppl-utterance")):
            if key in figures:
                found.append(_ready(name + suffix, figures[key], figures["responses"], "perplexity", details))
        for k in (1, 2, 5) if not suffix else ():
            if f"emotion_top{k}" in figures:
                share, n = 100.0 * figures[f"emotion_top{k}"], labelled or figures["responses"]
                found.append(_ready(f"emotion-top{k}", share, n, "percent", {"among": str(k)}))
    if "parameters" in metrics:
        count = metrics["parameters"]
        found.append(Score("parameters", count, None, None, 1, f"parameters|unit:count|v:{harken.__version__}"))
    return found


def _ready(metric: str, value: float, n: int, unit: str, details: dict[str, str]) -> Score:
    parts = {"from": METRICS_FILE, **details, "unit": unit, "n": str(n), "v": harken.__version__}
    signature = "|".join([metric, *(f"{key}:{text}" for key, text in parts.items())])
    return Score(metric, float(value), None, None, n, signature)


@dataclass(frozen=True)
class Embedding:
    """A vector for each emotion."""

    emotions: tuple[str, ...]
    vectors: Values  # (E, D)


def read_emotions(folder: Path) -> Embedding | None:
    """The vectors in a run's emotions.json, or those in its weights; None where there are none."""
    path = folder / EMOTIONS_FILE
    if not path.exists():
        return _from_weights(folder)
    found = _read_json(path)
    names, rows = found.get("emotions"), found.get("vectors")
    if not isinstance(names, list) or not isinstance(rows, list) or len(names) != len(rows) or len(names) < 3:
        raise HarkenError(
            f'{path}: must hold {{"emotions": […], "vectors": [[…], …]}}, a vector for each of at least 3 emotions'
        )
    try:
        vectors = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise HarkenError(f"{path}: the vectors must be lists of numbers, all of one length") from problem
    if vectors.ndim != 2 or vectors.shape[1] < 2 or not np.isfinite(vectors).all():
        raise HarkenError(f"{path}: the vectors must be lists of at least 2 finite numbers, all of one length")
    return Embedding(tuple(emotion(str(name)) for name in names), vectors)


def _from_weights(folder: Path) -> Embedding | None:
    if not (folder / "weights.safetensors").exists() or not (folder / "config.yaml").exists():
        return None
    from harken.labels import EMOTIONS
    from harken.training.run import load_run

    try:
        vectors = getattr(load_run(folder).generator, "emotion_vectors", None)
    except HarkenError:  # replies compare even when this version of harken cannot load what made them
        return None
    return None if vectors is None else Embedding(EMOTIONS, np.asarray(vectors(), dtype=np.float64))


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as problem:
        raise HarkenError(f"{path}: is not JSON ({problem}); it may be cut short") from problem
    if not isinstance(found, dict):
        raise HarkenError(f"{path}: must hold a JSON object")
    return found
