"""Score a reply file: the library call behind `harken score`, and the ground of `harken compare`.

replies = read_replies(Path("replies.jsonl"))
scored = score_replies(replies, ["bleu-moses", "distinct-2"])
differences = compare_replies(replies, others, ["bleu-moses"])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from harken.errors import HarkenError
from harken.scoring.breakdown import Group, groups, score_groups
from harken.scoring.material import Heard, Material, Settings
from harken.scoring.metrics import METRICS, expanded, metric
from harken.scoring.replies import Replies, align
from harken.scoring.score import Measured, Score
from harken.scoring.uncertainty import Difference, Resamples, Test, paired, with_intervals

ALL = "all"


@dataclass(frozen=True)
class Scored:
    """The figures of one file."""

    file: str
    n: int
    scores: tuple[Score, ...]
    left_out: dict[str, str] = field(default_factory=dict)
    """Metrics that were not measured, and why."""
    bad_lines: int = 0
    resamples: Resamples = field(default_factory=Resamples)
    by: str | None = None
    groups: tuple[Group, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As `harken score --json` prints it."""
        shown: dict[str, Any] = {
            "file": self.file,
            "n": self.n,
            "scores": [score.to_json() for score in self.scores],
            "intervals": {
                "samples": self.resamples.samples,
                "seed": self.resamples.seed,
                "level": self.resamples.level,
            },
            "left_out": self.left_out,
            "bad_lines": self.bad_lines,
        }
        if self.by is not None:
            shown["by"] = self.by
            shown["groups"] = [
                {"value": group.value, "n": group.n, "scores": [score.to_json() for score in group.scores]}
                for group in self.groups
            ]
        return shown


def choose(material: Material, names: Sequence[str] | None) -> tuple[list[str], dict[str, str]]:
    """Which metrics to measure, and why others are left out.

    None is every quick metric that applies to the file, `["all"]` every metric that applies; metrics asked for by name,
    or by the name of a set, must apply.
    """
    asked = expanded(names or ())
    if asked and ALL not in asked:
        for name in asked:
            if obstacle := metric(name).obstacle(material):
                raise HarkenError(f"{name} cannot be measured here: {obstacle}")
        return asked, {}
    chosen, left_out = [], {}
    for name, one in METRICS.items():
        if not asked and one.cost != "quick":
            left_out[name] = f"it is {one.cost}; ask for it with --metrics {name} or --metrics all"
        elif obstacle := one.obstacle(material):
            left_out[name] = obstacle
        else:
            chosen.append(name)
    return chosen, left_out


def measure(material: Material, names: Sequence[str], heard: Heard | None = None) -> list[Measured]:
    """What each metric finds on the material."""
    found = []
    for place, name in enumerate(names):
        if heard is not None:
            heard(name, place, len(names))
        found.append(metric(name).measure(material))
    return found


def score_replies(
    replies: Replies,
    names: Sequence[str] | None = None,
    *,
    settings: Settings | None = None,
    resamples: Resamples | None = None,
    by: str | None = None,
    heard: Heard | None = None,
) -> Scored:
    """The figures of a reply file with their intervals, and of its groups if `by` names a field."""
    resamples = resamples or Resamples()
    material = Material(replies.records, settings, heard)
    parts = {} if by is None else groups(replies, by)
    chosen, left_out = choose(material, names)
    measured = measure(material, chosen, heard)
    return Scored(
        replies.name,
        len(replies),
        tuple(with_intervals(measured, resamples)),
        left_out,
        sum(replies.skipped.counts.values()),
        resamples,
        by,
        tuple(score_groups(measured, parts, resamples)),
    )


def compare_replies(
    first: Replies,
    second: Replies,
    names: Sequence[str] | None = None,
    *,
    settings: Settings | None = None,
    resamples: Resamples | None = None,
    test: Test = "bootstrap",
) -> list[Difference]:
    """Two systems on the same examples, matched by id: every metric's difference, `second - first`, and its p."""
    first, second = align([first, second])
    material = Material([*first.records, *second.records], settings)
    chosen, _ = choose(material, names)
    return paired(measure(material, chosen), resamples or Resamples(), test)
