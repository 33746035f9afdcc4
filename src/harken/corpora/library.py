"""The corpora one can use by name: those in the data home, and the starter corpus, which is always there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Literal

from harken.corpora import CORPORA, OWN, STARTER, store
from harken.corpora.base import Corpus, Skips, WrongSourceError
from harken.corpora.download import Progress, fetch, silent
from harken.corpora.own import is_own, read_own
from harken.corpora.own_csv import write_csv
from harken.corpora.starter import starter_dialogues
from harken.corpora.store import Manifest, Tally
from harken.dialogue import Dialogue
from harken.dialogue import split as split_named
from harken.errors import HarkenError, did_you_mean
from harken.runtime import home

Format = Literal["jsonl", "csv"]
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_EVERY = 500


@dataclass(frozen=True)
class Added:
    """What `add` did: the new manifest, and what the reader left out or found odd."""

    manifest: Manifest
    skips: Skips


def add(
    name: str,
    path: Path | None = None,
    *,
    as_name: str | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> Added:
    """Read the corpus `name` from `path`, or download it, and store it in the data home (under `as_name`)."""
    corpus = _corpus(name, path)
    target = checked_name(as_name or name, corpus)
    read = corpus.read
    if columns:
        if corpus.name != OWN:
            raise HarkenError(f"--columns names the columns of your own CSV file; '{corpus.name}' has its own")
        read = partial(read_own, columns=columns)
    path, origin = (path, str(path)) if path is not None else _downloaded(corpus, progress)
    skips = Skips()
    source = target if corpus.name == OWN else corpus.name
    try:
        manifest = store.save(
            target,
            _watched(read(path, skips), source, progress),
            title=corpus.title,
            citation=corpus.citation,
            licence=corpus.licence,
            origin=origin,
            skips=skips,
        )
    except WrongSourceError as problem:
        raise HarkenError(f"{problem}; the corpus '{corpus.name}' expects {corpus.expects}") from problem
    return Added(manifest, skips)


def _corpus(name: str, path: Path | None) -> Corpus:
    if name == STARTER:
        raise HarkenError("the starter corpus is part of harken; use it by its name, without adding it")
    if name in CORPORA:
        return CORPORA[name]
    near = did_you_mean(name, CORPORA)
    if path is not None and is_own(path) and not near:
        return CORPORA[OWN]
    raise HarkenError(
        f"unknown corpus '{name}'{near}; known are {', '.join(key for key in CORPORA if key != STARTER)} "
        f"(your own dialogues: harken data add {OWN} --from FILE --as NAME)"
    )


def checked_name(name: str, corpus: Corpus = CORPORA[OWN]) -> str:
    """The name under which `corpus` may be stored; one that is no name, or another corpus's, is an error."""
    if not _NAME.fullmatch(name):
        raise HarkenError(f"'{name}' cannot name a corpus; use small letters, digits, '-' and '_'")
    if name in CORPORA and name != corpus.name:
        raise HarkenError(f"'{name}' is the name of another corpus; choose another one with --as")
    return name


def _downloaded(corpus: Corpus, progress: Progress) -> tuple[Path, str]:
    if corpus.download is None:
        raise HarkenError(f"harken cannot download '{corpus.name}'; give its place with --from PATH: {corpus.expects}")
    return fetch(corpus.download, home() / "downloads", progress), corpus.download.url


def _watched(dialogues: Iterator[Dialogue], source: str, progress: Progress) -> Iterator[Dialogue]:
    for count, dialogue in enumerate(dialogues):
        if count % _EVERY == 0:
            progress("Reading (dialogues)", count, None)
        yield dialogue if dialogue.source else replace(dialogue, source=source)


def iterate(name: str, split: str | None = None) -> Iterator[Dialogue]:
    """The dialogues of a corpus one by one, of one split or of all."""
    if name != STARTER:
        return store.iterate(name, split)
    wanted = None if split is None else split_named(split)
    return (dialogue for dialogue in starter_dialogues() if wanted in (None, dialogue.split))


def find(name: str, dialogue_id: str) -> Dialogue:
    """The dialogue of that id."""
    ids = []
    for dialogue in iterate(name):
        if dialogue.id == dialogue_id:
            return dialogue
        ids.append(dialogue.id)
    near = did_you_mean(dialogue_id, ids) or f"; its ids look like '{ids[0]}'"
    raise HarkenError(f"the corpus '{name}' has no dialogue '{dialogue_id}'{near}")


def manifest(name: str) -> Manifest:
    """What a corpus is, where it came from, and what its content hashes to."""
    if name != STARTER:
        return store.manifest(name)
    tally = Tally()
    for dialogue in starter_dialogues():
        tally.add(dialogue)
    about = CORPORA[STARTER]
    return tally.manifest(
        name=STARTER,
        title=about.title,
        citation=about.citation,
        licence=about.licence,
        origin="inside the package",
        skips=Skips(),
    )


@dataclass(frozen=True)
class Listed:
    """One line of the list of corpora."""

    name: str
    title: str
    licence: str
    dialogues: dict[str, int] | None
    """Per split; nothing for a corpus that is not stored."""
    problem: str | None = None
    """Why a stored corpus cannot be read."""


def listing() -> list[Listed]:
    """Every corpus harken can read, then what else is stored."""
    rows = {name: Listed(name, corpus.title, corpus.licence, None) for name, corpus in CORPORA.items()}
    for name in (STARTER, *store.stored()):
        try:
            about = manifest(name)
            rows[name] = Listed(name, about.title, about.licence, about.dialogues)
        except HarkenError as problem:
            rows[name] = Listed(name, "", "", None, str(problem))
    return list(rows.values())


def export(name: str, stream: IO[str], split: str | None = None, form: Format = "jsonl") -> int:
    """Write the dialogues of a corpus as JSON lines or CSV that `add own` reads back; their number comes back."""
    dialogues = iterate(name, split)
    if form == "csv":
        return write_csv(dialogues, stream)
    count = 0
    for dialogue in dialogues:
        stream.write(json.dumps(dialogue.to_json(), ensure_ascii=False) + "\n")
        count += 1
    return count
