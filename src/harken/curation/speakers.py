"""Names of speakers in front of what they say: `JOHN: Come in.`, `Mrs. Smith: Yes?`, `Man 2: Stop!`.

A colon alone proves nothing: `Listen: I was wrong.`, `Rule one: no guests.`, `It is 12:30.` A name is one to four words,
all in capitals or each with a capital, and none of them a word that opens or fills an ordinary sentence.
"""

from __future__ import annotations

import re

_BEFORE_COLON = re.compile(r"\s*([^\W\d_][\w.'#&/ -]{0,38}?)\s?:(?![\d/:)(])\s*")
_WORD = re.compile(r"(?:[A-Z][\w.'-]*|#?\d{1,3}|&)")

# Words that stand before a colon in ordinary speech, or make what stands there a sentence.
ORDINARY = frozenset(
    """
    a about above after again all-right allright alright also although always am an and another answer any anyway are
    as asked at attention basically be because been before behold being believe below breaking but by bye can caption
    captioned captions case cause check choice choose clearly come conclusion consider correction could date day days
    deal dear decision definition did directed do does don't done e-mail eight either else email even ever every
    everybody everyone everything evidence exactly example except fact facts favorite fax final finally fine first
    five following for forget four friday from funny get go god good goodbye got great guess had has have he hello
    help her here here's hers hey hi him his hold hour hours how however http https i i'd i'll i'm i've idea if
    imagine important in include including indeed instead is it it's item its joke just know last later lesson let's
    level like listen look lost make maybe me meaning message might mine minute minutes monday moral more motto must
    my myself name namely names never new news next night nine no nobody nope not note nothing now number numbers of
    oh ok okay on once one only option options or order other our ours over page part password phase phone picture
    place plan please plus point possible problem produced promise ps question quick quote rather re read reason
    reasons remember repeat result right rule rules said sample saturday say saying says score second secondly see
    sentence seven shall she should simple since sir situation six so solution some someone something sorry source
    starring statement status step still stop story subject subtitle subtitled subtitles suggestion sunday suppose
    sure sync synced take tel tell ten thank thanks that that's the theirs them then theory there there's therefore
    these they thing things think third this those though three thursday time times tip title to today together
    tomorrow tonight too topic translated translation translator trust truth try tuesday two uh um until update us
    verdict verse version very wait want warning was watch we we'll we're web website wednesday well were what what's
    when where which while who who's whose why wish with word words work would written www yeah year years yes
    yesterday yet you you'll you're your yours
    """.split()
)


def speaker(row: str) -> tuple[str | None, str]:
    """The name before the colon and the rest of the row; None and the whole row where there is no name.

    >>> speaker("Mrs. Smith: Yes?"), speaker("Listen: I was wrong.")
    (('Mrs. Smith', 'Yes?'), (None, 'Listen: I was wrong.'))
    """
    found = _BEFORE_COLON.match(row) if ":" in row else None
    if found is None or not is_name(found[1]):
        return None, row
    return found[1].strip(), row[found.end() :]


def is_name(words: str) -> bool:
    """Whether words before a colon name a speaker.

    >>> [is_name(words) for words in ("JOHN", "Man 2", "Dr. Jones", "He said", "FIRST", "I", "Old Man")]
    [True, True, True, False, False, False, True]
    """
    parts = words.split()
    if not 1 <= len(parts) <= 4 or len(words) < 2:
        return False
    shouted = words.isupper()
    if not shouted and not all(map(_WORD.fullmatch, parts)):
        return False
    inside = {"and", "on", "in", "of", "over", "the"} if shouted else set()  # MAN ON TV, but never as the first word
    return all(
        part.lower().rstrip(".") not in ORDINARY or (at > 0 and part.lower() in inside) for at, part in enumerate(parts)
    )
