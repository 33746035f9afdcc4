"""A trained ranker as a listener: it answers with the candidate that fits best, y* = argmax h_x · h_y (Rashkin et al.)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harken.decoding.replies import write_resumable
from harken.dialogue import Turn
from harken.listeners.base import Exemplar, Reply, as_heard, last_words, said_before
from harken.retrieval import rankers
from harken.retrieval.config import read_config
from harken.retrieval.exemplars import Finder
from harken.retrieval.index import Index, build_index
from harken.retrieval.pairs import Pair, read_pairs
from harken.retrieval.pool import read_pool

Started = Callable[[int], Callable[[int], None]]
INDEX = "index"
"""The folder of a run's own index."""
_SHOWN = 5


class RetrievalListener:
    """Answers from an index."""

    def __init__(self, index: Index, name: str) -> None:
        self.finder, self.name = Finder(index), name

    @classmethod
    def load(cls, folder: Path, started: Started | None = None) -> RetrievalListener:
        """The listener of a ranker's run: its index is `RUN/index`, made of its training responses if there is none."""
        return cls(run_index(folder, started), folder.resolve().name)

    def reply(self, conversation: Sequence[Turn]) -> Reply:
        """Answer the last turn of `conversation`, which is the speaker's; what was said before is not said again."""
        last_words(conversation)
        said = tuple(turn.text for turn in conversation)
        used = said_before(conversation)
        found = self.finder.live(said, _SHOWN + len(used), emotions="none")
        fresh = [one for one in found.exemplars if as_heard(one.text) not in used][:_SHOWN] or found.exemplars[:1]
        return Reply(
            fresh[0].text,
            emotion=found.emotion,
            exemplars=tuple(
                Exemplar(one.dialogue, one.said, one.text, one.emotions[0] if one.emotions else None, None, one.score)
                for one in fresh
            ),
            alternatives=tuple(one.text for one in fresh[1:]),
            scores={"similarity": fresh[0].score},
        )


def run_index(folder: Path, started: Started | None = None) -> Index:
    """The run's own index, built on first use from the training responses of the run's corpora."""
    place = folder / INDEX
    ranker = rankers.load(folder)
    if (place / "manifest.json").is_file():
        return Index.open(place, ranker)
    corpora = read_config(folder).corpora
    return build_index(ranker, str(folder), read_pool(corpora), place, corpora=corpora, started=started)


def write_replies(
    folder: Path,
    split: str,
    out: Path,
    *,
    corpus: str | None = None,
    limit: int | None = None,
    started: Started | None = None,
) -> int:
    """Answer every listener turn of a split into a reply file; the number of lines comes back.

    A context never gets an answer from its own dialogue, so the training split may be answered too; there the same words
    may come from another dialogue, and that is no cheating.
    """
    index, name = run_index(folder, started), folder.resolve().name
    pairs = read_pairs([corpus or read_config(folder).corpora[-1]], split, None)[:limit]
    head = {"run": name, "index": index.manifest.hash, "split": split, "corpus": corpus, "limit": limit}

    def made(left: Sequence[Pair]) -> Iterator[dict[str, Any]]:
        asked = [replace(pair, response="") for pair in left]  # which words are gold must not matter
        for pair, found in zip(left, Finder(index).find(asked, 1, "none"), strict=True):
            yield {
                "id": pair.id,
                "context": list(pair.context),
                "response": pair.response,
                "reply": found.exemplars[0].text,
                "emotion": pair.emotion,
                "predicted_emotion": found.emotion,
                "run": name,
            }

    return write_resumable(out, head, pairs, made, started)
