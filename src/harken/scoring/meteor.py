"""METEOR, twice: version 1.5 by its authors' Java program, and NLTK's simpler one. They give different numbers.

The jar and its paraphrase table come with pycocoevalcap. One process reads the whole file and writes 23 counts a pair;
the score of any sample follows from their sums (Denkowski and Lavie 2014, the English parameters).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from harken.errors import HarkenError
from harken.scoring.statistics import Values, ratio
from harken.scoring.wordnet import WordNet

_INSTALL = "install it with: pip install 'harken[meteor]'"
_ALPHA, _BETA, _GAMMA, _DELTA = 0.85, 0.2, 0.6, 0.75
_MATCHERS = (1.0, 0.6, 0.8, 0.6)
"""Weights of exact, stem, synonym and paraphrase matches."""
_COUNTS = 23


def jar_obstacle() -> str | None:
    """Why METEOR 1.5 cannot run here, None if it can."""
    if _jar() is None:
        return f"it needs the package pycocoevalcap, which carries the program; {_INSTALL}"
    if shutil.which("java") is None:
        return "it needs Java, which is not on the path; install a Java runtime"
    return None


def _jar() -> Path | None:
    spec = importlib.util.find_spec("pycocoevalcap")
    places = spec.submodule_search_locations if spec else None
    path = Path(next(iter(places))) / "meteor" / "meteor-1.5.jar" if places else None
    return path if path and path.is_file() else None


def jar_statistics(replies: Sequence[str], responses: Sequence[str]) -> Values:
    """The 23 counts of each pair, (N, 23)."""
    obstacle, jar = jar_obstacle(), _jar()
    if obstacle or jar is None:
        raise HarkenError(f"meteor: {obstacle}")
    lines = [
        f"SCORE ||| {_one_line(gold)} ||| {_one_line(said)}\n" for said, gold in zip(replies, responses, strict=True)
    ]
    command = ["java", "-Xmx2G", "-jar", jar.name, "-", "-", "-stdio", "-l", "en", "-norm"]
    done = subprocess.run(command, cwd=jar.parent, input="".join(lines).encode(), capture_output=True, check=False)
    rows = done.stdout.decode(errors="replace").splitlines()
    if done.returncode or len(rows) != len(lines):
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise HarkenError(f"meteor: the Java program stopped after {len(rows)} of {len(lines)} pairs ({last})")
    counts = np.array([row.split() for row in rows], dtype=np.float64).reshape(len(rows), _COUNTS)
    whole = (counts[:, 21] == counts[:, 0]) & (counts[:, 22] == counts[:, 1]) & (counts[:, 20] == 1)
    counts[whole, 20] = 0  # the program counts no chunk where a pair matches from end to end
    return counts


def _one_line(text: str) -> str:
    return " ".join(text.replace("|||", " ").split())


def from_statistics(sums: Values) -> Values:
    """METEOR in percent of sums of the counts, (S, 23) -> (S,).

    The columns: tokens of reply and response, function words of both; for each of the four matchers the matched content
    words of both and function words of both; then chunks, and matched words of both.
    """
    said, gold, said_function, gold_function = sums[:, :4].T
    matched = sums[:, 4:20].reshape(len(sums), 4, 4)
    chunks, said_matched, gold_matched = sums[:, 20:].T
    weights = np.array(_MATCHERS)

    def share(content: int, function: int, tokens: Values, functions: Values) -> Values:
        hits = (_DELTA * matched[:, :, content] + (1 - _DELTA) * matched[:, :, function]) @ weights
        return ratio(hits, _DELTA * (tokens - functions) + (1 - _DELTA) * functions)

    precision, recall = share(0, 2, said, said_function), share(1, 3, gold, gold_function)
    f = ratio(precision * recall, _ALPHA * precision + (1 - _ALPHA) * recall)
    fragments = ratio(2 * chunks, said_matched + gold_matched)
    return 100.0 * f * (1 - _GAMMA * fragments**_BETA)


def nltk_obstacle() -> str | None:
    """Why NLTK's METEOR cannot run here, None if it can."""
    return None if importlib.util.find_spec("nltk") else f"it needs NLTK; {_INSTALL}"


def nltk_scores(
    replies: Sequence[Sequence[str]], responses: Sequence[Sequence[str]], wordnet: Path | None = None
) -> tuple[list[float], str]:
    """NLTK's METEOR of each pair of tokenised texts, 0 to 1, and which matchers it had."""
    if obstacle := nltk_obstacle():
        raise HarkenError(f"meteor-nltk: {obstacle}")
    from nltk.stem.porter import PorterStemmer
    from nltk.translate.meteor_score import single_meteor_score

    synonyms = _synonyms(wordnet)
    stemmer = PorterStemmer()
    stemmer.stem = lru_cache(maxsize=50_000)(stemmer.stem)
    scores = [
        float(single_meteor_score(gold, said, stemmer=stemmer, wordnet=synonyms or _NoSynonyms()))
        if gold and said
        else 0.0
        for said, gold in zip(replies, responses, strict=True)
    ]
    return scores, "exact+stem+wordnet" if synonyms else "exact+stem"


class _NoSynonyms:
    """Stands in for WordNet where there is none; the signature then says so."""

    def synsets(self, word: str) -> list[Any]:
        return []


def _synonyms(folder: Path | None) -> Any:
    """WordNet from the folder that was named, NLTK's data, `WNSEARCHDIR` or its usual place; None if nowhere."""
    if folder is not None:
        return WordNet(folder)
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except (LookupError, OSError):
        usual = Path(os.environ.get("WNSEARCHDIR", "/usr/share/wordnet"))
        return WordNet(usual) if (usual / "index.noun").is_file() else None
    return wordnet
