"""The `recipe` section of a config: which classifiers, which ranker, which exemplars."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harken.exemplar_files import Filter


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where something trained is from: a run that is ready, or a config to train."""

    config: Path | None = None
    """A config file, named from the folder of the recipe's own."""
    changes: tuple[str, ...] = ()
    """key=value over that config."""
    run: Path | None = None
    """A finished run, to be used in place of training."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        if self.config is None and self.run is None:
            yield "config or run: name a config to train, or a run that is ready"


def _trained(name: str) -> Source:
    return Source(config=Path(name))


@dataclass(frozen=True, kw_only=True)
class EmpathySources:
    """A classifier for each mechanism of empathy (LEMPEx, Algorithm 1)."""

    emotional: Source = field(default_factory=lambda: _trained("empathy-emotional.yaml"))
    interpretation: Source = field(default_factory=lambda: _trained("empathy-interpretation.yaml"))
    exploration: Source = field(default_factory=lambda: _trained("empathy-exploration.yaml"))


@dataclass(frozen=True, kw_only=True)
class RecipeConfig:
    """The stages before LEMPEx's generator."""

    folder: Path = Path("runs/stages")
    """Where stages lie, each in a folder named after the hash of what it is made from."""
    empathy: EmpathySources | None = field(default_factory=EmpathySources)
    """Classifiers of the gold responses; null for none, with network.empathy=false."""
    emotion: Source | None = None
    """The classifier behind the filter `predicted`; null lets the nearest candidates vote."""
    ranker: Source = field(default_factory=lambda: _trained("exemplars.yaml"))
    """What finds exemplars; its run may be `minilm`, untouched, or a Hugging Face folder."""
    filter: Filter = "predicted"
    """From which dialogues exemplars may be: of the predicted emotion, any (none), or gold, which leaks."""
    q: int = 5
    """Exemplars for each context."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        if self.q < 1:
            yield f"q = {self.q} must be at least 1"
