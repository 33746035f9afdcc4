"""How long the command line takes to answer: help, a first and a later start of the chat, one reply.

A start is measured as a user sees it, from the shell: until the first reply to "hi" is printed and the chat has ended. The
very first start encodes the starter corpus and keeps the vectors; later starts read them.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator


def _seconds(*arguments: str, home: str, said: str = "") -> float:
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "harken", *arguments],
        input=said, text=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "HARKEN_HOME": home, "XDG_CACHE_HOME": home},
    )  # fmt: skip
    return time.perf_counter() - began


def run() -> Iterator[tuple[str, float, str]]:
    with tempfile.TemporaryDirectory() as home:
        yield "harken --help (median of 5)", statistics.median(_seconds("--help", home=home) for _ in range(5)), "s"
        yield "harken chat, very first start (nothing cached), one reply", _seconds("chat", home=home, said="hi\n"), "s"
        later = statistics.median(_seconds("chat", home=home, said="hi\n") for _ in range(3))
        yield "harken chat, later start, one reply (median of 3)", later, "s"
        many = "my cat died this morning\nshe was seventeen\nyes, last week\n" * 20
        yield "one reply, mean of 60", (_seconds("chat", home=home, said=many) - later) / 60, "s"
