"""The picture of how runs learnt (benchmarks.curves), from logs as training writes them."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.curves import Curve, draw, gone_on, read_curve


def write_run(folder: Path, batch_size: int, lines: list[dict[str, object]]) -> Path:
    folder.mkdir()
    (folder / "config.yaml").write_text(f"training:\n  batch_size: {batch_size}\n", encoding="utf-8")
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder


def valid(step: int, mean: float, **more: float) -> dict[str, object]:
    return {"step": step, "valid": {"perplexity": mean + 6, "perplexity_utterance_mean": mean, **more}}


def test_validations_over_examples_the_last_of_a_step_counts(tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [
        {"note": "begun"},
        {"step": 50, "nll": 4.0},
        valid(500, 60.0),
        valid(1000, 45.0),
        valid(500, 59.0),
    ]
    curve = read_curve(write_run(tmp_path / "run", 64, lines), "house")
    assert curve == Curve("house", (32.0, 64.0), (59.0, 45.0), (None, None), 1)


def test_accuracy_is_told_in_per_cent(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 16, [valid(1000, 45.0, emotion_top1=0.375)])
    assert read_curve(folder, "mime").accuracy == (37.5,)


def test_what_was_kept_had_the_best_likelihood_not_the_best_mean(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 16, [valid(1000, 45.0, perplexity=50.0), valid(2000, 44.0, perplexity=51.0)])
    assert read_curve(folder, "mime").kept == 0


def test_a_second_stage_goes_on_from_what_the_first_kept() -> None:
    first = Curve("house-first", (10.0, 20.0, 30.0), (60.0, 40.0, 41.0), (3.0, 3.1, 3.2), 1)
    second = Curve("house", (5.0,), (30.0,), (42.0,), 0)
    assert gone_on(first, second) == Curve("house", (10.0, 20.0, 25.0), (60.0, 40.0, 30.0), (None, None, 42.0), 2)


def test_drawn_with_the_names_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    curves = [Curve("house", (32.0, 64.0), (60.0, 45.0), (37.0, 42.0), 1), Curve("plain", (16.0,), (50.0,), (None,), 0)]
    for name in ("one.svg", "two.svg"):
        draw(tmp_path / name, curves)
    picture = (tmp_path / "one.svg").read_text(encoding="utf-8")
    assert picture.count(">house<") == 2 and picture.count(">plain<") == 1  # plain reads no emotions
    assert picture == (tmp_path / "two.svg").read_text(encoding="utf-8")
