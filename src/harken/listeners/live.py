"""What a run's files say about its examples, asked of their makers while people talk."""

from __future__ import annotations

from dataclasses import replace

from harken.classifiers.prepending import live, same_classifier
from harken.classifiers.run import load_classifier
from harken.dialogue import Example
from harken.errors import HarkenError
from harken.exemplar_files import Filter
from harken.text.annotations import ExemplarsConfig, TurnLabelsConfig, chained
from harken.text.prepend import Labelled, PrependConfig
from harken.text.vocabulary import TextConfig


def live_annotations(config: TextConfig, *, reads_labels: bool = False) -> Labelled:
    """Attach to an example of a live conversation what the run was trained with."""
    found: list[Labelled] = []
    if reads_labels:
        found.append(_turns_labelled(config.turn_labels))
    if config.prepend:
        found.append(_prepended(config.prepend))
    if config.exemplars:
        found.append(_guided(config.exemplars))
    return chained(found)


def _prepended(config: PrependConfig) -> Labelled:
    ask = live(config)
    return lambda example: replace(example, labels=ask(example.context))


def _turns_labelled(config: TurnLabelsConfig | None) -> Labelled:
    """The classifier's label for every turn of the context."""
    classifier = same_classifier("intent", config.labels if config else None, config.classifier if config else None)

    def attach(example: Example) -> Example:
        read = classifier.probabilities([turn.text for turn in example.context]).argmax(1)
        turns = zip(example.context, read, strict=True)
        return replace(example, context=tuple(replace(turn, label=classifier.labels[i]) for turn, i in turns))

    return attach


def _guided(config: ExemplarsConfig) -> Labelled:
    """Exemplars of the whole conversation so far; one filtered by gold emotions is filtered by predicted ones here."""
    from harken.retrieval.exemplars import Finder
    from harken.retrieval.index import Index

    if config.index is None:
        raise HarkenError(
            "this run was trained with exemplars and does not know their index; name it as text.exemplars.index in its "
            "config.yaml"
        )
    reader = load_classifier(config.classifier) if config.classifier and config.filter != "none" else None
    finder = Finder(Index.open(config.index), reader)
    kind: Filter = "none" if config.filter == "none" else "predicted"

    def attach(example: Example) -> Example:
        found = finder.live([turn.text for turn in example.context], config.q, emotions=kind)
        return replace(example, exemplars=tuple((one.text, one.score) for one in found.exemplars))

    return attach
