"""Files that are whole or absent: write under a temporary name, then rename."""

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
    """Open a temporary neighbour of `path` for writing; on success it takes the place of `path`, on any error it goes."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as problem:
        raise HarkenError(f"{path}: cannot be written ({problem.strerror}); choose another place") from problem
    temporary = Path(name)
    try:
        with os.fdopen(handle, mode, encoding=None if "b" in mode else "utf-8") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as problem:
        if problem.errno not in _NO_ROOM:
            raise
        raise HarkenError(
            f"{path}: the disk is full; free some space and run the command again, nothing was changed"
        ) from problem
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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
        for number, raw in enumerate(stream, start=1):
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as problem:
                raise HarkenError(
                    f"{path}:{number}: not UTF-8 (byte 0x{raw[problem.start]:02x} at column {problem.start + 1}); "
                    "convert the file to UTF-8"
                ) from problem
            yield number, text.rstrip("\r\n")


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
