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


@contextmanager
def atomic(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file for writing that takes the place of `path` on success and vanishes on any error.

    Where the system can (Linux), the file has no name until it is whole, so that even a killed process leaves nothing
    behind; elsewhere it is a hidden neighbour of `path`. A device or pipe such as /dev/stdout is written to directly.
    """
    encoding = None if "b" in mode else "utf-8"
    temporary: Path | None = None
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open(mode, encoding=encoding) as stream:
                yield stream
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = _temporary(path)
        with os.fdopen(handle, mode, encoding=encoding) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if temporary is None:
                temporary = path.with_name(f".{path.name}.{os.getpid()}")
                temporary.unlink(missing_ok=True)
                handle = stream.fileno()  # given as a folder, too: only then does Python follow the link of the path
                os.link(f"/proc/self/fd/{handle}", temporary, src_dir_fd=handle)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as problem:
        raise repairable(problem, path) from problem
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _temporary(path: Path) -> tuple[int, Path | None]:
    """A new file in the folder of `path`: its handle, and its name unless the system could do without one."""
    if hasattr(os, "O_TMPFILE") and Path("/proc/self/fd").exists():
        with suppress(OSError):  # not every file system has nameless files
            return os.open(path.parent, os.O_TMPFILE | os.O_RDWR, 0o600), None
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    return handle, Path(name)


def repairable(problem: OSError, path: Path) -> Exception:
    """A full disk or a read-only folder is the user's to repair; any other system error passes unchanged."""
    if problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return HarkenError(f"{path}: the disk is full; free some space and run the command again, nothing was changed")
    if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return HarkenError(f"{path}: cannot be written here ({problem.strerror}); choose another folder")
    if problem.errno in (errno.ENOTDIR, errno.EISDIR, errno.EEXIST):
        return HarkenError(f"{path}: cannot be written ({problem.strerror}); choose another name")
    return problem


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
