"""What earlier stages found out about examples, attached to them: labels, exemplars, levels of empathy.

Each is a file that one command wrote and this one reads, looked up by the example's id. A listener in a live conversation
asks the makers of those files instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from harken.dialogue import Example, Levels, Turn
from harken.errors import HarkenError
from harken.exemplar_files import Filter, Guidance, Header, read_exemplars
from harken.label_files import LabelFile, read_labels
from harken.labels import LEVELS, MECHANISMS
from harken.text.prepend import Labelled, from_file

if TYPE_CHECKING:
    from harken.text.vocabulary import TextConfig


@dataclass(frozen=True, kw_only=True)
class ExemplarsConfig:
    """Which exemplars guide each reply."""

    files: tuple[Path, ...]
    """Exemplar files, one a split: harken retrieve INDEX --split train --out FILE."""
    q: int = 5
    """How many, the best first."""
    index: Path | None = None
    """The index they were found in, to be searched in a chat."""
    classifier: Path | None = None
    """The run that predicted the emotions of the filter, to be asked in a chat; null is the vote of the nearest."""
    filter: Filter = "predicted"
    """The emotion filter of the files: predicted, none, or gold (LEMPEx's own protocol, which leaks)."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        if not self.files:
            yield "files names none; write one with: harken retrieve INDEX --split train --out FILE"
        if self.q < 1:
            yield f"q = {self.q} must be at least 1"


@dataclass(frozen=True, kw_only=True)
class TurnLabelsConfig:
    """Where the label of every turn is from."""

    labels: Path
    """A label file: harken label CORPUS --with intent --of turn --out FILE."""
    classifier: Path | None = None
    """The run that made it, to be asked in a chat; null is the built-in one."""


def annotator(config: TextConfig, corpus_sha256: str | None = None) -> Labelled | None:
    """All that the config attaches to an example, or None where it is nothing."""
    found: list[Labelled] = []
    if config.turn_labels:
        found.append(turn_labels(read_labels(config.turn_labels.labels)))
    if config.prepend:
        found.append(from_file(config.prepend))
    if config.exemplars:
        found.append(exemplars(config.exemplars, corpus_sha256))
    if config.levels:
        found.append(levels([read_labels(path) for path in config.levels]))
    return chained(found) if found else None


def chained(found: Sequence[Labelled]) -> Labelled:
    """Attach one thing after the other."""
    return lambda example: reduce(lambda one, attach: attach(one), found, example)


def exemplars(config: ExemplarsConfig, corpus_sha256: str | None = None) -> Labelled:
    """Exemplars looked up by the example's id; files of another corpus or filter, or with too few, are errors."""
    by_id: dict[str, Guidance] = {}
    for path in config.files:
        header, found = read_exemplars(path)
        _check(path, header, config, corpus_sha256)
        by_id |= found

    def attach(example: Example) -> Example:
        if example.id not in by_id:
            names = ", ".join(map(str, config.files))
            raise HarkenError(
                f"{names}: no exemplars for '{example.id}'; write them with: harken retrieve INDEX --split …"
            )
        one = by_id[example.id]
        return replace(example, exemplars=tuple(zip(one.texts, one.scores, strict=True))[: config.q])

    return attach


def guided_by(config: TextConfig, path: Path) -> TextConfig:
    """The same text with the exemplars of another file, whatever its filter."""
    if config.exemplars is None:
        raise HarkenError(f"{path}: the run is not guided by exemplars, so it cannot use others")
    header, _ = read_exemplars(path)
    return replace(config, exemplars=replace(config.exemplars, files=(path,), filter=header.filter))


def _check(path: Path, header: Header, config: ExemplarsConfig, corpus_sha256: str | None) -> None:
    again = f"write it again with: harken retrieve INDEX --split {header.split} --out {path}"
    if corpus_sha256 is not None and header.corpus_sha256 != corpus_sha256:
        raise HarkenError(
            f"{path}: is of the corpus {header.corpus} ({header.corpus_sha256[:12]}…), not of the one in use "
            f"({corpus_sha256[:12]}…); {again}"
        )
    if header.q < config.q:
        raise HarkenError(f"{path}: has {header.q} exemplars for each context, not {config.q}; {again} -k {config.q}")
    if header.filter != config.filter:
        raise HarkenError(
            f"{path}: is filtered by '{header.filter}' and the config says '{config.filter}'; "
            f"set text.exemplars.filter={header.filter}, or {again} --filter {config.filter}"
        )


def levels(files: Sequence[LabelFile]) -> Labelled:
    """Levels of empathy and the sentiment of the gold response, looked up by the example's id."""
    made: dict[str, LabelFile] = {}
    for mechanism in MECHANISMS:
        made[mechanism] = file = _having(files, f"empathy-{mechanism}", "empathy")
        scale = file.classifier(f"empathy-{mechanism}").labels
        if scale != LEVELS:
            raise HarkenError(
                f"{file.name}: its classifier of 'empathy-{mechanism}' tells {', '.join(scale)} apart, not "
                f"{', '.join(LEVELS)}; label again with one of all three levels"
            )
    sentiment = _having(files, "sentiment", "sentiment")

    def attach(example: Example) -> Example:
        found = {}
        for mechanism, file in made.items():
            task = f"empathy-{mechanism}"
            found[mechanism] = file.classifier(task).labels.index(file.top(example.id, task)[0])
        sentiment.top(example.id, "sentiment")
        compound = sentiment.records[example.id].scores["compound"]
        return replace(example, levels=Levels(sentiment=float(compound), **found))

    return attach


def _having(files: Sequence[LabelFile], task: str, family: str) -> LabelFile:
    for file in files:
        if task in file.header.classifiers:
            return file
    names = ", ".join(file.name for file in files)
    raise HarkenError(
        f"{names}: no labels of '{task}'; make them with: harken label CORPUS --with {family} --of reply --out FILE"
    )


def turn_labels(file: LabelFile) -> Labelled:
    """The likeliest of the 41 labels for every turn, looked up by dialogue and position."""

    def labelled(turn: Turn, name: str) -> Turn:
        return replace(turn, label=file.top(name, "intent")[0])

    def attach(example: Example) -> Example:
        place = int(example.id.rpartition(":")[2])
        first = place - len(example.context)
        context = tuple(labelled(turn, f"{example.dialogue.id}:{first + i}") for i, turn in enumerate(example.context))
        return replace(example, context=context, response=labelled(example.response, f"{example.dialogue.id}:{place}"))

    return attach
