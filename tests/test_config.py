"""YAML into dataclasses: all mistakes at once, with suggestions; what is written reads back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from harken.config import build, dump, load, parse, with_overrides
from harken.errors import HarkenError


@dataclass(frozen=True, kw_only=True)
class Inner:
    rate: float = 1e-4
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Sample:
    corpus: str
    n_heads: int = 2
    top_k: int | None = 5
    variant: Literal["paper", "release"] = "paper"
    size: tuple[int, int] = (1, 2)
    where: Path | None = None
    inner: Inner = field(default_factory=Inner)
    weights: dict[str, float] = field(default_factory=dict)

    def problems(self) -> Iterator[str]:
        if self.top_k is not None and not 1 <= self.top_k <= 32:
            yield f"top_k = {self.top_k} must lie in 1..32, or be null to use every listener"
        if self.n_heads > 8 and self.variant == "paper":
            yield f"n_heads = {self.n_heads} must not be above 8 for variant = paper"


def test_every_mistake_is_named_at_once() -> None:
    values = {"n_head": 4, "variant": "papr", "size": [1], "inner": {"rate": "fast", "nmes": []}, "weights": {"a": "b"}}
    with pytest.raises(HarkenError) as caught:
        build(Sample, values, "configs/moel.yaml")
    message = str(caught.value)
    assert message.startswith("configs/moel.yaml: cannot build Sample\n")
    for mistake in (
        "unknown key 'n_head'; did you mean 'n_heads'?",
        "key 'corpus' is missing",
        "variant = 'papr' must be one of paper, release; did you mean 'paper'?",
        "size = [1] must have 2 entries",
        "inner.rate = 'fast' must be a number",
        "unknown key 'inner.nmes'; did you mean 'names'?",
        "weights.a = 'b' must be a number",
    ):
        assert mistake in message


def test_a_class_checks_its_own_values() -> None:
    with pytest.raises(HarkenError, match=r"top_k = 40 must lie in 1\.\.32"):
        build(Sample, {"corpus": "x", "top_k": 40})


def test_a_wrong_type_does_not_hide_what_else_is_wrong() -> None:
    with pytest.raises(HarkenError) as caught:
        build(Sample, {"corpus": "x", "top_k": 40, "size": [1], "n_heads": 9, "variant": "papr"})
    mistakes = str(caught.value).splitlines()[1:]
    assert [mistake.split()[0] for mistake in mistakes] == [
        "variant",
        "size",
        "top_k",
    ]  # n_heads is judged with a variant


def test_a_file_with_overrides(tmp_path: Path) -> None:
    """1e-5 is a string in YAML 1.1 and a number here; dots reach inside; null is None; a path is a Path."""
    path = tmp_path / "c.yaml"
    path.write_text("corpus: starter\ninner: {names: [a, b]}\nwhere: runs/x\n", encoding="utf-8")
    config = load(Sample, path, ["inner.rate=1e-5", "top_k=null", "n_heads=3"])
    assert config == Sample(
        corpus="starter", n_heads=3, top_k=None, where=Path("runs/x"), inner=Inner(rate=1e-5, names=("a", "b"))
    )


def test_what_is_dumped_builds_the_same() -> None:
    config = Sample(corpus="x", where=Path("a/b"), weights={"loss": 0.5}, inner=Inner(names=("ä",)))
    assert build(Sample, parse(dump(config), "dump")) == config


def test_true_is_no_number_and_a_whole_number_is_a_number() -> None:
    with pytest.raises(HarkenError, match="n_heads = True must be a whole number"):
        build(Sample, {"corpus": "x", "n_heads": True})
    assert build(Sample, {"corpus": "x", "inner": {"rate": 1}}).inner.rate == 1.0


def test_broken_yaml_names_the_line() -> None:
    with pytest.raises(HarkenError, match=r"c\.yaml:2: not YAML"):
        parse("a: 1\nb: [", "c.yaml")
    with pytest.raises(HarkenError, match="must hold 'key: value' lines"):
        parse("- a", "c.yaml")


def test_missing_file_and_malformed_override(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match="no such config file"):
        load(Sample, tmp_path / "none.yaml")
    with pytest.raises(HarkenError, match="key=value"):
        with_overrides({}, ["n_heads"])
