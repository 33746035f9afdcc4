"""From texts to label files: which classifiers, and what they say."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

from harken.classifiers.base import Classifier, Floats
from harken.classifiers.builtin import builtin
from harken.classifiers.run import load_classifier, read_config, runs_in
from harken.classifiers.sources import Asked
from harken.classifiers.tasks import TASKS
from harken.classifiers.vader import SENTIMENT, Vader
from harken.errors import HarkenError, did_you_mean
from harken.label_files import Header, LabelledText, Made

FAMILIES: dict[str, tuple[str, ...]] = {
    "emotion": ("emotion",),
    "intent": ("intent",),
    "empathy": ("empathy-emotional", "empathy-interpretation", "empathy-exploration"),
    "sentiment": (SENTIMENT,),
    "topic": ("topic",),
}
"""What `--with` may name, and the tasks it stands for where no run says otherwise."""
CHUNK = 1_024
"""Texts labelled at a time, and lost at most when interrupted."""


def classifiers_of(family: str, runs: Sequence[Path], console: Console | None = None) -> list[Classifier]:
    """The classifiers of a family: those of the runs (or of the runs in a folder), else the built-in ones."""
    if family not in FAMILIES:
        raise HarkenError(f"unknown labels '{family}'{did_you_mean(family, FAMILIES)}; use {', '.join(FAMILIES)}")
    if not runs:
        return [builtin(task, console) for task in FAMILIES[family]]
    found = [load_classifier(run) for folder in runs for run in runs_in(folder) if _fits(run, family, runs)]
    if not found:
        raise HarkenError(f"{runs[0]}: has no run of '{family}'; train one with: harken train configs/{family}*.yaml")
    tasks = [one.task for one in found]
    if len(set(tasks)) < len(tasks):
        raise HarkenError(f"two runs are of '{max(tasks, key=tasks.count)}'; name one with --run")
    return found


def _fits(run: Path, family: str, named: Sequence[Path]) -> bool:
    """Whether a run is of the family; of the runs in a folder only those of its first choice, a named one must be."""
    task = read_config(run).task
    if run not in named:
        return task in FAMILIES[family]
    own = task.split("-")[0]
    if own != family:
        raise HarkenError(f"{run}: is a run of '{task}', not of '{family}'; label with --with {own}")
    return True


def header_of(classifiers: Iterable[Classifier], asked: Sequence[Asked], *, of: str, top: int) -> Header:
    """What a label file says about those who made it, and of what."""
    digest = hashlib.sha256()
    for one in asked:
        digest.update(json.dumps([one.id, one.item], ensure_ascii=False).encode())
    made = {one.task: Made(one.hash, one.labels) for one in classifiers}
    return Header(of, made, digest.hexdigest()[:16], top)


def labelled(
    classifiers: Sequence[Classifier],
    asked: Sequence[Asked],
    *,
    top: int = 5,
    advance: Callable[[int], None] | None = None,
) -> Iterator[LabelledText]:
    """Each text with its likeliest labels, a chunk at a time."""
    for begin in range(0, len(asked), CHUNK):
        chunk = asked[begin : begin + CHUNK]
        items = [one.item for one in chunk]
        found = [one.probabilities(items) for one in classifiers]
        compound = next(
            (c.scorer.compound(one.text for one in chunk) for c in classifiers if isinstance(c.scorer, Vader)), None
        )
        for row, one in enumerate(chunk):
            labels = {c.task: ranked(c, chances[row], top) for c, chances in zip(classifiers, found, strict=True)}
            scores = {} if compound is None else {"compound": round(float(compound[row]), 4)}
            yield LabelledText(one.id, one.text, labels, scores)
        if advance is not None:
            advance(len(chunk))


def ranked(classifier: Classifier, chances: Floats, top: int) -> dict[str, float]:
    """The likeliest labels with their probabilities, (L,) -> at most `top`; what is impossible is left out."""
    order = np.argsort(-chances, kind="stable")[:top]
    return {classifier.labels[i]: round(float(chances[i]), 4) for i in order if chances[i] > 0}


def default_of(classifiers: Sequence[Classifier]) -> str:
    """What the first of the classifiers reads of a line unless told otherwise."""
    task = classifiers[0].task
    return TASKS[task].of if task in TASKS else "reply"
