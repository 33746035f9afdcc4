"""How empathetic replies are beside the gold responses: the labels behind LEMPEx's synthetic evaluation (section 4.3.2).

The trained classifiers of EPITOME's three mechanisms read (context, reply) and (context, response) alike; the level
they give the response is the synthetic gold of the reply's. Pairs are those of `harken label`: the last turns of the
context, and the answer. An empty answer shows nothing, so its level is 0 whatever a classifier would say.

Every system is compared with the same responses, and a file is scored, compared and reported on: levels are kept in
the cache, under the hashes of the classifier and of the texts. Pairs are labelled each once and in an order of their
own, so neither the order of a file's lines nor how often one comes changes a level.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from harken.classifiers.base import Classifier
from harken.classifiers.tasks import HISTORY
from harken.errors import HarkenError
from harken.files import atomic
from harken.labels import LEVELS
from harken.runtime import cache
from harken.scoring.material import Heard, Material
from harken.scoring.replies import ReplyRecord
from harken.scoring.statistics import Integers

MECHANISMS = {
    "emotional-presence": "empathy-emotional",
    "interpretation": "empathy-interpretation",
    "exploration": "empathy-exploration",
}
"""LEMPEx's names of the mechanisms, and the tasks of their classifiers."""
PLACES = (Path("runs"), Path("runs/labels"))
"""Where a run with the name of its task is looked for unless runs are named."""
Pair = tuple[str, str]


@dataclass(frozen=True)
class Judged:
    """The levels 0, 1 and 2 of one mechanism, and the hash of the classifier that gave them."""

    replies: Integers  # (N,)
    responses: Integers  # (N,)
    classifier: str


def judged(material: Material, mechanism: str) -> Judged:
    """The levels of replies and responses; the responses first, so that they are labelled alike for every file."""
    judge = judge_of(MECHANISMS[mechanism], material.settings.empathy)
    responses = [pair(record, record.response or "") for record in material.records]
    replies = [pair(record, record.reply) for record in material.records]
    gold = judge.levels(responses, f"{mechanism} of the responses", material.heard)
    return Judged(judge.levels(replies, f"{mechanism} of the replies", material.heard), gold, judge.classifier.hash)


def pair(record: ReplyRecord, answer: str) -> Pair:
    """What a classifier of empathy reads: the last turns before, and the answer."""
    return " ".join((record.context or ())[-HISTORY:]), answer.strip()


@dataclass(frozen=True)
class Judge:
    """A classifier of one mechanism that remembers what it said."""

    classifier: Classifier
    known: dict[bytes, int] = field(default_factory=dict)
    """The level of each pair so far, by the pair's digest."""

    def levels(self, pairs: Sequence[Pair], what: str = "", heard: Heard | None = None) -> Integers:
        """The likeliest level of each pair, (N,); `heard` is told of `what` is labelled."""
        names = [_digest(one) for one in pairs]
        answered = {name: one for name, one in zip(names, pairs, strict=True) if one[1]}
        order = sorted(answered)
        fresh = [name for name in order if name not in self.known]
        path = cache() / f"empathy-{self.classifier.hash}-{hashlib.sha256(b''.join(order)).hexdigest()[:16]}.txt"
        if fresh and (kept := _kept(path, len(order))) is not None:
            self.known.update(dict(zip(order, kept, strict=True)) | self.known)
        elif fresh:
            found = self._asked([answered[name] for name in fresh], what, heard)
            self.known.update(zip(fresh, found, strict=True))
            with suppress(HarkenError), atomic(path) as stream:  # where nothing can be kept, it is asked again
                stream.write("".join(str(self.known[name]) for name in order))
        return np.array([self.known[name] if name in answered else 0 for name in names], np.int64)

    def _asked(self, pairs: Sequence[Pair], what: str, heard: Heard | None) -> list[int]:
        done = 0

        def advance(more: int) -> None:
            nonlocal done
            done += more
            if heard is not None:
                heard(what, done, len(pairs))

        level = [LEVELS.index(label) for label in self.classifier.labels]
        return [level[best] for best in self.classifier.probabilities(pairs, advance).argmax(axis=1)]


def _digest(pair: Pair) -> bytes:
    return hashlib.blake2b(json.dumps(pair).encode(), digest_size=16).digest()


def _kept(path: Path, count: int) -> list[int] | None:
    """The levels in a file of the cache, a digit each; None if it was never made, or is damaged."""
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None
    whole = len(text) == count and set(text) <= set("012")
    return [int(digit) for digit in text] if whole else None


def judge_of(task: str, named: Sequence[Path] = ()) -> Judge:
    """The judge of a task, loaded once as long as its run stays the same."""
    from harken.classifiers.run import LABELS

    run = run_of(task, named).resolve()
    return _loaded(run, (run / LABELS).stat().st_mtime_ns)


@lru_cache(maxsize=len(MECHANISMS))
def _loaded(run: Path, finished: int) -> Judge:
    from harken.classifiers.run import load_classifier

    classifier = load_classifier(run)
    if strange := [label for label in classifier.labels if label not in LEVELS]:
        raise HarkenError(
            f"{run}: has the label '{strange[0]}', but levels of empathy are {', '.join(LEVELS)}; "
            f"train it again with configs/{classifier.task}.yaml"
        )
    return Judge(classifier)


def run_of(task: str, named: Sequence[Path] = ()) -> Path:
    """The finished run of a task: among the runs named (or in the folders named), else in one of `PLACES`."""
    from harken.classifiers.run import LABELS, read_config, runs_in
    from harken.training.run import CONFIG

    if absent := [folder for folder in named if not folder.is_dir()]:
        raise HarkenError(f"{absent[0]}: there is no such folder; name runs of empathy classifiers with --empathy")
    finished = [place / task for place in PLACES if (place / task / LABELS).is_file()][:1]
    candidates = dict.fromkeys(run for folder in named or finished for run in runs_in(folder))
    found = [run for run in candidates if read_config(run).task == task]
    if len(found) > 1:
        raise HarkenError(f"{found[0]} and {found[1]} are both runs of '{task}'; name one of them with --empathy")
    if found and (found[0] / LABELS).is_file():
        return found[0]
    begun = [*found, *(place / task for place in named or PLACES if (place / task / CONFIG).is_file())]
    if begun:
        train = f"harken train configs/{task}.yaml --out {begun[0]} --resume"
        raise HarkenError(f"{begun[0]} is no finished run of '{task}'; go on with: {train}")
    where = " and ".join(str(place) for place in named or PLACES)
    train = f"harken train configs/{task}.yaml --out {PLACES[0] / task}"
    raise HarkenError(
        f"there is no classifier of '{task}' in {where}; train one with: {train}, or name one with --empathy"
    )


def obstacle(task: str, named: Sequence[Path] = ()) -> str | None:
    """Why there is nothing to judge a task with, in words that say what to do; None if there is."""
    try:
        run_of(task, named)
    except HarkenError as problem:
        return str(problem)
    return None
