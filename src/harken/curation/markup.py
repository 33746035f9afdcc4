"""One raw subtitle (a cue of one or more rows, or an OPUS sentence) into what is said in it.

The steps, in order; each is a rule a reader of subtitles applies without thinking:

    markup    <i>, {\\an8}, &amp;, invisible characters go; curly quotes and … become plain ones
    songs     ♪ … ♪ and # … # go; an unclosed song runs to the end of its subtitle
    notes     [door closes], (SIGHS), *laughs* go; a name in brackets before a colon is a name
    speakers  a row that opens with a dash, or with a name and a colon, is a new speaker's; so is `Hi. - Hello.`
    rest      rows are joined, spaces tidied; what has no letter or digit left is nothing
"""

from __future__ import annotations

import re
from html import unescape

from harken.curation.records import Line
from harken.curation.speakers import speaker

# Most lines need nothing: an opening dash perhaps, letters, digits, ordinary punctuation, no dash but inside words.
_PLAIN = re.compile(r"(- )?((?:\.\.\.)?'?[^\W_][\w,.?!'$%;]*(?:(?: (?![ ,.?!;])|(?<=\w)-(?=\w))[\w,.?!'$%;]+)*)")

_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^<>]+)>")  # WebVTT: <v Mary>Hello
_TAG = re.compile(r"<\s*/?\s*[a-zA-Z][^<>]*>|<[\d:.]+>|\{[^{}]*\}")
_INVISIBLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_PLAINER = str.maketrans(
    {"’": "'", "‘": "'", "´": "'", "`": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "…": "...", "ʼ": "'"}
    | {"♫": "♪", "♬": "♪", "♩": "♪", "\r": "\n", "\u2028": "\n", "\u2029": "\n", "\x85": "\n"}
)
_SONG_END = re.compile(r"^[^♪\n]*♪+\s*$", re.MULTILINE)
_SONG = re.compile(r"♪+[^♪]*(?:♪+|$)")
_HASHED = re.compile(r"^[-\s]*#(?:[^#]*#+\s*$|\s[^#\n]*$)", re.MULTILINE)
_NAME_IN_BRACKETS = re.compile(r"^([-–—\s]*)[\[(]([^\[\]()\n:]{1,30})[\])](?=\s*:)", re.MULTILINE)
_NOTE = re.compile(r"\[[^\[\]]*\]|\([^()]*\)|(?<!\w)\*+[^*\n]+\*+(?!\w)")
_UNCLOSED = re.compile(r"\[[^\]]*$|\([^)]*$|^[^\[\n]*\]", re.MULTILINE)
_DASH = "-‐‑‒–—―"
_ROW_DASH = re.compile(rf"\s*([{_DASH}])(?![{_DASH}])\s*")
_INNER_DASH = re.compile(rf"(?<=[.!?\"')\]{_DASH}])\s+[{_DASH}]\s*(?=[\"'.¿¡]*[A-Z\d])")
_INNER_DASH_AFTER_DASH = re.compile(rf"\s+[{_DASH}]\s*(?=[\"'.¿¡]*[A-Z\d])")
_SPACE_BEFORE = re.compile(r" +(?=[,.!?;:]+(?:[\s\"]|$))")
_OPENING = re.compile(rf"^(?:[{_DASH}\s,;:!?/|_*#~>]|\.(?!\.\.))+")
_WORD = re.compile(r"[^\W_]")


def plain(raw: str) -> tuple[str, bool] | None:
    """Text and dash of a line that needs no cleaning, for speed; None when it may need some."""
    found = _PLAIN.fullmatch(raw)
    return None if found is None else (found[2], found[1] is not None)


def utterances(raw: str) -> list[Line]:
    """What is said in one raw subtitle, a line for each speaker, without times; an empty list when nothing is.

    >>> [(line.text, line.dash, line.name) for line in utterances("- JOHN: <i>Hi!</i> [waves]\\n- Hello.")]
    [('Hi!', True, 'JOHN'), ('Hello.', True, None)]
    """
    easy = plain(raw)
    if easy is not None:
        return [Line(easy[0], dash=easy[1])]
    lines: list[Line] = []
    rows: list[str] = []
    dash, name = False, None

    def finish() -> None:
        text = tidy(" ".join(rows))
        if _WORD.search(text):
            lines.append(Line(text, dash=dash, name=name))
        rows.clear()

    for row, opened in _rows(without_notes(without_songs(without_markup(raw)))):
        named, rest = speaker(row)
        if opened or named is not None:
            finish()
            dash, name = opened, named
        rows.append(rest)
    finish()
    return lines


def without_markup(raw: str) -> str:
    """Text as a viewer sees it, rows still apart."""
    text = raw
    if "&" in text:
        text = unescape(unescape(text))
    if "<" in text or "{" in text:
        text = _TAG.sub(lambda tag: "\n" if tag[0].lower().startswith("<br") else "", _VOICE.sub(_voice, text))
    return _INVISIBLE.sub(" ", text.translate(_PLAINER))


def _voice(tag: re.Match[str]) -> str:
    """A WebVTT voice as a name with its capitals."""
    return "\n" + " ".join(word[0].upper() + word[1:] for word in tag[1].split()) + ": "


def without_songs(text: str) -> str:
    """Sung rows go."""
    if "♪" in text:
        text = _SONG.sub("", _SONG_END.sub("", text))
    return _HASHED.sub("", text) if "#" in text else text


def without_notes(text: str) -> str:
    """What is described rather than said goes."""
    if "[" in text or "(" in text or "]" in text or "*" in text:
        text = _UNCLOSED.sub("", _NOTE.sub(" ", _NAME_IN_BRACKETS.sub(r"\1\2", text)))
    return text


def _rows(text: str) -> list[tuple[str, bool]]:
    """Rows, cut also at dashes inside them, and whether a dash opened each."""
    found = []
    for row in text.split("\n"):
        dash = _ROW_DASH.match(row)
        first, *others = (_INNER_DASH_AFTER_DASH if dash else _INNER_DASH).split(row[dash.end() :] if dash else row)
        found.append((first, dash is not None))
        found += [(other, True) for other in others]
    return found


def tidy(text: str) -> str:
    """Single spaces, none before punctuation nor inside quotation marks, no stray mark in front.

    >>> tidy(', is it  " late " ?')
    'is it "late"?'
    """
    text = " ".join(text.split())
    if '"' in text:
        text = _quoted(text)
    return _OPENING.sub("", _SPACE_BEFORE.sub("", text)).strip()


def _quoted(text: str) -> str:
    """Marks open and close in turn; an odd one at the very end closes what an earlier sentence opened."""
    said, *pieces = text.split('"')
    inside = len(pieces) % 2 == 1 and not pieces[-1].strip(" .,!?")
    if inside:
        said = said.rstrip()
    for piece in pieces:
        inside = not inside
        said += '"' + (piece.strip() if inside else piece)
    return said
