"""What to label: utterances of plain text, reply files, dialogues, or lines with a `text`.

What is read of a line is `of`:

    context     the turns before an answer            (the default for emotions and topics)
    reply       the answer; in dialogues every listener turn  (the default for intents, empathy and sentiment)
    response    the gold answer of a reply file
    turn        every turn of a dialogue
    situation   the situation of a dialogue

Empathy reads pairs: the last turns before the answer, and the answer. In plain text a tab stands between the two.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harken.classifiers.base import Item
from harken.classifiers.tasks import HISTORY, context_text
from harken.dialogue import dialogue_from_json, examples
from harken.errors import HarkenError, did_you_mean
from harken.files import decoded_lines, read_lines

OF = ("context", "reply", "response", "turn", "situation")


@dataclass(frozen=True)
class Asked:
    """A text or pair to label."""

    id: str
    item: Item

    @property
    def text(self) -> str:
        """What the labels are of."""
        return self.item if isinstance(self.item, str) else self.item[1]


def read_texts(path: Path | None, *, of: str, pairs: bool) -> list[Asked]:
    """What to label in a file, or on standard input (None)."""
    if of not in OF:
        raise HarkenError(f"--of {of} is unknown{did_you_mean(of, OF)}; use {', '.join(OF)}")
    where = "standard input" if path is None else str(path)
    lines = decoded_lines(sys.stdin.buffer, where) if path is None else read_lines(path)
    full = [(number, text) for number, text in lines if text.strip()]
    as_json = bool(full) and full[0][1].lstrip().startswith("{") and (path is None or path.suffix != ".txt")
    asked: list[Asked] = []
    for number, text in full:
        try:
            asked += _of_json(text, number, of, pairs) if as_json else [_of_text(text, number, pairs)]
        except HarkenError as problem:
            raise HarkenError(f"{where}:{number}: {problem}") from problem
    if not asked:
        raise HarkenError(f"{where}: holds nothing to label; give one utterance a line, or JSON lines")
    seen: set[str] = set()
    for one in asked:
        if one.id in seen:
            raise HarkenError(f"{where}: the id '{one.id}' comes twice; give each text its own")
        seen.add(one.id)
    return asked


def _of_text(text: str, number: int, pairs: bool) -> Asked:
    if not pairs:
        return Asked(str(number), text.strip())
    said, tab, answer = text.partition("\t")
    if not tab or not said.strip() or not answer.strip():
        raise HarkenError("empathy is of an answer to something; write what was said, a tab, and the answer")
    return Asked(str(number), (said.strip(), answer.strip()))


def _of_json(text: str, number: int, of: str, pairs: bool) -> Iterator[Asked]:
    try:
        line = json.loads(text)
    except ValueError as problem:
        raise HarkenError(f"broken JSON ({problem}); write one object a line") from problem
    if not isinstance(line, dict):
        raise HarkenError("not a JSON object; write one object a line")
    if "turns" in line:
        yield from _of_dialogue(line, of, pairs)
        return
    name = str(line.get("id", number))
    if "text" in line and not pairs:
        yield Asked(name, _text(line, "text"))
        return
    answer = "response" if of == "response" else "reply"
    if not pairs:
        yield Asked(name, " ".join(_context(line)) if of == "context" else _text(line, answer))
    else:
        yield Asked(name, (" ".join(_context(line)[-HISTORY:]), _text(line, answer)))


def _of_dialogue(line: dict[str, Any], of: str, pairs: bool) -> Iterator[Asked]:
    dialogue = dialogue_from_json(line)
    if of == "situation" and not pairs:
        if dialogue.situation:
            yield Asked(dialogue.id, dialogue.situation)
    elif of == "turn" and not pairs:
        yield from (Asked(f"{dialogue.id}:{i}", turn.text) for i, turn in enumerate(dialogue.turns))
    else:
        for example in examples(dialogue):
            said = context_text(example.context[-HISTORY:] if pairs else example.context)
            answer = example.response.text
            yield Asked(example.id, (said, answer) if pairs else said if of == "context" else answer)


def _text(line: dict[str, Any], name: str) -> str:
    value = line.get(name)
    if not isinstance(value, str) or not value.strip():
        near = did_you_mean(name, line)
        raise HarkenError(
            f"the field '{name}' is missing or empty{near or '; fill it in, or choose another with --of'}"
        )
    return value.strip()


def _context(line: dict[str, Any]) -> list[str]:
    value = line.get("context")
    if isinstance(value, str) and value.strip():
        return [value.strip()]
    if not isinstance(value, list) or not value or not all(isinstance(turn, str) for turn in value):
        raise HarkenError('the field \'context\' is missing or no list of texts; write the turns before as ["…", "…"]')
    return value
