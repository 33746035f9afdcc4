"""PEC (Zhong et al., EMNLP 2020): persona-based empathetic conversations from two forums, *happy* and *offmychest*.

Reads its Hugging Face layout: rows with `context`, `context_speakers`, `response`, `response_speaker` and `personas`,
as Parquet, JSON or JSON lines, the split (and the domain, where given) in the file's path
(`happy/train-00000-of-00002.parquet`, `validation.jsonl`); or the text files behind it, `hf_pec.zip`
(`happy/train.txt`, `happy/persona.txt`, …). The domain *all* is the other two together, so it is read only when it
stands alone.

Roles: whoever gives the response is the listener, in earlier turns as well; everyone else is the speaker. The
listener's persona sentences are the dialogue's `persona`, a person's name is in the turn's `extra`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from harken.corpora.base import Skips, WrongSourceError, at, one_sided
from harken.corpora.source import Source
from harken.dialogue import SPLITS, Dialogue, Split, Turn
from harken.dialogue import split as split_named
from harken.errors import HarkenError

_KINDS = (".parquet", ".json", ".jsonl", ".txt")
_SPLIT = re.compile(r"(?<![a-z])(train|validation|valid|dev|test)(?![a-z])")
_DOMAINS = ("happy", "offmychest", "all")
_END = "********************"
_SAYS = "---+---"

Row = dict[str, Any]


def read_pec(path: Path, skips: Skips) -> Iterator[Dialogue]:
    """The conversations of all splits and domains."""
    with Source(path) as source:
        files = _files(source)
        if not files:
            raise WrongSourceError(f"{path}: no file in it is named after a split (train, validation, test)")
        numbers: Counter[str] = Counter()
        for split, domain, member in files:
            prefix = f"{domain}:{split}" if domain else split
            for where, row in _rows(source, member):
                numbers[prefix] += 1
                with at(f"{source.place(member)}{where}"):
                    dialogue = _dialogue(f"{prefix}:{numbers[prefix]}", row, split, domain)
                if one_sided(dialogue.turns):
                    skips.add("response without context", f"{member}{where}")
                else:
                    yield dialogue


def _files(source: Source) -> list[tuple[Split, str, str]]:
    """Split, domain and name of each file, training first."""
    files: list[tuple[Split, str, str]] = []
    for member in source.members:
        parts = PurePosixPath(member).parts
        found = _SPLIT.findall(member.lower())
        if found and parts[-1].removesuffix(".gz").endswith(_KINDS) and not parts[-1].startswith("."):
            domain = next((name for name in _DOMAINS if name in parts), "")
            files.append((split_named(found[-1]), domain, member))
    if {domain for _, domain, _ in files} > {"all"}:
        files = [file for file in files if file[1] != "all"]
    return sorted(files, key=lambda file: (SPLITS.index(file[0]), file[1:]))


def _rows(source: Source, member: str) -> Iterator[tuple[str, Row]]:
    """The rows of one file, each with where it stands in it."""
    kind = PurePosixPath(member.removesuffix(".gz")).suffix
    if kind == ".parquet":
        yield from _parquet_rows(source, member)
    elif kind == ".txt":
        yield from _text_rows(source, member)
    else:
        yield from _json_rows(source, member)


def _parquet_rows(source: Source, member: str) -> Iterator[tuple[str, Row]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with source.intact(member), pq.ParquetFile(source.open(member)) as file:
            rows = chain.from_iterable(batch.to_pylist() for batch in file.iter_batches(1_000))
            yield from ((f", row {number}", row) for number, row in enumerate(rows, start=1))
    except pa.ArrowException as problem:
        raise HarkenError(f"{source.place(member)}: is not a Parquet file, or cut short; fetch it again") from problem


def _json_rows(source: Source, member: str) -> Iterator[tuple[str, Row]]:
    """One object a line, or one list of objects."""
    lines = source.lines(member)
    place = source.place(member)
    for number, line in lines:
        if line.lstrip().startswith("["):
            line = "\n".join([line, *(rest for _, rest in lines)])  # noqa: PLW2901
        if line.strip():
            try:
                value = json.loads(line)
            except ValueError as problem:
                raise HarkenError(f"{place}:{number}: not JSON ({problem})") from problem
            yield from ((f":{number}", row) for row in (value if isinstance(value, list) else [value]))


def _text_rows(source: Source, member: str) -> Iterator[tuple[str, Row]]:
    """Blocks of `name---+---utterance` lines, closed by asterisks; the last utterance is the response."""
    personas = _personas(source, str(PurePosixPath(member).with_name("persona.txt")))
    names: list[str] = []
    texts: list[str] = []
    for number, line in source.lines(member):
        if _END in line:
            if texts:
                row = {"context": texts[:-1], "context_speakers": names[:-1], "response": texts[-1]}
                yield f":{number}", row | {"response_speaker": names[-1], "personas": personas.get(names[-1], [])}
            names, texts = [], []
        elif _SAYS in line:
            name, _, text = line.partition(_SAYS)
            names.append(name.strip())
            texts.append(text.strip())
        elif line.strip():
            if not texts:
                raise WrongSourceError(f"{source.place(member)}:{number}: not a line of the form name{_SAYS}utterance")
            texts[-1] += " " + line.strip()


def _personas(source: Source, member: str) -> dict[str, list[str]]:
    """Name → sentences, from blocks of a name and sentences, closed by asterisks."""
    personas: dict[str, list[str]] = {}
    block: list[str] = []
    for _, line in source.lines(source.need(member)):
        if _END in line:
            personas[block[0] if block else ""] = block[1:]
            block = []
        else:
            block.append(line.strip())
    return personas


def _dialogue(name: str, row: Row, split: Split, domain: str) -> Dialogue:
    texts, people, persona = (_strings(row, field) for field in ("context", "context_speakers", "personas"))
    response, listener = _strings(row, "response", "response_speaker")
    if len(texts) != len(people):
        raise HarkenError(f"{len(texts)} turns of context, but {len(people)} context_speakers")
    turns = tuple(
        Turn("listener" if person == listener else "speaker", text.strip(), extra={"name": person})
        for text, person in zip([*texts, response], [*people, listener], strict=True)
        if text.strip()
    )
    return Dialogue(name, turns, split=split, persona=tuple(persona), extra={"domain": domain} if domain else {})


def _strings(row: Row, *fields: str) -> list[str]:
    """The strings in a list field, or of several plain fields."""
    missing = [field for field in fields if not isinstance(row, dict) or field not in row]
    if missing:
        found = ", ".join(row) if isinstance(row, dict) else type(row).__name__
        raise WrongSourceError(f"there is no field {', '.join(missing)} (fields found: {found})")
    values = row[fields[0]] if len(fields) == 1 else [row[field] for field in fields]
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise HarkenError(f"the field {fields[0]} does not hold text")
    return values
