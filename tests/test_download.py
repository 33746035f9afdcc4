"""Downloads from a real server on this machine: whole, resumed, cut short, wrong, refused, unreachable."""

from __future__ import annotations

import hashlib
import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harken.corpora.base import Download
from harken.corpora.download import fetch
from harken.errors import HarkenError

BODY = b"".join(hashlib.sha256(str(i).encode()).digest() for i in range(20_000))  # 640 kB that do not compress
SHA256 = hashlib.sha256(BODY).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Serves BODY, as well as it is told to."""

    body = BODY
    can_resume = True
    status = 200
    stop_after: int | None = None
    """Close the connection after so many bytes, once."""
    ranges: list[str | None]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.ranges = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/pub/corpus.tar.gz"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.ranges.append(asked)
        if self.server.status != 200:
            self.send_error(self.server.status)
            return
        begin = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.server.can_resume else 0
        if begin >= len(self.server.body):
            self.send_error(416)
            return
        rest = self.server.body[begin:]
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(self.server.body) - 1}/{len(self.server.body)}")
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        stop, self.server.stop_after = self.server.stop_after, None
        self.wfile.write(rest if stop is None else rest[:stop])

    def log_message(self, format: str, *arguments: object) -> None:
        """Quietly."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def get(server: Server, folder: Path, sha256: str = SHA256) -> Path:
    return fetch(Download(url=server.url, sha256=sha256), folder)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_download_is_whole_and_done_once(server: Server, tmp_path: Path) -> None:
    heard: list[tuple[str, int, int | None]] = []
    path = fetch(Download(url=server.url, sha256=SHA256), tmp_path / "d", lambda *news: heard.append(news))
    assert path.read_bytes() == BODY
    assert names(tmp_path / "d") == ["corpus.tar.gz"]
    assert heard[-1] == ("Fetching corpus.tar.gz (bytes)", len(BODY), len(BODY))
    assert [done for _, done, _ in heard] == sorted(done for _, done, _ in heard)
    get(server, tmp_path / "d")
    assert len(server.ranges) == 1, "a whole file is not fetched again"


def test_an_interrupted_download_is_resumed(server: Server, tmp_path: Path) -> None:
    server.stop_after = 300_000
    with pytest.raises(HarkenError, match=r"broke off after 300,000 of 640,000 bytes; run again to fetch the rest"):
        get(server, tmp_path)
    assert names(tmp_path) == ["corpus.tar.gz.part"]
    assert get(server, tmp_path).read_bytes() == BODY
    assert server.ranges == [None, "bytes=300000-"]
    assert names(tmp_path) == ["corpus.tar.gz"]


def test_a_server_that_cannot_resume_sends_all_again(server: Server, tmp_path: Path) -> None:
    server.can_resume = False
    (tmp_path / "corpus.tar.gz.part").write_bytes(BODY[:1_000])
    assert get(server, tmp_path).read_bytes() == BODY
    assert server.ranges == ["bytes=1000-"]


def test_a_part_of_another_file_is_begun_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "corpus.tar.gz.part").write_bytes(b"an older edition")
    assert get(server, tmp_path).read_bytes() == BODY
    assert server.ranges == ["bytes=16-", None]


@pytest.mark.parametrize("part", [BODY, BODY + b"more"], ids=["whole", "too long"])
def test_a_part_with_nothing_left_to_fetch(part: bytes, server: Server, tmp_path: Path) -> None:
    """Killed between the last byte and the rename; or longer than the file is now."""
    (tmp_path / "corpus.tar.gz.part").write_bytes(part)
    assert get(server, tmp_path).read_bytes() == BODY


def test_a_wrong_checksum_is_refused_and_dropped(server: Server, tmp_path: Path) -> None:
    server.body = b"Please log in to the hotel's network"
    with pytest.raises(
        HarkenError, match=rf"corpus\.tar\.gz: the file there has the SHA-256 \w+, not the expected {SHA256}"
    ):
        get(server, tmp_path)
    assert names(tmp_path) == []


def test_a_damaged_file_at_its_place_is_fetched_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "corpus.tar.gz").write_bytes(BODY[:-1])
    assert get(server, tmp_path).read_bytes() == BODY


def test_an_absent_file_is_one_sentence(server: Server, tmp_path: Path) -> None:
    server.status = 404
    with pytest.raises(HarkenError, match=r"the server answered 404 Not Found; .* give it with --from"):
        get(server, tmp_path / "d")
    assert names(tmp_path / "d") == []


def test_no_network_is_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))  # taken, but nobody listens
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}/corpus.tar.gz"
        with pytest.raises(HarkenError, match=r"cannot be reached \(.*refused\); check the network .* --from"):
            fetch(Download(url=url, sha256=SHA256), tmp_path / "d")
    assert names(tmp_path / "d") == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_sentence_and_keeps_no_part(server: Server, tmp_path: Path) -> None:
    """Every write to /dev/full fails as on a disk without room."""
    (tmp_path / "corpus.tar.gz.part").symlink_to("/dev/full")
    with pytest.raises(HarkenError, match=r"corpus\.tar\.gz\.part: the disk is full"):
        get(server, tmp_path)
    assert names(tmp_path) == []
