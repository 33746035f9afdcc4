"""EmpatheticIntents (Welivita and Pu, COLING 2020): texts labelled with one of 32 emotions, 8 intents or neutral.

Each text becomes a dialogue of one turn that carries the label. Roles: a text labelled with an emotion is a
situation, told by the speaker (the dialogue has that emotion, too); a text labelled with an intent or neutral is a
listener's turn.

The release has three parts, told apart by `extra["part"]`. The folder of the release is read as its `train_data`, the
corpus the paper's classifier is trained on; the folder of another part is read as that part, to be stored under a
name of its own:

    train_data                       `label <SEP> text`, split into train, valid and test
    lexically_extended_intent_data   the same lines, one file per intent, found by likeness to hand-labelled turns
    manual_annotations               hand-labelled listener turns, one file per category: too few to train on, so all
                                     are test; 7 of the 15 categories are not among the 41 labels and stay in `extra`

The number 40 is neutral (the release's `labels.txt` says 38, which is questioning): numbers are those of
`harken.labels`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from harken.corpora.base import Skips, WrongSourceError
from harken.corpora.source import Source
from harken.dialogue import SPLITS, Dialogue, Split, Turn, split
from harken.errors import HarkenError
from harken.labels import BY_NAME, LABELS, Label

_SEPARATOR = "<SEP>"
_MANUAL = "questioning.txt"
"""A file that only the folders of single intents have."""


def read_empathetic_intents(path: Path, skips: Skips) -> Iterator[Dialogue]:
    """The texts of the part that `path` is."""
    with Source(path) as source:
        if source.find("train.txt") is not None:
            for part in SPLITS:
                yield from _numbered(source, source.need(f"{part}.txt"), part, "train_data", part, skips)
        elif source.find(f"validation/{_MANUAL}") is not None:
            for member in sorted(source.members):
                folder, name = PurePosixPath(member).parts[-2:]
                of = split(folder)
                yield from _numbered(source, member, of, "lexically_extended", f"{of}:{_stem(name)}", skips)
        elif source.find(_MANUAL) is not None:
            for member in sorted(source.members):
                yield from _by_hand(source, member, skips)
        else:
            raise WrongSourceError(f"{path}: there is no train.txt and no {_MANUAL} in it")


def _numbered(source: Source, member: str, of: Split, part: str, prefix: str, skips: Skips) -> Iterator[Dialogue]:
    """Lines of `label number <SEP> text`."""
    for number, line in source.lines(member):
        if not line.strip():
            continue
        left, separator, text = line.partition(_SEPARATOR)
        if not separator or not left.strip().isdigit() or int(left) >= len(LABELS):
            raise HarkenError(
                f"{source.place(member)}:{number}: not 'label {_SEPARATOR} text' with a label in 0..{len(LABELS) - 1}"
            )
        if not text.strip():
            skips.add("empty text", f"{member}:{number}")
            continue
        yield _dialogue(f"{prefix}:{number}", text.strip(), LABELS[int(left)], of, {"part": part})


def _by_hand(source: Source, member: str, skips: Skips) -> Iterator[Dialogue]:
    """Lines of text only; the file's name is the category."""
    category = _stem(member)
    for number, line in source.lines(member):
        if not line.strip():
            skips.add("empty text", f"{member}:{number}")
            continue
        extra = {"part": "manual_annotations", "category": category}
        yield _dialogue(f"{category}:{number}", line.strip(), BY_NAME.get(category), "test", extra)


def _dialogue(name: str, text: str, label: Label | None, of: Split, extra: dict[str, str]) -> Dialogue:
    feeling = label.name if label is not None and label.kind == "emotion" else None
    turn = Turn("speaker" if feeling else "listener", text, label.name if label is not None else None)
    return Dialogue(name, (turn,), emotion=feeling, split=of, extra=extra)


def _stem(name: str) -> str:
    """The category a file is named after; one file of the release is misspelt."""
    return PurePosixPath(name).stem.replace("acknowleding", "acknowledging")
