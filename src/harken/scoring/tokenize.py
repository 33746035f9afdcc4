"""The tokenisations a score may be made under; the name stands in the signature.

given   white space separates tokens, nothing is changed: for files that are tokenised already, as most releases' are
moel    the MoEL family's text preparation (`harken.text.moel`): lower case, contractions expanded, NLTK's words
13a     sacrebleu's default, mteval-v13a; the case is kept
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

from harken.errors import HarkenError, did_you_mean

Tokenize = Callable[[str], list[str]]


def _given() -> Tokenize:
    return str.split


def _moel() -> Tokenize:
    from harken.text.moel import words

    return lru_cache(maxsize=50_000)(words)  # files to be compared share their responses


def _13a() -> Tokenize:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    mteval: Callable[[str], str] = Tokenizer13a()  # type: ignore[no-untyped-call]
    return lambda text: mteval(text).split()


TOKENIZERS: dict[str, Callable[[], Tokenize]] = {"given": _given, "moel": _moel, "13a": _13a}


@cache
def tokenizer(name: str) -> Tokenize:
    """The tokenisation of that name."""
    if name not in TOKENIZERS:
        near = did_you_mean(name, TOKENIZERS)
        raise HarkenError(f"unknown tokenisation '{name}'{near or '; use ' + ', '.join(TOKENIZERS)}")
    return TOKENIZERS[name]()


def moses_words(text: str) -> list[bytes]:
    """Lower-case tokens exactly as multi-bleu.perl -lc sees them.

    Perl reads bytes there: only ASCII letters change case and only ASCII white space separates, so a no-break space
    stays inside its word and É stays É.
    """
    return text.encode().lower().split()
