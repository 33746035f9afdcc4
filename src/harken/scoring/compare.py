"""Compare any number of systems: one table, intervals, paired tests against a baseline, published figures beside.

comparison = compare(find_sources(["moel.jsonl", "runs/mime"]), Options(metrics=["bleu-moses", "distinct-2"]))

Files are scored one at a time and only their figures are kept, so memory does not grow with their number. The
bootstrap draws the same examples for every file, so two systems are paired by subtracting their resampled figures.
Several files under one name are seeds of one run: their figures become a mean with its spread, and the test is of that
mean, on these examples, for these seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from harken.errors import HarkenError, did_you_mean
from harken.scoring.compare_examples import Examples, same_examples
from harken.scoring.compare_files import Breakdown, Figures, Options, Parts, Witness, figures_of, same_likelihoods
from harken.scoring.compare_sources import Source
from harken.scoring.evaluate import measure
from harken.scoring.material import Heard, Material
from harken.scoring.metrics import METRICS
from harken.scoring.published import Beside, beside, tokens_of
from harken.scoring.replies import Replies
from harken.scoring.score import Score
from harken.scoring.statistics import Values
from harken.scoring.uncertainty import Difference, difference, over_seeds, paired

ALPHA = 0.05
_ACROSS = ("ppl-word", "bits-per-character")
"""Perplexities that compare across vocabularies."""


@dataclass(frozen=True, kw_only=True)
class System:
    """The figures of one system, and how they differ from the baseline's."""

    name: str
    sources: tuple[Source, ...]
    scores: Mapping[str, Score]
    groups: Breakdown = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    bad_lines: int = 0
    differences: Mapping[str, Difference] = field(default_factory=dict)

    def differs(self, metric: str) -> bool:
        """Whether the figure differs significantly from the baseline's."""
        return metric in self.differences and self.differences[metric].p < ALPHA

    def to_json(self) -> dict[str, Any]:
        """As `harken compare --json` prints it."""
        return {
            "system": self.name,
            "files": [str(source.path) for source in self.sources],
            "scores": [score.to_json() for score in self.scores.values()],
            "differences": [
                asdict(one) | {"significant": self.differs(one.metric)} for one in self.differences.values()
            ],
            "groups": {
                by: {value: [score.to_json() for score in scores.values()] for value, scores in parts.items()}
                for by, parts in self.groups.items()
            },
            "left_out": dict(self.left_out),
            "bad_lines": self.bad_lines,
        }


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All systems, and what papers print beside them."""

    systems: tuple[System, ...]
    baseline: str
    n: int
    options: Options
    published: Beside = field(default_factory=Beside)
    notes: tuple[str, ...] = ()
    examples: Replies | None = None
    """What was answered; None when no system has replies."""
    groups: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """How many examples have each value of each field."""

    @property
    def metrics(self) -> list[str]:
        """Every metric that some system has: those of replies in the order of their table, then the others."""
        found = dict.fromkeys(name for system in self.systems for name in system.scores)
        return [*(name for name in METRICS if name in found), *(name for name in found if name not in METRICS)]

    def test_words(self) -> str:
        """The test in words, for tables."""
        resamples = self.options.resamples
        name = {"bootstrap": "paired bootstrap", "randomisation": "approximate randomisation"}[self.options.test]
        return f"{name}, {resamples.samples:,} samples, seed {resamples.seed}; two-sided, not corrected for many tests"

    def to_json(self) -> dict[str, Any]:
        """As `harken compare --json` prints it."""
        resamples = self.options.resamples
        return {
            "n": self.n,
            "baseline": self.baseline,
            "test": {
                "name": self.options.test,
                "samples": resamples.samples,
                "seed": resamples.seed,
                "level": resamples.level,
                "alpha": ALPHA,
            },
            "systems": [system.to_json() for system in self.systems],
            "published": self.published.to_json(),
            "notes": list(self.notes),
        }


def number(score: Score, value: float) -> str:
    """A figure as tables print it: two digits, four where it is small, millions of parameters."""
    if score.metric == "parameters":
        return f"{value / 1e6:,.2f}M"
    return f"{value:z,.{2 if 'unit:percent' in score.signature or abs(score.value) >= 1 else 4}f}"


def with_spread(score: Score) -> str:
    """A figure with its interval, or a mean with the standard deviation over its seeds."""
    if score.extras.get("sd") is not None:
        return f"{number(score, score.value)} ± {number(score, score.extras['sd'])}"
    if score.low is None or score.high is None:
        return number(score, score.value)
    return f"{number(score, score.value)} [{number(score, score.low)}, {number(score, score.high)}]"


def compare(
    sources: Sequence[Source], options: Options, *, heard: Heard | None = None, witness: Witness | None = None
) -> Comparison:
    """Score every source, test each system against the baseline, and find the published figures that compare."""
    names = list(dict.fromkeys(source.name for source in sources))
    by_name = {name: tuple(source for source in sources if source.name == name) for name in names}
    baseline = _baseline(by_name, options)
    paths = [source.replies for source in sources if source.replies is not None]
    examples = same_examples(paths, options.read, skip_bad=options.skip_bad) if paths else None
    same_likelihoods([source.likelihoods for source in sources if source.likelihoods is not None], options)
    parts = {} if examples is None else options.parts(examples.shared)
    base: list[Figures] = []
    found: dict[str, System] = {}
    done = 0
    for name in sorted(names, key=lambda one: one != baseline):  # the baseline first: all others are tested against it
        seeds = []
        for source in by_name[name]:
            if heard is not None:
                heard("scoring", done, len(sources))
            seeds.append(figures_of(source, options, examples, parts, witness, heard))
            done += 1
        found[name] = _system(name, by_name[name], seeds)
        base = base or seeds
        if name != baseline:
            differences = _differences(base, seeds, by_name[baseline][0], by_name[name][0], examples, options)
            found[name] = replace(found[name], differences=differences)
    return _summed_up(tuple(found[name] for name in names), baseline, options, examples, parts)


def _baseline(by_name: Mapping[str, tuple[Source, ...]], options: Options) -> str:
    if not by_name:
        raise HarkenError("there is nothing to compare; name reply files or runs")
    names = list(by_name)
    baseline = names[0] if options.baseline is None else options.baseline
    if baseline not in names:
        near = did_you_mean(baseline, names)
        raise HarkenError(f"--baseline {baseline}: there is no such system{near or '; use one of ' + ', '.join(names)}")
    if options.test == "randomisation" and any(len(group) > 1 for group in by_name.values()):
        raise HarkenError("approximate randomisation compares single files; use --test bootstrap for several seeds")
    return baseline


def _system(name: str, sources: tuple[Source, ...], seeds: Sequence[Figures]) -> System:
    """The figures of a system: its only file's, or the mean of its seeds'."""
    if len(seeds) == 1:
        scores: Mapping[str, Score] = seeds[0].scores
        broken_down = seeds[0].groups
    else:
        scores = _mean([one.scores for one in seeds])
        broken_down = {
            by: {value: _mean([one.groups[by][value] for one in seeds]) for value in parts}
            for by, parts in seeds[0].groups.items()
        }
    return System(
        name=name,
        sources=sources,
        scores=scores,
        groups=broken_down,
        left_out={metric: reason for one in seeds for metric, reason in one.left_out.items() if metric not in scores},
        bad_lines=sum(one.bad_lines for one in seeds),
    )


def _mean(seeds: Sequence[Mapping[str, Score]]) -> dict[str, Score]:
    """What all seeds were measured on alike, as means."""
    common = [metric for metric in seeds[0] if len({one[metric].signature for one in seeds if metric in one}) == 1]
    return {
        metric: over_seeds([one[metric] for one in seeds]) for metric in common if all(metric in one for one in seeds)
    }


def _differences(
    ours: Sequence[Figures],
    theirs: Sequence[Figures],
    base: Source,
    other: Source,
    examples: Examples | None,
    options: Options,
) -> dict[str, Difference]:
    """Every metric that both systems have under one definition, tested."""
    common = [
        metric
        for metric in ours[0].samples
        if all(metric in one.samples for one in (*ours, *theirs)) and _alike(ours[0], theirs[0], metric)
    ]
    if options.test == "bootstrap":
        return {
            metric: difference(
                metric, ours[0].samples[metric][0], _centre(ours, metric), _centre(theirs, metric), options.resamples
            )
            for metric in common
        }
    if examples is None or base.replies is None or other.replies is None:
        return {}
    both = [examples.of(options.read(path)).records for path in (base.replies, other.replies)]
    doubled = measure(Material([*both[0], *both[1]], options.settings), [one for one in common if one in METRICS])
    return {one.metric: one for one in paired(doubled, options.resamples, options.test)}


def _alike(ours: Figures, theirs: Figures, metric: str) -> bool:
    a, b = ours.scores[metric], theirs.scores[metric]
    return a.signature == b.signature or (metric in _ACROSS and a.n == b.n)


def _centre(seeds: Sequence[Figures], metric: str) -> tuple[float, Values]:
    """The mean over seeds of the figure and of its resampled figures."""
    value = float(np.mean([one.scores[metric].value for one in seeds]))
    return value, np.mean([one.samples[metric][1] for one in seeds], axis=0)


def _summed_up(
    systems: tuple[System, ...], baseline: str, options: Options, examples: Examples | None, parts: Parts
) -> Comparison:
    shared = None if examples is None else examples.shared
    measured = {name: score for system in reversed(systems) for name, score in system.scores.items()}
    if not measured:
        raise HarkenError("none of the metrics asked for can be measured here; leave --metrics out to see which can")
    responses = [] if shared is None else [record.response or "" for record in shared.records]
    result = Comparison(
        systems=systems,
        baseline=baseline,
        n=max(score.n for score in measured.values()) if shared is None else len(shared),
        options=options,
        notes=tuple(_notes(examples, options)),
        examples=shared,
        groups={by: {value: len(places) for value, places in found.items()} for by, found in parts.items()},
    )
    ordered = {name: measured[name] for name in result.metrics}
    return replace(result, published=beside(ordered, tokens_of(options.settings.tokenize, responses)))


def _notes(examples: Examples | None, options: Options) -> Iterator[str]:
    if examples is None:
        return
    if not examples.as_written and options.settings.tokenize == "given":
        yield (
            "The files write the same responses differently (case, spaces or contractions), so tokens as given are not "
            "the same tokens everywhere; --tokenize moel makes them so."
        )
    if lost := len(examples.first) - len(examples.kept):
        yield f"{lost:,} examples of the first file are missing or different in another and were left out everywhere."
