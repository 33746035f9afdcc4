"""20 Newsgroups (Lang, ICML 1995): posts with their topic, for the topic classifier of TopicPrepend.

Reads `train.jsonl.gz` and `test.jsonl.gz` (or without `.gz`), one `{"label", "text"}` a line.

Roles: a post is one turn of the speaker; there is no listener. The topic is in the dialogue's `extra`. Text is as
published, headers included.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from harken.corpora.base import Skips
from harken.corpora.source import Source
from harken.dialogue import Dialogue, Split, Turn
from harken.errors import HarkenError

_SPLITS: tuple[Split, ...] = ("train", "test")


def read_newsgroups20(path: Path, skips: Skips) -> Iterator[Dialogue]:
    """The posts of both splits, a dialogue of one turn each."""
    with Source(path) as source:
        for split in _SPLITS:
            member = source.need(f"{split}.jsonl")
            for number, line in source.lines(member):
                try:
                    post = json.loads(line)
                    topic, text = post["label"], post["text"].strip()
                except (ValueError, KeyError, TypeError, AttributeError) as problem:
                    raise HarkenError(
                        f"{source.place(member)}:{number}: not a JSON object with 'label' and 'text'"
                    ) from problem
                if text:
                    yield Dialogue(f"{split}:{number}", (Turn("speaker", text),), split=split, extra={"topic": topic})
                else:
                    skips.add("empty post", f"{member}:{number}")
