"""Subtitle files to lines: each rule by hand, each bad input of the wild, laws, and the real files where they are."""

from __future__ import annotations

import doctest
import errno
import gzip
import zipfile
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harken.curation import markup, opus, speakers
from harken.curation import sentences as sentence_rules
from harken.curation import times as time_rules
from harken.curation.encodings import decode
from harken.curation.markup import utterances
from harken.curation.opus import detokenised
from harken.curation.readers import find_sources, read_subtitle
from harken.curation.records import Line, Source, Subtitle, Unreadable
from harken.curation.sentences import continued, sentences
from harken.curation.speakers import is_name
from harken.curation.times import in_order, seconds
from harken.errors import HarkenError

FIXTURES = Path(__file__).parent / "fixtures" / "subtitles"


def read(path: Path) -> Subtitle:
    found = read_subtitle(Source(path.name, str(path)))
    assert isinstance(found, Subtitle), found
    return found


def reason(path: Path, member: str | None = None) -> str:
    found = read_subtitle(Source(path.name, str(path), member))
    assert isinstance(found, Unreadable)
    assert found.source.path == str(path)
    return found.reason


def texts(lines: Iterable[Line]) -> list[str]:
    return [line.text for line in lines]


# --- one raw subtitle -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("Come in.", ["Come in."]),
        ("<i>Come</i> <font color='red'>in</font>.", ["Come in."]),
        (r"{\an8}Come{\i1} in.", ["Come in."]),
        ("Tea &amp; cake &lt;3", ["Tea & cake <3"]),
        ("&lt;i&gt;Come in.&lt;/i&gt;", ["Come in."]),
        ("It’s “late”…", ['It\'s "late"...']),
        ("two\nrows", ["two rows"]),
        ("one<br/>two", ["one two"]),
        ("so\u200b \u00a0 far\ufeff", ["so far"]),
        # songs
        ("♪ Home we go ♪", []),
        ("♪♪ Home we go\nhome we go ♪♪", []),
        ("♪ Home we go", []),
        ("home we go ♪", []),
        ("♫ Home ♫\nStop singing!", ["Stop singing!"]),
        ("# Home we go #", []),
        ("# Home we go", []),
        ("You are #1.", ["You are #1."]),
        ("#MeToo was a start.", ["MeToo was a start."]),
        # notes for the hard of hearing
        ("[door closes]", []),
        ("(SIGHS)", []),
        ("*laughs*", []),
        ("Well [sighs], fine.", ["Well, fine."]),
        ("(a door\nopens) Who is it?", ["Who is it?"]),
        ("[thunder in the distance", []),
        ("What the f**k?", ["What the f**k?"]),
        # nothing is said
        ("", []),
        ("...", []),
        ("-", []),
        ("?!", []),
        ("...and then?", ["...and then?"]),
        ("--and then?", ["and then?"]),
        ("I-- I can't.", ["I-- I can't."]),
        ("Is it \" late \" ?", ['Is it "late"?']),
    ],
)  # fmt: skip
def test_what_is_said(raw: str, said: list[str]) -> None:
    assert texts(utterances(raw)) == said


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("- Hi.\n- Hello.", [("Hi.", True), ("Hello.", True)]),
        ("- Hi. - Hello.", [("Hi.", True), ("Hello.", True)]),
        ("-Hi.\n–Hello.", [("Hi.", True), ("Hello.", True)]),
        ("Hi.\n- Hello.", [("Hi.", False), ("Hello.", True)]),
        ("Hi. - Hello.", [("Hi.", False), ("Hello.", True)]),
        ("- Through the desert - Hot!", [("Through the desert", True), ("Hot!", True)]),
        ("- I was going\nto say it.\n- Say what?", [("I was going to say it.", True), ("Say what?", True)]),
        ("- [sighs]\n- Hello.", [("Hello.", True)]),
        ("The boat - our boat - is gone.", [("The boat - our boat - is gone.", False)]),
        ("My sister-in-law.", [("My sister-in-law.", False)]),
    ],
)
def test_dashes_part_speakers(raw: str, said: list[tuple[str, bool]]) -> None:
    assert [(line.text, line.dash) for line in utterances(raw)] == said


@pytest.mark.parametrize(
    ("raw", "name", "text"),
    [
        ("JOHN: Come in.", "JOHN", "Come in."),
        ("Mrs. Smith: Come in.", "Mrs. Smith", "Come in."),
        ("Man 2: Come in.", "Man 2", "Come in."),
        ("MAN ON TV: Come in.", "MAN ON TV", "Come in."),
        ("O'Brien: Come in.", "O'Brien", "Come in."),
        ("JOHN (whispering): Come in.", "JOHN", "Come in."),
        ("[John]: Come in.", "John", "Come in."),
        ("<v Mary Poe>Come in.</v>", "Mary Poe", "Come in."),
        ("JOHN:\nCome in.", "JOHN", "Come in."),
        ("Listen: come in.", None, "Listen: come in."),
        ("Rule one: come in.", None, "Rule one: come in."),
        ("He said: come in.", None, "He said: come in."),
        ("I KNOW ONE THING: COME IN.", None, "I KNOW ONE THING: COME IN."),
        ("12:30. Come in.", None, "12:30. Come in."),
        ("See http://lake.example", None, "See http://lake.example"),
        ("Subtitles: the lake team", None, "Subtitles: the lake team"),
    ],
)
def test_names_are_taken_off(raw: str, name: str | None, text: str) -> None:
    assert [(line.name, line.text) for line in utterances(raw)] == [(name, text)]


def test_a_name_opens_a_new_speaker() -> None:
    said = utterances("JOHN: Hi.\nMARY: Hello\nagain.")
    assert [(line.name, line.text) for line in said] == [("JOHN", "Hi."), ("MARY", "Hello again.")]
    assert not is_name("I")
    assert not is_name("A MAN WHO KNOWS TOO MUCH")


@pytest.mark.parametrize("module", [markup, opus, sentence_rules, speakers, time_rules])
def test_examples_in_the_text(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed


def test_words_become_text() -> None:
    assert detokenised(
        ["Wait , he 'll say it isn 't $ 5 ( or 5 % ) !", "... or do n't .", "get ' em , comin ' ?", "I- -"]
    ) == ["Wait, he'll say it isn't $5 (or 5%)!", "...or don't.", "get 'em, comin'?", "I--"]


def test_sentences_are_cut_and_continued() -> None:
    assert sentences('Who? Mr. J. Poe. "Him?" Yes... 3 times.') == [
        "Who?",
        "Mr. J. Poe.",
        '"Him?"',
        "Yes...",
        "3 times.",
    ]
    first = Line("Up the stairs...", 1.0, 2.0, dash=True, name="A")
    assert continued(first, Line("...to the top.", 2.1, 3.0)) == Line(
        "Up the stairs... to the top.", 1.0, 3.0, dash=True, name="A"
    )
    assert continued(first, Line("...to the top.", 9.0, 10.0)) is None, "too late"
    assert continued(first, Line("to the top.", 2.1, 3.0, dash=True)) is None, "another speaker"
    assert continued(first, Line("to the top.", 2.1, 3.0, name="B")) is None, "another name"
    assert continued(Line("Stop."), Line("and go.")) is None
    assert continued(Line("Home we go"), Line("Home we stay")) is None, "a capital begins anew"
    assert continued(Line("I saw the"), Line("King.")) == Line("I saw the King.")
    assert continued(Line("a" * 500), Line("and on")) is None, "no end in sight"


# --- formats ----------------------------------------------------------------------------------------------------------


def test_opus_words() -> None:
    """Block 3 holds sentences 2 and 3: one knows its start, the other its end. Sentence 4 is only a note."""
    assert read(FIXTURES / "lake.xml").lines == (
        Line('I didn\'t sell the boat... because she called it "ours".', 10.0, 15.25),
        Line("You kept it?", 16.0, None, dash=True),
        Line("Since 7:30 this morning, dad-in-law.", None, 19.0, dash=True),
        Line("And I--", None, None, name="AUNT ROSE"),
    )


def test_opus_raw_sentences() -> None:
    found = read(FIXTURES / "lake_raw.xml")
    assert found.lines == (
        Line("I didn't sell the boat & its oars.", 10.0, 12.5),
        Line("You kept it?", 13.0, 14.0),
    )


def test_opus_times_out_of_place(tmp_path: Path) -> None:
    """A block end that opens the next sentence ends the line before; a block start behind the words opens the next."""
    path = tmp_path / "odd.xml"
    path.write_text(
        '<d><s><time id="T1S" value="00:00:01,0"/>One.</s><s><time id="T1E" value="00:00:02,5"/>'
        'Two.<time id="T2S" value="00:00:03,0"/></s><s>Three.<time id="T2E" value="soon"/></s></d>'
    )
    assert read(path).lines == (Line("One.", 1.0, 2.5), Line("Two."), Line("Three.", 3.0, None))


def test_subrip() -> None:
    """Cues 1 and 2 are one sentence and a second one; the song and the note are gone."""
    assert read(FIXTURES / "station.srt").lines == (
        Line("We waited all night on the old platform... until the lamps went out.", 1.0, None),
        Line("Were you cold?", None, 5.0),
        Line("A little.", 6.0, None, dash=True),
        Line("Take my coat, Mr. Lind.", None, None, dash=True, name="MARTA"),
        Line("I insist.", None, 8.0, name="MARTA"),
        Line("There it is!", 20.0, 22.0),
    )


def test_webvtt() -> None:
    """Names of cues, styles and notes are not said."""
    assert read(FIXTURES / "station.vtt").lines == (
        Line("We waited all night.", 1.0, 3.0, name="Marta"),
        Line("Nobody came & nobody called.", 3.2, 5.0, name="Narrator"),
        Line("Good night.", 3606.0, 3608.0),
    )


def test_ass() -> None:
    """Sorted by start; layers once; comments, drawings and karaoke not at all; a broken style spoils nothing."""
    assert read(FIXTURES / "station.ass").lines == (
        Line("We waited all night, all night.", 1.0, 3.0, name="Marta"),
        Line("A little.", 6.0, None, dash=True),
        Line("Take my coat.", None, 8.0, dash=True),
    )


def test_the_content_says_what_a_file_is(tmp_path: Path) -> None:
    path = tmp_path / "named_wrongly.srt"
    path.write_bytes((FIXTURES / "station.vtt").read_bytes())
    assert read(path).lines == read(FIXTURES / "station.vtt").lines


@pytest.mark.parametrize("name", ["lake.xml", "station.srt", "station.vtt", "station.ass"])
def test_packed_files_read_the_same(name: str, tmp_path: Path) -> None:
    raw = (FIXTURES / name).read_bytes()
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(raw))
    archive = tmp_path / "corpus.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr(f"a/{name}", raw)
        zipped.writestr(f"b/{name}.gz", gzip.compress(raw))
    plain = read(FIXTURES / name).lines
    sources = list(find_sources([packed, archive]))
    assert [source.id for source in sources] == [f"{name}.gz", f"a/{name}", f"b/{name}.gz"]
    for source in sources:
        found = read_subtitle(source)
        assert isinstance(found, Subtitle)
        assert found.lines == plain


# --- encodings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"],
)
@pytest.mark.parametrize("name", ["lake.xml", "station.srt"])
def test_unicode_with_and_without_marks(encoding: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes((FIXTURES / name).read_text(encoding="utf-8").replace("old", "öld").encode(encoding))
    found = read(path)
    assert found.encoding == encoding.removesuffix("-sig")
    assert texts(found.lines) == [line.text.replace("old", "öld") for line in read(FIXTURES / name).lines]


FOREIGN = {
    "cp1252": "Où étais-tu hier soir ? Je t'ai attendue toute la nuit, ça m'a beaucoup déçue, tu sais. À bientôt peut-être.",
    "cp1250": "Dziękuję bardzo, nie chcę już o tym mówić. Czekałam na ciebie całą noc, a ty nie przyszedłeś.",
    "cp1251": "Я не хочу больше об этом говорить, я очень устал. Где ты был вчера вечером? Я ждала тебя всю ночь.",
    "cp1253": "Δεν θέλω να μιλήσω άλλο για αυτό, είμαι κουρασμένος. Πού ήσουν χθες το βράδυ;",
}


@pytest.mark.parametrize("encoding", FOREIGN)
def test_eight_bits(encoding: str) -> None:
    text = "\n".join([FOREIGN[encoding]] * 4)
    assert decode(text.encode(encoding)) == (text, encoding)


def test_english_with_few_signs_beyond_ascii() -> None:
    english = "I waited at the station, and nobody came to meet me there. " * 5
    assert decode((english + "“Café”").encode("cp1252")) == (english + "“Café”", "cp1252")
    assert decode((english + "caf\xe9\x81").encode("latin-1")) == (english + "caf\xe9\x81", "latin-1")


def test_little_damage_leaves_utf8() -> None:
    raw = ("Où étais-tu hier ? " * 10).encode()
    assert decode(raw[:-1] + b"\xff") == ("Où étais-tu hier ? " * 9 + "Où étais-tu hier ?\ufffd", "utf-8")
    assert decode(b"A stray zero \0" + raw) == ("A stray zero " + raw.decode(), "utf-8")


def test_an_xml_head_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "declared.xml"
    path.write_bytes('<?xml version="1.0" encoding="iso-8859-2"?><d><s>Łódź.</s></d>'.encode("iso-8859-2"))
    found = read(path)
    assert (texts(found.lines), found.encoding) == (["Łódź."], "iso8859-2")


# --- times ------------------------------------------------------------------------------------------------------------


def test_times_by_hand() -> None:
    assert (seconds("01:02:03,450"), seconds("0:00:01.5"), seconds("25:00:00,000"), seconds("1:2")) == (
        3723.45, 1.5, None, None,
    )  # fmt: skip
    repaired = in_order(
        [
            Line("overlaps", 1.0, 4.0),
            Line("next", 3.0, 5.0),
            Line("far ahead", 900.0, 901.0),
            Line("backward end", 6.0, 5.5),
            Line("together", 7.0, 8.0),
            Line("together too", 7.0, 8.0),
            Line("no start", None, 7.5),
            Line("only an end", None, 9.0),
        ]
    )
    assert [(line.start, line.end) for line in repaired] == [
        (1.0, 3.0),  # cut at the next start
        (3.0, 5.0),
        (None, None),  # off the longest run of starts
        (6.0, None),
        (7.0, None),  # nothing is left of it
        (7.0, 8.0),
        (None, None),  # before a time already past
        (None, 9.0),
    ]


def test_backward_and_overlapping_cues(tmp_path: Path) -> None:
    path = tmp_path / "backward.srt"
    cues = (("00:00:05,000", "00:00:09,000"), ("00:00:07,000", "00:00:08,000"), ("00:00:01,000", "00:00:02,000"))
    path.write_text("\n\n".join(f"{at}\n{start} --> {end}\nLine {at}." for at, (start, end) in enumerate(cues)))
    assert [(line.start, line.end) for line in read(path).lines] == [(5.0, 7.0), (7.0, 8.0), (None, None)]


times = st.one_of(st.none(), st.integers(0, 60).map(float))


@settings(deadline=None)
@given(st.lists(st.builds(Line, st.just("a"), times, times)))
def test_known_times_never_go_back(lines: list[Line]) -> None:
    repaired = in_order(lines)
    known = [time for line in repaired for time in (line.start, line.end) if time is not None]
    assert all(a <= b for a, b in pairwise(known))
    assert in_order(repaired) == repaired
    assert texts(repaired) == texts(lines)


# --- bad input --------------------------------------------------------------------------------------------------------


def test_reasons_a_person_understands(tmp_path: Path) -> None:
    lake = (FIXTURES / "lake.xml").read_bytes()
    bad = {
        "empty.srt": (b"", "is empty"),
        "blank.xml": (b"\xef\xbb\xbf \r\n", "is empty"),
        "packed_empty.xml.gz": (gzip.compress(b""), "is empty"),
        "cut.xml.gz": (gzip.compress(lake)[:-40], "gzip file cut off before its end"),
        "damaged.xml.gz": (gzip.compress(lake)[:-8] + b"\0" * 8, "damaged gzip file: CRC check failed"),
        "half.xml": (lake[:1500], "broken XML at line "),
        "crossed.xml": (b"<d>\n<s><w>a</s></w></d>", "broken XML at line 2, column 10: mismatched tag"),
        "other.xml": (b"<rss><item>news</item></rss>", "no sentence"),
        "prose.srt": (b"It was a dark night, and no cue was to be seen.", "no subtitle"),
        "picture.srt": (bytes(range(256)) * 8, "is no text"),
        "program.vtt": (b"\x7fELF\x02\x01\x01\x03" * 40, "is no text"),
        "soon.ass": (b"[Events]\nDialogue: 0,soon,later,Default,,0,0,0,,Hello.\n", "no subtitle"),
        "broken.zip": (b"PK\x03\x04 and no more", "broken zip archive"),
    }
    for name, (raw, _) in bad.items():
        (tmp_path / name).write_bytes(raw)
    found = {source.id: read_subtitle(source) for source in find_sources([tmp_path])}
    assert found.keys() == bad.keys()
    for name, (_, expected) in bad.items():
        unreadable = found[name]
        assert isinstance(unreadable, Unreadable), name
        assert expected in unreadable.reason


def test_half_a_file_says_where_it_breaks(tmp_path: Path) -> None:
    lake = (FIXTURES / "lake.xml").read_bytes()[:1500]
    path = tmp_path / "half.xml"
    path.write_bytes(lake)
    assert reason(path).startswith(f"broken XML at line {len(lake.splitlines())},")


def test_what_vanishes_or_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reason(tmp_path / "gone.srt") == "has vanished since the inputs were listed"
    assert "vanished" in reason(tmp_path / "gone.zip", "a.srt")
    (tmp_path / "folder.srt").mkdir()
    assert "cannot be read" in reason(tmp_path / "folder.srt")
    archive = tmp_path / "corpus.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("a.xml", (FIXTURES / "lake.xml").read_bytes())
    assert reason(archive, "b.xml") == "is no longer in its archive"
    whole = archive.read_bytes()
    archive.write_bytes(whole.replace(b"boat", b"goat"))
    assert "CRC" in reason(archive, "a.xml")
    bomb = tmp_path / "bomb.srt.gz"
    bomb.write_bytes(gzip.compress(b"a" * 5000))
    monkeypatch.setattr("harken.curation.readers.LARGEST", 4000)
    assert "is larger than" in reason(bomb)


def test_trouble_of_the_machine_is_not_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many open files, a full disk: calling every further file unreadable would lose the corpus in silence."""

    def fail(*_: object) -> bytes:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(OSError, match="Too many open files"):
        read_subtitle(Source("a.srt", "a.srt"))


# --- where files lie --------------------------------------------------------------------------------------------------


def test_sources(tmp_path: Path) -> None:
    for name in ("1999/042/7.xml.gz", "1999/042/8.xml", "shows/lake.S01.srt", "b.ASS", "notes.txt"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    with zipfile.ZipFile(tmp_path / "in" / "en.zip", "w") as zipped:
        for name in ("OpenSubtitles/xml/en/2001/5/2.xml", "OpenSubtitles/xml/en/2001/5/1.xml", "README"):
            zipped.writestr(name, b"x")
    found = list(find_sources([tmp_path / "in", tmp_path / "in" / "1999"]))  # the second lies in the first
    assert [(source.id, source.film) for source in found] == [
        ("b.ASS", "b"),
        ("en.zip/OpenSubtitles/xml/en/2001/5/1.xml", "2001/5"),
        ("en.zip/OpenSubtitles/xml/en/2001/5/2.xml", "2001/5"),
        ("1999/042/7.xml.gz", "1999/042"),
        ("1999/042/8.xml", "1999/042"),
        ("shows/lake.S01.srt", "shows/lake.S01"),
    ]
    assert list(find_sources([tmp_path / "in"])) == found
    named = list(find_sources([tmp_path / "in" / "en.zip", tmp_path / "in" / "1999" / "042"]))
    assert [source.id for source in named] == [
        "OpenSubtitles/xml/en/2001/5/1.xml", "OpenSubtitles/xml/en/2001/5/2.xml", "7.xml.gz", "8.xml",
    ]  # fmt: skip
    assert {source.film for source in named} == {"2001/5", "1999/042"}


def test_inputs_a_user_can_repair(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    with pytest.raises(HarkenError, match="no such file or folder"):
        list(find_sources([tmp_path / "c"]))
    with pytest.raises(HarkenError, match="holds no subtitle file"):
        list(find_sources([tmp_path / "a"]))
    for folder in ("a", "b"):
        (tmp_path / folder / "same.srt").write_bytes(b"x")
    with pytest.raises(HarkenError, match=r"'same.srt' is in both .*a and .*b; name one folder"):
        list(find_sources([tmp_path / "a", tmp_path / "b"]))


# --- laws -------------------------------------------------------------------------------------------------------------

signs = st.sampled_from("-–—#*♪♫[](){}<>&;:.,!?'\"… \n\t0a")
chunks = st.sampled_from(["JOHN: ", "<i>", "{\\an8}", "&amp;", "&#x0;", "Hi. ", "<v A b>", "...", "\u200b"])
raws = st.one_of(st.text(), st.lists(signs | chunks).map("".join))


@settings(deadline=None)
@given(raws)
def test_cleaning_never_fails_and_never_says_nothing(raw: str) -> None:
    for line in utterances(raw):
        assert line.text == " ".join(line.text.split())
        assert any(sign.isalnum() for sign in line.text)
        assert "♪" not in line.text
        assert line.name is None or line.name.strip()


@settings(deadline=None)
@given(st.lists(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1), min_size=1))
def test_words_are_left_alone(words: list[str]) -> None:
    """Plain words have nothing to clean."""
    assert texts(utterances(" ".join(words))) == [" ".join(words)]


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=300))
def test_any_bytes_are_lines_or_a_reason(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name in ("any.xml", "any.srt", "any.ass", "any.zip"):
        path = folder / name
        path.write_bytes(raw)
        assert read_subtitle(Source(name, str(path))).source.id == name


# --- the real files ---------------------------------------------------------------------------------------------------


def test_real_subtitles(shared_data: Path) -> None:
    """Three OPUS files (1,783, 1,784 and 1,263 sentences) and the SubRip source of the third."""
    found = {source.id: read_subtitle(source) for source in find_sources([shared_data / "subtitles"])}
    films = {name: subtitle for name, subtitle in found.items() if isinstance(subtitle, Subtitle)}
    assert len(films) == len(found) == 4
    counts = {name: len(subtitle.lines) for name, subtitle in films.items()}
    assert counts["opus/109371.xml.gz"] == pytest.approx(1783, abs=10)
    assert counts["opus/3331169.xml.gz"] == pytest.approx(1784, abs=10)
    assert counts["opus/shrek3.xml"] == pytest.approx(1263, abs=10)
    assert films["srt/shrek3.srt"].encoding == "cp1252"
    for subtitle in films.values():
        known = [time for line in subtitle.lines for time in (line.start, line.end) if time is not None]
        assert len(known) > len(subtitle.lines)
        assert all(a <= b for a, b in pairwise(known))
        assert 3600 < known[-1] < 2 * 3600
        assert not any(line.text.startswith(("-", " ")) or " ," in line.text for line in subtitle.lines)


def test_one_film_reads_alike_from_both_formats(shared_data: Path) -> None:
    """OPUS made its sentences from this SubRip file: nearly all lines agree, and with them their times."""
    folder = shared_data / "subtitles"
    opus, subrip = read(folder / "opus" / "shrek3.xml").lines, read(folder / "srt" / "shrek3.srt").lines
    both = set(texts(opus)) & set(texts(subrip))
    assert len(both) > 0.95 * len(set(texts(opus)))
    starts = {(line.text, line.start) for line in opus if line.text in both}
    assert len(starts & {(line.text, line.start) for line in subrip}) > 0.98 * len(starts)
