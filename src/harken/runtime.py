"""Home folder, device, threads and random numbers: the machine side of a run, set in one call.

torch is imported only when something asks for it, so that commands which need no network stay quick to start.
"""

from __future__ import annotations

import os
import platform
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harken.errors import HarkenError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class RuntimeConfig:
    """Where and how a run computes."""

    device: str = "auto"
    """auto, cpu, cuda, cuda:1 or mps."""
    threads: int | None = None
    """Threads for one operation; null leaves the choice to torch."""
    seed: int = 13

    def problems(self) -> list[str]:
        """What makes this config unusable."""
        return [f"threads = {self.threads} must be at least 1"] if self.threads is not None and self.threads < 1 else []


def home() -> Path:
    """The data home: `HARKEN_HOME`, or `~/.local/share/harken`. It holds the corpora that were added."""
    chosen = os.environ.get("HARKEN_HOME")
    return Path(chosen).expanduser() if chosen else Path.home() / ".local" / "share" / "harken"


def cache() -> Path:
    """Where things lie that can be made again: `harken` under `XDG_CACHE_HOME`, or under `~/.cache`."""
    chosen = os.environ.get("XDG_CACHE_HOME")
    return (Path(chosen).expanduser() if chosen else Path.home() / ".cache") / "harken"


def start(config: RuntimeConfig) -> torch.device:
    """Set the threads, seed every generator, and give the device to compute on."""
    import torch

    if config.threads is not None:
        torch.set_num_threads(config.threads)
    seed_everything(config.seed)
    return device(config.device)


@contextmanager
def subnormals_flushed() -> Iterator[None]:
    """While this lasts, numbers too small for float32's full precision count as nought, where the processor can.

    It multiplies them many times slower, and T5, whose attention is not scaled, makes enough of them in its gradients
    to double the time of a step.
    """
    import torch

    before = (torch.full((), 1e-37) * 0.01).item() == 0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def seed_everything(seed: int) -> None:
    """Seed Python's, NumPy's and torch's generators (on every device); the same seed gives the same run."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def device(name: str = "auto") -> torch.device:
    """The torch device of that name; `auto` takes an accelerator where there is one."""
    import torch

    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(name)
    except RuntimeError as problem:
        raise HarkenError(f"device '{name}' is unknown; use auto, cpu, cuda, cuda:N or mps") from problem
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise HarkenError(f"device '{name}' is not available on this machine; use --device cpu")
    return chosen


def machine() -> str:
    """One line for result tables: cores, processor, Python."""
    return f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"
