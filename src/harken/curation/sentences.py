"""Subtitles into sentences, as OPUS cuts them, so that a film reads alike from either: one line, one sentence.

A cue shows what fits on a screen: two short sentences, or half of a long one. Sentences are cut after `.`, `!` or `?`
where a capital follows, not after titles and initials. A cue that stops in the middle goes on in the next when that comes
soon, without a dash or another name, and begins with a small letter or three dots, or the first stops at a word such as
`the`: `To the highest room...` `...of the tower.` becomes `To the highest room... of the tower.`
"""

from __future__ import annotations

import re

from harken.curation.records import Line

SOON = 2.0
"""Seconds between two cues of one sentence, at most."""
LONGEST = 400
"""Characters after which a sentence is not continued: files without punctuation must not become one line."""

_BREAK = re.compile(r"(?<=[.!?\"')])\s+(?=[\"'(]?(?:\.\.\.)?[\"']?[A-Z0-9])")
_FINAL = re.compile(r"[.!?][\"')]*$")
_NOT_FINAL = re.compile(
    r"(?:(?:^|[\s\"'(])(?:Mr|Mrs|Ms|Dr|Prof|St|Sgt|Lt|Col|Gen|Capt|Jr|Sr|vs|etc|Mt|Rev|Hon|[A-Z])\.|,\S?)$"
)
_TRAILING = re.compile(r"(?:\.\.\.|-+|,)$")
_CONTINUED = re.compile(r"\.\.\.\s*|(?=[a-z])")
_NEEDS_MORE = re.compile(
    r"\b(?:an?|the|my|your|his|her|our|their|of|to|from|with|for|in|on|at|by|and|or|but|if|that|is|are|was|called|named)$",
    re.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    """The sentences of a text.

    >>> sentences("Hark! The brave Mr. Poe is here. He waits...")
    ['Hark!', 'The brave Mr. Poe is here.', 'He waits...']
    """
    found: list[str] = []
    for piece in _BREAK.split(text):
        if found and (not _FINAL.search(found[-1]) or _NOT_FINAL.search(found[-1])):
            found[-1] += " " + piece
        else:
            found.append(piece)
    return found


def continued(line: Line, following: Line) -> Line | None:
    """Both as one line where the second goes on with the sentence of the first."""
    if following.dash or (following.name is not None and following.name != line.name):
        return None
    if len(line.text) > LONGEST:
        return None
    if line.end is not None and following.start is not None and not -SOON <= following.start - line.end <= SOON:
        return None
    goes_on = _CONTINUED.match(following.text)
    if goes_on is not None:
        stopped = _FINAL.search(line.text) and not _TRAILING.search(line.text)
    else:  # a capital: a name in the middle of the sentence, or the next line of a song
        stopped = not _NEEDS_MORE.search(line.text)
    if stopped:
        return None
    rest = following.text[goes_on.end() :] if goes_on else following.text
    return Line(f"{line.text} {rest}", line.start, following.end, line.dash, line.name)
