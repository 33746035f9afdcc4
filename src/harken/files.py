"""Files that are whole or absent: write without a name or under a temporary one, then rename."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from harken.errors import HarkenError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def atomic(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file for writing that takes the place of `path` on success and vanishes on any error.

    Where the system can (Linux), the file has no name until it is whole, so that even a killed process leaves nothing
    behind; elsewhere it is a hidden neighbour of `path`. A device or pipe such as /dev/stdout is written to directly,
    and a symbolic link stays one: what it points at is replaced.
    """
    direct = path.exists() and not path.is_file() and not path.is_dir()
    path = path if direct else path.resolve()
    try:
        handle, temporary = (os.open(path, os.O_WRONLY), path) if direct else _temporary(path)
    except OSError as problem:
        raise repairable(problem, path) from problem
    try:
        with os.fdopen(handle, mode, encoding=None if "b" in mode else "utf-8") as stream:
            yield stream
            stream.flush()
            if direct:
                return
            os.fsync(handle)
            if temporary is None:
                temporary = path.with_name(f".{path.name}.{os.getpid()}")
                temporary.unlink(missing_ok=True)
                # The handle is also given as a folder: only then does Python follow the link that /proc shows.
                os.link(f"/proc/self/fd/{handle}", temporary, src_dir_fd=handle)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as problem:
        if problem.errno in _FULL:
            raise repairable(problem, path) from problem
        raise
    finally:
        if temporary is not None and not direct:
            temporary.unlink(missing_ok=True)


def _temporary(path: Path) -> tuple[int, Path | None]:
    """A new file in the folder of `path`: its handle, and its name unless the system could do without one."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    path.parent.mkdir(parents=True, exist_ok=True)
    if hasattr(os, "O_TMPFILE") and Path("/proc/self/fd").exists():
        with suppress(OSError):  # not every file system has nameless files
            return os.open(path.parent, os.O_TMPFILE | os.O_RDWR, 0o600), None
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    return handle, Path(name)


def repairable(problem: OSError, path: Path) -> HarkenError:
    """The one sentence for a file that cannot be written: the disk is full, or the place is wrong."""
    if problem.errno in _FULL:
        return HarkenError(f"{path}: the disk is full; free some space and run the command again, nothing was changed")
    return HarkenError(f"{path}: cannot be written ({problem.strerror}); choose another place")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_json(path: Path, value: object) -> None:
    """Write `value` as indented JSON, whole or not at all."""
    with atomic(path) as stream:
        json.dump(value, stream, ensure_ascii=False, indent=2)
        stream.write("\n")


def write_json_lines(path: Path, records: Iterable[object]) -> int:
    """Write one JSON object a line, whole or not at all; the number of lines comes back."""
    count = 0
    with atomic(path) as stream:
        for record in records:
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
    return count


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Line number (from 1) and text of each line; bytes that are not UTF-8 are an error naming the line."""
    try:
        stream = path.open("rb")
    except FileNotFoundError as problem:
        raise HarkenError(f"{path}: there is no such file") from problem
    except IsADirectoryError as problem:
        raise HarkenError(f"{path}: is a folder, not a file") from problem
    with stream:
        yield from decoded_lines(stream, str(path))


def decoded_lines(stream: Iterable[bytes], where: str) -> Iterator[tuple[int, str]]:
    """As `read_lines`, from an open stream of bytes that errors call `where`."""
    for number, raw in enumerate(stream, start=1):
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as problem:
            raise HarkenError(
                f"{where}:{number}: not UTF-8 (byte 0x{raw[problem.start]:02x} at column {problem.start + 1}); "
                "convert the file to UTF-8"
            ) from problem
        yield number, text.rstrip("\r\n")


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
