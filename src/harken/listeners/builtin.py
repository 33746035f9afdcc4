"""The built-in listener: answers with the remembered listener turn that fits best, with nothing trained beforehand.

Every candidate gets one sum, its terms visible in `Reply.scores`:

    situation   likeness of the whole thread            cos(thread, thread')
    moment      likeness of the last exchange           cos(moment, moment')
    fit         does the turn speak of the same thing   cos(moment, turn')
    emotion     probability of the candidate's emotion in the thread, near synonyms included
    mood        minus: a turn said to glad people against sorrow, and the reverse
    foreign     minus: telling words, numbers and he/she of the turn that this speaker never used
    place       minus: an opening remark as a follow-up, or the reverse; a third question in a row
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harken.dialogue import Turn
from harken.labels import BY_NAME
from harken.listeners.base import Exemplar, Reply, last_words
from harken.listeners.pool import FEELINGS, GLAD, SORRY, Pool, moment_text, stems, thread_text
from harken.text.encoder import SentenceEncoder

Floats = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Weights:
    """How much each term counts."""

    situation: float = 0.6
    moment: float = 0.6
    fit: float = 0.3
    emotion: float = 0.25
    mood: float = 0.8
    foreign: float = 0.22
    place: float = 0.12


CANDIDATES = 300
_SAME_GROUP = np.array(
    [
        [
            a == b or (a in BY_NAME and BY_NAME[a].group is not None and BY_NAME[a].group == BY_NAME[b].group)
            for b in FEELINGS
        ]
        for a in FEELINGS
    ],
    dtype=np.float32,
)  # (33, 33)
_HE = re.compile(r"\b(he|him|his|himself)\b", re.IGNORECASE)
_SHE = re.compile(r"\b(she|her|hers|herself)\b", re.IGNORECASE)
_MEN = re.compile(
    r"\b(he|him|his|man|men|boy|son|dad|father|grandad|grandpa|grandfather|brother|husband|boyfriend|uncle|nephew|guy|mr)\b",
    re.IGNORECASE,
)
_WOMEN = re.compile(
    r"\b(she|her|hers|woman|women|girl|daughter|mum|mom|mother|nan|grandma|grandmother|sister|wife|girlfriend|aunt|niece|"
    r"lady|mrs|ms)\b",
    re.IGNORECASE,
)


class BuiltInListener:
    """Retrieval over a pool of exchanges, weighed by likeness, emotion, mood and fitness."""

    name = "built-in"

    def __init__(self, pool: Pool, encoder: SentenceEncoder, weights: Weights | None = None) -> None:
        self.pool = pool
        self.encoder = encoder
        self.weights = weights or Weights()
        pool.near(pool.thread[:1], pool.moment[:1], 1)  # build the indexes now, not while someone waits
        self._emotions = np.array([FEELINGS.index(entry.emotion) for entry in pool.entries])
        self._follow_up = np.array([entry.follow_up for entry in pool.entries])
        self._asks = np.array(["?" in entry.answered for entry in pool.entries])
        self._rare = pool.rare_words
        self._intents = pool.intents

    def reply(self, conversation: Sequence[Turn]) -> Reply:
        """Answer the last turn of `conversation`, which is the speaker's."""
        said = last_words(conversation)
        vectors = self.encoder.encode([thread_text(conversation), moment_text(conversation), said])
        thread, moment, last = vectors[0:1], vectors[1:2], vectors[2:3]
        feelings = self._read(thread, last, said)
        rows = self.pool.near(thread, moment, CANDIDATES)
        terms = self._terms(rows, thread, moment, feelings, conversation)
        total = np.sum(list(terms.values()), axis=0)
        best = rows[np.argsort(-total, kind="stable")]
        chosen = self._first_unsaid(best, conversation)
        place = int(np.flatnonzero(rows == chosen)[0])
        ranked = dict(zip(rows.tolist(), total.tolist(), strict=True))
        nearest = [int(i) for i in best[:6] if i != chosen]
        return Reply(
            text=self.pool.entries[chosen].answered,
            emotion=FEELINGS[int(feelings.argmax())],
            intent=self._intents[chosen],
            exemplars=tuple(self._exemplar(i, ranked[i]) for i in [chosen, *nearest[:2]]),
            alternatives=tuple(self.pool.entries[i].answered for i in nearest),
            scores={name: float(values[place]) for name, values in terms.items()},
        )

    def _read(self, thread: Floats, last: Floats, said: str) -> Floats:
        """The emotion of the conversation, (33,): mostly the thread's, but a long new turn can change the subject."""
        of_thread, of_last = self.pool.feeling.probabilities(np.concatenate([thread, last]))
        share = min(0.5, len(said.split()) / 30)
        return np.asarray((1 - share) * of_thread + share * of_last, dtype=np.float32)

    def _terms(
        self, rows: NDArray[np.int64], thread: Floats, moment: Floats, feelings: Floats, conversation: Sequence[Turn]
    ) -> dict[str, Floats]:
        """The terms of the sum for each candidate, each (K,)."""
        w, pool = self.weights, self.pool
        near = _SAME_GROUP @ feelings  # (33,)
        glad, sorry = float(feelings[GLAD].sum()), float(feelings[SORRY].sum())
        mood = pool.mood[rows]
        follow_up = len(conversation) > 1
        asked = [("?" in turn.text) for turn in conversation if turn.role == "listener"][-2:]
        return {
            "situation": w.situation * (pool.thread[rows] @ thread[0]),
            "moment": w.moment * (pool.moment[rows] @ moment[0]),
            "fit": w.fit * (pool.answer[rows] @ moment[0]),
            "emotion": w.emotion * near[self._emotions[rows]],
            # A turn that is surely glad (mood 1) costs most when the thread is surely not, and the reverse.
            "mood": -w.mood * (np.maximum(0, 2 * mood - 1) * sorry + np.maximum(0, 1 - 2 * mood) * glad),
            "foreign": -w.foreign * self._foreign(rows, conversation),
            "place": -w.place * ((self._follow_up[rows] != follow_up) + (self._asks[rows] & (sum(asked) == 2))),
        }

    def _foreign(self, rows: NDArray[np.int64], conversation: Sequence[Turn]) -> Floats:
        """How much each candidate speaks of what this speaker never mentioned."""
        heard_text = " ".join(turn.text for turn in conversation)
        heard = stems(heard_text)
        men, women = bool(_MEN.search(heard_text)), bool(_WOMEN.search(heard_text))
        amounts = []
        for row in rows:
            amount = sum(weight for word, weight in self._rare[row].items() if word not in heard)
            answered = self.pool.entries[row].answered
            amount += 2 * (not men and bool(_HE.search(answered))) + 2 * (not women and bool(_SHE.search(answered)))
            amounts.append(amount)
        return np.array(amounts, dtype=np.float32)

    def _first_unsaid(self, best: NDArray[np.int64], conversation: Sequence[Turn]) -> int:
        """The best candidate that this listener has not said before in this conversation."""
        before = {turn.text for turn in conversation if turn.role == "listener"}
        return int(next((row for row in best if self.pool.entries[row].answered not in before), best[0]))

    def _exemplar(self, row: int, score: float) -> Exemplar:
        entry = self.pool.entries[row]
        return Exemplar(entry.dialogue, entry.said, entry.answered, entry.emotion, self._intents[row], score)
