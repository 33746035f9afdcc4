"""The stages as jobs: each makes one shard, a function of its inputs and settings alone.

    ReadJob       sources               → dialogues/    read, segment, split, clean
    LabelJob      dialogues/            → labelled/     41 probabilities and a label an utterance, emotionality a dialogue
    QuickJob      dialogues/            → quick/        the same by the pre-filter, where there is one; then
    RelabelJob    quick/                → labelled/     the classifier reads again what the pre-filter let pass
    SelectJob     labelled/             → edos/, os/    above and below the cut

Rows are sorted by the dialogues' ids, so the bytes of a shard do not depend on who made it.
"""

from __future__ import annotations

import gc
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harken.corpora.base import hash_split
from harken.curation.cleaning import clean
from harken.curation.config import CurationConfig
from harken.curation.dialogues import split
from harken.curation.emotionality import NAMES, Chosen, Labelled, label
from harken.curation.plan import by_film
from harken.curation.readers import read_subtitle
from harken.curation.records import Source, Unreadable
from harken.curation.segmentation import Segmenter, segment
from harken.curation.select import Cut, Ranked
from harken.curation.shards import (
    Counts,
    Receipt,
    dialogues_of,
    dialogues_table,
    place,
    read_table,
    write_receipt,
    write_shard,
)
from harken.curation.stats import tally
from harken.curation.stored import is_corpus, read_part
from harken.dialogue import Dialogue

HELD_OUT = 0.1
"""Share of validation, and of test (MEED2, section 5.1: 80, 10 and 10 %)."""
Tables = dict[str, pa.Table]
"""What a job makes: a table for each folder it writes into."""


@dataclass(frozen=True)
class ShardJob:
    """One shard of one stage."""

    folder: str
    shard: str
    key: str

    stage = ""

    @property
    def name(self) -> str:
        """As the receipt's file is called."""
        return f"{self.stage}/{self.shard}"

    def input(self, stage: str) -> pa.Table:
        """The shard of an earlier stage."""
        return read_table(place(Path(self.folder), stage, self.shard))

    @abstractmethod
    def made(self) -> tuple[Tables, Counts]:
        """The work itself; nothing is written."""


def perform(job: ShardJob) -> Receipt:
    """Do a job: shards first, then the receipt."""
    with _no_search_for_cycles():
        tables, counts = job.made()
    folder, files = Path(job.folder), dict[str, str]()
    for stage, table in tables.items():
        files |= write_shard(folder, stage, job.shard, table)
    receipt = Receipt(job.key, files, counts)
    write_receipt(folder, job.stage, job.shard, receipt)
    return receipt


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """Records have no cycles: looking for them among so many takes a fifth of the time and finds nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@dataclass(frozen=True)
class ReadJob(ShardJob):
    """Subtitles to clean dialogues, film by film."""

    sources: tuple[Source, ...]
    config: CurationConfig

    stage = "dialogues"

    def made(self) -> tuple[Tables, Counts]:
        """Counts are of files, lines, turns and dialogues, what each filter removed, and the files that cannot be read."""
        segmenter, config = _segmenter(self.config.segmenter), self.config
        counts, unreadable = Counter[str](files=len(self.sources)), list[list[str]]()
        removed, removed_dialogues = Counter[str](), Counter[str]()
        kept: list[Dialogue] = []
        for film, versions in by_film(self.sources):
            found: list[Dialogue] = []
            for source in versions:
                if is_corpus(source):
                    found += read_part(source)
                    counts.update(turns=sum(len(dialogue.turns) for dialogue in found))
                    continue
                subtitle = read_subtitle(source)
                if isinstance(subtitle, Unreadable):
                    unreadable.append([source.id, subtitle.reason])
                    continue
                turns = segment(subtitle, segmenter)
                counts.update(lines=len(subtitle.lines), turns=len(turns))
                found += split(turns, source, config.gap)
            cleaned = clean(found, config.cleaning)
            counts.update(found=len(found), dialogues=len(cleaned.kept))
            removed.update(cleaned.removed)
            removed_dialogues.update(cleaned.removed_dialogues)
            kept += cleaned.kept if is_corpus(versions[0]) else map(partial(_in_split, film, config), cleaned.kept)
        kept.sort(key=lambda dialogue: dialogue.id)
        by_filter = {"removed": dict(removed), "removed_dialogues": dict(removed_dialogues)}
        return {self.stage: dialogues_table(kept)}, {**counts, **by_filter, "unreadable": unreadable}


def _in_split(film: str, config: CurationConfig, dialogue: Dialogue) -> Dialogue:
    key = film if config.split_by == "film" else dialogue.id
    return replace(dialogue, split=hash_split(key, valid=HELD_OUT, test=HELD_OUT))


@lru_cache(maxsize=1)
def _segmenter(path: Path | None) -> Segmenter:
    return Segmenter.load(path)


@dataclass(frozen=True)
class LabelJob(ShardJob):
    """A classifier over every utterance."""

    classifier: Chosen

    stage = "labelled"

    def made(self) -> tuple[Tables, Counts]:
        """Counts are of dialogues and utterances."""
        labelled = label(dialogues_of(self.input("dialogues")), self.classifier.load())
        table = labelled_table(labelled, passed=self.stage == "labelled")
        return {self.stage: table}, {"dialogues": len(table), "utterances": len(labelled.probabilities)}


@dataclass(frozen=True)
class QuickJob(LabelJob):
    """The same by the pre-filter."""

    stage = "quick"


@dataclass(frozen=True)
class RelabelJob(ShardJob):
    """The classifier over what passed the pre-filter; the rest keeps the pre-filter's labels and ranks behind it."""

    classifier: Chosen
    cut: Cut
    """Of the pre-filter's ranks."""
    sample: float
    """Share of all dialogues that the classifier reads whether they passed or not, to measure what is lost."""

    stage = "labelled"

    def made(self) -> tuple[Tables, Counts]:
        """Counts are of the utterances read again; `judged` is the sample that `emotionality.recall` is measured on."""
        table, classifier = self.input("quick"), self.classifier.load()
        dialogues, ranks = dialogues_of(table), ranked(table)[1]
        passed = np.array(
            [self.cut.keeps(rank, one.id) for one, rank in zip(dialogues, ranks, strict=True)], dtype=bool
        )
        sampled = np.array([sampled_at(one.id, self.sample) for one in dialogues], dtype=bool)
        again = label([one for one, yes in zip(dialogues, passed, strict=True) if yes], classifier)
        aside = label([one for one, yes in zip(dialogues, sampled & ~passed, strict=True) if yes], classifier)
        exact = np.full(len(dialogues), np.nan)
        exact[passed], exact[sampled & ~passed] = again.emotionality, aside.emotionality
        judged = [[bool(passed[i]), float(exact[i])] for i in np.flatnonzero(sampled)]
        kept = table.filter(pa.array(~passed))
        both = pa.concat_tables([labelled_table(again, passed=True), kept.cast(LABELLED)])
        counts: Counts = {
            "dialogues": len(table),
            "utterances": sum(len(one.turns) for one in dialogues),
            "passed": int(passed.sum()),
            "read_again": len(again.probabilities),
            "judged": judged,
        }
        return {self.stage: both.sort_by("id")}, counts


def sampled_at(name: str, share: float) -> bool:
    """Whether a dialogue is in a sample of that share: the same on every machine."""
    return hash_split(f"sample:{name}", valid=0, test=share) == "test"


@dataclass(frozen=True)
class SelectJob(ShardJob):
    """EDOS and OS of a shard."""

    cut: Cut

    stage = "selected"

    def made(self) -> tuple[Tables, Counts]:
        """Counts are what Tables 1 and 2 and Figure 2 need."""
        table = self.input("labelled")
        ids, ranks = ranked(table)
        above = pa.array([self.cut.keeps(rank, name) for name, rank in zip(ids, ranks, strict=True)], pa.bool_())
        parts = {"edos": _felt(table.filter(above)), "os": _felt(table.filter(pc.invert(above)))}
        return (
            {name: dialogues_table(part) for name, part in parts.items()},
            {name: tally(part) for name, part in parts.items()},
        )


def _felt(table: pa.Table) -> list[Dialogue]:
    """Dialogues that say how emotional they are."""
    return [
        replace(dialogue, extra={**dialogue.extra, "emotionality": round(value, 4)})
        for dialogue, value in zip(dialogues_of(table), table["emotionality"].to_pylist(), strict=True)
    ]


LABELLED = dialogues_table([]).schema
for _field in (
    pa.field("emotionality", pa.float64()),
    pa.field("passed", pa.bool_()),
    pa.field("probabilities", pa.list_(pa.list_(pa.float16(), len(NAMES)))),
):
    LABELLED = LABELLED.append(_field)
"""Rows of `labelled/`: a dialogue, its emotionality, whether the classifier read it, the distribution of each utterance."""


def labelled_table(labelled: Labelled, *, passed: bool) -> pa.Table:
    """Labelled dialogues as rows; probabilities in half precision, which keeps three digits of each."""
    flat = pa.array(labelled.probabilities.astype(np.float16).ravel())
    lengths = [len(dialogue.turns) for dialogue in labelled.dialogues]
    per_utterance = pa.FixedSizeListArray.from_arrays(flat, len(NAMES))
    per_dialogue = pa.ListArray.from_arrays(pa.array(np.cumsum([0, *lengths]), pa.int32()), per_utterance)
    columns = [pa.array(labelled.emotionality), pa.array([passed] * len(lengths), pa.bool_()), per_dialogue]
    table = dialogues_table(labelled.dialogues)
    return pa.table([*table.columns, *columns], names=LABELLED.names).cast(LABELLED)


def ranked(table: pa.Table) -> Ranked:
    """Ids and the values by which dialogues rank: emotionality, those that only the pre-filter read behind all others."""
    behind = np.where(table["passed"].to_numpy(), 0.0, 2.0)
    return table["id"].to_pylist(), table["emotionality"].to_numpy() - behind
