"""LEMPEx from nothing: the five algorithms of Majumder et al. in their order, each a stage that is made once.

    stage                     made from                                   algorithm
    empathy-*                 a classifier's config, its corpus           1
    ranker                    a ranker's config, its corpora              2
    index                     the ranker, the training responses
    emotion                   a classifier's config, its corpus           (the filter)
    exemplars                 the index, the emotions, q, the filter      3
    labels                    the three classifiers, VADER, the corpus    4, its first lines
    the generator             all of it, into the run folder              4, 5

What the network does without is not made, so the ablations of Table 2 share their stages. Only the settings that change an
output are part of its name: neither the device nor the threads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console

from harken import config as configs
from harken.classifiers.base import Classifier
from harken.classifiers.labelling import header_of, labelled
from harken.classifiers.run import load_classifier
from harken.classifiers.sources import Asked
from harken.classifiers.tasks import HISTORY, context_text
from harken.classifiers.vader import vader
from harken.corpora import library
from harken.dialogue import SPLITS, Example, examples
from harken.errors import HarkenError
from harken.exemplar_files import read_exemplars
from harken.files import sha256
from harken.label_files import write_labels_in_parts
from harken.labels import MECHANISMS
from harken.models.lempex import LempexConfig
from harken.recipes.config import RecipeConfig, Source
from harken.recipes.stages import Stage, Stages
from harken.recipes.trained import Trained
from harken.retrieval.exemplars import Finder, write_exemplars
from harken.retrieval.index import Index, build_index, open_ranker
from harken.retrieval.pool import read_pool
from harken.text.annotations import ExemplarsConfig
from harken.text.vocabulary import TextConfig
from harken.training.config import RunConfig
from harken.training.run import CHECKPOINT, read_config

Counted = Callable[[str], AbstractContextManager[Callable[[int], Callable[[int], None]]]]
"""Shows the progress of counted work, as `cli.progress.counted` does."""


def _silent(_: str) -> AbstractContextManager[Callable[[int], Callable[[int], None]]]:
    return nullcontext(lambda _: lambda _: None)


def prepare(
    config: RunConfig, beside: Path, *, console: Console | None = None, counted: Counted = _silent
) -> RunConfig:
    """Make or reuse every stage of a config with a recipe; gives the generator's config, which reads what they made.

    Configs of stages are named from the folder `beside`. An interrupted recipe goes on when it is run again.
    """
    if not isinstance(config.network, LempexConfig):
        raise HarkenError(f"a recipe is for the model lempex, not for {config.model}; remove the section")
    recipe = configs.build(RecipeConfig, config.recipe or {}, "recipe")
    if config.network.empathy and recipe.empathy is None:
        raise HarkenError(
            "recipe.empathy is null and network.empathy is on, which learns from empathy classifiers; name them in "
            "recipe.empathy, or set network.empathy=false"
        )
    _check_text(config.text)
    making = _Making(config, config.network, recipe, beside, console or Console(quiet=True), counted)
    making.check()
    return replace(config, recipe=None, text=making.text())


def standing(folder: Path, config: RunConfig, console: Console | None = None) -> tuple[dict[str, Any] | None, bool]:
    """How the generator stands in its run folder: the metrics, if it is finished under just this config; if to go on."""
    if (folder / "metrics.json").is_file() and read_config(folder) == config:
        if console is not None:
            console.print(f"generator: reuses {folder}", markup=False, highlight=False, soft_wrap=True)
        return dict(json.loads((folder / "metrics.json").read_text(encoding="utf-8"))), False
    return None, (folder / CHECKPOINT).exists()


def _check_text(text: TextConfig) -> None:
    """Find out before the first stage what the last one would refuse."""
    whole = replace(text, exemplars=ExemplarsConfig(files=(Path("…"),)), levels=(Path("…"),))
    mistakes = list(whole.problems())
    if text.exemplars or text.levels:
        mistakes.append("exemplars and levels are what the recipe makes; remove them, or the recipe")
    if mistakes:
        raise HarkenError("\n  ".join(["text: does not go with the recipe", *mistakes]))


@dataclass(frozen=True)
class _Making:
    config: RunConfig
    network: LempexConfig
    recipe: RecipeConfig
    beside: Path
    console: Console
    counted: Counted

    def note(self, line: str) -> None:
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    @cached_property
    def stages(self) -> Stages:
        return Stages(self.recipe.folder, self.note)

    @cached_property
    def trained(self) -> Trained:
        return Trained(self.stages, self.beside, self.config.runtime, self.console)

    @cached_property
    def corpus(self) -> dict[str, str]:
        return {self.config.corpus: library.manifest(self.config.corpus).sha256}

    def examples(self, split: str | None = None) -> Iterator[Example]:
        return (one for dialogue in library.iterate(self.config.corpus, split) for one in examples(dialogue))

    @property
    def emotion(self) -> Source | None:
        """What predicts emotions, where exemplars are filtered by them."""
        return self.recipe.emotion if self.recipe.filter == "predicted" else None

    @property
    def empathy(self) -> dict[str, Source]:
        """What reads each mechanism, by task."""
        return {f"empathy-{name}": getattr(self.recipe.empathy, name) for name in MECHANISMS}

    def check(self) -> None:
        """Find out before the first stage what a later one would refuse."""
        needed = self.empathy if self.network.empathy else {}
        if self.network.exemplars:
            self.trained.check_ranker(self.recipe.ranker)
            needed |= {"emotion": self.emotion} if self.emotion else {}
        for task, source in needed.items():
            self.trained.check_classifier(task, source)

    def text(self) -> TextConfig:
        """The generator's text, with everything that was made for it."""
        text = self.config.text
        if self.network.exemplars:
            text = replace(text, exemplars=self.exemplars())
        if self.network.empathy:
            text = replace(text, levels=self.labels())
        return text

    def exemplars(self) -> ExemplarsConfig:
        """Algorithms 2 and 3."""
        recipe = self.recipe
        index = self.index(self.trained.ranker(recipe.ranker))
        emotion = self.trained.classifier("emotion", self.emotion) if self.emotion else None
        inputs = {"index": index.output, "emotion": emotion and emotion.output, "filter": recipe.filter, "q": recipe.q}
        stage = self.stages.stage(
            "exemplars",
            inputs | {"corpus": self.corpus},
            lambda folder: self.write_exemplars(folder, index.folder, emotion),
        )
        return ExemplarsConfig(
            files=tuple(sorted(stage.folder.glob("*.jsonl"))),
            q=recipe.q,
            index=index.folder,
            filter=recipe.filter,
            classifier=emotion.folder if emotion else None,
        )

    def index(self, ranker: Stage) -> Stage:
        """The training responses, ready to be searched; its output is its own hash."""

        def make(folder: Path) -> str:
            try:
                return Index.open(folder).manifest.hash  # whole, and only its stage.json is missing
            except HarkenError:
                pass
            name, pool = str(ranker.folder), read_pool([self.config.corpus])
            if len(pool.candidates) < self.recipe.q:
                raise HarkenError(
                    f"the corpus '{self.config.corpus}' has {len(pool.candidates)} responses to choose from, fewer than "
                    f"recipe.q = {self.recipe.q}; lower it"
                )
            with self.counted("Encoding") as started:
                built = build_index(
                    open_ranker(name), name, pool, folder, corpora=[self.config.corpus], started=started
                )
            return built.manifest.hash

        return self.stages.stage("index", {"ranker": ranker.output, "corpus": self.corpus}, make)

    def write_exemplars(self, folder: Path, index: Path, emotion: Stage | None) -> str:
        """A file for each split that has responses; those that are there already stay."""
        finder = Finder(Index.open(index), load_classifier(emotion.folder) if emotion else None)
        q, corpus, files = self.recipe.q, self.config.corpus, []
        for split in SPLITS:
            path = folder / f"{split}.jsonl"
            if not path.exists():
                if next(self.examples(split), None) is None:
                    continue
                with self.counted(f"Exemplars, {split}") as started:
                    write_exemplars(
                        finder, path, corpus=corpus, split=split, q=q, emotions=self.recipe.filter, started=started
                    )
            found = read_exemplars(path)[1].values()
            few = sum(len(one.texts) < q for one in found)
            if few:
                self.note(f"exemplars: {few:,} of {len(found):,} contexts of the {split} split have fewer than {q}")
            files.append(sha256(path))
        return ",".join(files)

    def labels(self) -> tuple[Path, ...]:
        """Algorithm 1, and what its classifiers and VADER say of every gold response."""
        runs = [self.trained.classifier(task, source) for task, source in self.empathy.items()]
        sentiment = vader()
        inputs = {"empathy": [run.output for run in runs], "sentiment": sentiment.hash, "corpus": self.corpus}

        def make(folder: Path) -> str:
            pairs = [Asked(one.id, _pair(one)) for one in self.examples()]
            answers = [Asked(one.id, one.response.text) for one in self.examples()]
            self.label(folder / "empathy.jsonl", [load_classifier(run.folder) for run in runs], pairs)
            self.label(folder / "sentiment.jsonl", [sentiment], answers)
            return ",".join(sha256(path) for path in sorted(folder.glob("*.jsonl")))

        return tuple(sorted(self.stages.stage("labels", inputs, make).folder.glob("*.jsonl")))

    def label(self, path: Path, classifiers: list[Classifier], asked: list[Asked]) -> None:
        """Write a label file, unless it is there; an interrupted one is gone on with."""
        if path.exists():
            return
        header = header_of(classifiers, asked, of="response", top=3)
        with self.counted(f"Labels, {path.stem}") as started:
            write_labels_in_parts(
                path,
                header,
                [one.id for one in asked],
                lambda rows: labelled(classifiers, [asked[i] for i in rows], top=3, advance=started(len(rows))),
            )


def _pair(example: Example) -> tuple[str, str]:
    """What the empathy classifiers read: the last turns and the answer."""
    return context_text(example.context[-HISTORY:]), example.response.text
