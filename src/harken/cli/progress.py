"""Progress on standard error: a spinner for a wait, a bar for counted work; silent when nobody is looking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner beside `what` while the block runs."""
    with Console(stderr=True).status(f"{what} …"):
        yield


@contextmanager
def counted(what: str) -> Iterator[Callable[[int], Callable[[int], None]]]:
    """Gives a function that hears the total and gives back one that hears each advance; the bar appears only then."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:

        def started(total: int) -> Callable[[int], None]:
            task = progress.add_task(what, total=total)
            return lambda done: progress.advance(task, done)

        yield started


@contextmanager
def stages() -> Iterator[Callable[[str, int, int | None], None]]:
    """Gives a function that hears what is being done, how much of it is done, and how much there is, if known."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,}"), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        tasks: dict[str, TaskID] = {}

        def heard(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield heard
