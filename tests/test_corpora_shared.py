"""The real corpora: the counts that are published for them, and the way out and back in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harken.corpora import library
from harken.corpora.empathy_mental_health import MECHANISMS
from harken.corpora.library import Format
from harken.dialogue import examples
from harken.labels import BY_NAME

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home")]

COUNTS = {
    "empatheticdialogues": (
        {"train": 19_532, "valid": 2_769, "test": 2_546},
        {"train": 84_204, "valid": 12_074, "test": 10_969},
        {"train": 40_273, "valid": 5_736, "test": 5_257},
    ),
    "empathetic_intents": ({"train": 25_023, "valid": 3_544, "test": 3_225}, None, None),
    "empathy_mental_health": ({"train": 2_304, "valid": 141, "test": 639}, None, None),
    "esconv": ({"train": 910, "valid": 195, "test": 195}, None, None),
    "dailydialog": ({"train": 11_118, "valid": 1_000, "test": 1_000}, None, None),
    "newsgroups20": ({"train": 11_314, "test": 7_532}, None, None),
    "meld": ({"train": 1_038, "valid": 114, "test": 280}, {"train": 9_989, "valid": 1_109, "test": 2_610}, None),
}
"""Dialogues, turns and listener turns per split, where they are published."""


@pytest.mark.parametrize("name", COUNTS)
def test_counts_and_the_way_back(name: str, shared_data: Path, tmp_path: Path) -> None:
    """As published; and what is exported, as JSON lines or CSV, is read back with the same content hash."""
    manifest = library.add(name, shared_data / name).manifest
    dialogues, turns, listener_turns = COUNTS[name]
    assert manifest.dialogues == dialogues
    assert turns is None or manifest.turns == turns
    assert listener_turns is None or manifest.listener_turns == listener_turns
    assert manifest.skipped == {}
    forms: tuple[Format, ...] = ("jsonl", "csv")
    for form in forms:
        path = tmp_path / f"x.{form}"
        with path.open("w", encoding="utf-8", newline="") as stream:
            assert library.export(name, stream, form=form) == manifest.total
        assert library.add("again", path).manifest.sha256 == manifest.sha256, form


def test_empatheticdialogues_in_time_and_memory(shared_data: Path) -> None:
    """Read and stored with under 5 s of computing (the benchmark measures the waiting) and under 1 GB."""
    code = (
        "import resource, sys; from pathlib import Path; from harken.corpora import library\n"
        "library.add('empatheticdialogues', Path(sys.argv[1]))\n"
        "used = resource.getrusage(resource.RUSAGE_SELF); print(used.ru_utime + used.ru_stime, used.ru_maxrss)"
    )
    folder = str(shared_data / "empatheticdialogues")
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    seconds, kilobytes = map(float, done.stdout.split())
    assert seconds < 5
    assert kilobytes < 1_000_000


def test_empatheticdialogues_as_the_papers_use_it(shared_data: Path) -> None:
    library.add("empatheticdialogues", shared_data / "empatheticdialogues")
    manifest = library.manifest("empatheticdialogues")
    assert manifest.kept == {"one-sided conversation": 3}
    labelled = sum(turn.label is not None for d in library.iterate("empatheticdialogues") for turn in d.turns)
    assert labelled > 90_000
    assert sum(1 for d in library.iterate("empatheticdialogues", "test") for _ in examples(d)) == 5_257


def test_what_else_the_corpora_know(shared_data: Path) -> None:
    library.add("empathy_mental_health", shared_data / "empathy_mental_health")
    judged = [d.turns[1] for d in library.iterate("empathy_mental_health")]
    assert len(judged) == 3_084
    for mechanism, levels in zip(MECHANISMS, ((2_037, 895, 152), (1_626, 114, 1_344), (2_604, 104, 376)), strict=True):
        found = [turn.extra[mechanism]["level"] for turn in judged]
        assert tuple(found.count(level) for level in (0, 1, 2)) == levels
    pieces = [(piece, turn.text) for turn in judged for m in MECHANISMS for piece in turn.extra[m]["rationales"]]
    assert sum(piece in text for piece, text in pieces) / len(pieces) > 0.99

    assert library.add("esconv", shared_data / "esconv" / "FailedESConv.json", as_name="failed").manifest.total == 196
    assert all(d.extra["failed"] for d in library.iterate("failed"))

    daily = library.add("dailydialog", shared_data / "dailydialog")
    assert sum(daily.skips.kept.values()) == 1

    intents = shared_data / "empathetic_intents"
    by_hand = library.add("empathetic_intents", intents / "manual_annotations", as_name="by_hand")
    assert by_hand.manifest.dialogues == {"test": 506}
    extended = library.add("empathetic_intents", intents / "lexically_extended_intent_data", as_name="extended")
    assert extended.manifest.dialogues == {"train": 35_612, "valid": 5_179, "test": 4_675}
    assert {d.turns[0].label for d in library.iterate("extended")} <= set(BY_NAME)


def test_twenty_topics(shared_data: Path) -> None:
    library.add("newsgroups20", shared_data / "newsgroups20")
    assert len({d.extra["topic"] for d in library.iterate("newsgroups20")}) == 20
