"""Perplexity from sums and counts; oracle figures beside honest ones."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from harken.errors import HarkenError
from harken.scoring.perplexity import (
    Likelihood,
    Likelihoods,
    is_likelihoods,
    read_likelihoods,
    score_likelihoods,
    write_likelihoods,
)
from harken.scoring.uncertainty import Resamples

NONE = Resamples(samples=0)
TWO = (Likelihood("1", 6.0, 3, 2, 10), Likelihood("2", 4.0, 4, 4, 20))


def values(*records: Likelihood) -> dict[str, float]:
    found = score_likelihoods(Likelihoods("r", records), resamples=NONE)
    return {one.metric: one.value for one in found.scores}


def test_four_perplexities_by_hand() -> None:
    """10 nats over 7 tokens, 6 words and 30 characters; utterances of 2 and 1 nats a token have mean 1.5."""
    assert values(*TWO) == pytest.approx(
        {
            "ppl-token": math.exp(10 / 7),
            "ppl-utterance": math.exp(1.5),
            "ppl-word": math.exp(10 / 6),
            "bits-per-character": 10 / 30 / math.log(2),
        }
    )


def test_a_uniform_guess_has_the_perplexity_of_its_vocabulary() -> None:
    """ln 50 nats a token: every perplexity per token is 50, and eight words of it are still 50."""
    even = [Likelihood(str(i), n * math.log(50), n, n, 5 * n) for i, n in enumerate((1, 5, 9))]
    found = values(*even)
    assert found["ppl-token"] == found["ppl-word"] == pytest.approx(50)
    assert found["ppl-utterance"] == pytest.approx(50)
    assert found["bits-per-character"] == pytest.approx(math.log2(50) / 5)


def test_another_vocabulary_changes_the_token_figure_only() -> None:
    """The same likelihood cut into twice as many tokens: per word and per character nothing changes."""
    finer = [Likelihood(one.id, one.nll, 2 * one.tokens, one.words, one.characters) for one in TWO]
    before, after = values(*TWO), values(*finer)
    assert after["ppl-token"] < before["ppl-token"]
    assert (after["ppl-word"], after["bits-per-character"]) == (before["ppl-word"], before["bits-per-character"])


def test_oracle_figures_stand_beside_the_honest_ones() -> None:
    told = [Likelihood(one.id, one.nll / 2, one.tokens, one.words, one.characters, "oracle", "words") for one in TWO]
    honest = [Likelihood(one.id, one.nll, one.tokens, one.words, one.characters, "predicted", "words") for one in TWO]
    found = score_likelihoods(Likelihoods("r", (*told, *honest)), resamples=Resamples(samples=50))
    figures = {one.metric: one for one in found.scores}
    assert figures["ppl-token"].value == pytest.approx(math.exp(10 / 7))
    assert figures["ppl-token-oracle"].value == pytest.approx(math.exp(5 / 7))
    assert figures["ppl-token"].signature == "ppl-token|protocol:predicted|vocabulary:words|unit:perplexity|n:2|v:0.1.0"
    assert "|protocol:oracle|" in figures["ppl-token-oracle"].signature
    assert found.n == 2
    with pytest.raises(HarkenError, match="holds only oracle likelihoods"):
        score_likelihoods(Likelihoods("r", tuple(told)))


def test_what_the_lines_lack_is_said() -> None:
    bare = Likelihoods("r", (Likelihood("1", 6.0, 3),))
    found = score_likelihoods(bare, resamples=NONE)
    assert [one.metric for one in found.scores] == ["ppl-token", "ppl-utterance"]
    assert found.left_out["ppl-word"] == "it needs the field 'words' on every line"
    with pytest.raises(HarkenError, match="ppl-word cannot be measured here"):
        score_likelihoods(bare, ["ppl-word"])
    with pytest.raises(HarkenError, match=r"unknown metric 'ppl-words' of likelihoods; did you mean 'ppl-word'\?"):
        score_likelihoods(bare, ["ppl-words"])
    mixed = (Likelihood("1", 6.0, 3, vocabulary="a"), Likelihood("2", 6.0, 3, vocabulary="b"))
    with pytest.raises(HarkenError, match="2 vocabularies"):
        score_likelihoods(Likelihoods("r", mixed))


def test_a_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "likelihoods.jsonl"
    records = (*TWO, Likelihood("3", 2.5, 1, protocol="oracle", vocabulary="bpe"))
    assert write_likelihoods(path, records) == 3
    assert read_likelihoods(path).records == records
    assert is_likelihoods(path)
    assert not is_likelihoods(tmp_path / "nothing")
    (tmp_path / "replies.jsonl").write_text('{"reply": "x", "response": "y", "nll": 3}\n', encoding="utf-8")
    assert not is_likelihoods(tmp_path / "replies.jsonl")


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ('{"nll": 1', "broken JSON"),
        ({"tokens": 3}, "the field 'nll' is missing"),
        ({"nll": 3, "token": 3}, "did you mean 'token'?"),
        ({"nll": -1, "tokens": 3}, "'nll' is not a number of nats"),
        ({"nll": "1", "tokens": 3}, "'nll' is not a number of nats"),
        ({"nll": 1, "tokens": 0}, "'tokens' is not a count"),
        ({"nll": 1, "tokens": 2, "words": 1.5}, "'words' is not a count"),
        ({"nll": 1, "tokens": 2, "protocol": "gold"}, "write predicted or oracle, not 'gold'"),
    ],
)
def test_a_bad_line_is_named_or_left_out_and_counted(tmp_path: Path, bad: object, says: str) -> None:
    path = tmp_path / "likelihoods.jsonl"
    path.write_text('{"nll": 1, "tokens": 2}\n' + (bad if isinstance(bad, str) else json.dumps(bad)) + "\n", "utf-8")
    with pytest.raises(HarkenError) as error:
        read_likelihoods(path)
    assert str(error.value).startswith(f"{path}:2: ")
    assert says in str(error.value)
    found = read_likelihoods(path, skip_bad=True)
    assert (len(found.records), sum(found.skipped.counts.values())) == (1, 1)


def test_an_empty_file_holds_no_likelihood(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n", encoding="utf-8")
    with pytest.raises(HarkenError, match="holds no likelihood"):
        read_likelihoods(tmp_path / "empty.jsonl")
