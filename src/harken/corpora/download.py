"""An official archive over HTTP: with progress, resumed after an interruption, checked, and renamed only when whole.

The bytes grow in `NAME.part`. Whatever stops the transfer (Ctrl-C, a lost network), the next call asks the server for
the rest only; a server that cannot resume sends all again. Only a file with the right SHA-256 gets the archive's
name.
"""

from __future__ import annotations

import http.client
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from harken.corpora.base import Download
from harken.errors import HarkenError
from harken.files import repairable, sha256

_CHUNK = 1 << 18
_TIMEOUT = 30.0

Progress = Callable[[str, int, int | None], None]
"""Hears what is being done, how much of it is done, and how much there is, if known."""


def silent(what: str, done: int, total: int | None) -> None:
    """Progress that nobody watches."""


def fetch(download: Download, folder: Path, progress: Progress = silent) -> Path:
    """The archive in `folder`, downloaded unless it is there already."""
    target = folder / PurePosixPath(urlsplit(download.url).path).name
    if target.is_file() and sha256(target) == download.sha256:
        return target
    part = target.with_name(f"{target.name}.part")
    resumed = _transfer(download.url, part, progress)
    if resumed and sha256(part) != download.sha256:  # it may be another file than the one that was begun
        part.unlink()
        _transfer(download.url, part, progress)
    found = sha256(part)
    if found != download.sha256:
        part.unlink()
        raise HarkenError(
            f"{download.url}: the file there has the SHA-256 {found}, not the expected {download.sha256}, so it was "
            "dropped; if you trust another copy, give it with --from"
        )
    part.replace(target)
    return target


def _transfer(url: str, part: Path, progress: Progress) -> bool:
    """Make `part` whole; says whether it was continued rather than begun."""
    have = part.stat().st_size if part.exists() else 0
    request = Request(url, headers={"User-Agent": "harken", **({"Range": f"bytes={have}-"} if have else {})})
    try:
        with urlopen(request, timeout=_TIMEOUT) as response:
            resumed = bool(have) and response.status == http.HTTPStatus.PARTIAL_CONTENT
            begin = have if resumed else 0
            length = response.headers.get("Content-Length")
            total = begin + int(length) if length else None
            got = _append(response, part, begin, total, progress)
    except HTTPError as problem:
        if problem.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and have:
            return True  # nothing is left to send: the checksum decides
        raise HarkenError(f"{url}: the server answered {problem.code} {problem.reason}; {_BY_HAND}") from problem
    except (URLError, OSError, http.client.HTTPException) as problem:
        reason = problem.reason if isinstance(problem, URLError) else problem
        raise HarkenError(
            f"{url}: cannot be reached ({reason}); check the network and run again, or {_BY_HAND}"
        ) from problem
    if total is not None and got < total:
        raise HarkenError(
            f"{url}: the transfer broke off after {got:,} of {total:,} bytes; run again to fetch the rest"
        )
    return resumed


_BY_HAND = "fetch the file by other means and give it with --from"


def _append(response: http.client.HTTPResponse, part: Path, begin: int, total: int | None, progress: Progress) -> int:
    """Write what the server sends from byte `begin` on; the size of `part` comes back."""
    what = f"Fetching {part.name.removesuffix('.part')} (bytes)"
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        opened = part.open("ab" if begin else "wb")
    except OSError as problem:
        raise repairable(problem, part) from problem
    done = begin
    with opened as stream:
        while chunk := response.read(_CHUNK):
            try:
                stream.write(chunk)
                stream.flush()
            except OSError as problem:
                part.unlink()
                raise repairable(problem, part) from problem
            done += len(chunk)
            progress(what, done, total)
    return done
