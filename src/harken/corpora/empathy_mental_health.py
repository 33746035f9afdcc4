"""EPITOME, the Reddit part (Sharma et al., EMNLP 2020): posts that seek support, and responses judged for empathy.

Three files judge the same pairs, one for each mechanism (emotional reactions, interpretations, explorations), with a
level of 0 (none), 1 (weak) or 2 (strong) and the pieces of text that show it. They are merged by `(sp_id, rp_id)`;
some pairs were judged twice, and are kept as two dialogues, the second with `#2` in its id.

Roles: the seeker's post is the speaker's turn, the response the listener's. Levels and rationales are in the `extra`
of the response: `{"explorations": {"level": 2, "rationales": ["…"]}, …}`.

The files differ in spaces and in `&amp;` for `&`, so both are evened out, in posts and rationales alike. The release
has no splits: 75 % train, 5 % valid and 20 % test, the paper's ratio, by the hash of the seeker's post id, so that
one post never stands on two sides.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from harken.corpora.base import Skips, hash_split
from harken.corpora.source import Source
from harken.dialogue import Dialogue, Turn
from harken.errors import HarkenError

MECHANISMS = {
    "emotional_reactions": "emotional-reactions-reddit.csv",
    "interpretations": "interpretations-reddit.csv",
    "explorations": "explorations-reddit.csv",
}
_COLUMNS = ("sp_id", "rp_id", "seeker_post", "response_post", "level", "rationales")

Judgement = dict[str, object]


def read_empathy_mental_health(path: Path, skips: Skips) -> Iterator[Dialogue]:
    """One dialogue of two turns for each judged pair."""
    posts: dict[str, tuple[str, str, str]] = {}  # pair → seeker's post id, post, response
    judged: dict[str, dict[str, Judgement]] = {}
    with Source(path) as source:
        for mechanism, file in MECHANISMS.items():
            member = source.need(file)
            seen: Counter[str] = Counter()
            for number, row in source.table(member, _COLUMNS):
                pair = f"{row['sp_id']}_{row['rp_id']}"
                seen[pair] += 1
                if seen[pair] > 1:
                    pair += f"#{seen[pair]}"
                posts.setdefault(pair, (row["sp_id"], _even(row["seeker_post"]), _even(row["response_post"])))
                judged.setdefault(pair, {})[mechanism] = _judgement(row, f"{source.place(member)}:{number}")
    for pair, (seeker, post, response) in posts.items():
        if not post or not response:
            skips.add("empty post", pair)
            continue
        if len(judged[pair]) < len(MECHANISMS):
            skips.add("pair not judged for every mechanism", pair)
            continue
        turns = (Turn("speaker", post), Turn("listener", response, extra=judged[pair]))
        yield Dialogue(pair, turns, split=hash_split(seeker, valid=0.05, test=0.20))


def _judgement(row: dict[str, str], place: str) -> Judgement:
    if row["level"] not in ("0", "1", "2"):
        raise HarkenError(f"{place}: the level is '{row['level']}'; it must be 0, 1 or 2")
    pieces = (_even(piece) for piece in row["rationales"].split("|"))
    return {"level": int(row["level"]), "rationales": [piece for piece in pieces if piece]}


def _even(text: str) -> str:
    return " ".join(html.unescape(text).split())
