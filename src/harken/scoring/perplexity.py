"""Perplexity from sums and counts, so that batch size and padding never change a figure.

A system's likelihoods come as JSON lines, one gold response a line: `{"id", "nll", "tokens", "words"?,
"characters"?, "protocol"?, "vocabulary"?}`: the summed negative log-likelihood in nats of the response's tokens
(its end included, if the system predicts it), how many tokens that were, and how many words and characters the text
has.

    ppl-token            exp(Σ nll / Σ tokens)               means nothing without its vocabulary
    ppl-utterance        exp(mean of nll / tokens)           MoEL, MIME, EmpDG: the releases average over utterances
    ppl-word             exp(Σ nll / Σ words)                compares across vocabularies
    bits-per-character   Σ nll / (ln 2 · Σ characters)       compares across vocabularies and tokenisations

`protocol` is *predicted* where the system saw only what it would see in use, *oracle* where it saw gold labels.
Oracle figures carry their own names and stand beside the honest ones; a file with nothing else is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np

from harken.corpora.base import Skips
from harken.errors import HarkenError, did_you_mean
from harken.files import read_lines, write_json_lines
from harken.scoring.evaluate import ALL, Scored
from harken.scoring.replies import BadLineError, json_object
from harken.scoring.score import Measured
from harken.scoring.statistics import Sums, Values, ratio
from harken.scoring.uncertainty import Resamples, with_intervals

Protocol = Literal["predicted", "oracle"]


@dataclass(frozen=True, slots=True)
class Likelihood:
    """How likely a system found one gold response."""

    id: str
    nll: float
    tokens: int
    words: int | None = None
    characters: int | None = None
    protocol: Protocol = "predicted"
    vocabulary: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The line of the file, absent fields left out."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}


@dataclass(frozen=True)
class Likelihoods:
    """The records of one file, and what was left out of it."""

    name: str
    records: tuple[Likelihood, ...]
    skipped: Skips = field(default_factory=Skips)


def write_likelihoods(path: Path, records: Iterable[Likelihood]) -> int:
    """Write a likelihood file, whole or not at all; the number of lines comes back."""
    return write_json_lines(path, (record.to_json() for record in records))


def is_likelihoods(path: Path) -> bool:
    """Whether the first line holds a likelihood instead of a reply; a pipe, which reads once, holds replies."""
    if not path.is_file():
        return False
    first = next((text for _, text in read_lines(path) if text.strip()), "")
    try:
        fields = json_object(first)
    except BadLineError:
        return False
    return "nll" in fields and "reply" not in fields


def read_likelihoods(path: Path, *, skip_bad: bool = False) -> Likelihoods:
    """A likelihood file; a bad line is an error that names it, or left out and counted with `skip_bad`."""
    records, skipped = [], Skips()
    for number, text in read_lines(path):
        if text.strip():
            try:
                records.append(_likelihood(json_object(text), number))
            except BadLineError as problem:
                if not skip_bad:
                    raise problem.at(path, number) from problem
                skipped.add(problem.reason, f"{path}:{number}")
    if not records:
        raise HarkenError(f"{path}: holds no likelihood, so there is nothing to score; is it the right file?")
    return Likelihoods(str(path), tuple(records), skipped)


def _likelihood(fields: dict[str, Any], number: int) -> Likelihood:
    for name in ("nll", "tokens"):
        if name not in fields:
            raise BadLineError(f"the field '{name}' is missing", f"each line needs it{did_you_mean(name, fields)}")
    nll = fields["nll"]
    if isinstance(nll, bool) or not isinstance(nll, int | float) or not math.isfinite(nll) or nll < 0:
        raise BadLineError("'nll' is not a number of nats", "give the summed negative log-likelihood, 0 or more")
    for name in ("tokens", "words", "characters"):
        count = fields.get(name)
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise BadLineError(f"'{name}' is not a count", "give a whole number of at least 1")
    protocol = fields.get("protocol", "predicted")
    if protocol not in get_args(Protocol):
        raise BadLineError("'protocol' is unknown", f"write predicted or oracle, not '{protocol}'")
    vocabulary = fields.get("vocabulary")
    return Likelihood(
        str(fields.get("id", number)),
        float(nll),
        fields["tokens"],
        fields.get("words"),
        fields.get("characters"),
        cast(Protocol, protocol),
        None if vocabulary is None else str(vocabulary),
    )


def _exp(values: Values) -> Values:
    return np.exp(np.minimum(values, 700.0))  # a float64 ends near e^709


def _per(columns: Sequence[Sequence[float]], finish: Callable[[Values], Values]) -> Sums:
    return Sums(np.array(columns, dtype=np.float64), lambda sums: finish(ratio(sums[:, 0], sums[:, 1])))


@dataclass(frozen=True, kw_only=True)
class PerplexityMetric:
    """One line of the table of perplexities."""

    unit: str
    reported_by: str
    measure: Callable[[Sequence[Likelihood]], Sums]
    needs: str = "tokens"


PERPLEXITIES: dict[str, PerplexityMetric] = {
    "ppl-token": PerplexityMetric(
        unit="perplexity",
        reported_by="EmpatheticDialogues, with words as tokens",
        measure=lambda records: _per([(one.nll, one.tokens) for one in records], _exp),
    ),
    "ppl-utterance": PerplexityMetric(
        unit="perplexity",
        reported_by="MoEL, MIME, EmpDG, MEED2",
        measure=lambda records: _per([(one.nll / one.tokens, 1) for one in records], _exp),
    ),
    "ppl-word": PerplexityMetric(
        unit="perplexity",
        reported_by="harken",
        measure=lambda records: _per([(one.nll, one.words or 0) for one in records], _exp),
        needs="words",
    ),
    "bits-per-character": PerplexityMetric(
        unit="bits",
        reported_by="harken",
        measure=lambda records: _per([(one.nll, one.characters or 0) for one in records], lambda x: x / math.log(2)),
        needs="characters",
    ),
}


def score_likelihoods(
    likelihoods: Likelihoods, names: Sequence[str] | None = None, *, resamples: Resamples | None = None
) -> Scored:
    """The perplexities of a file; oracle lines give figures of their own, named `…-oracle`, beside the honest ones."""
    resamples = resamples or Resamples()
    measured, left_out = measure_likelihoods(likelihoods, names)
    scores = tuple(with_intervals(measured, resamples))
    bad = sum(likelihoods.skipped.counts.values())
    return Scored(likelihoods.name, measured[0].n, scores, left_out, bad, resamples)


def measure_likelihoods(
    likelihoods: Likelihoods, names: Sequence[str] | None = None
) -> tuple[list[Measured], dict[str, str]]:
    """The perplexities of a file, the honest ones first, and why others are left out."""
    honest = [one for one in likelihoods.records if one.protocol == "predicted"]
    oracle = [one for one in likelihoods.records if one.protocol == "oracle"]
    if not honest:
        raise HarkenError(
            f"{likelihoods.name}: holds only oracle likelihoods, which stand beside honest ones, never instead; "
            'add the lines with "protocol": "predicted"'
        )
    asked = [name for name in dict.fromkeys(names or ()) if name != ALL]
    for name in asked:
        if name not in PERPLEXITIES:
            near = did_you_mean(name, PERPLEXITIES)
            raise HarkenError(f"unknown metric '{name}' of likelihoods{near or '; use ' + ', '.join(PERPLEXITIES)}")
    measured: list[Measured] = []
    left_out = {}
    for records, suffix in ((honest, ""), (oracle, "-oracle")):
        for name in (asked or PERPLEXITIES) if records else ():
            needs = PERPLEXITIES[name].needs
            if all(getattr(one, needs) is not None for one in records):
                measured.append(_measured(name, suffix, records))
            elif asked:
                raise HarkenError(f"{name} cannot be measured here: it needs the field '{needs}' on every line")
            else:
                left_out[name + suffix] = f"it needs the field '{needs}' on every line"
    return measured, left_out


def _measured(name: str, suffix: str, records: Sequence[Likelihood]) -> Measured:
    metric = PERPLEXITIES[name]
    vocabularies = {one.vocabulary for one in records}
    if len(vocabularies) > 1:
        raise HarkenError(f"the lines name {len(vocabularies)} vocabularies; score each system's likelihoods alone")
    details = {"protocol": records[0].protocol, "vocabulary": vocabularies.pop() or "unnamed"}
    return Measured(name + suffix, metric.measure(records), len(records), metric.unit, details)
