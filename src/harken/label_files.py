"""Label files: what classifiers made of some texts; read and written here and nowhere else.

JSON lines. The first line (here broken in two) says what made the rest, a line each follows:

    {"format": "harken labels 1", "of": "context", "top": 5, "texts": "90b1…",
     "classifiers": {"emotion": {"hash": "5e0c…", "labels": ["afraid", …]}}}
    {"id": "hit:0_conv:1:1", "text": "…", "labels": {"emotion": {"sad": 0.81, "lonely": 0.07}}}

Ids are those of the texts: the example's (dialogue:position of the answer) for contexts and answers, the line number for
plain text. Probabilities stand likeliest first; sentiment adds `"scores": {"compound": -0.42}`. A file appears when
it is whole; until then `FILE.part` has what is finished, and the same job goes on from there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harken.errors import HarkenError, did_you_mean
from harken.files import read_lines, write_json_lines

FORMAT = "harken labels 1"


@dataclass(frozen=True)
class Made:
    """A classifier as a file remembers it."""

    hash: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Header:
    """What made the labels, task by task, and of what."""

    of: str
    """The part of the input that was read."""
    classifiers: dict[str, Made]
    texts: str
    """Hash of the ids and texts."""
    top: int
    """Labels kept for each text."""

    def classifier(self, task: str, where: str) -> Made:
        """What labelled that task; a file without it is an error."""
        if task not in self.classifiers:
            near = did_you_mean(task, self.classifiers) or f"; it has {', '.join(self.classifiers)}"
            raise HarkenError(f"{where}: has no labels of '{task}'{near}")
        return self.classifiers[task]

    def to_json(self) -> dict[str, Any]:
        """The first line of the file."""
        made = {task: {"hash": one.hash, "labels": list(one.labels)} for task, one in self.classifiers.items()}
        return {"format": FORMAT, "of": self.of, "top": self.top, "texts": self.texts, "classifiers": made}


@dataclass(frozen=True)
class LabelledText:
    """One text with its labels."""

    id: str
    text: str
    labels: Mapping[str, Mapping[str, float]]
    """Task, label, probability; the likeliest first."""
    scores: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """A line of the file."""
        line: dict[str, Any] = {"id": self.id, "text": self.text, "labels": self.labels}
        return line | ({"scores": self.scores} if self.scores else {})


@dataclass(frozen=True)
class LabelFile:
    """A whole file."""

    name: str
    header: Header
    records: dict[str, LabelledText]

    def classifier(self, task: str) -> Made:
        """What labelled that task."""
        return self.header.classifier(task, self.name)

    def top(self, name: str, task: str, count: int = 1) -> tuple[str, ...]:
        """The likeliest labels of the text with that id."""
        self.classifier(task)
        if name not in self.records:
            raise HarkenError(f"{self.name}: has no labels for '{name}'; label the corpus that is used")
        ranked = tuple(self.records[name].labels[task])
        if len(ranked) < count:
            raise HarkenError(
                f"{self.name}: keeps only {len(ranked)} labels of '{task}' for '{name}', not {count}; "
                f"label again with --top {count}"
            )
        return ranked[:count]


def read_header(path: Path) -> Header:
    """The first line of a label file."""
    return _opened(path)[0]


def read_labels(path: Path) -> LabelFile:
    """A label file, every line checked."""
    header, lines = _opened(path)
    records: dict[str, LabelledText] = {}
    for number, text in lines:
        record = _record(text, header, f"{path}:{number}")
        if record.id in records:
            raise HarkenError(f"{path}:{number}: the id '{record.id}' came before; give each text its own")
        records[record.id] = record
    return LabelFile(str(path), header, records)


def _opened(path: Path) -> tuple[Header, Iterator[tuple[int, str]]]:
    """The header, and the numbered lines after it."""
    lines = ((number, text) for number, text in read_lines(path) if text.strip())
    first = next(lines, None)
    if first is None:
        raise HarkenError(f"{path}: is empty; make a label file with: harken label FILE --with … --out {path}")
    return _header(path, first[1]), lines


def _header(path: Path, text: str) -> Header:
    try:
        line = json.loads(text)
        if line["format"] != FORMAT:
            raise HarkenError(f"{path}:1: has the format '{line['format']}', not '{FORMAT}'; label the texts again")
        made = {task: Made(str(one["hash"]), tuple(one["labels"])) for task, one in line["classifiers"].items()}
        return Header(str(line["of"]), made, str(line["texts"]), int(line["top"]))
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise HarkenError(
            f"{path}:1: is no header of a label file; make one with: harken label FILE --with … --out {path.name}"
        ) from problem


def _record(text: str, header: Header, place: str) -> LabelledText:
    try:
        line = json.loads(text)
        labels = {
            task: {str(name): float(chance) for name, chance in found.items()} for task, found in line["labels"].items()
        }
        record = LabelledText(str(line["id"]), str(line["text"]), labels, line.get("scores", {}))
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise HarkenError(f"{place}: is no line of a label file ({problem}); label the texts again") from problem
    for task, made in header.classifiers.items():
        for name in labels.get(task, {"": 0.0}):
            if name not in made.labels:
                near = did_you_mean(name, made.labels)
                raise HarkenError(f"{place}: unknown label '{name}' of '{task}'{near}; the header has its names")
    return record


def write_labels(path: Path, header: Header, records: Iterable[LabelledText]) -> int:
    """Write a whole label file; the number of texts comes back."""
    return write_json_lines(path, [header.to_json(), *(record.to_json() for record in records)]) - 1


def write_labels_in_parts(
    path: Path, header: Header, ids: Sequence[str], label: Callable[[Sequence[int]], Iterator[LabelledText]]
) -> int:
    """Write a label file that is long in the making; `label` gets the places in `ids` that are still to be done."""
    part = path.with_name(path.name + ".part")
    done = {record.id: record for record in _finished(part, header)}
    write_labels(part, header, done.values())
    with part.open("a", encoding="utf-8") as stream:
        for record in label([i for i, name in enumerate(ids) if name not in done]):
            done[record.id] = record
            stream.write(json.dumps(record.to_json(), ensure_ascii=False) + "\n")
            stream.flush()
    count = write_labels(path, header, (done[name] for name in ids))
    part.unlink()
    return count


def _finished(part: Path, header: Header) -> Iterator[LabelledText]:
    """What an interrupted job with the same header left behind; a line cut short by a crash ends it."""
    try:
        lines = part.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    if not lines or lines[0] != json.dumps(header.to_json(), ensure_ascii=False):
        return
    for line in lines[1:]:
        try:
            yield _record(line, header, str(part))
        except HarkenError:
            return
