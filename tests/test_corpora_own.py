"""The user's own files: what is read, what is left out, and sentences that say file, line and remedy."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harken.corpora.base import Skips
from harken.corpora.own import read_own
from harken.corpora.own_csv import parse_columns, read_csv, write_csv
from harken.dialogue import SPLITS, Dialogue, Turn
from harken.errors import HarkenError
from harken.labels import BY_NAME, EMOTIONS


def own(path: Path, content: str | bytes, columns: str | None = None) -> tuple[list[Dialogue], Skips]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    skips = Skips()
    return list(read_own(path, skips, parse_columns(columns) if columns else None)), skips


def line(**fields: Any) -> str:
    turns = [{"role": "speaker", "text": "It snowed."}, {"role": "listener", "text": "Lovely!", "label": "agreeing"}]
    return json.dumps({"id": "a", "turns": turns} | fields) + "\n"


def test_json_lines(tmp_path: Path) -> None:
    (dialogue,), _ = own(tmp_path / "x.jsonl", line(emotion="Joyful", split="dev", persona=["I ski."]) + "\n")
    assert dialogue.emotion == "joyful"
    assert dialogue.split == "valid"
    assert dialogue.persona == ("I ski.",)
    assert dialogue.turns == (Turn("speaker", "It snowed."), Turn("listener", "Lovely!", "agreeing"))


@pytest.mark.parametrize(
    ("second", "complaint"),
    [
        ('{"id": "b", ', r"x\.jsonl:2: not a JSON object"),
        ('["b"]', r"x\.jsonl:2: a dialogue must be a JSON object, not list"),
        (line(id="b", emotion="joyfull"), r"x\.jsonl:2: unknown label 'joyfull'; did you mean 'joyful'\?"),
        (line(id="b", emotion="questioning"), r"x\.jsonl:2: 'questioning' is a response intent"),
        (line(id="b", feeling="sad"), r"x\.jsonl:2: unknown field 'feeling'"),
        (line(id="b", turns=[{"speaker": "me", "text": "x"}]), r"x\.jsonl:2: unknown field 'speaker'"),
        (line(id="b", turns=[{"role": "listener", "text": " "}]), r"x\.jsonl:2: a turn's text is empty"),
        (line(id="b", turns=[]), r"x\.jsonl:2: 'turns' must be a list"),
        (line(id="b", situation=5), r"x\.jsonl:2: 'situation' must be a string, not int"),
        (line(id="b", split="half"), r"x\.jsonl:2: unknown split 'half'"),
        (line(), r"x\.jsonl:2: the id 'a' stands on line 1 already"),
        (line(id="b").replace("Lovely", "\\ud83d"), r"x\.jsonl:2: not a JSON object"),
        (b'{"id": "caf\xe9"}', r"x\.jsonl:2: not UTF-8 \(byte 0xe9 at column 12\)"),
    ],
)
def test_a_broken_line_is_told_with_its_place(second: str | bytes, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match=complaint):
        own(tmp_path / "x.jsonl", line().encode() + (second if isinstance(second, bytes) else second.encode()))


def test_a_one_sided_dialogue_is_left_out_unless_it_was_exported(tmp_path: Path) -> None:
    alone = [{"role": "speaker", "text": "Hello?"}]
    kept, skips = own(
        tmp_path / "x.jsonl", line() + line(id="b", turns=alone) + line(id="c", turns=alone, source="meld")
    )
    assert [dialogue.id for dialogue in kept] == ["a", "c"]
    assert skips.lines() == ["left out 1 × one-sided dialogue (x.jsonl:2)"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match=r"must be one file whose name ends in \.jsonl"):
        own(tmp_path / "x.docx", "hello")
    with pytest.raises(HarkenError, match="is not CSV, so it has no columns"):
        own(tmp_path / "x.jsonl", line(), "text=body")


CSV = """conv,who,body,mood
1,Ann,"My cat, Tom,
is back!",joyful
1,Ben,Hooray!,joyful
2,Ben,I sold my car.,sad
2,Ann,Oh.,sad
"""


def test_csv_with_named_columns(tmp_path: Path) -> None:
    """People's names: whoever begins is the speaker. A quoted field keeps its comma and line break."""
    dialogues, _ = own(tmp_path / "x.csv", CSV, "dialogue=conv,role=who,text=body,emotion=mood")
    assert [d.emotion for d in dialogues] == ["joyful", "sad"]
    assert [(t.role, t.text) for t in dialogues[0].turns] == [
        ("speaker", "My cat, Tom,\nis back!"),
        ("listener", "Hooray!"),
    ]
    assert [t.role for t in dialogues[1].turns] == ["speaker", "listener"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_by_its_usual_names(delimiter: str, tmp_path: Path) -> None:
    rows = [
        "Conversation_ID,Role,Message",
        "7,user,I passed",
        "7,assistant,Well done",
        "8,user,Anyone there?",
        "8,user,",
    ]
    dialogues, skips = own(tmp_path / "x.csv", "\r\n".join(rows).replace(",", delimiter))
    assert [(t.role, t.text) for d in dialogues for t in d.turns] == [
        ("speaker", "I passed"),
        ("listener", "Well done"),
    ]
    assert skips.counts == {"empty turn": 1, "one-sided dialogue": 1}


@pytest.mark.parametrize(
    ("text", "columns", "complaint"),
    [
        (CSV, None, r"x\.csv:1: no column for the dialogue and the text \(columns found: conv, who, body, mood\)"),
        (CSV, "text=boddy,dialogue=conv", r"there is no column 'boddy' for the text; did you mean 'body'\?"),
        ("dialogue,role,text\n1,user\n", None, r"x\.csv:2: 2 fields where the header has 3"),
        ('dialogue,role,text\n1,user,"open\n', None, r"x\.csv:\d+: not a CSV row"),
        ("dialogue,role,text\n,user,hi\n", None, r"x\.csv:2: the row does not say to which dialogue it belongs"),
        (
            "dialogue,role,text\n1,user,hi\n1,lisener,ho\n",
            None,
            r"x\.csv:3: unknown role 'lisener'; did you mean 'listener'",
        ),
        ("dialogue,role,text,label\n1,user,hi,\n1,bot,ho,wishin\n", None, r"x\.csv:3: unknown label 'wishin'"),
        ("dialogue,role,text,emotion\n1,user,hi,blue\n1,bot,ho,\n", None, r"x\.csv:2: unknown label 'blue'"),
        (
            "dialogue,role,text,extra\n1,user,hi,{\n1,bot,ho,\n",
            None,
            r"x\.csv:2: the column 'extra' does not hold JSON",
        ),
    ],
)
def test_csv_mistakes(text: str, columns: str | None, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match=complaint):
        own(tmp_path / "x.csv", text, columns)


def test_columns_as_the_command_line_gives_them() -> None:
    assert parse_columns("text=a b, role = who") == {"text": "a b", "role": "who"}
    with pytest.raises(HarkenError, match="write it as"):
        parse_columns("text")
    with pytest.raises(HarkenError, match="a row has no 'txt'; did you mean 'text'"):
        parse_columns("txt=a")


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), min_size=1).filter(
    lambda text: text == text.strip() and text
)
turns = st.builds(
    Turn, st.sampled_from(["speaker", "listener"]), words, st.none() | st.sampled_from(sorted(BY_NAME)),
    st.dictionaries(words, st.integers() | words, max_size=2),
)  # fmt: skip
dialogues = st.builds(
    Dialogue,
    id=words,
    turns=st.lists(turns, min_size=1, max_size=4).map(tuple),
    emotion=st.none() | st.sampled_from(EMOTIONS),
    situation=st.none() | words,
    split=st.sampled_from(SPLITS),
    source=st.just("somewhere"),
    persona=st.lists(words, max_size=2).map(tuple),
    extra=st.dictionaries(words, st.none() | words, max_size=2),
)


@given(st.lists(dialogues, max_size=4, unique_by=lambda dialogue: dialogue.id))
def test_what_is_written_as_csv_is_read_back(tmp_path_factory: pytest.TempPathFactory, records: list[Dialogue]) -> None:
    stream = io.StringIO()
    assert write_csv(records, stream) == len(records)
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_text(stream.getvalue(), encoding="utf-8", newline="")
    assert list(read_csv(path, Skips())) == records
