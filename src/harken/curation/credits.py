"""Lines that nobody in the film says: who made the subtitles or the film, and what subtitle sites advertise.

A line is looked at closely only when it has one of the telling words, which few have.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_SUBTITLING = (
    "subtitle subtitles subtitled subtitling sub subs caption captions captioned captioning sync synced synchro "
    "synchronized synchronised resync resynced ripped encoded transcript transcripts"
).split()
_EDITING = (
    "corrected corrections correction translated translation transcribed transcription timed timing proofread adapted "
    "adaptation edited improved"
).split()
"""Makers of subtitles say these too, but `Correction: it was Tuesday.` is speech; only `by` after them tells."""
_FILM = "directed written produced screenplay starring music cinematography distributed presented casting story".split()
_CREDIT_WORDS = frozenset((*_SUBTITLING, *_EDITING, *_FILM, "copyright"))
_ANY = "|".join((*_SUBTITLING, *_EDITING))
_CREDIT = re.compile(
    # At the start of a line or sentence, for `He was corrected by his wife.` is speech.
    rf"(?:^|[^\w\s,'’-]\s*)(?:(?:english|original|official|closed|sdh)\s+)?"
    rf"(?:(?:{_ANY})(?:\s*[,&+/]\s*|\s+and\s+|\s+))*"
    rf"(?:(?:{_ANY})(?:\s+(?:sponsored|provided|made|created|done))?\s+by\b|(?:{'|'.join(_SUBTITLING)})\s*:)"
    rf"|^\W*(?:{'|'.join(_FILM)})(?:\s+and\s+\w+)?\s+by\b"
    r"|^\W*copyright\b",
    re.IGNORECASE,
)

_SITES = frozenset(
    "opensubtitles addic7ed subscene podnapisi tvsubtitles yify yts osdb playships americascardroom".split()
)
_ENDS = "com org net tv info eu link".split()
_PITCH_WORDS = "www http https advertise vip ads subtitle subtitles online downloaded".split()
_SELLING_WORDS = _SITES.union(_ENDS, _PITCH_WORDS)
_ADDRESS = re.compile(rf"https?\s?:\s?//|\bwww\s?\.|\w(?:\.| \. |\. )(?:{'|'.join(_ENDS)})\b")
"""OPUS spaces an address (`www. example. org`); after the end of a sentence a capital stands, so small letters tell."""
_PITCH = re.compile(
    r"advertise your product|become (?:a )?vip|remove all ads|rate this subtitle|choose the best subtitle"
    r"|watch (?:any )?(?:videos?|movies?) online|subtitles? (?:downloaded )?from",
    re.IGNORECASE,
)


def is_credit(text: str, words: Sequence[str]) -> bool:
    """`Subtitles by ...`, `Sync and corrections by ...`, `Directed by ...`."""
    return not _CREDIT_WORDS.isdisjoint(words) and _CREDIT.search(text) is not None


def is_advertisement(text: str, words: Sequence[str]) -> bool:
    """Addresses, names of subtitle sites, and their stock phrases."""
    if _SELLING_WORDS.isdisjoint(words):
        return False
    return not _SITES.isdisjoint(words) or bool(_ADDRESS.search(text) or _PITCH.search(text))
