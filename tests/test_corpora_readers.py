"""Each reader on a few lines in its corpus's layout, written for these tests: what it survives, what it refuses."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harken.corpora import CORPORA, OWN, STARTER
from harken.corpora.base import Skips, hash_split
from harken.corpora.meld import seconds
from harken.dialogue import Dialogue
from harken.errors import HarkenError


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def read(name: str, path: Path) -> tuple[list[Dialogue], Skips]:
    skips = Skips()
    return list(CORPORA[name].read(path, skips)), skips


def said(dialogue: Dialogue) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in dialogue.turns]


def table(header: str, *rows: list[str]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([header.split(","), *rows])
    return stream.getvalue()


# EmpatheticDialogues

ED_HEADER = "conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags\n"
ED_TRAIN = (
    ED_HEADER
    + 'hit:1_conv:2,1,proud,My son baked bread_comma_ alone.,77,He said "I did it_comma_ papa!,5|5|5_2|2|2,\n'
    + "hit:1_conv:2,2,proud,My son baked bread_comma_ alone.,31,How old is he?,5|5|5_2|2|2,\n"
    + "hit:1_conv:2,3,proud,My son baked bread_comma_ alone.,77,Nine_comma_ just.,5|5|5_2|2|2,,one|two|three\n"
    + "hit:2_conv:4,1,lonely,Nobody called.,9,The phone was silent all day.,,\n"
)
ED_ONE = ED_HEADER + "hit:{0},1,sad,It rained.,1,It rained.,,\nhit:{0},2,sad,It rained.,0,Oh dear.,,\n"
ED_FILES = {"train.csv": ED_TRAIN, "valid.csv": ED_ONE.format("5_conv:0"), "test.csv": ED_ONE.format("6_conv:1")}


def test_empatheticdialogues(tmp_path: Path) -> None:
    """Commas come back, the stray quote stays, worker 77 speaks first and so is the speaker, nine fields are fine."""
    dialogues, skips = read("empatheticdialogues", write(tmp_path, ED_FILES))
    assert [(d.id, d.split) for d in dialogues] == [
        ("hit:1_conv:2", "train"),
        ("hit:2_conv:4", "train"),
        ("hit:5_conv:0", "valid"),
        ("hit:6_conv:1", "test"),
    ]
    first = dialogues[0]
    assert first.emotion == "proud"
    assert first.situation == "My son baked bread, alone."
    assert said(first) == [
        ("speaker", 'He said "I did it, papa!'),
        ("listener", "How old is he?"),
        ("speaker", "Nine, just."),
    ]
    assert first.extra == {"selfeval": "5|5|5_2|2|2"}
    assert skips.lines() == ["kept 1 × one-sided conversation (train.csv:5)"]


def tar_gz(path: Path, files: Mapping[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"empatheticdialogues/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


def test_the_archive_reads_as_the_folder_does(tmp_path: Path) -> None:
    """Whatever the order inside, and with the droppings of another system among the files."""
    archive = tar_gz(tmp_path / "ed.tar.gz", {"._train.csv": "junk", **dict(reversed(ED_FILES.items()))})
    assert read("empatheticdialogues", archive)[0] == read("empatheticdialogues", write(tmp_path / "f", ED_FILES))[0]
    zipped = tmp_path / "ed.zip"
    with zipfile.ZipFile(zipped, "w") as out:
        for name, text in ED_FILES.items():
            out.writestr(name, text)
    assert read("empatheticdialogues", zipped)[0] == read("empatheticdialogues", archive)[0]


def test_labels_beside_the_conversations_label_the_turns(tmp_path: Path) -> None:
    labels = "conv_id,utterance_idx,label\nhit:1_conv:2,2,Questioning\nhit:1_conv:2,1,proud\nhit:9_conv:9,1,sad\n"
    in_folder, _ = read("empatheticdialogues", write(tmp_path / "f", {**ED_FILES, "utterance_labels.csv": labels}))
    assert [turn.label for turn in in_folder[0].turns] == ["proud", "questioning", None]
    archive = tar_gz(tmp_path / "ed.tar.gz", ED_FILES)
    write(tmp_path, {"utterance_labels.csv": labels})
    assert read("empatheticdialogues", archive)[0] == in_folder


def test_broken_rows_are_left_out_and_counted(tmp_path: Path) -> None:
    broken = ED_TRAIN + "hit:3_conv:1,1,sad,only,four\n" + "hit:3_conv:1,2,sad,Oh.,1,  ,,\n"
    dialogues, skips = read("empatheticdialogues", write(tmp_path, {**ED_FILES, "train.csv": broken}))
    assert len(dialogues) == 4
    assert skips.counts == {"row without 8 or 9 fields": 1, "empty turn": 1}
    assert skips.places["empty turn"] == ["train.csv:7"]


def test_an_unknown_emotion_names_its_line_and_the_nearest(tmp_path: Path) -> None:
    folder = write(tmp_path, {**ED_FILES, "train.csv": ED_TRAIN.replace(",lonely,", ",lonley,")})
    with pytest.raises(HarkenError, match=r"train\.csv:5: unknown label 'lonley'; did you mean 'lonely'\?"):
        read("empatheticdialogues", folder)


def test_an_unknown_label_names_its_line(tmp_path: Path) -> None:
    labels = "conv_id,utterance_idx,label\nhit:1_conv:2,2,asking\n"
    with pytest.raises(HarkenError, match=r"utterance_labels\.csv:2: unknown label 'asking'"):
        read("empatheticdialogues", write(tmp_path, {**ED_FILES, "utterance_labels.csv": labels}))


# EmpatheticIntents


def test_empathetic_intents_train_data(tmp_path: Path) -> None:
    """40 is neutral, whatever labels.txt says; an emotion makes it the speaker's text, an intent the listener's."""
    lines = {"train.txt": "26 <SEP> I did it, all alone.\n40 <SEP> ok.\n38 <SEP> who?\n", "labels.txt": "neutral,38\n"}
    folder = write(tmp_path / "train_data", {**lines, "valid.txt": "0 <SEP> dark\n", "test.txt": "39 <SEP> cheers\n"})
    dialogues, _ = read("empathetic_intents", folder.parent)
    assert [(d.split, d.emotion, d.turns[0].role, d.turns[0].label) for d in dialogues] == [
        ("train", "proud", "speaker", "proud"),
        ("train", None, "listener", "neutral"),
        ("train", None, "listener", "questioning"),
        ("valid", "afraid", "speaker", "afraid"),
        ("test", None, "listener", "wishing"),
    ]
    assert dialogues[0].turns[0].text == "I did it, all alone."
    assert read("empathetic_intents", folder)[0] == dialogues


def test_empathetic_intents_other_parts(tmp_path: Path) -> None:
    extended = {
        f"x/{split}/{name}.txt": f"{number} <SEP> {name} {split}\n"
        for split in ("train", "validation", "test")
        for name, number in (("acknowleding", 33), ("questioning", 38))
    }
    dialogues, _ = read("empathetic_intents", write(tmp_path, extended) / "x")
    assert {(d.split, d.turns[0].label) for d in dialogues} == {
        (split, label) for split in ("train", "valid", "test") for label in ("acknowledging", "questioning")
    }
    by_hand = write(tmp_path / "m", {"questioning.txt": "How old?\n\nReally?", "advising.txt": "Drink water\n"})
    dialogues, skips = read("empathetic_intents", by_hand)
    assert [(d.turns[0].label, d.extra["category"], d.split) for d in dialogues] == [
        (None, "advising", "test"),
        ("questioning", "questioning", "test"),
        ("questioning", "questioning", "test"),
    ]
    assert skips.counts == {"empty text": 1}


def test_empathetic_intents_refuses_other_numbers(tmp_path: Path) -> None:
    folder = write(tmp_path, {f"{split}.txt": "1 <SEP> grr\n41 <SEP> what\n" for split in ("train", "valid", "test")})
    with pytest.raises(HarkenError, match=r"train\.txt:2: not 'label <SEP> text' with a label in 0\.\.40"):
        read("empathetic_intents", folder)


# EPITOME

EPITOME = "sp_id,rp_id,seeker_post,response_post,level,rationales"


def epitome(*levels: tuple[str, str, str]) -> dict[str, str]:
    """Pairs of one post and response each, judged (emotional reactions, interpretations, explorations)."""
    names = ("emotional-reactions", "interpretations", "explorations")
    post, response = 'I am "fine",\nreally.', "You matter  &amp; you count. Tell me more?"
    files = {}
    for i, name in enumerate(names):
        pieces = "you count.|Tell me more?|" if name == "explorations" else ""
        rows = (["s1", "r1", post, response, level[i], pieces] for level in levels)
        files[f"{name}-reddit.csv"] = table(EPITOME, *rows)
    return files


def test_empathy_mental_health_merges_the_mechanisms(tmp_path: Path) -> None:
    dialogues, _ = read("empathy_mental_health", write(tmp_path, epitome(("1", "0", "2"), ("0", "0", "1"))))
    first, again = dialogues
    assert (first.id, again.id) == ("s1_r1", "s1_r1#2")
    assert said(first) == [("speaker", 'I am "fine", really.'), ("listener", "You matter & you count. Tell me more?")]
    assert first.turns[1].extra == {
        "emotional_reactions": {"level": 1, "rationales": []},
        "interpretations": {"level": 0, "rationales": []},
        "explorations": {"level": 2, "rationales": ["you count.", "Tell me more?"]},
    }
    assert again.turns[1].extra["explorations"]["level"] == 1
    assert first.split == again.split


def test_a_level_is_0_1_or_2(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match=r"explorations-reddit\.csv:2: the level is '3'"):
        read("empathy_mental_health", write(tmp_path, epitome(("1", "0", "3"))))


def test_hash_splits_keep_their_ratio() -> None:
    splits = [hash_split(str(i), valid=0.05, test=0.20) for i in range(10_000)]
    assert splits.count("test") == pytest.approx(2_000, abs=150)
    assert splits.count("valid") == pytest.approx(500, abs=80)


def test_hash_splits_by_hand() -> None:
    """The SHA-256 of a, b and d begin with ca, 3e and 18: 0.79, 0.24 and 0.09 of the way from 00 to ff."""
    splits = [hash_split(key, valid=0.05, test=0.20) for key in ("a", "b", "d")]
    assert splits == ["train", "valid", "test"]


# ESConv


def esconv(text: str, speaker: str = "usr") -> dict[str, Any]:
    return {
        "emotion_type": "anxiety", "problem_type": "job crisis", "experience_type": "Current",
        "situation": " Lay-offs. ", "survey_score": {"seeker": {"empathy": "5"}},
        "dialog": [
            {"text": text, "speaker": speaker}, {"text": "and now?", "speaker": speaker},
            {"text": "I hear you.", "speaker": "sys", "strategy": "Reflection of feelings"},
        ],
    }  # fmt: skip


def test_esconv(tmp_path: Path) -> None:
    """Turns in a row stay apart; strategies and surveys are extra; its emotions are not the 32."""
    files = {f"{split}.txt": json.dumps(esconv(split)) + "\n" for split in ("train", "valid", "test")}
    failed = [{"dialog": [{"speaker": "speaker", "annotation": {}, "content": "x\n"}]}]
    dialogues, _ = read("esconv", write(tmp_path, {**files, "FailedESConv.json": json.dumps(failed)}))
    assert [d.split for d in dialogues] == ["train", "valid", "test"]
    assert said(dialogues[0]) == [("speaker", "train"), ("speaker", "and now?"), ("listener", "I hear you.")]
    assert dialogues[0].turns[2].extra == {"strategy": "Reflection of feelings"}
    assert dialogues[0].situation == "Lay-offs."
    assert dialogues[0].emotion is None
    assert dialogues[0].extra["survey_score"] == {"seeker": {"empathy": "5"}}


def test_esconv_as_one_list_and_failed(tmp_path: Path) -> None:
    turns = [
        {"speaker": "seeker", "annotation": {"feedback": "1"}, "content": "hey\n"},
        {"speaker": "supporter", "annotation": {"strategy": "Other"}, "content": "hi"},
    ]
    records = json.dumps([{"situation": "", "dialog": turns}, {"dialog": turns[:1]}], indent=1)
    dialogues, skips = read("esconv", write(tmp_path, {"FailedESConv.json": records}) / "FailedESConv.json")
    (failed,) = dialogues
    assert failed.extra == {"failed": True}
    assert [turn.extra for turn in failed.turns] == [{"feedback": "1"}, {"strategy": "Other"}]
    assert skips.counts == {"one-sided conversation": 1}
    (whole,), _ = read("esconv", write(tmp_path, {"ESConv.json": records}) / "ESConv.json")
    assert (whole.id, whole.extra) == ("all:1", {})


def test_esconv_refuses_unknown_sides(tmp_path: Path) -> None:
    lines = {f"{split}.txt": json.dumps(esconv("x", "robot")) for split in ("train", "valid", "test")}
    with pytest.raises(HarkenError, match=r"train\.txt:1: a turn has speaker 'robot'"):
        read("esconv", write(tmp_path, lines))


# DailyDialog


def daily(text: str, acts: str, emotions: str) -> dict[str, str]:
    return {
        f"{folder}/dialogues_{kind}{folder}.txt": content
        for folder in ("train", "validation", "test")
        for kind, content in (("", text), ("act_", acts), ("emotion_", emotions))
    }


def test_dailydialog(tmp_path: Path) -> None:
    """Line 2 has three turns and two labels: kept without them, and counted, once a split."""
    text = "Tea ? __eou__ Yes , I ’ d love some . __eou__\nOne __eou__ two __eou__ three __eou__\n"
    dialogues, skips = read("dailydialog", write(tmp_path, daily(text, "2 1 \n1 1 \n", "0 4 \n0 0 \n")))
    assert [d.split for d in dialogues] == ["train", "train", "valid", "valid", "test", "test"]
    assert said(dialogues[0]) == [("speaker", "Tea ?"), ("listener", "Yes , I ’ d love some .")]
    assert [dict(turn.extra) for turn in dialogues[0].turns] == [
        {"act": "question", "emotion": "none"},
        {"act": "inform", "emotion": "happiness"},
    ]
    assert [turn.extra for turn in dialogues[1].turns] == [{}, {}, {}]
    assert skips.kept.total() == 3


def test_dailydialog_as_parlai_packs_it(tmp_path: Path) -> None:
    turns = [
        {"emotion": "no_emotion", "act": "question", "text": "Tea ?"},
        {"emotion": "happiness", "act": "inform", "text": "Yes , please ."},
    ]
    line = json.dumps({"fold": "train", "topic": "ordinary_life", "dialogue": turns}) + "\n"
    dialogues, _ = read("dailydialog", write(tmp_path, {f"{split}.json": line for split in ("train", "valid", "test")}))
    assert dialogues[0].extra == {"topic": "ordinary_life"}
    assert dialogues[0].turns[0].extra == {"act": "question", "emotion": "none"}
    assert [d.split for d in dialogues] == ["train", "valid", "test"]


def test_dailydialog_refuses_unknown_numbers(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match=r"dialogues_train\.txt:1: there is no act number '9'"):
        read("dailydialog", write(tmp_path, daily("a __eou__ b __eou__\n", "1 9\n", "0 0\n")))


# MELD


def test_meld(tmp_path: Path) -> None:
    header = "Sr No.,Utterance,Speaker,Emotion,Sentiment,Dialogue_ID,Utterance_ID,Season,Episode,StartTime,EndTime"
    rows = [
        ["1", "Well, hello.", "Ada", "joy", "positive", "0", "0", "8", "21", "00:16:16,059", "0:16:21,731"],
        ["2", "Who's there?", "Ben", "fear", "negative", "0", "1", "8", "21", "00:16:22,000", "00:16:23,500"],
        ["3", "Only me.", "Cyd", "neutral", "neutral", "0", "2", "8", "21", "00:16:24,000", "00:16:25,000"],
        ["4", "Alone.", "Ada", "sadness", "negative", "1", "0", "8", "22", "00:00:01,000", "00:00:02,000"],
    ]
    files = dict.fromkeys(("train_sent_emo.csv", "dev_sent_emo.csv", "test_sent_emo.csv"), table(header, *rows))
    dialogues, skips = read("meld", write(tmp_path, files))
    assert [(d.id, d.split) for d in dialogues[:3]] == [
        ("train:0", "train"),
        ("train:1", "train"),
        ("valid:0", "valid"),
    ]
    assert [turn.role for turn in dialogues[0].turns] == ["speaker", "listener", "listener"]
    assert dialogues[0].turns[0].extra == {
        "name": "Ada", "emotion": "joy", "sentiment": "positive", "start": 976.059, "end": 981.731
    }  # fmt: skip
    assert dialogues[0].extra == {"season": "8", "episode": "21"}
    assert skips.kept == {"one-sided scene": 3}


def test_seconds_by_hand() -> None:
    """1 h 2 min 3.5 s = 3600 + 120 + 3.5."""
    assert seconds("01:02:03,500") == 3723.5
    with pytest.raises(HarkenError, match="the time 'noon'"):
        seconds("noon")


# 20 Newsgroups


def test_newsgroups20(tmp_path: Path) -> None:
    post = json.dumps({"label": "sci.space", "text": "Subject: moon\n\nIs it cheese?\n"}) + "\n"
    files = {f"{split}.jsonl.gz": gzip.compress(post.encode()) for split in ("train", "test")}
    dialogues, _ = read("newsgroups20", write(tmp_path, files))
    assert [(d.id, d.split, d.extra["topic"]) for d in dialogues] == [
        ("train:1", "train", "sci.space"),
        ("test:1", "test", "sci.space"),
    ]
    assert said(dialogues[0]) == [("speaker", "Subject: moon\n\nIs it cheese?")]


# PEC

PEC_ROW = {
    "context": ["i got the part !", "which one ?", "the lead , would you believe it"],
    "context_speakers": ["ann", "ben", "ann"],
    "response": "so proud of you .",
    "response_speaker": "ben",
    "personas": ["i paint .", "i own two goats ."],
}


def check_pec(dialogue: Dialogue) -> None:
    assert [turn.role for turn in dialogue.turns] == ["speaker", "listener", "speaker", "listener"]
    assert dialogue.turns[-1].text == "so proud of you ."
    assert dialogue.turns[0].extra == {"name": "ann"}
    assert dialogue.persona == ("i paint .", "i own two goats .")


def test_pec_as_parquet_shards(tmp_path: Path) -> None:
    for name in (
        "happy/train-00000-of-00002",
        "happy/train-00001-of-00002",
        "happy/validation-00000-of-00001",
        "all/test/0000",
    ):
        path = tmp_path / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist([PEC_ROW]), path)
    dialogues, _ = read("pec", tmp_path)
    assert [(d.id, d.split, d.extra["domain"]) for d in dialogues] == [
        ("happy:train:1", "train", "happy"),
        ("happy:train:2", "train", "happy"),
        ("happy:valid:1", "valid", "happy"),
    ], "the domain 'all' repeats the others, so it is read only when it stands alone"
    check_pec(dialogues[0])
    assert [d.id for d in read("pec", tmp_path / "all")[0]] == ["test:1"]


def test_pec_as_json(tmp_path: Path) -> None:
    line = json.dumps(PEC_ROW)
    files = {"train.jsonl": f"{line}\n{line}\n", "validation.json": f"[{line},\n{line}]", "test.json": line}
    dialogues, skips = read("pec", write(tmp_path, files))
    assert [d.id for d in dialogues] == ["train:1", "train:2", "valid:1", "valid:2", "test:1"]
    check_pec(dialogues[3])
    alone = json.dumps(PEC_ROW | {"context": [], "context_speakers": []})
    dialogues, skips = read("pec", write(tmp_path, {"train.jsonl": f"{alone}\n{line}\n"}))
    assert skips.lines() == ["left out 1 × response without context (train.jsonl:1)"]


def test_pec_as_text(tmp_path: Path) -> None:
    talk = (
        "ann---+---i got the part !\nben---+---which one ?\n"
        "ann---+---the lead ,\nwould you believe it\nben---+---so proud of you .\n"
    )
    persona = "ben\ni paint .\ni own two goats .\n********************\nann\ni act .\n********************\n"
    with zipfile.ZipFile(tmp_path / "hf_pec.zip", "w") as archive:
        for name in ("train", "valid", "test"):
            archive.writestr(f"hf_pec/happy/{name}.txt", talk + "********************\n")
        archive.writestr("hf_pec/happy/persona.txt", persona)
    dialogues, _ = read("pec", tmp_path / "hf_pec.zip")
    assert [d.id for d in dialogues] == ["happy:train:1", "happy:valid:1", "happy:test:1"]
    check_pec(dialogues[0])


def test_pec_names_a_missing_field(tmp_path: Path) -> None:
    row = {key: value for key, value in PEC_ROW.items() if key != "personas"}
    with pytest.raises(HarkenError, match=r"train\.jsonl:1: there is no field personas \(fields found: context, "):
        read("pec", write(tmp_path, {"train.jsonl": json.dumps(row)}))


# The table


@pytest.mark.parametrize("name", CORPORA)
def test_every_corpus_refuses_what_it_is_not(name: str, tmp_path: Path) -> None:
    """A folder with somebody's letters in it is none of them, and the sentence says so."""
    write(tmp_path, {"letters/to mum.doc": "Dear Mum"})
    if name != STARTER:
        with pytest.raises(HarkenError, match=r"there is no |no file in it is named|must be one file"):
            read(name, tmp_path)


def test_the_table_tells_what_a_user_needs() -> None:
    for name, corpus in CORPORA.items():
        assert corpus.name == name
        assert corpus.title and corpus.licence and corpus.expects
        assert corpus.citation or name == OWN
        assert corpus.download is None or len(corpus.download.sha256) == 64
