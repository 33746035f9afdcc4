"""A trained generator as a listener: the run's own text preparation in, a readable sentence out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path

from harken.decoding.replies import answer, asked_label
from harken.decoding.search import DecodingConfig
from harken.dialogue import Dialogue, Example, Turn
from harken.listeners.base import Exemplar, Reply, as_heard, last_words, said_before
from harken.listeners.live import live_annotations
from harken.text.batches import NO_LABEL, encode_example
from harken.text.vocabulary import Words
from harken.training.run import Run, load_run

CHAT = DecodingConfig(beam=5, no_repeat=3)
"""How a listener decodes unless told otherwise."""

_GLUE = (
    (re.compile(r" +(n't|'(?:s|m|d|ll|re|ve|t))\b"), r"\1"),
    (re.compile(r" +([.,!?;:%)\]}]|\.\.+)"), r"\1"),
    (re.compile(r"([(\[{$#]) +"), r"\1"),
    (re.compile(r"(``|'') *(.*?) *(''|``)"), r'"\2"'),
    (re.compile(r"\bcan not\b"), "cannot"),
    (re.compile(r"\bi\b(?!\.\w)"), "I"),
)
_SENTENCE = re.compile(r"(^|[.!?]\s+)([a-z])")


class GeneratorListener:
    """Answers with a run's generator."""

    def __init__(self, run: Run, decoding: DecodingConfig = CHAT) -> None:
        self.run = run
        self.name = run.name
        self.decoding = decoding
        self.asked = NO_LABEL
        self.annotate = live_annotations(run.config.text, reads_labels=run.generator.reads_labels)

    @classmethod
    def load(cls, folder: Path, decoding: DecodingConfig = CHAT) -> GeneratorListener:
        """The listener of a run folder."""
        return cls(load_run(folder), decoding)

    def steered(self, intent: str | None) -> GeneratorListener:
        """The same listener, asked for a label of the 41 in all its replies; None leaves the choice to it."""
        other = copy(self)
        other.asked = asked_label(self.run.generator, intent)
        return other

    def reply(self, conversation: Sequence[Turn]) -> Reply:
        """Answer the last turn of `conversation`, which is the speaker's; what was said before is not said again.

        Where the beam has nothing else, it is.
        """
        last_words(conversation)
        text, vocabulary = self.run.config.text, self.run.vocabulary
        example = self.annotate(asked_for(conversation, text.history))
        row = replace(encode_example(example, vocabulary, text), asked=self.asked)
        [found] = answer(self.run.generator, vocabulary, [row], self.decoding)
        shown = [tidy(said) for said in found.texts] if isinstance(vocabulary, Words) else found.texts
        used = said_before(conversation)
        fresh = [said for said in shown if as_heard(said) not in used] or shown[:1]
        others = tuple(dict.fromkeys(said for said in fresh[1:] if said != fresh[0]))
        guided = tuple(Exemplar("index", "", said, None, None, score) for said, score in example.exemplars)
        return Reply(fresh[0], found.emotion, found.intent, exemplars=guided, alternatives=others)


def asked_for(conversation: Sequence[Turn], history: int | None) -> Example:
    """The answer a conversation waits for, as an example whose response is not known."""
    turns = tuple(conversation)
    kept = turns if history is None else turns[-history:]
    return Example(f"live:{len(turns)}", kept, Turn("listener", ""), Dialogue("live", turns))


def tidy(text: str) -> str:
    """Word tokens as people write: `i am so sorry . how are you ?` gives `I am so sorry. How are you?`."""
    for pattern, written in _GLUE:
        text = pattern.sub(written, text)
    return _SENTENCE.sub(lambda found: found[1] + found[2].upper(), text).strip()
