"""SubRip, WebVTT and ASS/SSA, parsed by pysubs2, into lines that are sentences.

What a file is, its content says: a WebVTT file named `.srt` is read as WebVTT. Of ASS only the events with sound times are
handed over, so that one broken line or style cannot spoil the others; drawings, karaoke and comments are no speech;
events may stand in any order there and are sorted by their start.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator

import pysubs2
from pysubs2 import SSAEvent, SSAFile

from harken.curation.markup import utterances
from harken.curation.records import Line
from harken.curation.sentences import continued, sentences
from harken.curation.times import possible

_EVENTS = re.compile(r"^\[Events\]", re.MULTILINE | re.IGNORECASE)
_EVENT = re.compile(r"^Dialogue:[^,\n]*(?:,\s*\d{1,2}:\d{1,2}:\d{1,2}[.,]\d{1,3}\s*){2},.*$", re.MULTILINE)
_NO_SPEECH = re.compile(r"\{[^}]*\\(?:p[1-9]|k[fo]?\d)", re.IGNORECASE)  # a drawing, or syllables timed for singing
_CUE_END = re.compile(r"\n[ \t]*\n")


class NoCuesError(ValueError):
    """No subtitle could be found in the text; the message says why."""


def read_cues(text: str) -> list[Line]:
    """The lines of one SubRip, WebVTT or ASS/SSA file, times as they stand there."""
    lines: list[Line] = []
    for event in _events(text):
        name = event.name.strip() or None
        start, end = possible(event.start / 1000), possible(event.end / 1000)
        said = [
            Line(sentence, dash=part.dash and at == 0, name=part.name or name)
            for part in utterances(event.text)
            for at, sentence in enumerate(sentences(part.text))
        ]
        for at, part in enumerate(said):
            first, last = at == 0, at == len(said) - 1
            line = Line(part.text, start if first else None, end if last else None, part.dash, part.name)
            joined = continued(lines[-1], line) if first and lines else None
            if joined is None:
                lines.append(line)
            else:
                lines[-1] = joined
    return lines


def _events(text: str) -> Iterator[SSAEvent]:
    """Events that hold speech, their rows apart by line breaks."""
    form = _format(text)
    if form in ("ass", "ssa"):
        text = "\n".join(_EVENT.findall(text))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about fields that are not read here
        try:
            parsed = SSAFile.from_string(text, format_=form, keep_html_tags=True)
        except (pysubs2.exceptions.Pysubs2Error, ValueError, KeyError, TypeError, IndexError) as problem:
            raise NoCuesError(f"broken {form} file: {problem}") from problem
    if not parsed.events:
        raise NoCuesError("holds no subtitle with its times")
    if form in ("ass", "ssa"):
        parsed.events.sort(key=lambda event: event.start)
    shown = None
    for event in parsed.events:
        if _NO_SPEECH.search(event.text):
            continue
        event.text = event.text.replace("\\N", "\n").replace("\\n", "\n").replace("\\h", " ")
        if form == "vtt":  # an empty row ends a cue: what follows is the next one's name, or a note
            event.text = _CUE_END.split(event.text, maxsplit=1)[0]
        showing = (event.start, event.end, event.text)
        if showing != shown:  # the same text in several layers: its outline, its shadow
            yield event
        shown = showing


def _format(text: str) -> str:
    if text.lstrip("\ufeff \t\r\n").startswith("WEBVTT"):
        return "vtt"
    if _EVENTS.search(text):
        return "ass" if "[v4+ styles]" in text.lower() or "v4.00+" in text.lower() else "ssa"
    return "srt"
