"""Stages that are trained: classifiers and rankers, from their configs or from runs that are ready.

Only the settings that change an output are part of a stage's name: neither the device nor the threads, which are the recipe's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import yaml
from rich.console import Console

from harken import config as configs
from harken.classifiers import training as classifier_training
from harken.classifiers.config import ClassifierConfig
from harken.classifiers.run import fingerprint, load_classifier
from harken.classifiers.run import read_config as read_classifier_config
from harken.corpora import library
from harken.errors import HarkenError
from harken.labels import LEVELS
from harken.recipes.config import Source
from harken.recipes.stages import Stage, Stages
from harken.retrieval import config as ranker_config
from harken.retrieval import training as ranker_training
from harken.retrieval.config import RankerRunConfig
from harken.retrieval.index import MINILM, open_ranker
from harken.retrieval.watch import Live
from harken.runtime import RuntimeConfig
from harken.text.encoder import SentenceEncoder
from harken.training.run import CHECKPOINT, CONFIG

C = TypeVar("C", ClassifierConfig, RankerRunConfig)


@dataclass(frozen=True)
class Trained:
    """Trains what is not there yet."""

    stages: Stages
    beside: Path
    """Where the configs of stages are named from."""
    runtime: RuntimeConfig
    console: Console

    def check_ranker(self, source: Source) -> None:
        """Find out before the first stage what this one would refuse."""
        if source.run is None:
            for name in self._ranker(source).corpora:
                library.manifest(name)
        elif str(source.run) != MINILM and not (source.run / "config.json").is_file():
            ranker_config.read_config(source.run)

    def check_classifier(self, task: str, source: Source) -> None:
        """Find out before the first stage what this one would refuse."""
        if source.run is None:
            library.manifest(self._classifier(task, source).corpus)
        else:
            _check(task, read_classifier_config(source.run), source.run)

    def ranker(self, source: Source) -> Stage:
        """A ranker (LEMPEx, Algorithm 2); its output is its fingerprint."""
        if source.run is not None:
            self.stages.note(f"ranker: uses {source.run}")
            return Stage(source.run, open_ranker(str(source.run)).fingerprint())
        config = self._ranker(source)
        corpora = {name: library.manifest(name).sha256 for name in config.corpora}

        def make(folder: Path) -> str:
            resume = (folder / CHECKPOINT).exists()
            settings = replace(config, runtime=ranker_config.read_config(folder).runtime) if resume else config
            with Live(settings.training.max_steps, self.console) as live:
                ranker_training.train(settings, folder, resume=resume, watchers=[live])
            return open_ranker(str(folder)).fingerprint()

        inputs = {"config": _told(config), "corpora": corpora, "encoder": _encoder(config.network.encoder)}
        return self.stages.stage("ranker", inputs, make)

    def classifier(self, task: str, source: Source) -> Stage:
        """A classifier of that task (Algorithm 1); its output is its fingerprint."""
        if source.run is not None:
            self.stages.note(f"{task}: uses {source.run}")
            return Stage(source.run, load_classifier(source.run).hash)
        config = self._classifier(task, source)

        def make(folder: Path) -> str:
            resume = (folder / CONFIG).exists()
            settings = replace(config, runtime=read_classifier_config(folder).runtime) if resume else config
            classifier_training.train(settings, folder, resume=resume, console=self.console)
            return fingerprint(folder)

        corpus = {config.corpus: library.manifest(config.corpus).sha256}
        inputs = {"config": _told(config), "corpus": corpus, "encoder": _encoder(config.encoder.folder)}
        return self.stages.stage(task, inputs, make)

    def _ranker(self, source: Source) -> RankerRunConfig:
        return self._here(ranker_config.load_config(self._path(source), source.changes))

    def _classifier(self, task: str, source: Source) -> ClassifierConfig:
        config = self._here(configs.load(ClassifierConfig, self._path(source), source.changes))
        _check(task, config, self._path(source))
        return config

    def _path(self, source: Source) -> Path:
        assert source.config is not None  # a source without a run has one
        return self.beside / source.config

    def _here(self, config: C) -> C:
        """Stages compute where the generator does; their seeds are their own."""
        runtime = replace(config.runtime, device=self.runtime.device, threads=self.runtime.threads)
        return replace(config, runtime=runtime)


def _check(task: str, config: ClassifierConfig, where: Path) -> None:
    if config.task != task:
        raise HarkenError(f"{where}: is of the task '{config.task}', and this stage is '{task}'; name one of that task")
    if task.startswith("empathy-") and config.labels not in {None, LEVELS}:
        raise HarkenError(
            f"{where}: tells {', '.join(config.labels or ())} apart, and the losses need {', '.join(LEVELS)}; "
            "train one without 'labels'"
        )


def _told(config: ClassifierConfig | RankerRunConfig) -> dict[str, Any]:
    """A config as the name of its stage remembers it."""
    values: dict[str, Any] = yaml.safe_load(configs.dump(config))
    return values | {"runtime": {"seed": config.runtime.seed}}


def _encoder(folder: Path | None) -> str:
    """The hash of the pre-trained encoder that a stage begins with."""
    return SentenceEncoder(folder).fingerprint
