"""The one exception for mistakes a user can repair.

Whatever raises it writes one sentence saying what is wrong, where, and what to do; the command line prints that sentence
and leaves with exit code 2. Anything else that escapes is a defect of harken and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class HarkenError(Exception):
    """A mistake the user can repair: bad input, a missing file, an impossible setting."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'n_heads'?`, or nothing when no known word is near."""
    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""
