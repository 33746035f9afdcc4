"""OPUS OpenSubtitles XML (Lison and Tiedemann 2016; Lison et al. 2018): sentences, cut into words or not, with times.

    <s id="2">
      <time id="T2S" value="00:00:55,755" />          block 2 starts
      <w id="2.1">Wait</w> <w id="2.2">...</w>
      <time id="T2E" value="00:00:58,349" />          and ends; a sentence may span several blocks,
    </s>                                              and a block several sentences: then the inner times are unknown

A line starts at the block start just before its first word and ends at the block end just after its last one. Where a
sentence begins or ends inside a block, the file has no time for it, and the line has None.

Speed: expat hands over words and times; they go into one string, cut by control characters that XML forbids, so that
splitting and joining words runs over the whole file at once.
"""

from __future__ import annotations

import re
from xml.parsers import expat

from harken.curation.markup import plain, utterances
from harken.curation.records import Line
from harken.curation.times import seconds

_SENTENCE, _TIME, _OUTSIDE = "\x1e", "\x1f", "\x1d"
_DECLARED = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]{1,40})[\"']")


class BrokenXmlError(ValueError):
    """The file is not OPUS XML; the message says why and where."""


def declared_encoding(raw: bytes) -> str | None:
    """What the first line of an XML file says of its encoding."""
    found = _DECLARED.search(raw[:200])
    return found[1].decode("ascii") if found else None


def read_opus(text: str) -> list[Line]:
    """The lines of one OPUS file, times as they stand there."""
    stream, tokenised = _flatten(text)
    said: list[str] = []
    spans: list[list[float | None]] = []  # start and end of each sentence
    upcoming: float | None = None  # a block start behind the last word: it belongs to the next sentence
    for chunk in stream.split(_SENTENCE)[1:]:
        sentence = chunk.partition(_OUTSIDE)[0] if _OUTSIDE in chunk else chunk
        words, *rest = sentence.split(_TIME)
        spoken = bool(words) and not words.isspace()
        start, end, upcoming = upcoming, None, None
        for clock, more in zip(rest[::2], rest[1::2], strict=True):
            time = seconds(clock[1:])
            if clock[0] == "S":
                start, upcoming = (start, time) if spoken else (time, None)
            elif spoken:
                end = time
            elif spans and spans[-1][1] is None:  # the block of the sentence before ends only here
                spans[-1][1] = time
            if more and not more.isspace():
                words, spoken, end, upcoming = f"{words} {more}", True, None, None
        said.append(" ".join(words.split()))
        spans.append([start, end])
    lines: list[Line] = []
    for sentence, (start, end) in zip(detokenised(said) if tokenised else said, spans, strict=True):
        easy = plain(sentence)
        if easy is not None:
            lines.append(Line(easy[0], start, end, easy[1]))
            continue
        parts = utterances(sentence)
        for at, part in enumerate(parts):
            first, last = at == 0, at == len(parts) - 1
            lines.append(Line(part.text, start if first else None, end if last else None, part.dash, part.name))
    return lines


_NEXT_WORD = re.compile(r"</w>\s*<w(?: [\w:-]+=\"[^\"<]*\")*\s*>")


def _flatten(text: str) -> tuple[str, bool]:
    """Sentences, words and times in one string with marks between them, and whether the words stood apart."""
    parts: list[str] = []
    add = parts.append

    def opened(name: str, attributes: dict[str, str]) -> None:
        if name == "s":
            add(_SENTENCE)
        elif name == "time":
            add(f"{_TIME}{attributes.get('id', '')[-1:] or '?'}{attributes.get('value', '')}{_TIME}")
        elif name == "meta":
            add(_OUTSIDE)
        else:
            add(" ")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = opened
    parser.CharacterDataHandler = add
    try:
        # The end of a word and the start of the next become a space: as sound or broken as before, and half the work.
        parser.Parse(_NEXT_WORD.sub(" ", text), True)
    except expat.ExpatError as problem:
        raise BrokenXmlError(_broken(text, problem)) from problem
    stream = "".join(parts)
    if _SENTENCE not in stream:
        raise BrokenXmlError("holds no sentence (<s>): not OPUS subtitle XML")
    return stream, "<w" in text


def _broken(text: str, problem: expat.ExpatError) -> str:
    """What is wrong and where, by the lines of the file itself."""
    try:
        expat.ParserCreate().Parse(text, True)
    except expat.ExpatError as same:
        problem = same
    return f"broken XML at line {problem.lineno}, column {problem.offset + 1}: {expat.ErrorString(problem.code)}"


_JOINTS = (
    (re.compile(r"\.\.\.(?: \.\.\.)+"), "..."),  # a block's last and the next one's first: tower ... ... where
    (re.compile(r"\.\.\.(?:(?<=^\.\.\.)|(?<=^- \.\.\.)) (?=\w)", re.MULTILINE), "..."),  # ... where -> ...where
    (re.compile(r"'(?<!\w') (?=(?:em|cause|cuz|til|till|bout|round|n)\b)", re.IGNORECASE), "'"),  # ' em -> 'em
    (re.compile(r"-(?<=\w-) -(?= |$)", re.MULTILINE), "--"),  # I- - -> I--
    (re.compile(r"-(?<=[a-z]-) (?=[a-z])"), "-"),  # dad- in- law -> dad-in-law
    # Wait , he 'll go ? -> Wait, he'll go?
    (re.compile(r" (?<!- )(?=[,!?;%)\]…]|[.:](?!\w)|n't\b|'(?:[stmd]|re|ll|ve|am)?(?!\w))", re.IGNORECASE), ""),
    (re.compile(r"([(\[$£€¿¡]) "), r"\1"),  # $ 5 -> $5
    (re.compile(r"(\d[:,.]) (?=\d)"), r"\1"),  # 1 : 00 -> 1:00
)


def detokenised(sentences: list[str]) -> list[str]:
    """Words set apart by spaces, as a writer would set them.

    >>> detokenised(["- Wait , he 'll go ... ... at 1 : 00 ."])
    ["- Wait, he'll go... at 1:00."]
    """
    text = "\n".join(sentences)
    for joint, glue in _JOINTS:
        text = joint.sub(glue, text)
    return text.split("\n")
