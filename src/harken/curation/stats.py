"""Tables 1 and 2 and Figure 2 of MEED2 (Xie and Pu 2021) for any dialogues.

    Table 1     all cleaned dialogues      dialogs, turns, tokens, and their averages
    Table 2     the emotional ones (EDOS)  the same
    Figure 2    EDOS                       how often each of the 41 labels is the last utterance's

Tokens are words and punctuation marks, as everywhere in harken's statistics; the paper does not say how it counts them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harken.corpora import library
from harken.corpora.words import count_tokens
from harken.curation.shards import Counts, add_up
from harken.dialogue import Dialogue
from harken.errors import HarkenError
from harken.labels import LABELS

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Size:
    """One of the tables."""

    dialogues: int
    turns: int
    tokens: int

    def rows(self) -> dict[str, float]:
        """The paper's six rows, in its order."""
        return {
            "dialogs": self.dialogues,
            "turns": self.turns,
            "tokens": self.tokens,
            "turns per dialog": round(self.turns / max(1, self.dialogues), 2),
            "tokens per turn": round(self.tokens / max(1, self.turns), 2),
            "tokens per dialog": round(self.tokens / max(1, self.dialogues), 2),
        }


@dataclass(frozen=True)
class CurationStats:
    """The tables by name, and Figure 2: dialogues by the label of their last utterance, in the order of the labels."""

    tables: dict[str, Size]
    last: dict[str, int]

    def shares(self) -> dict[str, float]:
        """Figure 2 as shares of the dialogues, the most frequent first."""
        total = max(1, sum(self.last.values()))
        ordered = sorted(self.last.items(), key=lambda item: (-item[1], item[0]))
        return {name: count / total for name, count in ordered}

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        tables = {name: size.rows() for name, size in self.tables.items()}
        return {"tables": tables, "last_utterance": self.last}


def tally(dialogues: Iterable[Dialogue]) -> Counts:
    """What the tables and the figure need of some dialogues, in numbers that can be added up."""
    counts: Counts = {"dialogues": 0, "turns": 0, "tokens": 0, "last": {}}
    for dialogue in dialogues:
        last = dialogue.turns[-1].label
        one: Counts = {
            "dialogues": 1,
            "turns": len(dialogue.turns),
            "tokens": sum(count_tokens(turn.text) for turn in dialogue.turns),
            "last": {} if last is None else {last: 1},
        }
        add_up(counts, one)
    return counts


def folder_stats(folder: Path) -> CurationStats:
    """The statistics of what `harken curate run` wrote; they are in its manifest."""
    try:
        counts = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["selected"]
        edos, rest = counts["edos"], counts["os"]
        whole: Counts = {}
        add_up(whole, edos)
        add_up(whole, rest)
        return CurationStats(
            {"all dialogues (Table 1)": _size(whole), "EDOS (Table 2)": _size(edos), "OS": _size(rest)},
            _in_order(edos["last"]),
        )
    except FileNotFoundError as problem:
        raise HarkenError(
            f"{folder}: has no {MANIFEST}; finish it with: harken curate run … --out {folder}"
        ) from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise HarkenError(f"{folder / MANIFEST}: was not written by harken curate ({problem!r})") from problem


def corpus_stats(name: str) -> CurationStats:
    """The same of a corpus."""
    counts = tally(library.iterate(name))
    return CurationStats({name: _size(counts)}, _in_order(counts["last"]))


def _size(counts: Mapping[str, Any]) -> Size:
    return Size(counts["dialogues"], counts["turns"], counts["tokens"])


def _in_order(last: Mapping[str, int]) -> dict[str, int]:
    return {label.name: last[label.name] for label in LABELS if label.name in last}
