"""Scoring as a whole: laws that hold for every metric, intervals, paired tests, breakdowns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from harken.errors import HarkenError
from harken.scoring.breakdown import groups
from harken.scoring.evaluate import choose, compare_replies, measure, score_replies
from harken.scoring.material import Material
from harken.scoring.metrics import METRICS
from harken.scoring.metrics.empathy import EMPATHY
from harken.scoring.replies import Replies, ReplyRecord
from harken.scoring.score import Score
from harken.scoring.uncertainty import Resamples, Test, over_seeds

QUICK = [name for name, one in METRICS.items() if one.cost == "quick"]
EMOTIONS = ("sad", "proud", "angry", "lonely", "joyful", "afraid")
WORDS = [*"abcdefghij", *(f"word{i}" for i in range(60))]
FEW = Resamples(samples=200)


def invented(n: int, seed: int = 0, vocabulary: int = 70) -> list[ReplyRecord]:
    """Replies of words that get rarer down the list, half of them taken from the response."""
    rng = np.random.default_rng(seed)
    chances = 1 / np.arange(1, vocabulary + 1)
    records = []
    for i in range(n):
        gold = list(rng.choice(WORDS[:vocabulary], rng.integers(5, 12), p=chances / chances.sum()))
        new = list(rng.choice(WORDS[:vocabulary], rng.integers(1, 6), p=chances / chances.sum()))
        ranked = tuple(str(name) for name in rng.permutation(EMOTIONS))
        labels = [str(name) for name in rng.choice(EMOTIONS, 3)]
        records.append(
            ReplyRecord(
                id=str(i),
                reply=" ".join(gold[: rng.integers(1, 6)] + new),
                context=("hi",) * (1 + 2 * int(rng.integers(0, 3))),
                response=" ".join(gold),
                emotion=labels[0],
                predicted_emotion=ranked,
                label=labels[1],
                predicted_label=labels[2],
                extra={"length": len(gold)},
            )
        )
    return records


def values(records: Sequence[ReplyRecord]) -> dict[str, float]:
    return {one.metric: one.value for one in measure(Material(records), QUICK)}


def test_the_default_set_is_every_quick_metric_that_applies() -> None:
    records = invented(5)
    chosen, left_out = choose(Material(records), None)
    assert chosen == QUICK
    assert set(left_out) == {"meteor", "meteor-nltk", "similarity", *(one.name for one in EMPATHY)}
    bare = [replace(record, context=None, emotion=None, predicted_label=None) for record in records]
    chosen, left_out = choose(Material(bare), None)
    assert "vader-gain" not in chosen
    assert left_out["vader-gain"] == "it needs the field 'context', which no line has"
    assert left_out["label-f1-macro"] == "it needs the field 'predicted_label', which no line has"
    with pytest.raises(HarkenError, match="emotion-top1 cannot be measured here: it needs the field 'emotion'"):
        choose(Material(bare), ["bleu-1", "emotion-top1"])


def test_a_file_against_itself() -> None:
    said = ("i am so sorry .", "what happened to you ?", "that is very kind of him", "great news for you !")
    same = [
        ReplyRecord(str(i), text, ("hi",), text, "sad", ("sad", "b", "c", "d", "e"), "wishing", "wishing")
        for i, text in enumerate(said)
    ]
    found = values(same)
    for name in QUICK:
        if name.startswith(("bleu", "rouge", "emotion", "label")):
            assert found[name] == pytest.approx(100), name
    assert found["sentiment-error"] == 0
    assert found["unique"] == 100


def test_the_order_of_lines_does_not_matter() -> None:
    records = invented(60)
    shuffled = [records[i] for i in np.random.default_rng(1).permutation(60)]
    assert values(shuffled) == pytest.approx(values(records))


def test_a_file_written_twice() -> None:
    """Rates and means stay; what counts different things per thing halves, since the second copy brings nothing new."""
    records = invented(60)
    once, twice = values(records), values([*records, *records])
    halved = ("distinct-1", "distinct-2", "distinct-1-token", "distinct-2-token", "unique")
    for name in QUICK:
        if not name.startswith("ead"):
            assert twice[name] == pytest.approx(once[name] / (2 if name in halved else 1)), name


def test_weights_are_repetitions() -> None:
    """The figure of a sample in which examples stand 0, 1, 2 … times is the figure of the file so written."""
    records = invented(40)
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 4, 40)
    repeated = values([record for record, count in zip(records, counts, strict=True) for _ in range(count)])
    for one in measure(Material(records), QUICK):
        assert one.statistic(counts[None, :].astype(float))[0] == pytest.approx(repeated[one.metric]), one.metric


def test_taking_examples_is_scoring_them_alone() -> None:
    records = invented(40)
    some = np.array([3, 4, 5, 17, 30])
    alone = values([records[i] for i in some])
    for one in measure(Material(records), QUICK):
        part = one.take(some)
        assert part.value == pytest.approx(alone[one.metric]), one.metric
        assert part.n == 5


def test_two_files_in_one_are_two_files() -> None:
    """Paired tests weigh the halves of a doubled file; each half's figure must be the file's own."""
    first, second = invented(30, seed=1), invented(30, seed=2)
    mine, theirs = values(first), values(second)
    weights = np.zeros((2, 60))
    weights[0, :30] = weights[1, 30:] = 1
    for one in measure(Material([*first, *second]), QUICK):
        assert one.statistic(weights) == pytest.approx([mine[one.metric], theirs[one.metric]]), one.metric


# ---------------------------------------------------------------------------------------------------------- uncertainty


def scored(records: Sequence[ReplyRecord], resamples: Resamples = FEW) -> dict[str, Score]:
    return {one.metric: one for one in score_replies(Replies("r", tuple(records)), resamples=resamples).scores}


def test_every_metric_has_an_interval_around_its_value() -> None:
    for name, one in scored(invented(120)).items():
        assert one.low is not None, name
        assert one.high is not None, name
        assert one.low - 1e-9 <= one.value <= one.high + 1e-9, name


def test_the_interval_of_a_mean_is_the_textbook_s() -> None:
    """Lengths with standard deviation s have a mean within 1.96 s / √n, 19 times in 20."""
    records = invented(400)
    lengths = np.array([len(record.reply.split()) for record in records])
    reach = 1.96 * lengths.std() / 20
    one = scored(records, Resamples(samples=2000))["length"]
    assert one.low == pytest.approx(lengths.mean() - reach, abs=0.15 * reach)
    assert one.high == pytest.approx(lengths.mean() + reach, abs=0.15 * reach)


def test_the_interval_of_distinct_covers_other_samples_of_the_same_size() -> None:
    """A bootstrap sample holds 63 % of the replies, so its Distinct is too low; halves around the value are right."""
    population = [values_of(invented(150, seed=seed)) for seed in range(40)]
    low, high = np.percentile(population, [2.5, 97.5])
    measured = {one.metric: one for one in measure(Material(invented(150, seed=99)), ["distinct-2"])}["distinct-2"]
    naive = np.concatenate([measured.statistic(weights) for weights in FEW.draw(150, "bootstrap")])
    assert np.percentile(naive, 97.5) < measured.value
    one = scored(invented(150, seed=99))["distinct-2"]
    assert one.low is not None
    assert one.high is not None
    assert 0.6 < (one.high - one.low) / (high - low) < 1.8


def values_of(records: Sequence[ReplyRecord]) -> float:
    return measure(Material(records), ["distinct-2"])[0].value


def test_an_interval_of_percentages_stays_within_them() -> None:
    one = scored([ReplyRecord(str(i), f"a b{i}", response="x") for i in range(8)] + invented(2))["distinct-2"]
    assert one.high is not None
    assert one.value < one.high <= 100


def test_the_same_seed_gives_the_same_interval_and_another_a_near_one() -> None:
    records = invented(100)
    first, again = scored(records)["bleu-1"], scored(records)["bleu-1"]
    other = scored(records, Resamples(samples=200, seed=7))["bleu-1"]
    assert first == again
    assert other.low != first.low
    assert other.low == pytest.approx(first.low, rel=0.2)


def test_large_files_are_resampled_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [len(piece) for piece in Resamples(samples=10).draw(1000, "bootstrap")]
    assert sizes == [10]
    monkeypatch.setattr("harken.scoring.uncertainty._CELLS", 3000)
    pieces = list(Resamples(samples=10).draw(1000, "bootstrap"))
    assert [len(piece) for piece in pieces] == [3, 3, 3, 1]
    assert all((piece.sum(axis=1) == 1000).all() for piece in pieces)
    assert all((piece.sum(axis=1) == 500).all() for piece in Resamples(samples=10).draw(1000, "halves"))


def test_one_reply_or_no_samples_have_no_interval() -> None:
    one = scored(invented(1))["length"]
    assert (one.low, one.high) == (None, None)
    none = scored(invented(9), Resamples(samples=0))["length"]
    assert (none.low, none.high) == (None, None)
    with pytest.raises(HarkenError, match="--bootstrap -1 must be 0"):
        Resamples(samples=-1)


def as_file(records: Sequence[ReplyRecord], name: str = "r") -> Replies:
    return Replies(name, tuple(records))


def worse(records: Sequence[ReplyRecord], every: int) -> list[ReplyRecord]:
    """The same replies, but every so manieth says nothing to the point."""
    return [replace(one, reply="zzz zzz zzz") if i % every == 0 else one for i, one in enumerate(records)]


@pytest.mark.parametrize("test", ["bootstrap", "randomisation"])
def test_a_system_does_not_differ_from_itself(test: Test) -> None:
    records = invented(80)
    for found in compare_replies(as_file(records), as_file(records), QUICK, resamples=FEW, test=test):
        assert (found.difference, found.p) == (0, 1), found.metric
        assert found.low <= 0 <= found.high


@pytest.mark.parametrize("test", ["bootstrap", "randomisation"])
def test_a_plainly_worse_system_is_found_out_and_a_slightly_worse_one_is_not(test: Test) -> None:
    records = invented(150)
    plain = compare_replies(
        as_file(records), as_file(worse(records, 2)), ["bleu-1", "rouge-l"], resamples=FEW, test=test
    )
    assert all(found.p < 0.02 and found.high < 0 for found in plain)
    slight = compare_replies(as_file(records), as_file(worse(records, 149)), ["bleu-1"], resamples=FEW, test=test)
    assert slight[0].p > 0.05


def test_the_other_way_round_only_the_sign_changes() -> None:
    first, second = as_file(invented(60)), as_file(worse(invented(60), 3))
    for there, back in zip(
        compare_replies(first, second, QUICK, resamples=FEW),
        compare_replies(second, first, QUICK, resamples=FEW),
        strict=True,
    ):
        assert (there.a, there.b) == pytest.approx((back.b, back.a)), there.metric
        assert there.difference == pytest.approx(-back.difference)
        assert there.p == pytest.approx(back.p, abs=0.011), there.metric


def test_randomisation_agrees_with_every_swap() -> None:
    """Eight examples can be swapped in 256 ways; the share of ways with a difference as large is the true p."""
    mine, theirs = np.array([5, 3, 6, 2, 4, 6, 5, 3]), np.array([3, 3, 4, 2, 3, 4, 4, 4])
    first, second = (
        as_file([ReplyRecord(str(i), " ".join(["w"] * n), response="w") for i, n in enumerate(lengths)])
        for lengths in (mine, theirs)
    )
    gap = mine - theirs
    signs = np.array([[1 if way >> i & 1 else -1 for i in range(8)] for way in range(256)])
    exact = float(np.mean(np.abs(signs @ gap) >= abs(gap.sum())))
    found = compare_replies(first, second, ["length"], resamples=Resamples(samples=5000), test="randomisation")[0]
    assert found.difference == pytest.approx(-gap.mean())
    assert found.p == pytest.approx(exact, abs=0.02)


def test_seeds_of_a_run_by_hand() -> None:
    """1, 2 and 3 have mean 2, standard deviation 1 and Student's interval 2 ± 4.303 / √3."""
    seeds = [Score("bleu-1", float(value), None, None, 9, "bleu-1|n:9") for value in (1, 2, 3)]
    found = over_seeds(seeds)
    assert (found.value, found.extras["sd"]) == (2, 1)
    assert found.high == pytest.approx(2 + 4.302653 / math.sqrt(3), rel=1e-6)
    assert found.low == pytest.approx(2 - 4.302653 / math.sqrt(3), rel=1e-6)
    assert found.signature == "bleu-1|n:9|seeds:3"
    assert over_seeds(seeds[:1]).low is None
    with pytest.raises(HarkenError, match="must be scored alike"):
        over_seeds([seeds[0], replace(seeds[1], signature="bleu-1|n:8")])


# ----------------------------------------------------------------------------------------------------------- breakdowns


def test_groups_by_emotion_polarity_turn_and_any_field() -> None:
    records = [
        ReplyRecord("1", "x", ("hi",), "x", "sad", extra={"beam": 10}),
        ReplyRecord("2", "x", ("hi", "oh", "so"), "x", "proud", extra={"beam": 9}),
        ReplyRecord("3", "x", ("hi", "oh", "so"), "x", "afraid"),
    ]
    replies = as_file(records)
    assert {key: part.tolist() for key, part in groups(replies, "emotion").items()} == {
        "afraid": [2],
        "proud": [1],
        "sad": [0],
    }
    assert {key: part.tolist() for key, part in groups(replies, "polarity").items()} == {
        "negative": [0, 2],
        "positive": [1],
    }
    assert {key: part.tolist() for key, part in groups(replies, "turn").items()} == {"1": [0], "2": [1, 2]}
    assert list(groups(replies, "beam")) == ["9", "10", "none"]
    with pytest.raises(HarkenError, match=r"no line has the field 'emotoin'; did you mean 'emotion'\?"):
        groups(replies, "emotoin")
    with pytest.raises(HarkenError, match="nothing can be grouped by it"):
        groups(replies, "context")
    with pytest.raises(HarkenError, match="unknown label 'hungry'"):
        groups(as_file([ReplyRecord("1", "x", emotion="hungry")]), "polarity")


def test_groups_are_scored_like_files_of_their_own() -> None:
    records = invented(90)
    report = score_replies(as_file(records), QUICK, resamples=FEW, by="emotion")
    assert [group.value for group in report.groups] == sorted(EMOTIONS)
    assert sum(group.n for group in report.groups) == 90
    for group in report.groups:
        alone = scored([record for record in records if record.emotion == group.value])
        for one in group.scores:
            assert one.value == pytest.approx(alone[one.metric].value)
            assert one.low == pytest.approx(alone[one.metric].low)
            assert one.signature == alone[one.metric].signature
