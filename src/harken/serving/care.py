"""Care: before any listener answers, words that may mean danger get a calm, fixed, human reply.

Two layers look at every turn of the speaker: written patterns (`care_patterns.py`) and a reading learnt from written
sentences (`care_reading.py`). A sure pattern is a signal; else the reading decides, and a pattern that is only a hint
counts towards it. Recall comes first: a number offered in vain does little harm.

The mode is derived from the turns alone, so a server needs no memory of it. A signal switches it on. It stays on until
the person moves on: by saying so ("I'm safe", "can we talk about something else"), which still gets one reply of care, or
with a second ordinary turn in a row. `Careful` wraps any listener, and every front end uses it, so that none is reached
without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from harken.dialogue import Turn
from harken.listeners.base import Listener, Reply, last_words, steered
from harken.serving.care_patterns import Match, Signal, table
from harken.serving.care_reading import THRESHOLD, load_reading
from harken.serving.care_replies import country_code, country_here, first_reply, follow_up, moves_on, named_countries
from harken.text.encoder import SentenceEncoder

HINT = 1.5
"""What a pattern that is only a hint adds to the score of the reading; cross-validation prefers it to more."""
CALM_TURNS = 2
"""So many ordinary turns in a row, and the person has moved on."""
_LONG = 25
"""Texts of more words than this are read sentence by sentence as well as whole."""
_PRESENT = re.compile(
    r"\b(tonight|again|come back|coming back|are back|is back|want to|going to|gonna|plan)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")


class Care:
    """Looks for danger, and knows whom to call."""

    def __init__(
        self,
        country: str | None = None,
        encoder: SentenceEncoder | None = None,
        started: Callable[[int], Callable[[int], None]] | None = None,
    ) -> None:
        self.country = country_code(country) if country else country_here()
        self._encoder = encoder or SentenceEncoder()
        self._reading = load_reading(self._encoder, started)

    @lru_cache(maxsize=4096)  # noqa: B019  (one guard lives as long as its process)
    def signal(self, text: str) -> Signal | None:
        """The danger in a text, if there is any."""
        pieces = [text]
        if len(text.split()) > _LONG:
            pieces += [piece for piece in _SENTENCE.split(text) if piece.strip()]
        pieces = list(dict.fromkeys(pieces))
        matches = [table().matches(piece) for piece in pieces]
        sure = [match for found in matches for match in found if match.rule.sure]
        if sure:
            return _from_pattern(max(sure, key=lambda match: match.rule.now), 10.0, text)
        vectors = self._encoder.encode(pieces)
        scores = [
            self._reading.score(piece, vector) + HINT * bool(found)
            for piece, vector, found in zip(pieces, vectors, matches, strict=True)
        ]
        best = scores.index(max(scores))
        if scores[best] <= THRESHOLD:
            return None
        if matches[best]:
            return _from_pattern(matches[best][0], scores[best], text)
        kind = self._reading.kind(vectors[best])
        return Signal(kind, scores[best], "likeness to sentences of people in danger", past=is_over(text))

    def check(self, conversation: Sequence[Turn]) -> Reply | None:
        """The reply that care gives to the last turn; None where a listener may answer."""
        last_words(conversation)
        said = [turn.text for turn in conversation if turn.role == "speaker"]
        on: Signal | None = None
        signals = calm = 0
        leaving = False
        for text in said:
            if leaving or calm >= CALM_TURNS:
                on, signals, calm, leaving = None, 0, 0, False
            signal = self.signal(text)
            if signal:
                on, signals, calm, leaving = signal, signals + 1, 0, False
            elif on:
                calm += 1
                leaving = moves_on(text)
        if on is None or (calm >= CALM_TURNS and not leaving):
            return None
        place = self.place(said)
        text = first_reply(on, place, times=signals) if calm == 0 else follow_up(on.kind, place, said[-1])
        return Reply(text, intent="suggesting", care=True, scores={"care": on.score})

    def place(self, said: Sequence[str]) -> str | None:
        """The country the person names ("I'm in Canada"), or the one this guard was made for."""
        named = [code for text in said for code in named_countries(text)]
        return named[-1] if named else self.country


class Careful:
    """A listener behind care: itself a listener, and the only kind that front ends may use."""

    def __init__(self, listener: Listener, care: Care) -> None:
        self.name = listener.name
        self.listener = listener
        self.care = care

    def reply(self, conversation: Sequence[Turn]) -> Reply:
        """Care's reply where there is danger, else the listener's."""
        return self.care.check(conversation) or self.listener.reply(conversation)

    def steered(self, intent: str | None) -> Careful:
        """The listener behind it asked for an intent; care comes first all the same."""
        return Careful(steered(self.listener, intent), self.care)


def is_over(text: str) -> bool:
    """Whether a text tells of the past and names nothing that still goes on."""
    return table().is_past(text) and _PRESENT.search(text) is None


def _from_pattern(match: Match, score: float, text: str) -> Signal:
    because = f"{match.rule.why}: “{match.words.strip()}”"
    return Signal(match.rule.kind, score, because, match.rule.other, match.rule.now, is_over(text))
