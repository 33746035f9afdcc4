"""What passes between the stages of curation: an input, its lines, its turns; dialogues are the toolkit's own records.

    Source ─read→ Subtitle ─segment→ Spoken … ─split→ Dialogue … ─clean→ Dialogue … ─label→ ─select→ EDOS, OS

Each arrow is a pure function of one record (of one film's records, for near duplicates), so any number of processes or
machines may share the work and the result is the same.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """One subtitle file, on disk or inside an archive."""

    id: str
    """Unique among the inputs, and the same wherever the inputs lie: the path below the folder or archive named."""
    path: str
    """The file, or the archive that holds it."""
    member: str | None = None
    """The name inside the archive."""
    film: str = ""
    """Shared by the versions of one film, so that their dialogues can be compared."""


@dataclass(frozen=True, slots=True)
class Line:
    """One subtitle line, cleaned of markup; times in seconds, None where the file has none."""

    text: str
    start: float | None = None
    end: float | None = None
    dash: bool = False
    """Whether a dialogue dash opened it: the speaker changes here."""
    name: str | None = None
    """The speaker, where the subtitle says so (`JOHN: Come in.`)."""


@dataclass(frozen=True, slots=True)
class Subtitle:
    """A file as lines."""

    source: Source
    lines: tuple[Line, ...]
    encoding: str = "utf-8"


@dataclass(frozen=True, slots=True)
class Spoken:
    """Consecutive lines of one speaker, joined; a turn whose side is not known."""

    text: str
    start: float | None = None
    end: float | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be read, and why; counted and named, never fatal."""

    source: Source
    reason: str
