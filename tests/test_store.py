"""What is stored comes back, under a hash of its content; what goes wrong on the way leaves the data home as it was."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harken.corpora import library, store
from harken.corpora.base import Skips
from harken.corpora.store import Manifest
from harken.dialogue import Dialogue, Turn
from harken.errors import HarkenError

pytestmark = pytest.mark.usefixtures("home")

KITTENS = Dialogue(
    "1",
    (Turn("speaker", "Five kittens!", "joyful", {"mood": ["up", 1.5]}), Turn("listener", "Names?", "questioning")),
    emotion="joyful",
    situation="My cat had kittens. 🐈",
    split="valid",
    source="tests",
    persona=("I like cats.",),
    extra={"n": None},
)
RAIN = Dialogue(
    "2", (Turn("speaker", "Rain again."), Turn("listener", "Oh no."), Turn("listener", "Tea?")), source="tests"
)


def save(name: str, dialogues: Iterable[Dialogue], skips: Skips | None = None, title: str = "Two") -> Manifest:
    return store.save(name, dialogues, title=title, citation="Me 2020", licence="CC0", origin="here", skips=skips)


def snapshot(folder: Path) -> dict[str, str]:
    """Every file under a folder, hidden ones too, and what it holds."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_dialogues_come_back_as_they_were() -> None:
    manifest = save("two", [KITTENS, RAIN])
    assert store.load("two") == [KITTENS, RAIN]
    assert store.load("two", "train") == [RAIN]
    assert store.load("two", "validation") == [KITTENS]
    assert store.stored() == ["two"]
    assert store.manifest("two") == manifest
    assert manifest.dialogues == {"train": 1, "valid": 1}
    assert manifest.turns == {"train": 3, "valid": 2}
    assert manifest.listener_turns == {"train": 2, "valid": 1}
    assert (manifest.title, manifest.licence, manifest.origin) == ("Two", "CC0", "here")


def test_the_hash_is_of_the_content_alone() -> None:
    """SHA-256 of the one canonical line, written out here by hand."""
    line = (
        '{"id":"2","source":"tests","split":"train","turns":[{"role":"speaker","text":"Rain again."},'
        '{"role":"listener","text":"Oh no."},{"role":"listener","text":"Tea?"}]}\n'
    )
    one = save("one", [RAIN])
    assert one.sha256 == hashlib.sha256(line.encode()).hexdigest()
    assert save("other", [RAIN], title="Another").sha256 == one.sha256
    assert save("one", [replace(RAIN, id="3")]).sha256 != one.sha256


def test_more_dialogues_than_a_batch_keep_their_order() -> None:
    many = [replace(RAIN, id=str(i)) for i in range(4_567)]
    assert save("many", many).total == 4_567
    assert store.load("many") == many


def test_what_was_left_out_is_remembered() -> None:
    skips = Skips()

    def reader() -> Iterator[Dialogue]:
        yield RAIN
        skips.add("empty turn", "x:1")
        skips.keep("one-sided", "x:2")

    manifest = save("two", reader(), skips)
    assert (manifest.skipped, manifest.kept) == ({"empty turn": 1}, {"one-sided": 1})


def test_nothing_usable_is_an_error_that_says_why(home: Path) -> None:
    skips = Skips()
    skips.add("one-sided dialogue", "x.jsonl:3")
    with pytest.raises(HarkenError, match=r"here: no usable dialogue .*left out 1 × one-sided dialogue \(x\.jsonl:3\)"):
        save("none", [], skips)
    assert snapshot(home) == {}


def test_absent_foreign_and_damaged_corpora(home: Path) -> None:
    with pytest.raises(
        HarkenError, match=r"'two' is not in the data home; add it with: harken data add two --from PATH"
    ):
        store.load("two")
    save("two", [RAIN])
    with pytest.raises(HarkenError, match=r"'twoo' is not in the data home; did you mean 'two'\?"):
        store.manifest("twoo")
    store.path_of("cut").write_bytes(store.path_of("two").read_bytes()[:-100])
    with pytest.raises(HarkenError, match=r"cut\.parquet: is damaged"):
        store.load("cut")
    with pytest.raises(HarkenError, match=r"unknown split 'half'"):
        store.load("two", "half")


def test_a_damaged_corpus_does_not_hide_the_others() -> None:
    save("two", [RAIN])
    store.path_of("cut").write_bytes(store.path_of("two").read_bytes()[:-100])
    listed = {row.name: row for row in library.listing()}
    assert listed["two"].dialogues == {"train": 1}
    assert "is damaged" in str(listed["cut"].problem)


@pytest.mark.parametrize("nameless", [True, False])
def test_an_error_on_the_way_leaves_the_old_corpus(nameless: bool, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has files without names, and where it has not."""
    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    save("two", [RAIN])
    before = snapshot(home)

    def reader() -> Iterator[Dialogue]:
        yield from (replace(KITTENS, id=str(i)) for i in range(5_000))
        raise HarkenError("x:5001: broken")

    with pytest.raises(HarkenError, match="x:5001"):
        save("two", reader())
    assert snapshot(home) == before


ADD = "from harken.cli import main; import sys; sys.argv[1:] = {arguments}; main()"


def write_own(path: Path, count: int) -> Path:
    with path.open("w") as stream:
        for i in range(count):
            text = hashlib.sha256(str(i).encode()).hexdigest()  # does not compress, so that the file must grow
            turns = f'[{{"role": "speaker", "text": "{text}"}}, {{"role": "listener", "text": "{text[::-1]}"}}]'
            stream.write(f'{{"id": "{i}", "turns": {turns}}}\n')
    return path


def test_a_full_disk_is_one_sentence_and_changes_nothing(home: Path, tmp_path: Path) -> None:
    """The kernel refuses to let the file grow past 100 kB, at the point where a full disk would."""
    save("mine", [RAIN])
    before = snapshot(home)
    path = write_own(tmp_path / "big.jsonl", 5_000)
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)); "
    code = limit + ADD.format(arguments=["data", "add", "mine", "--from", str(path)])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "the disk is full" in done.stderr
    assert "Traceback" not in done.stderr
    assert snapshot(home) == before


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="files without a name are Linux's")
def test_a_killed_add_leaves_nothing_and_the_next_one_works(home: Path, tmp_path: Path) -> None:
    """A real process, killed while its unfinished file is open and has grown."""
    save("mine", [RAIN])
    before = snapshot(home)
    path = write_own(tmp_path / "big.jsonl", 30_000)
    code = ADD.format(arguments=["data", "add", "mine", "--from", str(path)])
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not (grown := _open_size(process.pid, home)) and time.monotonic() < deadline:
            assert process.poll() is None, "it finished before it could be killed"
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert grown > 0
    assert snapshot(home) == before
    assert library.add("mine", path).manifest.total == 30_000
    assert len(store.load("mine")) == 30_000


def _open_size(process: int, folder: Path) -> int:
    """The size of the file under `folder` that a process has open, named or not."""
    for link in Path(f"/proc/{process}/fd").glob("*"):
        try:
            if str(link.readlink()).startswith(str(folder / "corpora")):
                return link.stat().st_size
        except OSError:
            continue
    return 0
