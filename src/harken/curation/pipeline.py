"""The whole way from subtitle files to EDOS and OS, shard by shard.

    plan → dialogues/ → [quick/ →] labelled/ → edos/, os/ → manifest.json

A shard whose receipt says that it was made of the same inputs with the same settings is not made again, so a run that was
interrupted goes on, and one that is finished does nothing. Nothing in a shard or in the manifest tells which engine made
it, with how many workers, or when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console

import harken
from harken import config as configs
from harken.corpora import library, store
from harken.curation.config import CurationConfig
from harken.curation.emotionality import Chosen, choose, recall
from harken.curation.engines import Engine
from harken.curation.jobs import LabelJob, QuickJob, ReadJob, RelabelJob, SelectJob, ShardJob, perform, ranked
from harken.curation.plan import Plan
from harken.curation.readers import find_sources
from harken.curation.segmentation import SHIPPED
from harken.curation.select import Ranked, find_cut
from harken.curation.shards import Counts, Receipt, add_up, finished, key_of, place, read_dialogues, read_table, tidy
from harken.curation.stats import MANIFEST
from harken.curation.stored import corpus_sources
from harken.errors import HarkenError
from harken.files import sha256, write_json

FORMAT = "harken curation 1"
TOP = 0.25
"""Share of the dialogues in EDOS unless told otherwise: the paper's 1M of 4M."""
SAMPLE = 2_000
"""About how many dialogues the recall of a pre-filter is measured on."""
Progress = Callable[[str, int, int | None], None]
"""Hears what is being done, how many shards of it are done, and how many there are."""
Work = Callable[[ShardJob], Receipt]
STAGES = ("dialogues", "quick", "labelled", "edos", "os", "selected")


def silent(_what: str, _done: int, _total: int | None) -> None:
    """Progress that nobody watches."""


@dataclass
class Curation:
    """One run under way."""

    folder: Path
    config: CurationConfig
    engine: Engine
    progress: Progress
    shards: list[str]
    files: dict[str, str] = field(default_factory=dict)
    """Checksums of all shards."""

    def stage(self, what: str, jobs: Iterable[ShardJob]) -> Counts:
        """Make the shards of a stage that are not finished, and add up the counts of all."""
        total: Counts = {}
        done = 0

        def count(receipt: Receipt) -> None:
            nonlocal done
            add_up(total, receipt.counts)
            self.files |= receipt.files
            done += 1
            self.progress(what, done, len(self.shards))

        self.progress(what, 0, len(self.shards))
        for receipt in self.engine.map(perform, self._unfinished(jobs, count)):
            count(receipt)
        return total

    def _unfinished(self, jobs: Iterable[ShardJob], count: Callable[[Receipt], None]) -> Iterator[ShardJob]:
        for job in jobs:
            receipt = finished(self.folder, job.stage, job.shard)
            if receipt is not None and receipt.key == job.key:
                count(receipt)
                continue
            (self.folder / MANIFEST).unlink(missing_ok=True)  # it speaks of other shards
            yield job

    def made(self, stage: str) -> Iterator[tuple[str, dict[str, str]]]:
        """The shards of a finished stage, with the checksums of their files."""
        for shard in self.shards:
            receipt = finished(self.folder, stage, shard)
            if receipt is None:
                raise HarkenError(f"{self.folder}: its shard {stage}/{shard} has vanished; run the command again")
            yield shard, receipt.files

    def ranks(self, stage: str) -> Iterator[Ranked]:
        """Ids and emotionalities, shard by shard."""
        for shard in self.shards:
            yield ranked(read_table(place(self.folder, stage, shard), ("id", "emotionality", "passed")))


def curate(
    inputs: Sequence[Path],
    folder: Path,
    config: CurationConfig,
    engine: Engine,
    *,
    corpora: Sequence[str] = (),
    progress: Progress = silent,
    console: Console | None = None,
) -> dict[str, Any]:
    """Make EDOS and OS of subtitle files, and of stored corpora, in a folder; gives what its manifest says."""
    classifier = choose(config.classifier, console)
    prefilter = None if config.prefilter is None else choose(config.prefilter, console)
    progress("Finding subtitles", 0, None)
    plan = Plan(chain(find_sources(inputs), corpus_sources(corpora)), config.shard_size)
    progress("Finding subtitles", plan.files, plan.files)
    if not plan.files:
        raise HarkenError("there is nothing to curate; name subtitle files, folders or archives")
    shards = plan.shards
    run = Curation(folder, config, engine, progress, shards)
    tidy(folder, {stage: () if stage == "quick" and prefilter is None else set(shards) for stage in STAGES})
    with engine:
        read = run.stage("Dialogues", _reading(run, plan))
        labelled = _labelled(run, classifier, prefilter, read["dialogues"])
        top = _top(config, read["dialogues"])
        cut = find_cut(lambda: run.ranks("labelled"), top)
        jobs = (
            SelectJob(str(folder), shard, key_of(files, cut.emotionality, cut.id, harken.__version__), cut)
            for shard, files in run.made("labelled")
        )
        selected = run.stage("Selection", jobs)
    manifest = _manifest(run, classifier, prefilter, read, labelled, selected)
    write_json(folder / MANIFEST, manifest)
    return manifest


def _top(config: CurationConfig, dialogues: int) -> int:
    return round(TOP * dialogues) if config.top is None else min(config.top, dialogues)


def _reading(run: Curation, plan: Plan) -> Iterator[ShardJob]:
    settings = configs.dump(run.config.cleaning), run.config.gap, run.config.split_by, _segmenter_hash(run.config)
    for planned in plan:
        ids = [[source.id, source.film, stamp] for source, stamp in zip(planned.sources, planned.stamps, strict=True)]
        key = key_of(ids, settings, harken.__version__)
        yield ReadJob(str(run.folder), planned.shard, key, planned.sources, run.config)


def _segmenter_hash(config: CurationConfig) -> str:
    path = config.segmenter or SHIPPED
    if not path.is_file():
        raise HarkenError(f"{path}: there is no such segmenter; make one with: harken curate train-segmenter")
    return sha256(path)[:16]


def _labelled(run: Curation, classifier: Chosen, prefilter: Chosen | None, dialogues: int) -> Counts:
    """The labels of all utterances; with a pre-filter, the counts say what it cost."""
    folder, version = str(run.folder), harken.__version__

    def reading(job: type[LabelJob], chosen: Chosen) -> Iterator[ShardJob]:
        for shard, files in run.made("dialogues"):
            yield job(folder, shard, key_of(files, chosen.hash, version), chosen)

    if prefilter is None:
        return run.stage("Labels", reading(LabelJob, classifier))
    run.stage("Pre-filter", reading(QuickJob, prefilter))
    cut = find_cut(lambda: run.ranks("quick"), round(run.config.prefilter_share * dialogues))
    sample = min(1.0, SAMPLE / max(1, dialogues))
    settings = (classifier.hash, cut.emotionality, cut.id, sample, version)
    counts = run.stage(
        "Labels",
        (
            RelabelJob(folder, shard, key_of(files, settings), classifier, cut, sample)
            for shard, files in run.made("quick")
        ),
    )
    judged = counts.pop("judged", [])
    share = _top(run.config, dialogues) / max(1, dialogues)
    return counts | {"recall": round(recall(judged, share), 4), "recall_sample": len(judged)}


def _manifest(
    run: Curation, classifier: Chosen, prefilter: Chosen | None, read: Counts, labelled: Counts, selected: Counts
) -> dict[str, Any]:
    unreadable = sorted(read.pop("unreadable", []))
    settings = configs.parse(configs.dump(run.config), "config")
    for name in ("segmenter", "classifier", "prefilter"):
        settings.pop(name)  # their hashes say more than where they lay
    return {
        "format": FORMAT,
        "harken": harken.__version__,
        "settings": settings,
        "segmenter": _segmenter_hash(run.config),
        "classifier": classifier.hash,
        "prefilter": None if prefilter is None else prefilter.hash,
        "dialogues": _sorted({**read, "unreadable": len(unreadable)}),
        "labelled": _sorted(labelled),
        "selected": _sorted(selected),
        "unreadable": [{"id": name, "reason": reason} for name, reason in unreadable],
        "shards": dict(sorted(run.files.items())),
    }


def _sorted(counts: Counts) -> Counts:
    """Counts in the order of their names, whichever shard came first."""
    return {key: _sorted(value) if isinstance(value, dict) else value for key, value in sorted(counts.items())}


def keep_as_corpora(folder: Path, name: str) -> dict[str, int]:
    """Store EDOS and OS in the data home as `NAME-edos` and `NAME-os`; an empty one is left out. Gives their sizes."""
    sizes = {}
    for part, what in (
        ("edos", "the most emotional dialogues of subtitles"),
        ("os", "the other dialogues of subtitles"),
    ):
        target = library.checked_name(f"{name}-{part}")
        if next(read_dialogues(folder / part), None) is not None:
            about = store.save(
                target,
                read_dialogues(folder / part),
                title=f"{part.upper()}: {what}",
                citation="made with harken curate, after Xie and Pu 2021",
                licence="as the subtitles'",
                origin=str(folder),
            )
            sizes[target] = about.total
    return sizes
