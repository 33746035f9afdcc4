"""The first layer: a table of patterns, one block per kind of risk, that a clinician can read and change.

`care_patterns.yaml` is written in almost plain English against the form that `care_words.plain` gives:

    i do not want to (be here|exist)    words, alternatives in brackets, `(word )?` for what may be missing
    {want} .. die                       a name from `words`; two dots for up to three words in between, three for six
    can not do this any more $          `^` and `$`: the sentence begins or ends here; `~`: whatever it goes on to say

A pattern is *sure*, or it is a *hint*, which only adds to what the second layer finds. What `idioms` match is taken out
before any pattern looks, so that "I'm dying of laughter, no really, I want to die" keeps its second half.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

import yaml

from harken.errors import HarkenError
from harken.serving.care_words import BREAK, plain

Kind = Literal["suicide", "self-harm", "abuse", "danger", "bereaved"]
KINDS: tuple[Kind, ...] = ("suicide", "self-harm", "abuse", "danger", "bereaved")
_MASK = "*"


@dataclass(frozen=True, slots=True)
class Signal:
    """A danger read in a text: its kind, how sure, and what gave it away."""

    kind: Kind
    score: float
    because: str
    about_other: bool = False
    now: bool = False
    """Help is needed this minute: pills swallowed, on the bridge."""
    past: bool = False
    """Told as something that is over."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A block of patterns that share a reason."""

    kind: Kind
    why: str
    says: re.Pattern[str]
    sure: bool
    other: bool
    now: bool
    examples: tuple[str, ...]
    harmless: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """A rule that a text fits, and the words that did it."""

    rule: Rule
    words: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rules in the order of the file, and the idioms that are none of them."""

    rules: tuple[Rule, ...]
    idioms: re.Pattern[str]
    past: re.Pattern[str]

    def open_text(self, text: str) -> str:
        """The plain form of `text` with its idioms taken out."""
        return self.idioms.sub(_MASK, plain(text))

    def matches(self, text: str) -> list[Match]:
        """Every rule that `text` fits."""
        shown = self.open_text(text)
        found = ((rule, rule.says.search(shown)) for rule in self.rules)
        return [Match(rule, hit.group()) for rule, hit in found if hit is not None]

    def is_past(self, text: str) -> bool:
        """Whether `text` tells of something that is over."""
        return self.past.search(plain(text)) is not None


@lru_cache(maxsize=1)
def table() -> Table:
    """The table that the package ships."""
    source = files("harken.serving").joinpath("care_patterns.yaml").read_text(encoding="utf-8")
    return read_table(source)


def read_table(source: str) -> Table:
    """A table from YAML; a pattern that cannot be read is an error naming it."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    raw: dict[str, Any] = yaml.load(source, Loader=loader)
    words: dict[str, str] = {}
    for name, alternatives in raw["words"].items():
        words[name] = "(?:" + "|".join(_expand(str(item), words) for item in alternatives) + ")"
    rules = [
        Rule(
            kind=kind,
            why=block["why"],
            says=_compiled(block["says"], words),
            sure=block.get("sure", True),
            other=block.get("about") == "other",
            now=block.get("now", False),
            examples=tuple(block["examples"]),
            harmless=tuple(block.get("harmless", ())),
        )
        for kind in KINDS
        for block in raw[kind]
    ]
    idioms = [line for block in raw["idioms"] for line in block["says"]]
    return Table(tuple(rules), _compiled(idioms, words), _compiled(raw["past"], words))


def _compiled(lines: list[str], words: Mapping[str, str]) -> re.Pattern[str]:
    parts = []
    for line in lines:
        part = _expand(line, words)
        try:
            re.compile(part)
        except re.error as problem:
            raise HarkenError(f"care_patterns.yaml: the pattern '{line}' cannot be read ({problem})") from problem
        parts.append(part)
    return re.compile(r"(?<![^ ])(?:" + "|".join(parts) + r")(?![^ ])")


def _expand(line: str, words: Mapping[str, str]) -> str:
    def named(found: re.Match[str]) -> str:
        if found.group(1) not in words:
            raise HarkenError(f"care_patterns.yaml: '{line}' uses {{{found.group(1)}}}, which `words` does not define")
        return words[found.group(1)]

    if re.search(r"(?<![ .])\.\.", line):
        raise HarkenError(f"care_patterns.yaml: in '{line}' the dots of a gap need a space before them")
    gap = rf"(?: [^ {BREAK}]+)"
    line = re.sub(r"\{([a-z_]+)\}", named, line).replace("~", rf"(?![^ ])[^{BREAK}]*")
    line = line.replace(" ...", gap + "{0,6}").replace(" ..", gap + "{0,3}")
    line = re.sub(r"^\^ ?", rf"(?:^|(?<=\\{BREAK} ))", line)
    return re.sub(r" ?\$", rf"(?= \\{BREAK}|$)", line)
