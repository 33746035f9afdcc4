"""Where shards are worked on: processes of this machine, or Ray.

An engine takes a function and jobs and gives the results as they come; a job that lost its worker is done again. It asks
for jobs only as fast as it works, so that a plan of any length costs no memory. Jobs write their own files, so
what passes between processes is small.
"""

from __future__ import annotations

import logging
import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from itertools import chain, islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Thread
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from harken.errors import HarkenError, did_you_mean

NAMES = ("local", "ray")
ATTEMPTS = 4
"""How often a job may lose its worker."""


class Job(Protocol):
    """What an engine needs to know of a job."""

    @property
    def name(self) -> str:
        """For people, and unique among the jobs of one call."""


J = TypeVar("J", bound=Job)
R = TypeVar("R")


class Engine(Protocol):
    """A context manager that holds the workers."""

    def map(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        """The results, in the order in which jobs finish."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def engine_named(name: str, *, workers: int | None = None, address: str | None = None) -> Engine:
    """The engine of that name; `workers` is how many jobs run at once, by default one a core."""
    if workers is not None and workers < 1:
        raise HarkenError(f"workers = {workers} must be at least 1")
    if name == "ray":
        return RayEngine(workers, address)
    if name != "local":
        raise HarkenError(f"unknown engine '{name}'{did_you_mean(name, NAMES)}; use {' or '.join(NAMES)}")
    if address is not None:
        raise HarkenError("--address is where a Ray cluster is; use it with --engine ray")
    return LocalEngine(workers or os.cpu_count() or 1)


def _given_up(name: str) -> HarkenError:
    return HarkenError(
        f"{name}: its worker died {ATTEMPTS} times (killed, or out of memory); finished shards stay, "
        "so run the command again with fewer --workers or a smaller --shard-size"
    )


class LocalEngine:
    """Processes of this machine; a single worker is this process itself.

    Workers hold one end of a pipe, the *lifeline*. They leave when its other end closes, so none outlives an interrupted
    or killed run, and Ctrl-C need not wait for shards half done: files are whole or absent.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        if self.workers > 1:
            self._held, self._lifeline = get_context("spawn").Pipe(duplex=False)
            self._renew()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            if kind is not None:
                self._lifeline.close()
            self._pool.shutdown(cancel_futures=True)
            self._lifeline.close()
            self._held.close()
            self._pool = None

    def _renew(self) -> ProcessPoolExecutor:
        if self._pool is not None:
            self._pool.shutdown()
        self._pool = ProcessPoolExecutor(
            self.workers, mp_context=get_context("spawn"), initializer=_begin, initargs=(self._held,)
        )
        return self._pool

    def map(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        """As `Engine.map`. When a worker dies all jobs under way are lost; those lost twice go on one by one."""
        if self.workers == 1:
            yield from map(work, jobs)
            return
        pool = self._pool
        assert pool is not None, "an engine works inside its with block"
        coming, again, lost = iter(jobs), deque[J](), Counter[str]()
        pending: dict[Future[R], J] = {}
        while True:
            careful = any(lost[job.name] > 1 for job in chain(again, pending.values()))
            room = (1 if careful else 2 * self.workers) - len(pending)
            for job in islice(chain(_drain(again), coming), max(0, room)):
                pending[_submitted(pool, work, job)] = job
            if not pending:
                return
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            broken = [pending.pop(future) for future in done if _is_lost(future)]
            yield from (future.result() for future in done if pending.pop(future, None) is not None)
            if broken:
                broken += pending.values()
                pending.clear()
                lost.update(job.name for job in broken)
                hopeless = next((job.name for job in broken if lost[job.name] >= ATTEMPTS), None)
                if hopeless is not None:
                    raise _given_up(hopeless)
                again.extend(broken)
                pool = self._renew()


def _drain(jobs: deque[J]) -> Iterator[J]:
    while jobs:
        yield jobs.popleft()


def _submitted(pool: ProcessPoolExecutor, work: Callable[[J], R], job: J) -> Future[R]:
    try:
        return pool.submit(work, job)
    except BrokenProcessPool as problem:  # a worker died since the last look: the job is as lost as those under way
        future: Future[R] = Future()
        future.set_exception(problem)
        return future


def _is_lost(future: Future[Any]) -> bool:
    return isinstance(future.exception(), BrokenProcessPool)


def _begin(lifeline: Connection) -> None:
    """A worker's first act: leave Ctrl-C to the main process, and watch the lifeline."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_follow, args=(lifeline,), daemon=True).start()


def _follow(lifeline: Connection) -> None:
    with suppress(EOFError, OSError):
        lifeline.recv()
    os._exit(1)


class RayEngine:
    """Tasks of Ray: on a cluster of this machine or, with an address, on that one, whose machines share the folders."""

    def __init__(self, workers: int | None, address: str | None) -> None:
        self.workers, self.address = workers, address
        self._ours = False

    def __enter__(self) -> Self:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError as problem:
            raise HarkenError("Ray is not installed; run: pip install 'harken[ray]'") from problem
        if not ray.is_initialized():
            alone: dict[str, Any] = {"num_cpus": self.workers, "include_dashboard": False}
            try:
                ray.init(
                    address=self.address or "local",
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    **({} if self.address else alone),
                )
            except (ConnectionError, ValueError, RuntimeError) as problem:
                where = f"the Ray cluster at {self.address}" if self.address else "Ray on this machine"
                raise HarkenError(f"{where} does not answer ({problem})") from problem
            self._ours = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ours:
            import ray

            ray.shutdown()
            self._ours = False

    def map(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        """As `Engine.map`; Ray itself does lost tasks again."""
        import ray

        remote: Any = ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1)(_perform)
        workers = self.workers or max(1, int(ray.cluster_resources().get("CPU", 1)))  # type: ignore[no-untyped-call]
        coming, pending = iter(jobs), dict[Any, str]()
        try:
            while True:
                for job in islice(coming, 2 * workers - len(pending)):
                    pending[remote.remote(work, job)] = job.name
                if not pending:
                    return
                done, _ = ray.wait(list(pending), num_returns=1)
                name = pending.pop(done[0])
                try:
                    found: R = ray.get(done[0])
                except ray.exceptions.RayTaskError as problem:
                    raise problem.cause from problem
                except ray.exceptions.RayError as problem:
                    raise _given_up(name) from problem
                yield found
        finally:
            for task in pending:
                ray.cancel(task, force=True)


def _perform(work: Callable[[J], R], job: J) -> R:
    return work(job)
