"""Sources that are missing, damaged, foreign or not text: one sentence each, naming the file."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from harken.corpora.base import WrongSourceError
from harken.corpora.source import Source
from harken.errors import HarkenError

TEXT = "".join(f"line {i}, {i * i % 97} and more words to press\n" for i in range(20_000)).encode()


def tar(path: Path, mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name in ("pkg/a.csv", "pkg/b.csv"):
            member = tarfile.TarInfo(name)
            member.size = len(TEXT)
            archive.addfile(member, io.BytesIO(TEXT))
    return path


def read_all(path: Path) -> int:
    with Source(path) as source:
        return sum(1 for name in ("a.csv", "b.csv") for _ in source.lines(source.need(name)))


@pytest.mark.parametrize("name", ["x.tar.gz", "x.tgz", "x.unnamed"])
def test_archives_are_read_whatever_their_name(name: str, tmp_path: Path) -> None:
    assert read_all(tar(tmp_path / name)) == 40_000


def test_a_missing_source(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match=r"none\.tar\.gz: there is no such file or folder"):
        Source(tmp_path / "none.tar.gz")


@pytest.mark.parametrize("part", [0.0, 0.02, 0.3, 0.6, 0.95, 0.9999])
@pytest.mark.parametrize("mode", ["w:gz", "w"])
def test_an_archive_cut_anywhere_is_never_read_as_whole(part: float, mode: str, tmp_path: Path) -> None:
    path = tar(tmp_path / ("x.tar.gz" if mode == "w:gz" else "x.tar"), mode)
    whole = path.read_bytes()
    end = len(whole) if mode == "w:gz" else 2 * (512 + len(TEXT) + (-len(TEXT) % 512))  # before the padding of zeros
    path.write_bytes(whole[: int(part * end)])
    with pytest.raises(HarkenError, match=r"x\.tar(\.gz)?.*(is damaged|there is no b\.csv|there is no a\.csv)"):
        read_all(path)


def test_a_single_gzip_file_cut_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(TEXT)[:-5_000])
    with Source(path) as source, pytest.raises(HarkenError, match=r"a\.csv\.gz: is damaged, cut short or no archive"):
        list(source.lines(source.need("a.csv")))


def test_a_text_that_calls_itself_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_text("404 not found")
    with pytest.raises(HarkenError, match=r"x\.tar\.gz: is damaged, cut short or no archive"):
        Source(path)


def test_a_foreign_archive_says_what_it_holds(tmp_path: Path) -> None:
    with (
        Source(tar(tmp_path / "x.tar.gz")) as source,
        pytest.raises(WrongSourceError, match=r"there is no train\.csv in it \(found: pkg/a\.csv, pkg/b\.csv\)"),
    ):
        source.need("train.csv")


def test_bytes_that_are_not_utf8_name_member_and_line(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_bytes("grüß\n".encode() + "grüß\n".encode("latin-1"))
    with (
        Source(tmp_path) as source,
        pytest.raises(HarkenError, match=r"train\.csv:2: not UTF-8 \(byte 0xfc at column 3\)"),
    ):
        list(source.lines("train.csv"))


def test_the_nearest_file_of_a_name_is_found(tmp_path: Path) -> None:
    for name in ("old/train.csv", "train.csv", "a/b/train.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    with Source(tmp_path) as source:
        assert source.find("train.csv") == "train.csv"
        assert source.find("b/train.csv") == "a/b/train.csv"
        assert source.find("rain.csv") is None


def test_rows_begin_where_they_begin(tmp_path: Path) -> None:
    """A quoted line break makes the second row begin on line 4."""
    (tmp_path / "x.csv").write_text('a,b\n1,"two\nlines"\n3,4\n')
    with Source(tmp_path / "x.csv") as source:
        assert list(source.table("x.csv")) == [(2, {"a": "1", "b": "two\nlines"}), (4, {"a": "3", "b": "4"})]
        with pytest.raises(WrongSourceError, match=r"x\.csv:1: there is no column c \(columns found: a, b\)"):
            list(source.table("x.csv", ("a", "c")))
