"""Subtitle files to lines: where they lie, how they are packed, what they are; never a crash for a bad one.

    find_sources   folders, single files and archives → Source, sorted
    read_subtitle  Source → Subtitle, or Unreadable with the reason in words

A file of which nothing is left once markup, songs and notes are gone was still read: it is a Subtitle without lines.
"""

from __future__ import annotations

import errno
import gzip
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path

from harken.curation.encodings import NotTextError, decode
from harken.curation.opus import BrokenXmlError, declared_encoding, read_opus
from harken.curation.records import Source, Subtitle, Unreadable
from harken.curation.text_formats import NoCuesError, read_cues
from harken.curation.times import in_order
from harken.errors import HarkenError

SUFFIXES = tuple(kind + packed for kind in (".xml", ".srt", ".vtt", ".ass", ".ssa") for packed in ("", ".gz"))
LARGEST = 64 << 20
"""Bytes of one unpacked subtitle: the longest films have 2 MB of XML, so what is larger is something else, or a bomb."""

_OPUS_PATH = re.compile(r"(?:^|/)(\d{1,4}/\d+)/[^/]+$")  # …/YEAR/FILM/VERSION.xml
_MACHINE_TROUBLE = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Not the file's fault: the run must stop, or every file after it would be called unreadable."""


class _UnreadableError(Exception):
    """The reason, on its way out of the functions below."""


def find_sources(inputs: Sequence[Path]) -> Iterator[Source]:
    """Every subtitle file in folders (recursively), in archives and among the files named: files before
    folders, each sorted by name, so that the versions of one film come together."""
    taken: dict[str, Path] = {}
    roots = {path.resolve(): path for path in inputs}
    for root, path in roots.items():
        if any(other in root.parents for other in roots):  # inside another input, which covers it
            continue
        found = False
        for source in _below(path, root):
            found = True
            if source.id in taken:
                raise HarkenError(
                    f"'{source.id}' is in both {taken[source.id]} and {path}; name one folder that holds both"
                )
            taken[source.id] = path
            yield source
        if not found:
            raise HarkenError(
                f"{path}: holds no subtitle file; known kinds are {', '.join(SUFFIXES[::2])}, .gz and .zip"
            )


def _below(path: Path, root: Path) -> Iterator[Source]:
    if root.is_dir():
        for folder, folders, names in os.walk(root):
            folders.sort()
            for name in sorted(names):
                file = Path(folder, name)
                below = file.relative_to(root).as_posix()
                yield from _at(file, below, archive_prefix=f"{below}/")
    elif root.is_file():
        yield from _at(root, root.name, archive_prefix="")
    else:
        raise HarkenError(f"{path}: there is no such file or folder")


def _at(file: Path, name: str, archive_prefix: str) -> Iterator[Source]:
    if name.lower().endswith(SUFFIXES):
        yield Source(name, str(file), film=_film(file.as_posix(), name))
    elif name.lower().endswith(".zip"):
        try:
            members = sorted(member for member in _archive(str(file)).namelist() if member.lower().endswith(SUFFIXES))
        except (OSError, zipfile.BadZipFile):
            yield Source(name, str(file), film=name)  # read_subtitle says what is wrong with it
            return
        for member in members:
            yield Source(archive_prefix + member, str(file), member, _film(member, archive_prefix + member))


def _film(path: str, name: str) -> str:
    """YEAR/FILM where files lie as in OPUS; elsewhere each file is a film of its own."""
    found = _OPUS_PATH.search(path)
    if found:
        return found[1]
    bare = name.lower().removesuffix(".gz")
    return name[: len(bare) - 4]


def _archive(path: str) -> zipfile.ZipFile:
    """The archive, opened once by each process: the list of a corpus of half a million files takes seconds to read."""
    status = Path(path).stat()
    return _opened(path, os.getpid(), status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4)
def _opened(path: str, _process: int, _changed: int, _size: int) -> zipfile.ZipFile:
    return zipfile.ZipFile(path)


def read_subtitle(source: Source) -> Subtitle | Unreadable:
    """The lines of one file; whatever is wrong with the file itself is a reason, not an exception."""
    try:
        raw = _unpacked(_bytes(source))
        if not raw.strip(b"\0 \t\r\n\xef\xbb\xbf\xff\xfe"):
            raise _UnreadableError("is empty")
        name = (source.member or source.path).lower().removesuffix(".gz")
        if name.endswith(".xml"):
            text, encoding = decode(raw, declared_encoding(raw))
            lines = read_opus(text)
        else:
            text, encoding = decode(raw)
            lines = read_cues(text)
    except (_UnreadableError, NotTextError, BrokenXmlError, NoCuesError) as problem:
        return Unreadable(source, str(problem))
    return Subtitle(source, in_order(lines), encoding)


def _bytes(source: Source) -> bytes:
    """The file as it lies on disk or in its archive."""
    try:
        if source.member is not None:
            return _member(_archive(source.path), source.member)
        if source.path.lower().endswith(".zip"):
            zipfile.ZipFile(source.path).close()  # a broken archive stands for its members, and says so here
            raise _UnreadableError("holds no subtitle")
        with Path(source.path).open("rb") as stream:
            return _at_most(stream.read(LARGEST + 1))
    except FileNotFoundError as problem:
        raise _UnreadableError("has vanished since the inputs were listed") from problem
    except PermissionError as problem:
        raise _UnreadableError("may not be read: permission denied") from problem
    except zipfile.BadZipFile as problem:
        raise _UnreadableError(f"broken zip archive: {problem}") from problem
    except OSError as problem:
        if problem.errno in _MACHINE_TROUBLE:
            raise
        raise _UnreadableError(f"cannot be read: {problem.strerror or problem}") from problem


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        with archive.open(name) as stream:
            return _at_most(stream.read(LARGEST + 1))
    except KeyError as problem:
        raise _UnreadableError("is no longer in its archive") from problem
    except (zlib.error, EOFError) as problem:
        raise _UnreadableError(f"damaged in its archive: {problem}") from problem
    except (RuntimeError, NotImplementedError) as problem:  # a password, or a packing this Python lacks
        raise _UnreadableError(f"cannot be unpacked from its archive: {problem}") from problem


def _unpacked(raw: bytes) -> bytes:
    """Gzip undone, by its first bytes rather than by the name."""
    if not raw.startswith(b"\x1f\x8b"):
        return raw
    try:
        with gzip.GzipFile(fileobj=BytesIO(raw)) as stream:
            return _at_most(stream.read(LARGEST + 1))
    except EOFError as problem:
        raise _UnreadableError("gzip file cut off before its end") from problem
    except (OSError, zlib.error) as problem:
        raise _UnreadableError(f"damaged gzip file: {problem}") from problem


def _at_most(raw: bytes) -> bytes:
    if len(raw) > LARGEST:
        raise _UnreadableError(f"is larger than {LARGEST >> 20} MB unpacked: no subtitle")
    return raw
