"""The built-in listener: answers with the remembered listener turn that fits best, with nothing trained beforehand.

Every candidate gets one sum, its terms visible in `Reply.scores`:

    situation   likeness of the whole thread to the candidate's thread or situation
    moment      likeness of the last exchange, so that an answer stays tied to its question
    said        likeness of the speaker's last turn alone (follow-ups only)
    fit         does the turn speak of what was just said
    emotion     probability of the candidate's emotion in the thread, near synonyms included
    mood        minus: a turn said to glad people against sorrow, and the reverse
    foreign     minus: telling words and people of the turn that this speaker never mentioned
    place       minus: an opening as a follow-up, or the reverse; an answer to something else; a third question in a row
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from harken.dialogue import Turn
from harken.labels import BY_NAME
from harken.listeners.base import Exemplar, Reply, as_heard, last_words, said_before
from harken.listeners.pool import FEELINGS, GLAD, SORRY, Pool, moment_vector, stems, substance, thread_vector
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
    emotion: float = 0.55
    mood: float = 0.8
    foreign: float = 0.25
    place: float = 0.15
    anywhere: float = 0.5
    """The likeness granted to turns that fit anyone with an emotion: stories nearer than this are preferred to them."""
    sure: float = 0.6
    """The likeness from which a story counts as known; what is missing to it counts twice."""


CANDIDATES = 300
_READ_TURNS = 4
_FADING = 0.8
_TONE = 0.8
"""How far VADER's reading of the words tilts the emotion reading towards glad or sorry."""
_EVENTS = {
    2.0: "passed accepted promoted graduated engaged pregnant healthy recovered healed beat finished bought proposed sober "
    "graduation promotion champions championship cured hired adopted published remission succeeded",
    -2.0: "failed died dead rejected dumped diagnosed cancelled canceled stolen stole cheated cheating cancer leukemia evicted "
    "divorce divorced divorcing miscarriage funeral overcharged robbed burgled unemployed dying ignored ignoring bullied "
    "forgot broke quit laid sick ill hospital",
}
"""Valences of plain events: VADER's lexicon knows feelings ("happy", "awful") and few of the things that cause them."""
_NEAR = 0.4
"""What the probability of a near synonym counts towards a candidate's emotion."""


def _kinship() -> Floats:
    """(33, 33): 1 on the diagonal, `_NEAR` between emotions of one group; small talk is nobody's kin."""
    groups = [BY_NAME[name].group for name in FEELINGS]
    kin = [
        [1.0 if i == j else _NEAR * (a is not None and a == b) for j, b in enumerate(groups)]
        for i, a in enumerate(groups)
    ]
    kin[-1][-1] = _NEAR  # to be no story at all is weak evidence for any turn
    return np.array(kin, dtype=np.float32)


_KINSHIP = _kinship()
_NEUTRAL = FEELINGS.index("neutral")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\w)")
_PEOPLE = {
    "he": "he him his himself",
    "she": "she her hers herself",
    "mother": "mother mum mom mummy mommy mam mama",
    "father": "father dad daddy papa",
    "grandmother": "grandmother grandma gran granny nan nana",
    "grandfather": "grandfather grandad grandpa",
    "wife": "wife girlfriend fiancee",
    "husband": "husband boyfriend fiance",
    "child": "child children kid kids son sons daughter daughters baby boy girl",
    "sister": "sister sisters",
    "brother": "brother brothers",
    "friend": "friend friends mate bestie",
    "boss": "boss manager",
    "colleague": "colleague colleagues coworker coworkers team",
    "neighbour": "neighbour neighbours neighbor neighbors",
    "dog": "dog dogs puppy",
    "cat": "cat cats kitten",
    "teacher": "teacher teachers",
    "doctor": "doctor doctors vet",
}
"""Whom a turn may speak of; a listener must not bring in somebody the speaker has not mentioned."""
_WHO = {word: who for who, words in _PEOPLE.items() for word in words.split()}
_EITHER = {"child", "friend", "boss", "dog", "cat", "neighbour", "teacher", "doctor"}
_IS_HE = {"father", "grandfather", "husband", "brother", *_EITHER}
_IS_SHE = {"mother", "grandmother", "wife", "sister", *_EITHER}


def people(text: str) -> set[str]:
    """Whom a text speaks of: {'mother', 'she'} in "mum says she's fine"."""
    return {_WHO[word] for word in re.findall(r"[a-z]+", text.lower().replace("é", "e")) if word in _WHO}


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
        self._was_asked = np.array([entry.said.rstrip().endswith("?") for entry in pool.entries])
        self._people = [people(entry.answered) for entry in pool.entries]
        self._telling = pool.telling_words
        self._vader = SentimentIntensityAnalyzer()
        self._vader.lexicon.update({word: value for value, words in _EVENTS.items() for word in words.split()})
        self._intents = pool.intents
        self._encode("hello")  # loads the encoder now, not while someone waits for the first reply

    def reply(self, conversation: Sequence[Turn]) -> Reply:
        """Answer the last turn of `conversation`, which is the speaker's."""
        last = self._encode(last_words(conversation))
        thread, moment = thread_vector(conversation, self._encode), moment_vector(conversation, self._encode)
        feelings = self._read(conversation, thread)
        rows = np.union1d(self.pool.near(thread, moment, last, CANDIDATES), np.flatnonzero(self._anywhere))
        terms = self._terms(rows, thread, moment, last, feelings, conversation)
        total = np.sum(list(terms.values()), axis=0)
        ranked = np.argsort(-total, kind="stable").tolist()
        used = said_before(conversation)
        order = [place for place in ranked if as_heard(self.pool.entries[rows[place]].answered) not in used] or ranked
        chosen, *others = order[:6]
        return Reply(
            text=self.pool.entries[rows[chosen]].answered,
            emotion=FEELINGS[int(feelings.argmax())],
            intent=self._intents[rows[chosen]],
            exemplars=tuple(self._exemplar(rows[place], total[place]) for place in order[:3]),
            alternatives=tuple(self.pool.entries[rows[place]].answered for place in others),
            scores={name: float(values[chosen]) for name, values in terms.items()},
        )

    @lru_cache(maxsize=1024)  # noqa: B019  (one listener lives as long as its process)
    def _encode(self, text: str) -> Floats:
        return np.asarray(self.encoder.encode([text])[0])

    def _read(self, conversation: Sequence[Turn], thread: Floats) -> Floats:
        """The emotion of the conversation, (33,).

        The thread as a whole and each turn of the speaker are witnesses whose log-probabilities add up, so that a turn
        which could mean anything changes little; older turns and bare answers count less. The tone of the words tilts
        the sum towards glad or sorry.
        """
        said = [turn.text for turn in conversation if turn.role == "speaker"][-_READ_TURNS:]
        vectors = np.stack([thread, *(self._encode(text) for text in said)])  # (1 + T, D)
        read = self.pool.feeling.probabilities(vectors)  # (1 + T, 33)
        faded = [substance(text) * _FADING**age for age, text in enumerate(reversed(said))][::-1]
        logs = np.array([0.5, *faded]) @ np.log(read + 1e-6) / 1.5  # one full turn and its thread count as one witness
        feelings = np.exp(logs - logs.max() + _TONE * self._tone(" ".join(said)) * (GLAD.astype(float) - SORRY))
        return np.asarray(feelings / feelings.sum(), dtype=np.float32)

    def _tone(self, text: str) -> float:
        """From -1, sorry, to 1, glad: VADER's reading, or without one an exclamation mark ("I'm pregnant!") for joy."""
        tone = float(self._vader.polarity_scores(text.lower().replace("passed away", "died"))["compound"])
        return 0.5 if tone == 0 and "!" in text else tone

    def _terms(
        self,
        rows: Rows,
        thread: Floats,
        moment: Floats,
        last: Floats,
        feelings: Floats,
        conversation: Sequence[Turn],
    ) -> dict[str, Floats]:
        """The terms of the sum for each candidate, each (K,)."""
        w, of = self.weights, self.pool.vectors
        follow_up = len(conversation) > 1
        said = of["said"][rows] @ last
        told = np.maximum(of["thread"][rows] @ thread, of["situation"][rows] @ thread)
        near = (_KINSHIP @ feelings)[self._emotions[rows]]
        glad, sorry = float(feelings[GLAD].sum()), float(feelings[SORRY].sum())
        # What fits anyone with this emotion is granted a likeness, in full if it is the likeliest emotion on its side.
        side = np.where(GLAD, glad, np.where(SORRY, sorry, 0.5))[self._emotions[rows]]
        fits = near / near.max() * side / max(glad, sorry, 0.5)
        granted = np.where(self._anywhere[rows], w.anywhere * np.sqrt(np.minimum(1, fits)), -1.0)
        # Small talk answers what was just said, whatever the story; "fair enough. bye!" is a goodbye.
        chatter = self._emotions[rows] == _NEUTRAL
        in_the_end = self._encode(_SENTENCE_END.split(conversation[-1].text.strip())[-1])
        chat = np.maximum(said, of["said"][rows] @ in_the_end)
        story = np.where(chatter, chat, told)
        story = np.maximum(story - np.maximum(0, w.sure - story), granted)  # a half-known story is worse than none
        exchange = np.where(chatter, chat, np.maximum(of["moment"][rows] @ moment, granted))
        tone = self._tone(conversation[-1].text) * feelings[_NEUTRAL]
        glad, sorry = glad + max(0.0, tone), sorry + max(0.0, -tone)
        mood = self.pool.mood[rows]
        asked = ["?" in turn.text for turn in conversation if turn.role == "listener"][-2:]
        misplaced = (self._follow_up[rows] != follow_up) & ~chatter
        # "Nobody ever is" answers "I'm not ready", not "he's twelve": a follow-up wants something like what it answered.
        beside = np.where(follow_up & ~chatter & ~self._anywhere[rows], np.clip((0.35 - said) / 0.35, 0, 1), 0.0)
        unasked = (self._was_asked[rows] != conversation[-1].text.rstrip().endswith("?")) & ~chatter
        return {
            "situation": w.situation * story,
            "moment": w.moment * exchange,
            "said": w.said * said * follow_up,
            "fit": w.fit * (of["answered"][rows] @ moment),
            "emotion": w.emotion * near,
            # A turn that is surely glad (mood 1) costs most when the thread is surely not, and the reverse.
            "mood": -w.mood * (np.maximum(0, 2 * mood - 1) * sorry + np.maximum(0, 1 - 2 * mood) * glad),
            # In the same story its words are at home: from a likeness of 0.45 the charge falls, to 0.3 of it at 0.85.
            "foreign": -w.foreign * self._foreign(rows, conversation) * (1 - 0.7 * np.clip((story - 0.45) / 0.4, 0, 1)),
            "place": -w.place * (misplaced + unasked + beside + (self._asks[rows] & (sum(asked) == 2))),
        }

    def _foreign(self, rows: Rows, conversation: Sequence[Turn]) -> Floats:
        """How much each candidate speaks of what this speaker never mentioned."""
        heard_text = " ".join(turn.text for turn in conversation)
        heard = stems(heard_text)
        known = people(heard_text)
        known |= {"he"} if known & _IS_HE else set()
        known |= {"she"} if known & _IS_SHE else set()
        return np.array(
            [
                sum(v for word, v in self._telling[row].items() if word not in heard)
                + 2 * len(self._people[row] - known)
                for row in rows
            ],
            dtype=np.float32,
        )

    def _exemplar(self, row: int, score: float) -> Exemplar:
        entry = self.pool.entries[row]
        return Exemplar(entry.dialogue, entry.said, entry.answered, entry.emotion, self._intents[row], score)
