"""Remembered exchanges: every listener turn of some dialogues, with vectors of what led to it.

An entry has a vector each for the *situation* as its author summed it up, the *thread* (what the speaker has said so
far), the *moment* (the listener's last turn and the speaker's answer to it, so that "yes, last week" keeps its
question), the speaker's last turn alone, and the listener's turn itself. Only single turns are encoded; threads and
moments are sums of them, so a long conversation costs one new vector a turn. From the same vectors three linear
readings are learnt: the emotion of a thread, the intent of a listener's turn, and its *mood* (the probability that it
was said to someone glad), which keeps condolences away from good news.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import faiss
import numpy as np
from numpy.typing import NDArray

from harken.corpora.store import canonical
from harken.dialogue import Dialogue, Turn, examples
from harken.errors import HarkenError
from harken.files import atomic
from harken.labels import EMOTIONS, INTENTS, polarity
from harken.runtime import cache
from harken.text.encoder import SentenceEncoder, Vectors
from harken.text.linear import Linear, fit

FEELINGS: tuple[str, ...] = (*EMOTIONS, "neutral")
"""The classes of the emotion reading: the 32 and, from small talk, none of them."""
BITTERSWEET = frozenset({"anticipating", "caring", "nostalgic", "sentimental", "surprised"})
"""MIME's Table 1 gives these a side as well; people tell glad and sad stories under them, so they teach no mood."""
GLAD = np.array([name not in BITTERSWEET and polarity(name) == "positive" for name in FEELINGS])
SORRY = np.array([name not in BITTERSWEET and polarity(name) == "negative" for name in FEELINGS])

VECTORS = ("situation", "thread", "moment", "said", "answered")
_CACHE_VERSION = 7
_THREAD_TURNS = 4
_FULL_WEIGHT_WORDS = 8
_MOOD_FOLDS = 5
_CALM = 3.5
"""The temperature at which the emotion reading is best calibrated on held-out starter dialogues (at 1, 2, 3, 4, 5 their
negative log-likelihood is 4.68, 2.88, 2.52, 2.47, 2.51)."""

Started = Callable[[int], Callable[[int], None]]
"""Hears how many texts will be encoded; gives back what hears the progress."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One listener turn and what led to it."""

    dialogue: str
    situation: str
    context: tuple[Turn, ...]
    said: str
    answered: str
    emotion: str
    intent: str | None
    follow_up: bool
    anywhere: bool
    """Written to fit anyone who feels this, whatever the story."""


Encode = Callable[[str], Vectors]
"""The vector of one turn, (D,)."""


def thread_vector(turns: Sequence[Turn], encode: Encode) -> Vectors:
    """What the speaker has said so far: the sum of the last few turns, where a "yes" counts less than a sentence."""
    said = [turn.text for turn in turns if turn.role == "speaker"][-_THREAD_TURNS:]
    return _unit(sum(substance(text) * encode(text) for text in said))


def substance(text: str) -> float:
    """How much a turn has to say: 1 for a sentence of seven words or more, a quarter for one word."""
    return min(1.0, (1 + len(text.split())) / _FULL_WEIGHT_WORDS)


def moment_vector(turns: Sequence[Turn], encode: Encode) -> Vectors:
    """The last turn, with the listener's turn before it when there is one."""
    return _unit(sum(encode(turn.text) for turn in turns[-2:]))


def _unit(vector: Any) -> Vectors:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


class Pool:
    """Entries, their vectors, two search indexes and the readings."""

    def __init__(self, entries: list[Entry], arrays: dict[str, Any]) -> None:
        self.entries = entries
        self.vectors: dict[str, Vectors] = {name: arrays[name] for name in VECTORS}  # each (N, D)
        self.feeling = Linear(arrays["feeling_weight"], arrays["feeling_bias"])
        self.intent = Linear(arrays["intent_weight"], arrays["intent_bias"])
        self.mood: NDArray[np.float32] = arrays["mood"]  # (N,)
        self._indexes = {name: _index(self.vectors[name]) for name in ("situation", "thread", "moment", "said")}

    def __len__(self) -> int:
        return len(self.entries)

    def near(self, thread: Vectors, moment: Vectors, last: Vectors, count: int) -> NDArray[np.int64]:
        """Entries whose situation, thread, moment or last turn is among the `count` nearest; the queries are (D,)."""
        queries = {"situation": thread, "thread": thread, "moment": moment, "said": last}
        count = min(count, len(self))
        return np.unique([self._indexes[name].search(query[None], count)[1][0] for name, query in queries.items()])

    @cached_property
    def intents(self) -> list[str]:
        """The intent of every entry: as annotated, or as read from the turn's vector."""
        read = self.intent.probabilities(self.vectors["answered"]).argmax(axis=1)
        return [entry.intent or INTENTS[i] for entry, i in zip(self.entries, read, strict=True)]

    @cached_property
    def telling_words(self) -> list[dict[str, float]]:
        """For every entry the telling words of its turn: weight 1 for a word no other dialogue's listener uses, falling
        to 0 for words that listeners use in one dialogue of fifty or more."""
        by_dialogue: dict[str, set[str]] = {}
        for entry in self.entries:
            by_dialogue.setdefault(entry.dialogue, set()).update(stems(entry.answered))
        dialogues_with = Counter(word for words in by_dialogue.values() for word in words)
        everywhere = math.log(max(2.0, len(by_dialogue) / 50))
        weight = {word: max(0.0, 1 - math.log(n) / everywhere) for word, n in dialogues_with.items()}
        return [{word: weight[word] for word in stems(entry.answered) if weight[word] > 0} for entry in self.entries]


def _index(vectors: Vectors) -> Any:
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return index


_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+")
_ENDINGS = re.compile(r"(?<=\w{3})(?:ing|ied|ed|ies|es|s|ly|er|y|e)$")


def stems(text: str) -> set[str]:
    """The words of a text without their endings: 'worried', 'worries' and 'worry' are one."""
    return {_ENDINGS.sub("", word.removesuffix("'s")) for word in _WORD.findall(text.lower().replace("’", "'"))}


def entries_of(dialogues: Sequence[Dialogue]) -> Iterator[Entry]:
    """One entry per listener turn that answers the speaker."""
    for dialogue in dialogues:
        for example in examples(dialogue):
            said = [turn.text for turn in example.context if turn.role == "speaker" and turn.text.strip()]
            if said and example.response.text.strip():
                yield Entry(
                    dialogue=dialogue.id,
                    situation=dialogue.situation or said[0],
                    context=example.context,
                    said=example.context[-1].text,
                    answered=example.response.text.strip(),
                    emotion=dialogue.emotion or "neutral",
                    intent=example.response.label if example.response.label in INTENTS else None,
                    follow_up=len(example.context) > 1,
                    anywhere=bool(dialogue.extra.get("anywhere")),
                )


def build_pool(dialogues: Sequence[Dialogue], encoder: SentenceEncoder, started: Started | None = None) -> Pool:
    """The pool of some dialogues; vectors and readings come from the cache when these dialogues were seen before."""
    key = hashlib.sha256(f"{_CACHE_VERSION}|{encoder.fingerprint}|".encode())
    for dialogue in dialogues:
        key.update(canonical(dialogue))
    path = cache() / f"pool-{key.hexdigest()[:16]}.npz"
    entries = list(entries_of(dialogues))
    arrays = _cached(path)
    if arrays is None:
        arrays = _compute(entries, encoder, started)
        with suppress(HarkenError), atomic(path, "wb") as stream:  # where nothing can be kept, it is made each time
            np.savez(stream, **arrays)
    return Pool(entries, arrays)


def _cached(path: Path) -> dict[str, Any] | None:
    try:
        with np.load(path) as stored:
            return dict(stored)
    except (OSError, ValueError, EOFError, BadZipFile):
        return None  # never made, or damaged: it is made again


def _compute(entries: Sequence[Entry], encoder: SentenceEncoder, started: Started | None) -> dict[str, Any]:
    texts = dict.fromkeys(text for e in entries for text in (e.situation, e.answered, *(t.text for t in e.context)))
    row = {text: i for i, text in enumerate(texts)}
    encoded = encoder.encode(list(row), advance=started(len(row)) if started else None)

    def of(text: str) -> Vectors:
        return np.asarray(encoded[row[text]])

    arrays: dict[str, Any] = {
        "situation": np.stack([of(entry.situation) for entry in entries]),
        "thread": np.stack([thread_vector(entry.context, of) for entry in entries]),
        "moment": np.stack([moment_vector(entry.context, of) for entry in entries]),
        "said": np.stack([of(entry.said) for entry in entries]),
        "answered": np.stack([of(entry.answered) for entry in entries]),
    }
    feelings = [FEELINGS.index(entry.emotion) for entry in entries]
    feeling = fit(
        np.concatenate([arrays["thread"], arrays["situation"]]), feelings * 2, len(FEELINGS), temperature=_CALM
    )
    known = [i for i, entry in enumerate(entries) if entry.intent]
    intent = fit(arrays["answered"][known], [INTENTS.index(str(entries[i].intent)) for i in known], len(INTENTS))
    return arrays | {
        "feeling_weight": feeling.weight,
        "feeling_bias": feeling.bias,
        "intent_weight": intent.weight,
        "intent_bias": intent.bias,
        "mood": _moods(arrays["answered"], entries),
    }


def _moods(answered: Vectors, entries: Sequence[Entry]) -> NDArray[np.float32]:
    """P(said to someone glad) of each listener turn from its words alone; by folds, so that no turn votes on itself."""
    known = np.array(
        [i for i, entry in enumerate(entries) if entry.emotion not in BITTERSWEET | {"neutral"}], dtype=int
    )
    glad = np.array([polarity(entries[i].emotion) == "positive" for i in known], dtype=int)
    fold = np.array([int(hashlib.sha256(entries[i].dialogue.encode()).hexdigest(), 16) % _MOOD_FOLDS for i in known])
    if not len(known):
        return np.full(len(entries), 0.5, dtype=np.float32)
    moods = fit(answered[known], glad.tolist(), 2).probabilities(answered)[:, 1]
    chatter = np.array([entry.emotion == "neutral" for entry in entries])
    moods[chatter] = 0.5 + 0.4 * (moods[chatter] - 0.5)  # small talk is hardly ever out of place
    for held in range(_MOOD_FOLDS):
        if (fold == held).any() and (fold != held).any():
            model = fit(answered[known[fold != held]], glad[fold != held].tolist(), 2)
            moods[known[fold == held]] = model.probabilities(answered[known[fold == held]])[:, 1]
    return moods
