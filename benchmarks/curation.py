"""Curation: lines a second of one process, on films made of frequent words with the shape of real subtitles.

A film has 1,500 subtitles of two to nine words a sentence; one in five opens with a dash, one in forty is italic, a note, a
name or a song, as in the OPUS files measured. Reading is everything from the file on disk to clean lines with
repaired times; the chain is reading OPUS XML, segmenting, splitting and cleaning, and its shard in Parquet besides. Seconds
are those of the processor, the best of several runs, so that what else the machine does counts least.
"""

from __future__ import annotations

import gzip
import random
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.labels import WORDS
from harken.curation.cleaning import clean
from harken.curation.config import CurationConfig
from harken.curation.dialogues import split
from harken.curation.jobs import ReadJob, perform
from harken.curation.readers import find_sources, read_subtitle
from harken.curation.records import Source, Subtitle
from harken.curation.segmentation import Segmenter, segment

CUES = 1_500
Cue = tuple[float, float, str]


def film(seed: int, cues: int = CUES) -> list[Cue]:
    """Start, end and text of each subtitle of a made film."""
    source = random.Random(seed)
    clock = 60.0
    made = []
    for _ in range(cues):
        said = " ".join(source.choices(WORDS, k=source.randint(2, 9))).capitalize()
        text = said + source.choice(("", ",", "...", ".", ".", ".", "?", "!"))
        if source.random() < 0.2:
            text = "- " + text
        kind = source.random()
        text = f"<i>{text}</i>" if kind < 0.025 else f"[door closes] {text}" if kind < 0.05 else text
        text = f"ANNA: {text}" if 0.05 < kind < 0.075 else f"♪ {text} ♪" if 0.075 < kind < 0.1 else text
        length = 1 + 0.06 * len(text)
        made.append((clock, clock + length, text))
        clock += length + source.choice((0.1, 0.1, 0.5, 2.0, 8.0))
    return made


def clock(seconds: float, point: str = ",") -> str:
    whole = int(seconds * 1000)
    return f"{whole // 3_600_000:02}:{whole // 60_000 % 60:02}:{whole // 1000 % 60:02}{point}{whole % 1000:03}"


def subrip(cues: list[Cue], point: str = ",") -> str:
    """A film as SubRip, or with a full stop in its times as WebVTT."""
    rows = (f"{at}\n{clock(a, point)} --> {clock(b, point)}\n{text}\n" for at, (a, b, text) in enumerate(cues, 1))
    return "\n".join(rows)


def ass(cues: list[Cue]) -> str:
    head = "[Script Info]\nScriptType: v4.00+\n\n[Events]\n"
    return head + "\n".join(
        f"Dialogue: 0,{clock(a, '.')[1:-1]},{clock(b, '.')[1:-1]},Default,,0,0,0,,{text}" for a, b, text in cues
    )


def opus(cues: list[Cue]) -> str:
    """A film as OPUS XML, a sentence for each subtitle, cut into words."""
    parts = ['<?xml version="1.0" encoding="utf-8"?>\n<document id="1">']
    for at, (start, end, text) in enumerate(cues, 1):
        plain = text.replace("<i>", "").replace("</i>", "")
        for mark in ("...", ",", ".", "?", "!", "[", "]", ":"):
            plain = plain.replace(mark, f" {mark} ") if mark != "." or "..." not in plain else plain
        words = "\n".join(f'    <w id="{at}.{n}">{escape(word)}</w>' for n, word in enumerate(plain.split(), 1))
        parts.append(
            f'  <s id="{at}">\n    <time id="T{at}S" value="{clock(start)}" />\n{words}\n'
            f'    <time id="T{at}E" value="{clock(end)}" />\n  </s>'
        )
    return "\n".join([*parts, "</document>\n"])


def _least(work: Callable[[], object], times: int = 5) -> float:
    """Seconds of the fastest of some runs."""
    found = []
    for _ in range(times):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def _speed(sources: list[Source]) -> float:
    """Lines a second."""
    read = [found for found in map(read_subtitle, sources) if isinstance(found, Subtitle)]
    return sum(len(subtitle.lines) for subtitle in read) / _least(lambda: [read_subtitle(one) for one in sources])


def reading() -> Iterator[tuple[str, float, str]]:
    """Each format, ten films of it."""
    films = [film(seed) for seed in range(10)]
    forms = {
        "film.xml": [opus(cues).encode() for cues in films],
        "film.xml.gz": [gzip.compress(opus(cues).encode()) for cues in films],
        "film.srt": [subrip(cues).encode() for cues in films],
        "film.vtt": [b"WEBVTT\n\n" + subrip(cues, ".").encode() for cues in films],
        "film.ass": [ass(cues).encode() for cues in films],
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, raws in forms.items():
            place = Path(folder, name.partition(".")[2])
            place.mkdir()
            for at, raw in enumerate(raws):
                (place / f"{at}-{name}").write_bytes(raw)
            yield f"reading {name.removeprefix('film')}", _speed(list(find_sources([place]))), "lines/s"
        archive = Path(folder, "en.zip")
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
            for at, raw in enumerate(forms["film.xml"]):
                zipped.writestr(f"OpenSubtitles/xml/en/1999/{at}/1.xml", raw)
        yield "reading .xml in the corpus zip", _speed(list(find_sources([archive]))), "lines/s"


def chain() -> Iterator[tuple[str, float, str]]:
    """Twenty films through the first stage, step by step and as the pipeline does it."""
    segmenter, cleaning = Segmenter.load(), CurationConfig().cleaning
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(20):
            place = Path(folder, "films", "xml", "en", "1999", str(seed), "1.xml")
            place.parent.mkdir(parents=True)
            place.write_text(opus(film(seed)), encoding="utf-8")
        sources = list(find_sources([Path(folder, "films")]))
        read = [found for found in map(read_subtitle, sources) if isinstance(found, Subtitle)]
        lines = sum(len(subtitle.lines) for subtitle in read)
        turns = [segment(subtitle, segmenter) for subtitle in read]
        found = [split(said, source, 5.0) for said, source in zip(turns, sources, strict=True)]
        steps: dict[str, Callable[[], object]] = {
            "segmenting": lambda: [segment(subtitle, segmenter) for subtitle in read],
            "splitting": lambda: [split(said, source, 5.0) for said, source in zip(turns, sources, strict=True)],
            "cleaning": lambda: [clean(dialogues, cleaning) for dialogues in found],
            "the chain, a worker": lambda: perform(
                ReadJob(folder, "00000", "", sources=tuple(sources), config=CurationConfig())
            ),
        }
        for name, step in steps.items():
            yield name, lines / _least(step), "lines/s"


def run() -> Iterator[tuple[str, float, str]]:
    yield from reading()
    yield from chain()
