"""The built-in listener: answers with the remembered listener turn that fits best, with nothing trained beforehand.

Every candidate gets one sum, its terms visible in `Reply.scores`:

    situation   likeness of the whole thread to the candidate's thread or situation
    moment      likeness of the last exchange, so that an answer stays tied to its question
    said        likeness of the speaker's last turn alone (follow-ups only)
    fit         does the turn speak of what was just said
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
Rows = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Weights:
    """How much each term counts."""

    situation: float = 0.7
    moment: float = 0.5
    said: float = 0.3
    fit: float = 0.2
    emotion: float = 0.25
    mood: float = 0.8
    foreign: float = 0.25
    place: float = 0.15
    anywhere: float = 0.55
    """The likeness granted to turns that fit anyone with an emotion: stories nearer than this are preferred to them."""


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
        self._emotions = np.array([FEELINGS.index(entry.emotion) for entry in pool.entries])
        self._follow_up = np.array([entry.follow_up for entry in pool.entries])
        self._anywhere = np.array([entry.anywhere for entry in pool.entries])
        self._asks = np.array(["?" in entry.answered for entry in pool.entries])
        self._telling = pool.telling_words
        self._intents = pool.intents

    def reply(self, conversation: Sequence[Turn]) -> Reply:
        """Answer the last turn of `conversation`, which is the speaker's."""
        said = last_words(conversation)
        thread, moment, last = self.encoder.encode([thread_text(conversation), moment_text(conversation), said])
        feelings = self._read(thread, last, said)
        rows = np.union1d(self.pool.near(thread, moment, CANDIDATES), np.flatnonzero(self._anywhere))
        terms = self._likeness(rows, thread, moment, last, conversation) | self._fitness(rows, feelings, conversation)
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
        of_thread, of_last = self.pool.feeling.probabilities(np.stack([thread, last]))
        share = min(0.5, len(said.split()) / 30)
        return np.asarray((1 - share) * of_thread + share * of_last, dtype=np.float32)

    def _likeness(
        self, rows: Rows, thread: Floats, moment: Floats, last: Floats, conversation: Sequence[Turn]
    ) -> dict[str, Floats]:
        """How near what was said lies to what led to each candidate; each term (K,)."""
        w, of = self.weights, self.pool.vectors
        told = np.maximum(of["thread"][rows] @ thread, of["situation"][rows] @ thread)
        floor = np.where(self._anywhere[rows], w.anywhere, -1.0)
        return {
            "situation": w.situation * np.maximum(told, floor),
            "moment": w.moment * np.maximum(of["moment"][rows] @ moment, floor),
            "said": w.said * (of["said"][rows] @ last) * (len(conversation) > 1),
            "fit": w.fit * (of["answered"][rows] @ moment),
        }

    def _fitness(self, rows: Rows, feelings: Floats, conversation: Sequence[Turn]) -> dict[str, Floats]:
        """Whether each candidate may be said to this person at this moment; each term (K,)."""
        w = self.weights
        near = _SAME_GROUP @ feelings  # (33,)
        glad, sorry = float(feelings[GLAD].sum()), float(feelings[SORRY].sum())
        mood = self.pool.mood[rows]
        asked = ["?" in turn.text for turn in conversation if turn.role == "listener"][-2:]
        misplaced = self._follow_up[rows] != (len(conversation) > 1)
        return {
            "emotion": w.emotion * near[self._emotions[rows]],
            # A turn that is surely glad (mood 1) costs most when the thread is surely not, and the reverse.
            "mood": -w.mood * (np.maximum(0, 2 * mood - 1) * sorry + np.maximum(0, 1 - 2 * mood) * glad),
            "foreign": -w.foreign * self._foreign(rows, conversation),
            "place": -w.place * (misplaced + (self._asks[rows] & (sum(asked) == 2))),
        }

    def _foreign(self, rows: Rows, conversation: Sequence[Turn]) -> Floats:
        """How much each candidate speaks of what this speaker never mentioned."""
        heard_text = " ".join(turn.text for turn in conversation)
        heard = stems(heard_text)
        men, women = bool(_MEN.search(heard_text)), bool(_WOMEN.search(heard_text))
        amounts = []
        for row in rows:
            amount = sum(weight for word, weight in self._telling[row].items() if word not in heard)
            answered = self.pool.entries[row].answered
            amount += 2 * (not men and bool(_HE.search(answered))) + 2 * (not women and bool(_SHE.search(answered)))
            amounts.append(amount)
        return np.array(amounts, dtype=np.float32)

    def _first_unsaid(self, best: Rows, conversation: Sequence[Turn]) -> int:
        """The best candidate that this listener has not said before in this conversation."""
        before = {turn.text for turn in conversation if turn.role == "listener"}
        return int(next((row for row in best if self.pool.entries[row].answered not in before), best[0]))

    def _exemplar(self, row: int, score: float) -> Exemplar:
        entry = self.pool.entries[row]
        return Exemplar(entry.dialogue, entry.said, entry.answered, entry.emotion, self._intents[row], score)
