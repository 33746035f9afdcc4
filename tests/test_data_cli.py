"""`harken data` as a user meets it: what is printed, where, and what a mistake looks like."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harken.corpora import CORPORA

pytestmark = pytest.mark.usefixtures("home")
Harken = Callable[..., tuple[int, str, str]]
TALK = (
    '{{"id": "{}", "{}": "{}", "turns": [{{"role": "speaker", "text": "{}"}}, {{"role": "listener", "text": "{}"}}]}}\n'
)
LINES = (
    TALK.format("a", "emotion", "sad", "My cat died", "Oh no.")
    + TALK.format("b", "split", "test", "Hi", "Hello")
    + '{"id": "c", "turns": [{"role": "speaker", "text": "Anyone?"}]}\n'
)


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    path = tmp_path / "chats.jsonl"
    path.write_text(LINES)
    return path


def test_a_corpus_from_first_to_last(harken: Harken, chats: Path, tmp_path: Path) -> None:
    """Added, listed, shown, counted, exported, added again from the export: the same content hash."""
    code, out, err = harken("data", "add", "own", "--from", chats, "--as", "mine")
    assert (code, out) == (0, "Stored mine: train 1, test 1 dialogues. Licence: yours.\n")
    assert err == "left out 1 × one-sided dialogue (chats.jsonl:3)\n"

    assert re.search(r"^mine .* yours +2$", harken("data", "list")[1], re.MULTILINE)
    listed = {row["name"]: row for row in json.loads(harken("data", "list", "--json")[1])}
    assert listed["mine"]["dialogues"] == {"train": 1, "test": 1}
    assert listed["esconv"]["dialogues"] is None
    assert set(CORPORA) < set(listed)

    shown = harken("data", "show", "mine")[1]
    assert "left out       1 × one-sided dialogue" in shown
    assert "a (train, sad)\n  speaker    My cat died\n  listener   Oh no.\n" in shown
    assert json.loads(harken("data", "show", "mine", "b", "--json")[1])["turns"][0] == {"role": "speaker", "text": "Hi"}

    stats = json.loads(harken("data", "stats", "mine", "--json")[1])
    assert stats["splits"]["train"] == {"dialogues": 1, "turns": 2, "listener_turns": 1, "tokens_per_turn": 3.0}
    assert stats["emotions"] == {"sad": {"share": 1.0, "dialogues": 1, "speaker": ["cat", "died"], "listener": []}}
    code, out, _ = harken("data", "stats", "mine", "--plot", tmp_path / "mine.png")
    assert (code, (tmp_path / "mine.png").read_bytes()[:4]) == (0, b"\x89PNG")
    assert re.search(r"^sad +cat, died +100\.0%$", out, re.MULTILINE)

    assert [json.loads(line)["id"] for line in harken("data", "export", "mine", "--split", "test")[1].splitlines()] == [
        "b"
    ]
    first = json.loads(harken("data", "show", "mine", "--json")[1])
    for form in ("jsonl", "csv"):
        copy = tmp_path / f"copy.{form}"
        assert harken("data", "export", "mine", "--to", copy, "--format", form)[0] == 0
        again = json.loads(harken("data", "add", "copied", "--from", copy, "--json")[1])
        assert again["sha256"] == first["sha256"]


def test_the_starter_corpus_is_always_there(harken: Harken, home: Path) -> None:
    assert harken("data", "show", "starter", "sad-01")[1].startswith("sad-01 (train, sad)\n  situation  ")
    assert len(json.loads(harken("data", "stats", "starter", "--json")[1])["emotions"]) == 32
    code, out, _ = harken("data", "export", "starter", "--split", "valid")
    assert code == 0
    assert all(json.loads(line)["split"] == "valid" for line in out.splitlines())
    assert re.search(r"^starter .* CC BY 4\.0", harken("data", "list")[1], re.MULTILINE)
    assert not home.exists(), "looking changes nothing"


MISTAKES = [
    (("add", "empatheticdialogs"), "unknown corpus 'empatheticdialogs'; did you mean 'empatheticdialogues'?"),
    (("add", "esconv"), "harken cannot download 'esconv'; give its place with --from PATH"),
    (("add", "starter"), "the starter corpus is part of harken"),
    (("add", "own", "--from", "none.jsonl"), "none.jsonl: there is no such file"),
    (("add", "esconv", "--from", "none"), "none: there is no such file or folder"),
    (("add", "own", "--from", "chats.jsonl", "--as", "../x"), "'../x' cannot name a corpus"),
    (("add", "own", "--from", "chats.jsonl", "--as", "meld"), "'meld' is the name of another corpus"),
    (("add", "own", "--from", "chats.jsonl", "--columns", "text=a"), "chats.jsonl: is not CSV"),
    (("add", "meld", "--from", "chats.jsonl", "--columns", "text=a"), "--columns names the columns of your own CSV"),
    (
        ("add", "meld", "--from", "chats.jsonl"),
        "there is no train_sent_emo.csv in it (found: chats.jsonl); the corpus 'meld'",
    ),
    (("add", "empatheticdialogues", "--from", "fake.tar.gz"), "fake.tar.gz: is damaged, cut short or no archive"),
    (("add", "empatheticdialogues", "--from", "cut.tar.gz"), "cut.tar.gz: is damaged, cut short or no archive"),
    (("add", "empatheticdialogues", "--from", "ed"), "train.csv:1: the columns are id, text, not conv_id"),
    (("add", "own", "--from", "latin.csv"), "latin.csv:2: not UTF-8"),
    (("add", "own", "--from", "label.jsonl"), "label.jsonl:1: unknown label 'happy'"),
    (("add", "own", "--from", "empty.jsonl"), "empty.jsonl: no usable dialogue was found in it"),
    (("show", "mined"), "the corpus 'mined' is not in the data home"),
    (("show", "starter", "sad-0001"), "the corpus 'starter' has no dialogue 'sad-0001'; did you mean 'sad-"),
    (("stats", "starter", "--split", "half"), "unknown split 'half'"),
    (("stats", "starter", "--plot", "x.gif"), "x.gif: cannot draw '.gif' files"),
    (("export", "mined", "--to", "x.jsonl"), "the corpus 'mined' is not in the data home"),
    (("export", "starter", "--to", "chats.jsonl/x"), "cannot be written"),
]


@pytest.mark.parametrize(("arguments", "complaint"), MISTAKES, ids=[" ".join(arguments) for arguments, _ in MISTAKES])
def test_a_mistake_is_one_sentence_and_changes_nothing(
    arguments: tuple[str, ...],
    complaint: str,
    harken: Harken,
    home: Path,
    chats: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fake.tar.gz").write_text("<html>Not found</html>")
    Path("cut.tar.gz").write_bytes(gzip.compress(b"x" * 100_000)[:50])
    Path("ed").mkdir()
    for split in ("train", "valid", "test"):
        Path(f"ed/{split}.csv").write_text("id,text\n1,hello\n")
    Path("latin.csv").write_bytes("dialogue,role,text\n1,user,grüß\n".encode("latin-1"))
    Path("label.jsonl").write_text(LINES.replace('"sad"', '"happy"'))
    Path("empty.jsonl").touch()
    files = set(tmp_path.rglob("*"))
    code, out, err = harken("data", *arguments)
    assert code == 2
    assert complaint in err
    assert err.startswith("harken: ") and err.count("\n") == 1, "one sentence, no traceback"
    assert out == ""
    assert not [path for path in home.rglob("*") if path.is_file()]
    assert {path for path in tmp_path.rglob("*") if home not in (path, *path.parents)} == files


def test_links_and_devices_are_written_through(harken: Harken, tmp_path: Path) -> None:
    """A symbolic link stays one; a device is written to, never replaced."""
    (tmp_path / "real.jsonl").write_text("old")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    assert harken("data", "export", "starter", "--to", tmp_path / "link.jsonl")[0] == 0
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "real.jsonl").read_text().startswith('{"id"')
    full = Path("/dev/full")
    if full.exists():
        code, _, err = harken("data", "export", "starter", "--to", full)
        assert (code, "/dev/full: the disk is full" in err) == (2, True)
        assert full.is_char_device()


def test_a_pipe_that_closes_early_is_no_complaint() -> None:
    code = "import sys; sys.argv[1:] = ['data', 'export', 'starter']; from harken.cli import main; main()"
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(code)} | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


@pytest.mark.slow
def test_the_commands_in_the_documentation_run(harken: Harken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file shown in docs/corpora.md is written, then every command that needs no other corpus is run."""
    text = (Path(__file__).parents[1] / "docs" / "corpora.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, content in re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)```", text, re.DOTALL):
        Path(name).write_text(content)
    commands = [shlex.split(line, comments=True)[1:] for line in re.findall(r"^(harken data .*)$", text, re.MULTILINE)]
    known = {"starter", "own", "chats", "talks"}
    run = [command for command in commands if command[1] == "list" or command[2] in known]
    assert len(run) >= 8
    for command in run:
        assert harken(*command)[0] == 0, command
    for row in re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE):
        assert row in CORPORA
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == set(CORPORA)


def test_a_download_is_stored(harken: Harken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --from, the official archive is fetched; here from a server on this machine."""
    import dataclasses
    import http.server
    import threading
    from functools import partial

    from harken.corpora.base import Download
    from test_corpora_readers import ED_FILES, tar_gz

    archive = tar_gz(tmp_path / "ed.tar.gz", ED_FILES)
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/ed.tar.gz"
        download = Download(url=url, sha256=hashlib.sha256(archive.read_bytes()).hexdigest())
        corpus = dataclasses.replace(CORPORA["empatheticdialogues"], download=download)
        monkeypatch.setitem(CORPORA, "empatheticdialogues", corpus)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        code, out, _ = harken("data", "add", "empatheticdialogues")
        server.shutdown()
    assert (code, out) == (
        0,
        "Stored empatheticdialogues: train 2, valid 1, test 1 dialogues. Licence: CC BY-NC 4.0.\n",
    )
    assert url in harken("data", "show", "empatheticdialogues")[1]
