"""Files are whole or absent; a full disk and bad bytes are told in one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harken.errors import HarkenError
from harken.files import atomic, read_lines, sha256, write_json_lines


def test_success_replaces_and_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    with atomic(path) as stream:
        stream.write("old")
    with pytest.raises(RuntimeError), atomic(path) as stream:
        stream.write("half of the n")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]


def test_permissions_are_those_of_an_ordinary_file(tmp_path: Path) -> None:
    ordinary = tmp_path / "a"
    ordinary.touch()
    with atomic(tmp_path / "b"):
        pass
    assert (tmp_path / "b").stat().st_mode == ordinary.stat().st_mode


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    """The size limit of the process stands in for the end of the disk: the kernel refuses the write the same way."""
    code = (
        "import resource, signal, errno, sys\nfrom pathlib import Path\nfrom harken import files\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n    with files.atomic(Path(sys.argv[1])) as s: s.write('x' * 100000)\n"
        "except Exception as problem: print(type(problem).__name__, problem)\n"
    )
    target = tmp_path / "big"
    shown = subprocess.run([sys.executable, "-c", code, str(target)], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("HarkenError")
    assert "the disk is full" in shown.stdout
    assert not list(tmp_path.iterdir())


def test_a_kill_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom harken.files import atomic\n"
        "with atomic(Path(sys.argv[1])) as s:\n    s.write('new'); s.flush(); print('writing', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(target)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
    assert target.read_text() == "old"


def test_lines_have_numbers_and_bad_bytes_a_place(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes("\ufeffeins\r\nzwei\n".encode() + b"dr\xffei\n")
    lines = read_lines(path)
    assert next(lines) == (1, "eins")
    assert next(lines) == (2, "zwei")
    with pytest.raises(HarkenError, match=r"t:3: not UTF-8 \(byte 0xff at column 3\)"):
        next(lines)


def test_json_lines_and_checksum(tmp_path: Path) -> None:
    """The SHA-256 of '{"a": 1}\\n' as sha256sum prints it."""
    path = tmp_path / "x.jsonl"
    assert write_json_lines(path, [{"a": 1}]) == 1
    assert sha256(path) == "e8c628edc9968ef0c668f54e0ba2636b35503357eb1aca0ddc828aeace432f67"


def test_a_folder_or_nothing_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match="is a folder"):
        next(read_lines(tmp_path))
    with pytest.raises(HarkenError, match="no such file"):
        next(read_lines(tmp_path / "none"))
