"""One call seeds every generator; the home and the device are where the user says."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from harken.config import build
from harken.errors import HarkenError
from harken.runtime import RuntimeConfig, device, home, start, subnormals_flushed


def draw() -> tuple[float, float, float]:
    return random.random(), float(np.random.rand()), float(torch.rand(1))


def test_the_same_seed_gives_the_same_numbers_everywhere() -> None:
    start(RuntimeConfig(seed=5))
    first = draw()
    start(RuntimeConfig(seed=5))
    assert draw() == first
    start(RuntimeConfig(seed=6))
    assert all(a != b for a, b in zip(draw(), first, strict=True))


def test_threads_are_set() -> None:
    before = torch.get_num_threads()
    try:
        start(RuntimeConfig(threads=1))
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


@pytest.mark.skipif(not torch.set_flush_denormal(False), reason="this processor cannot flush small numbers to nought")
def test_numbers_too_small_for_full_precision_are_nought_for_a_while() -> None:
    def product() -> float:
        return float((torch.full((64,), 1e-37) * 0.01).sum())

    with pytest.raises(KeyError), subnormals_flushed():
        assert product() == 0
        with subnormals_flushed():
            assert product() == 0
        assert product() == 0, "as it was before"
        raise KeyError
    assert product() > 0


def test_a_wrong_device_or_thread_count_is_told() -> None:
    with pytest.raises(HarkenError, match="unknown"):
        device("gpu9")
    with pytest.raises(HarkenError, match="threads = 0 must be at least 1"):
        build(RuntimeConfig, {"threads": 0})
    assert device("cpu").type == "cpu"


def test_home_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HARKEN_HOME", str(tmp_path))
    assert home() == tmp_path
    monkeypatch.delenv("HARKEN_HOME")
    assert home() == Path.home() / ".local" / "share" / "harken"
