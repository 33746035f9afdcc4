"""The files of a corpus, wherever they lie: a folder, a tar or zip archive read without unpacking, or a single file.

Readers ask for files by name and never learn the difference. Files that end in `.gz` are decompressed on the way. An
archive that is missing, cut short or not an archive at all is one sentence.
"""

from __future__ import annotations

import csv
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import IO, Self, cast

from harken.corpora.base import WrongSourceError
from harken.errors import HarkenError
from harken.files import decoded_lines

_DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")
_DEPTHS = ("*", "*/*", "*/*/*")
_SHOWN = 6
_REST = 1 << 20


class Source:
    """A folder, an archive or a file, as a set of named members; a context manager, for archives stay open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_folder = path.is_dir()
        self._stack = ExitStack()
        self._members: dict[str, Callable[[], IO[bytes]]] = {}
        if not path.exists():
            raise HarkenError(f"{path}: there is no such file or folder")
        with self.intact():
            if self._is_folder:
                files = (file for depth in _DEPTHS for file in sorted(path.glob(depth)) if file.is_file())
                self._members = {file.relative_to(path).as_posix(): _opener(file) for file in files}
            elif zipfile.is_zipfile(path):
                self._open_zip()
            elif path.name.lower().endswith(_ARCHIVES) or _is_tar(path):
                self._open_tar()
            else:
                self._members = {path.name: _opener(path)}

    def _open_zip(self) -> None:
        archive = self._stack.enter_context(zipfile.ZipFile(self.path))
        self._members = {name: partial(archive.open, name) for name in archive.namelist() if not name.endswith("/")}

    def _open_tar(self) -> None:
        archive = self._stack.enter_context(tarfile.open(self.path))  # noqa: SIM115
        for member in archive:
            if member.isfile():
                open_member = cast(Callable[[], IO[bytes]], partial(archive.extractfile, member))
                self._members[PurePosixPath(member.name).as_posix()] = open_member
        if archive.fileobj is not None:
            while archive.fileobj.read(_REST):  # to the very end, where a compressed file keeps its checksum
                pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def members(self) -> list[str]:
        """The names of all files, as paths with `/`."""
        return list(self._members)

    def find(self, name: str) -> str | None:
        """The member called `name` (or `name.gz`; `name` may be a path such as `train/acts.txt`), nearest the top."""
        wanted = PurePosixPath(name).parts
        for parts in (wanted, (*wanted[:-1], f"{wanted[-1]}.gz")):
            found = [member for member in self._members if PurePosixPath(member).parts[-len(parts) :] == parts]
            if found:
                return min(found, key=lambda member: (member.count("/"), member))
        return None

    def need(self, name: str) -> str:
        """As `find`; a source without it is not this corpus."""
        found = self.find(name)
        if found is None:
            shown = ", ".join(self.members[:_SHOWN]) + (", …" if len(self.members) > _SHOWN else "")
            raise WrongSourceError(f"{self.path}: there is no {name} in it (found: {shown or 'nothing'})")
        return found

    def place(self, member: str) -> str:
        """The member as error messages name it."""
        return str(self.path / member if self._is_folder or len(self._members) > 1 else self.path)

    def open(self, member: str) -> IO[bytes]:
        """The bytes of a member, decompressed if it ends in `.gz`."""
        stream = self._stack.enter_context(self._members[member]())
        return cast(IO[bytes], self._stack.enter_context(gzip.open(stream))) if member.endswith(".gz") else stream

    def lines(self, member: str) -> Iterator[tuple[int, str]]:
        """Number and text of each line; bytes that are not UTF-8 are an error naming the line."""
        with self.intact(member):
            yield from decoded_lines(self.open(member), self.place(member))

    def table(self, member: str, needed: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, str]]]:
        """The rows of a CSV file (comma, semicolon or tab) by column name, with the line each begins on."""
        place = self.place(member)
        lines = (text + "\n" for _, text in self.lines(member))
        first = next(lines, "")
        delimiter = max(",;\t", key=first.count)
        rows = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
        try:
            header = [name.strip() for name in next(rows, [])]
            missing = [name for name in needed if name not in header]
            if missing:
                found = ", ".join(header) or "none"
                raise WrongSourceError(f"{place}:1: there is no column {', '.join(missing)} (columns found: {found})")
            begins = rows.line_num + 1
            for row in rows:
                if row and len(row) != len(header):
                    raise HarkenError(f"{place}:{begins}: {len(row)} fields where the header has {len(header)}")
                if row:
                    yield begins, dict(zip(header, row, strict=True))
                begins = rows.line_num + 1
        except csv.Error as problem:
            raise HarkenError(f"{place}:{rows.line_num}: not a CSV row ({problem})") from problem

    @contextmanager
    def intact(self, member: str | None = None) -> Iterator[None]:
        """Where something is read: damage to the file or archive is one sentence."""
        place = self.path if member is None else self.place(member)
        try:
            yield
        except _DAMAGE as problem:
            raise HarkenError(f"{place}: is damaged, cut short or no archive; fetch it again") from problem
        except PermissionError as problem:
            raise HarkenError(f"{place}: may not be read ({problem.strerror})") from problem


def _opener(file: Path) -> Callable[[], IO[bytes]]:
    return lambda: file.open("rb")


def _is_tar(path: Path) -> bool:
    """Whether a file without a telling name holds a tar archive, compressed or not."""
    try:
        return tarfile.is_tarfile(path)
    except (*_DAMAGE, OSError):
        return False
