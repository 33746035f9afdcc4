"""Times as a viewer would live them: after reading, the known times of a file never go back.

Subtitles overlap, end before they begin, or jump back, by the hand of whoever timed them. The rule:

    start   the longest run of starts that never goes back is believed; a line off it loses both its times
    end     runs at most to the next known start (an overlap is cut there)
    end     not after its own start, or before a time already past: unknown

So `start ≤ end ≤ next start` wherever they are known, and gaps between lines are never negative. A time beyond a day is
no time. A clock that starts again half way, two discs in one file, keeps the times of the part with more lines.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from harken.curation.records import Line

DAY = 86_400.0


def seconds(clock: str) -> float | None:
    """`00:01:11,240` as 71.24; None where it is no time of a day.

    >>> seconds("00:01:11,240"), seconds("99:00:00,000"), seconds("soon")
    (71.24, None, None)
    """
    try:
        hours, minutes, rest = clock.split(":")
        return possible(int(hours) * 3600 + int(minutes) * 60 + float(rest.replace(",", ".")))
    except ValueError:
        return None


def possible(time: float) -> float | None:
    """The time, if it lies inside one day."""
    return time if 0 <= time < DAY else None


def in_order(lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines with their times repaired by the rule above; lines that keep theirs are the same objects."""
    starts = [line.start for line in lines if line.start is not None]
    sound = all(a <= b for a, b in pairwise(starts))
    believed = {at: line.start for at, line in enumerate(lines)} if sound else _longest_run(lines)
    following: list[float] = []  # for each line, the next known start after it
    ahead = DAY
    for at in range(len(lines) - 1, -1, -1):
        following.append(ahead)
        start = believed.get(at)
        ahead = ahead if start is None else start
    following.reverse()
    result = []
    past = 0.0
    for at, line in enumerate(lines):
        start, end = believed.get(at), line.end
        past = past if start is None else start
        if end is not None:
            lost = start is None and line.start is not None
            end = min(end, following[at])
            end = None if lost or end < past or end == start else end
        past = past if end is None else end
        kept = start == line.start and end == line.end
        result.append(line if kept else Line(line.text, start, end, line.dash, line.name))
    return tuple(result)


def _longest_run(lines: Sequence[Line]) -> dict[int, float | None]:
    """Line → start along the longest subsequence of starts that never goes back (patience sorting)."""
    tails: list[float] = []  # the least last start of a run of each length
    holders: list[int] = []  # the line that has it
    before: dict[int, int | None] = {}
    for at, line in enumerate(lines):
        if line.start is None:
            continue
        length = bisect_right(tails, line.start)
        before[at] = holders[length - 1] if length else None
        tails[length : length + 1] = [line.start]
        holders[length : length + 1] = [at]
    run: dict[int, float | None] = {}
    walk: int | None = holders[-1] if holders else None
    while walk is not None:
        run[walk] = lines[walk].start
        walk = before[walk]
    return run
