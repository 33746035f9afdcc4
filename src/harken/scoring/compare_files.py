"""The figures of one file or run, and what is kept of them once the next one is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import cast, get_args

from harken.corpora.base import at
from harken.errors import HarkenError, did_you_mean
from harken.scoring.breakdown import groups, score_groups
from harken.scoring.compare_examples import Examples
from harken.scoring.compare_sources import METRICS_FILE, Source, run_scores
from harken.scoring.evaluate import ALL, choose, measure
from harken.scoring.material import Heard, Material, Settings
from harken.scoring.metrics import expanded, metric
from harken.scoring.perplexity import PERPLEXITIES, Likelihoods, measure_likelihoods, read_likelihoods
from harken.scoring.replies import Replies, read_replies
from harken.scoring.score import Measured, Score
from harken.scoring.statistics import Integers, Resampling, Values
from harken.scoring.uncertainty import Resamples, Test, around, resampled

Witness = Callable[[Source, Material], None]
"""Shown each file's texts while they are at hand."""
Parts = Mapping[str, dict[str, Integers]]
"""Which examples have which value of each field."""
Breakdown = Mapping[str, Mapping[str, Mapping[str, Score]]]
"""Field, then value, then metric."""
_ORACLE = "-oracle"
_RUN = "parameters"
_NONE = Resamples(samples=0)


def paired_test(name: str) -> Test:
    """The paired test of that name."""
    for known in get_args(Test):
        if name == known:
            return cast(Test, known)
    raise HarkenError(f"--test {name}: use {' or '.join(get_args(Test))}{did_you_mean(name, get_args(Test))}")


@dataclass(frozen=True, kw_only=True)
class Options:
    """How files are read, scored and tested."""

    metrics: Sequence[str] | None = None
    settings: Settings = field(default_factory=Settings)
    resamples: Resamples = field(default_factory=Resamples)
    test: Test = "bootstrap"
    references: Path | None = None
    by: str | None = None
    """A field to break figures down by."""
    emotions: bool = False
    """Break figures down by emotion too, without intervals, where the files know it: for the report's heat map."""
    baseline: str | None = None
    split: str = "test"
    skip_bad: bool = False
    allow_empty: bool = False

    def __post_init__(self) -> None:
        for name in self.of_replies() or ():
            if name != ALL:
                metric(name)

    def read(self, path: Path) -> Replies:
        """A reply file under these options."""
        return read_replies(path, self.references, skip_bad=self.skip_bad, allow_empty=self.allow_empty)

    def parts(self, examples: Replies) -> Parts:
        """Which examples belong together."""
        fields = [] if self.by is None else [self.by]
        if self.emotions and self.by != "emotion" and "emotion" in examples.fields():
            fields.append("emotion")
        return {field: groups(examples, field) for field in fields}

    def wants(self, metric: str) -> bool:
        """Whether a figure of that name was asked for."""
        return not self.metrics or ALL in self.metrics or metric in self.metrics

    def of_replies(self) -> list[str] | None:
        """The metrics asked for that replies give; None is the default set."""
        if not self.metrics:
            return None
        return [name for name in expanded(self.metrics) if name not in PERPLEXITIES and name != _RUN]


@dataclass(frozen=True)
class Figures:
    """What is kept of one source."""

    scores: dict[str, Score]
    samples: dict[str, tuple[Resampling, Values]]
    """Each metric's resampled figures, (S,)."""
    groups: Breakdown
    left_out: dict[str, str]
    bad_lines: int


def figures_of(
    source: Source,
    options: Options,
    examples: Examples | None,
    parts: Parts,
    witness: Witness | None = None,
    heard: Heard | None = None,
) -> Figures:
    """Read a source, score it, and keep its figures."""
    measured: list[Measured] = []
    broken_down: Breakdown = {}
    left_out: dict[str, str] = {}
    bad = 0
    if source.replies is not None and examples is not None:
        replies = options.read(source.replies)
        bad = sum(replies.skipped.counts.values())
        material = Material(examples.of(replies).records, options.settings, heard)
        names = options.of_replies()
        if names != []:
            with at(str(source.replies)):
                chosen, left_out = choose(material, names)
            measured = measure(material, chosen)
        broken_down = _broken_down(measured, parts, options)
        if witness is not None:
            witness(source, material)
    if source.likelihoods is not None:
        asked = [name for name in options.metrics or () if name in PERPLEXITIES]
        if asked or options.metrics is None or ALL in options.metrics:
            found, without = measure_likelihoods(likelihoods_of(source.likelihoods, options), asked)
            measured += found
            left_out |= without
    drawn = resampled(measured, options.resamples)
    scores = {one.metric: around(one, values, options.resamples) for one, values in zip(measured, drawn, strict=True)}
    for score in _told(source, options, examples):
        scores.setdefault(score.metric, score)
    samples = {
        one.metric: (one.statistic.resampling, values)
        for one, values in zip(measured, drawn, strict=True)
        if len(values)
    }
    left_out = {name: reason for name, reason in left_out.items() if name not in scores}
    return Figures(scores, samples, broken_down, left_out, bad)


def _broken_down(measured: Sequence[Measured], parts: Parts, options: Options) -> Breakdown:
    return {
        by: {
            group.value: {score.metric: score for score in group.scores}
            for group in score_groups(measured, found, options.resamples if by == options.by else _NONE)
        }
        for by, found in parts.items()
    }


def _told(source: Source, options: Options, examples: Examples | None) -> list[Score]:
    """What a run's metrics.json adds: perplexities and parameters, and emotion accuracies if of the same examples."""
    if source.folder is None or not (source.folder / METRICS_FILE).is_file():
        return []
    told = run_scores(source.folder, options.split)
    if source.replies is not None and examples is not None:
        answered = any(score.n == len(examples.kept) for score in told if score.metric.startswith("emotion"))
        labelled = sum(record.emotion is not None for record in examples.shared.records)
        told = run_scores(source.folder, options.split, labelled)
        told = [score for score in told if answered or not score.metric.startswith("emotion")]
    return [score for score in told if options.wants(score.metric.removesuffix(_ORACLE))]


def likelihoods_of(path: Path, options: Options) -> Likelihoods:
    """A likelihood file under these options."""
    return read_likelihoods(path, skip_bad=options.skip_bad)


def same_likelihoods(paths: Sequence[Path], options: Options) -> None:
    """Refuse likelihood files that are not of the same responses in the same order."""
    first: list[str] = []
    for path in paths:
        ids = [one.id for one in likelihoods_of(path, options).records if one.protocol == "predicted"]
        for place, (ours, theirs) in enumerate(zip_longest(first or ids, ids)):
            if ours != theirs:
                raise HarkenError(
                    f"{path}: likelihood {place + 1:,} is of '{theirs}' where {paths[0]} has '{ours}'; "
                    "give likelihoods of the same responses in the same order"
                )
        first = ids
