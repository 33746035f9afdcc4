"""Engines: every job's result comes back once, whatever happens to the workers."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harken.curation.engines import ATTEMPTS, Engine, LocalEngine, RayEngine, engine_named
from harken.errors import HarkenError

NO_RAY = importlib.util.find_spec("ray") is None


@dataclass(frozen=True)
class Square:
    """A job; `trouble` is what happens on the way."""

    number: int
    marks: str
    trouble: str = ""

    @property
    def name(self) -> str:
        return f"square/{self.number}"


def square(job: Square) -> int:
    mark = Path(job.marks) / str(job.number)
    if job.trouble == "killed once" and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if job.trouble == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if job.trouble == "mistake":
        raise HarkenError(f"{job.name}: the disk is full")
    return job.number**2


def jobs(marks: Path, troubles: dict[int, str], count: int = 12) -> list[Square]:
    return [Square(number, str(marks), troubles.get(number, "")) for number in range(count)]


def squares(count: int = 12) -> list[int]:
    return [number**2 for number in range(count)]


@pytest.mark.parametrize("workers", [1, 2])
def test_every_result_comes_once(workers: int, tmp_path: Path) -> None:
    with LocalEngine(workers) as engine:
        assert sorted(engine.map(square, jobs(tmp_path, {}))) == squares()
        assert sorted(engine.map(square, jobs(tmp_path, {}, count=1))) == [0]
        assert list(engine.map(square, jobs(tmp_path, {}, count=0))) == []


def test_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    troubles = {3: "killed once", 7: "killed once"}
    with LocalEngine(2) as engine:
        assert sorted(engine.map(square, jobs(tmp_path, troubles))) == squares()
    assert {path.name for path in tmp_path.iterdir()} == {"3", "7"}  # both were killed indeed


@pytest.mark.slow
def test_a_job_that_always_dies_is_named(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match=rf"square/2: its worker died {ATTEMPTS} times"), LocalEngine(2) as engine:
        list(engine.map(square, jobs(tmp_path, {2: "killed"})))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_mistake_in_a_worker_is_the_run_s(workers: int, tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match="square/5: the disk is full"), LocalEngine(workers) as engine:
        list(engine.map(square, jobs(tmp_path, {5: "mistake"})))


def test_jobs_are_asked_for_as_they_are_done(tmp_path: Path) -> None:
    """With two workers at most four jobs are under way, so a plan of any length stays unread."""
    asked = 0

    def coming() -> Iterator[Square]:
        nonlocal asked
        for job in jobs(tmp_path, {}, count=1_000):
            asked += 1
            yield job

    with LocalEngine(2) as engine:
        results = engine.map(square, coming())
        for taken in range(1, 4):
            next(results)
            assert asked <= 4 + 2 * taken


WAITING = """
import sys, time
from pathlib import Path
sys.path.insert(0, {here!r})
from test_curation_engines import Square, wait_for_ever
from harken.curation.engines import LocalEngine
if __name__ == "__main__":
    with LocalEngine(2) as engine:
        list(engine.map(wait_for_ever, [Square(n, {marks!r}) for n in range(2)]))
"""


def wait_for_ever(job: Square) -> int:
    (Path(job.marks) / f"{job.number}.pid").write_text(str(os.getpid()))
    time.sleep(600)
    return 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_a_stopped_run(how: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C does not wait for what is half done, and even a killed run leaves no process behind."""
    script = tmp_path / "run.py"
    script.write_text(WAITING.format(here=str(Path(__file__).parent), marks=str(tmp_path)))
    run = subprocess.Popen([sys.executable, script], stderr=subprocess.DEVNULL)
    try:
        pids = [int(_appears(tmp_path / f"{number}.pid")) for number in range(2)]
        run.send_signal(how)
        assert run.wait(timeout=20) != 0
        deadline = time.monotonic() + 10
        while any(_alive(pid) for pid in pids):
            assert time.monotonic() < deadline, "a worker still runs"
            time.sleep(0.05)
    finally:
        run.kill()
        run.wait()


def _appears(path: Path) -> str:
    deadline = time.monotonic() + 30
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < deadline, f"{path.name} never came"
        time.sleep(0.02)
    return path.read_text()


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"name": "rya"}, "unknown engine 'rya'; did you mean 'ray'?"),
        ({"name": "local", "workers": 0}, "workers = 0 must be at least 1"),
        ({"name": "local", "address": "auto"}, "use it with --engine ray"),
    ],
)
def test_mistakes_are_one_sentence(asked: dict[str, object], sentence: str) -> None:
    with pytest.raises(HarkenError) as problem:
        engine_named(**asked)  # type: ignore[arg-type]
    assert sentence in str(problem.value)


@pytest.mark.skipif(not NO_RAY, reason="Ray is installed here, so its absence cannot be seen")
def test_without_ray_the_sentence_says_how_to_get_it() -> None:
    with pytest.raises(HarkenError, match=r"pip install 'harken\[ray\]'"), engine_named("ray"):
        pass


@pytest.mark.slow
@pytest.mark.skipif(NO_RAY, reason="needs Ray: pip install 'harken[ray]'")
def test_ray_does_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cluster for all of it, for starting one takes most of the time."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))  # where its workers find `square`
    engine: Engine
    with RayEngine(2, None) as engine:
        assert sorted(engine.map(square, jobs(tmp_path, {3: "killed once"}))) == squares()
        assert (tmp_path / "3").exists()
        with pytest.raises(HarkenError, match=r"^square/5: the disk is full$"):
            list(engine.map(square, jobs(tmp_path, {5: "mistake"})))
