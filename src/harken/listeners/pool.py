"""Remembered exchanges: every listener turn of some dialogues, with vectors of what led to it.

An entry keeps three vectors: of the *thread* (all the speaker has said so far), of the *moment* (the listener's last turn
and the speaker's answer to it, so that "yes, last week" keeps its question), and of the listener's turn itself. From the same
vectors two linear readings are learnt: the emotion of a thread, and the *mood* of a listener's turn (the probability
that it was said to someone with a positive emotion), which keeps condolences away from good news.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from harken.corpora.store import canonical
from harken.dialogue import Dialogue, Turn, examples
from harken.files import atomic
from harken.labels import EMOTIONS, INTENTS, polarity
from harken.runtime import home
from harken.text.encoder import SentenceEncoder, Vectors

FEELINGS: tuple[str, ...] = (*EMOTIONS, "neutral")
"""The classes of the emotion reading: the 32 and, from small talk, none of them."""
BITTERSWEET = frozenset({"anticipating", "nostalgic", "sentimental", "surprised"})
"""MIME's Table 1 gives these a side as well; people tell glad and sad stories under them, so they teach no mood."""
GLAD = np.array([name not in BITTERSWEET and polarity(name) == "positive" for name in FEELINGS])
SORRY = np.array([name not in BITTERSWEET and polarity(name) == "negative" for name in FEELINGS])
_CACHE_VERSION = 1
_THREAD_TURNS = 4


@dataclass(frozen=True, slots=True)
class Entry:
    """One listener turn and what led to it."""

    dialogue: str
    source: str
    said: str
    answered: str
    emotion: str
    intent: str | None
    follow_up: bool


def thread_text(turns: Sequence[Turn]) -> str:
    """What the speaker has said so far: the last few of the speaker's turns in one string."""
    return " ".join([turn.text for turn in turns if turn.role == "speaker"][-_THREAD_TURNS:])


def moment_text(turns: Sequence[Turn]) -> str:
    """The last turn, with the listener's turn before it when there is one."""
    return " ".join(turn.text for turn in turns[-2:])


@dataclass(frozen=True)
class Linear:
    """A softmax over linear scores, as scikit-learn's logistic regression learns it."""

    weight: NDArray[np.float32]  # (C, D)
    bias: NDArray[np.float32]  # (C,)

    def probabilities(self, vectors: Vectors) -> NDArray[np.float32]:
        """(N, D) -> (N, C)"""
        scores = vectors @ self.weight.T + self.bias
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(scores / scores.sum(axis=1, keepdims=True), dtype=np.float32)


class Pool:
    """Entries, their vectors, two search indexes and two readings."""

    def __init__(self, entries: list[Entry], arrays: dict[str, Any]) -> None:
        self.entries = entries
        self.thread: Vectors = arrays["thread"]
        self.moment: Vectors = arrays["moment"]
        self.answer: Vectors = arrays["answer"]
        self.feeling = Linear(arrays["feeling_weight"], arrays["feeling_bias"])
        self.intent = Linear(arrays["intent_weight"], arrays["intent_bias"])
        self.mood: NDArray[np.float32] = arrays["mood"]  # (N,) probability that the turn answers good news

    def __len__(self) -> int:
        return len(self.entries)

    @cached_property
    def _indexes(self) -> tuple[Any, Any]:
        built = []
        for vectors in (self.thread, self.moment):
            index = faiss.IndexFlatIP(vectors.shape[1])
            index.add(vectors)
            built.append(index)
        return built[0], built[1]

    def near(self, thread: Vectors, moment: Vectors, count: int) -> NDArray[np.int64]:
        """Entries whose thread or moment is among the `count` nearest; vectors are (1, D)."""
        by_thread, by_moment = self._indexes
        count = min(count, len(self))
        return np.union1d(by_thread.search(thread, count)[1][0], by_moment.search(moment, count)[1][0])

    @cached_property
    def intents(self) -> list[str]:
        """The intent of every entry: as annotated, or as read from the turn's vector."""
        read = self.intent.probabilities(self.answer).argmax(axis=1)
        return [entry.intent or INTENTS[i] for entry, i in zip(self.entries, read, strict=True)]

    @cached_property
    def rare_words(self) -> list[dict[str, float]]:
        """For every entry the telling words of its turn and their weight: 1 for a word no other dialogue's listener uses,
        falling to 0 for words that listeners use everywhere."""
        dialogues_with = Counter(word for words in self._words_by_dialogue.values() for word in words)
        common = math.log(max(2.0, len(self._words_by_dialogue) / 50))
        weights = {word: max(0.0, 1 - math.log(n) / common) for word, n in dialogues_with.items()}
        return [{word: weights[word] for word in stems(entry.answered) if weights[word] > 0} for entry in self.entries]

    @cached_property
    def _words_by_dialogue(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for entry in self.entries:
            found.setdefault(entry.dialogue, set()).update(stems(entry.answered))
        return found


_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+")
_ENDINGS = re.compile(r"(?<=\w{3})(?:ing|ed|ies|es|s|ly|er|y|e)$")


def stems(text: str) -> set[str]:
    """The words of a text without their endings: 'worried', 'worries' and 'worry' are one."""
    return {_ENDINGS.sub("", word.removesuffix("'s")) for word in _WORD.findall(text.lower().replace("’", "'"))}


def entries_of(dialogues: Sequence[Dialogue]) -> tuple[list[Entry], list[tuple[str, str]]]:
    """The entries of some dialogues, and the thread and moment texts behind them."""
    entries, texts = [], []
    for dialogue in dialogues:
        for example in examples(dialogue):
            if not example.response.text.strip() or not any(turn.role == "speaker" for turn in example.context):
                continue
            entries.append(
                Entry(
                    dialogue=dialogue.id,
                    source=dialogue.source,
                    said=example.context[-1].text,
                    answered=example.response.text.strip(),
                    emotion=dialogue.emotion or "neutral",
                    intent=example.response.label if example.response.label in INTENTS else None,
                    follow_up=len(example.context) > 1,
                )
            )
            texts.append((thread_text(example.context), moment_text(example.context)))
    return entries, texts


def build_pool(
    dialogues: Sequence[Dialogue],
    encoder: SentenceEncoder,
    *,
    started: Callable[[int], Callable[[int], None]] | None = None,
) -> Pool:
    """The pool of some dialogues; vectors and readings come from the cache when these dialogues were seen before.

    `started` hears the number of texts to encode, if there are any, and gives back what hears the progress.
    """
    entries, texts = entries_of(dialogues)
    key = hashlib.sha256(f"{_CACHE_VERSION}|{encoder.fingerprint}|".encode())
    for dialogue in dialogues:
        key.update(canonical(dialogue))
    path = home() / "cache" / f"pool-{key.hexdigest()[:16]}.npz"
    arrays = _read_cache(path, len(entries))
    if arrays is None:
        arrays = _compute(dialogues, entries, texts, encoder, started)
        with atomic(path, "wb") as stream:
            np.savez(stream, **arrays)
    return Pool(entries, arrays)


def _read_cache(path: Path, count: int) -> dict[str, Any] | None:
    try:
        with np.load(path) as stored:
            arrays = dict(stored)
    except (OSError, ValueError, EOFError, KeyError):
        return None
    return arrays if len(arrays.get("answer", ())) == count else None


def _compute(
    dialogues: Sequence[Dialogue],
    entries: Sequence[Entry],
    texts: Sequence[tuple[str, str]],
    encoder: SentenceEncoder,
    started: Callable[[int], Callable[[int], None]] | None,
) -> dict[str, Any]:
    situations = [(d.situation, d.emotion) for d in dialogues if d.situation and d.emotion]
    wanted = dict.fromkeys(
        [text for pair in texts for text in pair]
        + [entry.answered for entry in entries]
        + [situation for situation, _ in situations]
    )
    row = {text: i for i, text in enumerate(wanted)}
    vectors = encoder.encode(list(wanted), advance=started(len(wanted)) if started else None)
    thread = vectors[[row[thread] for thread, _ in texts]]
    moment = vectors[[row[moment] for _, moment in texts]]
    answer = vectors[[row[entry.answered] for entry in entries]]
    feeling = _fit(
        np.concatenate([thread, vectors[[row[situation] for situation, _ in situations]]]),
        [FEELINGS.index(entry.emotion) for entry in entries] + [FEELINGS.index(str(e)) for _, e in situations],
        len(FEELINGS),
    )
    labelled = [(i, INTENTS.index(entry.intent)) for i, entry in enumerate(entries) if entry.intent]
    intent = _fit(answer[[i for i, _ in labelled]], [y for _, y in labelled], len(INTENTS))
    return {
        "thread": thread,
        "moment": moment,
        "answer": answer,
        "feeling_weight": feeling.weight,
        "feeling_bias": feeling.bias,
        "intent_weight": intent.weight,
        "intent_bias": intent.bias,
        "mood": _moods(answer, entries),
    }


def _fit(vectors: Vectors, classes: Sequence[int], count: int, strength: float = 10.0) -> Linear:
    """Multinomial logistic regression; classes without examples get a score no softmax will choose."""
    from sklearn.linear_model import LogisticRegression

    weight = np.zeros((count, vectors.shape[1]), dtype=np.float32)
    bias = np.full(count, -1e4, dtype=np.float32)
    seen = sorted(set(classes))
    if len(seen) == 1:
        bias[seen] = 0.0
    if len(seen) > 1:
        model = LogisticRegression(C=strength, max_iter=300, class_weight="balanced").fit(vectors, classes)
        if len(seen) == 2:  # scikit-learn keeps one row of scores for two classes
            weight[seen[1]], bias[seen] = model.coef_[0], (0.0, model.intercept_[0])
        else:
            weight[seen], bias[seen] = model.coef_, model.intercept_
    return Linear(weight, bias)


def _moods(answer: Vectors, entries: Sequence[Entry]) -> NDArray[np.float32]:
    """P(positive) of each listener turn, read from its words alone, by folds so that no turn votes on itself."""
    known = [i for i, entry in enumerate(entries) if entry.emotion not in BITTERSWEET | {"neutral"}]
    signs = {i: int(polarity(entries[i].emotion) == "positive") for i in known}
    moods = np.full(len(entries), 0.5, dtype=np.float32)
    folds = 4
    fold_of = {i: int(hashlib.sha256(entries[i].dialogue.encode()).hexdigest(), 16) % folds for i in known}
    for fold in range(folds):
        inside = [i for i in known if fold_of[i] != fold]
        outside = [i for i in known if fold_of[i] == fold]
        if inside and outside:
            model = _fit(answer[inside], [signs[i] for i in inside], 2, strength=3.0)
            moods[outside] = model.probabilities(answer[outside])[:, 1]
    return moods
