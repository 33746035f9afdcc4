"""The text preparation of the MoEL family (Lin et al. 2019; MIME, EmpDG and their descendants share it).

Three steps, in this order: lower-case; expand 23 contractions by plain substring replacement, one after the other
("it's" becomes "it is", inside longer words too); NLTK's word tokens.

The releases call `nltk.word_tokenize`, which first cuts the text into sentences with Punkt, because the Penn
Treebank rules split a full stop only from the last word of a sentence. Punkt's trained parameters are a download.
On lower-case text almost nothing of them matters but the list of abbreviations after which a full stop does not end
a sentence, so here NLTK's own Punkt runs with such a list and nothing else. On every utterance and situation of
EmpatheticDialogues and on 60,000 turns of DailyDialog the tokens are those of the downloaded parameters; with no
sentence step a third of the listener turns differ.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

CONTRACTIONS: dict[str, str] = {
    "it's": "it is",
    "don't": "do not",
    "doesn't": "does not",
    "didn't": "did not",
    "you'd": "you would",
    "you're": "you are",
    "you'll": "you will",
    "i'm": "i am",
    "they're": "they are",
    "that's": "that is",
    "what's": "what is",
    "couldn't": "could not",
    "i've": "i have",
    "we've": "we have",
    "can't": "cannot",
    "i'd": "i would",
    "aren't": "are not",
    "isn't": "is not",
    "wasn't": "was not",
    "weren't": "were not",
    "won't": "will not",
    "there's": "there is",
    "there're": "there are",
}
"""In the order in which they are replaced. "cannot" is then cut by NLTK into "can not"."""

_ABBREVIATIONS = (
    "mr mrs ms messrs dr prof st jr sr gen col maj lt adm rep reps sen ph.d "  # titles
    "a.m p.m jan feb aug sep sept oct nov dec tues wed fri yr "  # times
    "u.s u.s.a u.k u.n d.c l.a n.y n.c n.j n.h n.d n.m r.i s.c "  # places
    "ala ariz calif colo conn ct fla ga ill kan ky mich minn nev okla ore pa tenn va vt wash wis "
    "co cos corp inc ltd bros ave ft vs mg ok "  # firms, streets and the rest
    "c d e f g h k l m n p r s t v w"  # initials, also after a hyphen: "pre-k."
)


def expand(text: str) -> str:
    """`text` in lower case with its contractions expanded."""
    text = text.lower()
    for short, long in CONTRACTIONS.items():
        text = text.replace(short, long)
    return text


def words(text: str) -> list[str]:
    """The tokens of one utterance: "Don't worry!" gives do, not, worry, !"""
    return _tokenizer()(expand(text))


@cache
def _tokenizer() -> Callable[[str], list[str]]:
    from nltk.tokenize.destructive import NLTKWordTokenizer  # NLTK takes a second to import
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    parameters = PunktParameters()
    parameters.abbrev_types = set(_ABBREVIATIONS.split())
    sentences = PunktSentenceTokenizer(parameters)
    treebank = NLTKWordTokenizer()

    def tokenize(text: str) -> list[str]:
        return [word for sentence in sentences.tokenize(text) for word in treebank.tokenize(sentence)]

    return tokenize
