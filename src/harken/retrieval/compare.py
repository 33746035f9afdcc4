"""LEMPEx's Table 3: what a tuned and an untuned retriever bring for the same contexts, and how they differ as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from harken.errors import HarkenError
from harken.exemplar_files import Filter
from harken.retrieval.exemplars import Finder
from harken.retrieval.pairs import Pair
from harken.retrieval.pool import plain


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    context: tuple[str, ...]
    reference: str
    exemplars: tuple[str, ...]
    """The first exemplar of each index."""


@dataclass(frozen=True)
class Column:
    """What the paper says of a column in words, as numbers: longer, more diverse."""

    name: str
    words: float
    """Words of an exemplar, on average."""
    distinct: float
    """Share of exemplars that occur for no other context, in percent."""


def compare(
    finders: Sequence[Finder], pairs: Sequence[Pair], emotions: Filter = "none"
) -> tuple[list[Row], list[Column]]:
    """The first exemplar of each index for each pair, and a summary of each index."""
    if not pairs:
        raise HarkenError("there is no context to compare exemplars for; choose another split")
    firsts = [
        [found.exemplars[0].text if found.exemplars else "" for found in finder.find(pairs, 1, emotions)]
        for finder in finders
    ]
    rows = [
        Row(pair.context, pair.response, tuple(texts))
        for pair, texts in zip(pairs, zip(*firsts, strict=True), strict=True)
    ]
    columns = []
    for finder, texts in zip(finders, firsts, strict=True):
        alone = sum(count == 1 for count in Counter(map(plain, texts)).values())
        words = sum(len(text.split()) for text in texts) / len(texts)
        columns.append(Column(str(finder.index.folder), words, 100 * alone / len(texts)))
    return rows, columns
