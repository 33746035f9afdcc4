"""Fixtures for all tests: data homes that are never the user's own, and the real corpora where they are at hand."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harken.cli import main

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # begun in the background of a script; tests press Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def warm_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data home of the whole run: what one test had to encode stays warm for the next."""
    path = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARKEN_HOME", str(path))
        yield path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data home of the test's own, not yet there."""
    path = tmp_path / "home"
    monkeypatch.setenv("HARKEN_HOME", str(path))
    return path


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora beside the repository; no text of it is ever part of the project."""
    path = Path(__file__).parents[1].parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip(f"needs the real corpora, which are not part of the project, in {path}")
    return path


@pytest.fixture
def harken(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """The command line in this process: arguments in, exit code and what it printed out."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["harken", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        shown = capsys.readouterr()
        return int(left.value.code or 0), shown.out, shown.err

    return run
