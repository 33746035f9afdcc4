"""Metrics against values worked by hand, and against other people's implementations."""

from __future__ import annotations

import math
import shutil
import subprocess
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harken.errors import HarkenError
from harken.scoring.material import Material, Settings, compound
from harken.scoring.metrics import METRICS, metric
from harken.scoring.metrics.overlap import common_subsequence
from harken.scoring.perplexity import PERPLEXITIES
from harken.scoring.replies import ReplyRecord
from harken.scoring.score import Score
from harken.scoring.tokenize import moses_words, tokenizer

SORRY = ("i am sorry to hear that .", "i am so sorry to hear that .")
GREAT = ("that is great !", "that is good !")
pairs = st.lists(
    st.tuples(*[st.lists(st.sampled_from("abcd"), min_size=1, max_size=9).map(" ".join)] * 2),
    min_size=1,
    max_size=8,
)


def score(name: str, texts: Sequence[tuple[str, str]], **options: object) -> Score:
    records = [ReplyRecord(str(i), reply, ("hi",), response) for i, (reply, response) in enumerate(texts)]
    return metric(name).measure(Material(records, Settings(**options))).score()  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------------------------- BLEU


def test_bleu_by_hand() -> None:
    """Matches over n-grams: 7/7 + 3/4, 5/6 + 1/3, 3/5 + 0/2, 2/4 + 0/1; 11 tokens against 12."""
    brevity = math.exp(1 - 12 / 11)
    precisions = (10 / 11, 6 / 9, 3 / 7, 2 / 5)
    for order in range(1, 5):
        expected = 100 * brevity * math.prod(precisions[:order]) ** (1 / order)
        assert score(f"bleu-{order}", [SORRY, GREAT]).value == pytest.approx(expected)
    found = score("bleu-moses", [SORRY, GREAT])
    assert found.value == pytest.approx(100 * brevity * math.prod(precisions) ** 0.25)
    assert found.extras["precisions"] == pytest.approx([100 * p for p in precisions])
    assert found.extras["brevity"] == pytest.approx(brevity)
    assert (found.extras["tokens"], found.extras["reference_tokens"]) == (11, 12)


def test_matches_are_clipped_to_what_the_response_has() -> None:
    """Seven times "the" against two: 2/7."""
    found = score("bleu-1", [("the the the the the the the", "the cat is on the mat")])
    assert found.value == pytest.approx(100 * 2 / 7)


def test_one_order_without_a_match_makes_bleu_nought() -> None:
    assert score("bleu-4", [("a b c x", "a b c y")]).value == 0
    assert score("bleu-3", [("a b c x", "a b c y")]).value > 0
    assert score("bleu-moses", [("a b", "a b")]).value == 0  # two words have no 4-gram


def test_an_empty_reply_adds_only_the_length_of_its_response() -> None:
    with_empty = score("bleu-moses", [SORRY, ("", "a b c d")])
    assert with_empty.extras["precisions"] == score("bleu-moses", [SORRY]).extras["precisions"]
    assert with_empty.extras["brevity"] == pytest.approx(math.exp(1 - 12 / 7))
    assert score("bleu-moses", [("", "a b c d")]).value == 0


def test_only_moses_lowers_the_case() -> None:
    texts = [("I Am So Sorry", "i am so sorry")]
    assert score("bleu-moses", texts).value == pytest.approx(100)
    assert score("bleu-4", texts).value == 0


def test_spaces_around_words_do_not_count() -> None:
    assert score("bleu-moses", [("  i am  so sorry ", "i am so sorry")]).value == pytest.approx(100)


def test_bleu_avg_is_the_mean_of_the_four() -> None:
    four = [score(f"bleu-{order}", [SORRY, GREAT]).value for order in range(1, 5)]
    assert score("bleu-avg", [SORRY, GREAT]).value == pytest.approx(sum(four) / 4)


def test_bleu_sentence_by_hand() -> None:
    """The second pair has no 3-gram in common, so it counts nought: half of the first pair's BLEU-4."""
    first = 100 * math.exp(1 - 8 / 7) * (1 * 5 / 6 * 3 / 5 * 2 / 4) ** 0.25
    found = score("bleu-sentence", [SORRY, GREAT])
    assert found.value == pytest.approx(first / 2)
    assert found.extras["precisions"] == pytest.approx(
        [100 * (1 + 3 / 4) / 2, 100 * (5 / 6 + 1 / 3) / 2, 100 * 3 / 5 / 2, 100 * 2 / 4 / 2]
    )


@given(pairs)
@settings(deadline=None, max_examples=50)
def test_bleu_agrees_with_sacrebleu(texts: list[tuple[str, str]]) -> None:
    from sacrebleu.metrics.bleu import BLEU

    replies, responses = zip(*texts, strict=True)
    for order in range(1, 5):
        theirs = BLEU(tokenize="none", smooth_method="none", force=True, max_ngram_order=order)
        expected = theirs.corpus_score(list(replies), [list(responses)]).score
        assert score(f"bleu-{order}", texts).value == pytest.approx(expected, abs=1e-9)


@given(pairs)
@settings(deadline=None, max_examples=50)
def test_bleu_agrees_with_nltk(texts: list[tuple[str, str]]) -> None:
    """NLTK takes the smallest float for a precision of nought, which leaves about 1e-75 where the papers have 0.

    Of a corpus it counts one n-gram in a reply that is too short to have any, so there only longer replies compare.
    """
    bleu = pytest.importorskip("nltk.translate.bleu_score")
    words = [(reply.split(), [response.split()]) for reply, response in texts]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sentences = [100 * bleu.sentence_bleu(gold, reply) for reply, gold in words]
        corpus = 100 * bleu.corpus_bleu([gold for _, gold in words], [reply for reply, _ in words])
    assert score("bleu-sentence", texts).value == pytest.approx(sum(sentences) / len(sentences), abs=1e-9)
    if all(len(reply) >= 4 for reply, _ in words):
        assert score("bleu-4", texts).value == pytest.approx(corpus, abs=1e-9)


@given(pairs)
@settings(deadline=None, max_examples=50)
def test_bleu_agrees_with_nlg_eval_s_scorer(texts: list[tuple[str, str]]) -> None:
    """LEMPEx's figure comes from this scorer; it adds 1e-15 and 1e-9 against division by nought."""
    coco = pytest.importorskip("pycocoevalcap.bleu.bleu_scorer").BleuScorer(n=4)
    for reply, response in texts:
        coco += (reply, [response])
    totals, _ = coco.compute_score(option="closest", verbose=0)
    for order, expected in enumerate(totals, start=1):
        if found := score(f"bleu-{order}", texts).value:
            assert found == pytest.approx(100 * expected, rel=1e-6)


@pytest.mark.skipif(shutil.which("perl") is None, reason="needs Perl, to ask it how it cuts and lowers")
@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])), min_size=1))
@settings(max_examples=25, deadline=None)
def test_moses_words_are_perl_s(texts: list[str]) -> None:
    done = subprocess.run(
        ["perl", "-ne", r'chomp; $_ = lc; print join("\n", map { unpack("H*", $_) } split), "\n--\n"'],
        input="\n".join([*texts, "É A\u00a0B \x1c x"]).encode() + b"\n",
        capture_output=True,
        check=True,
    )
    blocks = [block.split() for block in done.stdout.decode().split("--\n")][:-1]
    assert [[word.hex() for word in moses_words(text)] for text in [*texts, "É A\u00a0B \x1c x"]] == blocks


# ----------------------------------------------------------------------------------------------------------- diversity


def test_distinct_by_hand() -> None:
    """Words: i am sad i am glad i (7, of 4 kinds); bigrams: i am, am sad | i am, am glad, glad i (5, of 4 kinds)."""
    texts = [("i am sad", "x"), ("i am glad i", "x")]
    assert score("distinct-1", texts).value == pytest.approx(100 * 4 / 7)
    assert score("distinct-2", texts).value == pytest.approx(100 * 4 / 5)
    assert score("distinct-1-token", texts).value == pytest.approx(100 * 4 / 7)
    assert score("distinct-2-token", texts).value == pytest.approx(100 * 4 / 7)
    assert score("distinct-2", texts).extras["ratio"] == pytest.approx(4 / 5)


def test_bigrams_do_not_reach_over_two_replies() -> None:
    assert score("distinct-2", [("a", "x"), ("b", "x")]).value == 0  # no bigram at all
    assert score("distinct-2", [("a b", "x"), ("a", "x")]).value == 100


def test_bigrams_joined_without_a_space_may_meet() -> None:
    """ "no w" and "now" meet as the releases count: 2 of 3 bigrams, not 3 of 3."""
    found = score("distinct-2", [("no wit", "x"), ("now it is", "x")])
    assert found.value == 100
    assert found.extras["joined"] == pytest.approx(100 * 2 / 3)


@given(pairs)
@settings(deadline=None, max_examples=50)
def test_distinct_agrees_with_counting(texts: list[tuple[str, str]]) -> None:
    words = [reply.split() for reply, _ in texts]
    for order in (1, 2):
        grams = [tuple(one[i : i + order]) for one in words for i in range(len(one) - order + 1)]
        expected = 100 * len(set(grams)) / len(grams) if grams else 0
        assert score(f"distinct-{order}", texts).value == pytest.approx(expected)


def test_ead_agrees_with_its_authors_example() -> None:
    """The worked example of the authors' own package: V = 50,257 gives 0.8236605 where Distinct-1 is 14/17."""
    said = ("Hi.", "I am sorry to hear that", "I don't know", "Do you know who that person is?")
    texts = [(reply, "x") for reply in said]
    assert score("distinct-1", texts).extras["ratio"] == pytest.approx(14 / 17)
    found = score("ead-1", texts, vocabulary=50_257)
    assert found.extras["ratio"] == pytest.approx(0.8236605104867569, rel=1e-9)
    assert "|V:50257|" in found.signature


def test_ead_forgives_length() -> None:
    """Words drawn evenly from V are all the variety there can be: 100 % at any length, where Distinct-1 sinks."""
    rng = np.random.default_rng(0)
    for size in (200, 2000):
        texts = [(" ".join(map(str, rng.integers(0, 500, 10))), "x") for _ in range(size // 10)]
        assert score("ead-1", texts, vocabulary=500).value == pytest.approx(100, abs=4)


def test_unique_and_commonest_replies_by_hand() -> None:
    texts = [("oh no", "x"), ("oh no ", "x"), ("oh  no", "x"), ("great", "x")]
    assert score("unique", texts).value == pytest.approx(50)
    found = score("top-replies", texts)
    assert found.value == pytest.approx(75)
    assert found.extras["top"] == [{"reply": "oh no", "count": 3}, {"reply": "great", "count": 1}]


def test_repetition_by_hand() -> None:
    """Only the first reply holds four words twice; three words twice are not enough."""
    texts = [("i am so sorry . i am so sorry .", "x"), ("oh no no no", "x"), ("a b c a b c", "x"), ("a a a a a", "x")]
    assert score("repetition-4", texts).value == pytest.approx(50)


def test_length_by_hand() -> None:
    assert score("length", [("oh no !", "x"), ("great", "x")]).value == pytest.approx(2)


# ------------------------------------------------------------------------------------------------------------- overlap


def test_rouge_l_by_hand() -> None:
    """ "police killed the gunman" and "police kill the gunman" share three words of four each (Lin 2004)."""
    texts = [("police kill the gunman", "police killed the gunman")]
    assert score("rouge-l", texts).value == pytest.approx(75)
    # L = 2 of 3 and of 4 words: P = 2/3, R = 1/2.
    texts = [("a x b", "a b c d")]
    assert score("rouge-l", texts).value == pytest.approx(100 * 2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))
    assert score("rouge-l-coco", texts).value == pytest.approx(100 * 2.44 * (2 / 3) * 0.5 / (0.5 + 1.44 * 2 / 3))
    assert score("rouge-l", [("", "a b")]).value == 0


@given(*[st.lists(st.sampled_from("abcd"), max_size=8)] * 2)
@settings(deadline=None)
def test_common_subsequence_agrees_with_the_table(first: list[str], second: list[str]) -> None:
    table = np.zeros((len(first) + 1, len(second) + 1), dtype=int)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            table[i + 1, j + 1] = table[i, j] + 1 if a == b else max(table[i, j + 1], table[i + 1, j])
    assert common_subsequence(first, second) == table[-1, -1]


@given(pairs)
@settings(deadline=None, max_examples=50)
def test_rouge_l_coco_agrees_with_pycocoevalcap(texts: list[tuple[str, str]]) -> None:
    rouge = pytest.importorskip("pycocoevalcap.rouge.rouge").Rouge()
    expected = [rouge.calc_score([reply], [response]) for reply, response in texts]
    assert score("rouge-l-coco", texts).value == pytest.approx(100 * float(np.mean(expected)))


@pytest.mark.slow
def test_similarity_of_the_same_words_is_one() -> None:
    found = score("similarity", [("i am so sorry", "i am so sorry"), ("great", "great")])
    assert found.value == pytest.approx(1, abs=1e-5)
    assert "|encoder:" in found.signature
    near = score("similarity", [("my dog died", "my puppy passed away")]).value
    assert near > score("similarity", [("my dog died", "the train was late")]).value


# ----------------------------------------------------------------------------------------------------------- sentiment


def test_sentiment_is_vader_s() -> None:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    say = SentimentIntensityAnalyzer().polarity_scores
    record = ReplyRecord("1", "That is great!", ("I am sad.", "Why?", "No idea."), "That is terrible.")
    material = Material([record])
    reply, gold, context = (
        say(text)["compound"] for text in (record.reply, "That is terrible.", "I am sad. Why? No idea.")
    )
    assert compound("That is great!") == reply > 0 > gold
    assert metric("vader").measure(material).value == pytest.approx(reply)
    assert metric("vader-gain").measure(material).value == pytest.approx(reply - context)
    assert metric("sentiment-error").measure(material).value == pytest.approx(reply - gold)


# -------------------------------------------------------------------------------------------------------------- labels


def test_emotion_accuracy_by_hand() -> None:
    ranked = [("sad", "angry"), ("Angry", "sad"), ("proud", "angry"), ("sad", "proud")]
    records = [ReplyRecord(str(i), "x", emotion="sad", predicted_emotion=names) for i, names in enumerate(ranked)]
    material = Material(records)
    assert metric("emotion-top1").measure(material).value == pytest.approx(50)
    assert metric("emotion-top2").measure(material).value == pytest.approx(75)
    obstacle = metric("emotion-top5").obstacle(material)
    assert obstacle is not None
    assert "must rank at least 5 emotions on every line, but some have 2" in obstacle


@given(st.lists(st.tuples(*[st.sampled_from(["sad", "proud", "wishing", "neutral"])] * 2), min_size=1, max_size=30))
@settings(deadline=None)
def test_label_scores_agree_with_scikit_learn(labels: list[tuple[str, str]]) -> None:
    from sklearn.metrics import precision_recall_fscore_support

    gold, guessed = zip(*labels, strict=True)
    records = [ReplyRecord(str(i), "x", label=a, predicted_label=b.upper()) for i, (a, b) in enumerate(labels)]
    for average in ("weighted", "macro"):
        theirs = precision_recall_fscore_support(gold, guessed, average=average, zero_division=0)
        for part, expected in zip(("precision", "recall", "f1"), theirs, strict=False):
            found = metric(f"label-{part}-{average}").measure(Material(records))
            assert found.value == pytest.approx(100 * expected)


# ------------------------------------------------------------------------------------------------------- all of a kind


def test_every_metric_needs_only_fields_that_exist_and_signs_its_name() -> None:
    records = [
        ReplyRecord(str(i), "i am so sorry .", ("hi",), "oh no , so sorry .", "sad", tuple("abcde"), "sad", "sad")
        for i in range(3)
    ]
    material = Material(records)
    for name, one in METRICS.items():
        if one.cost == "quick":
            assert one.obstacle(material) is None
            found = one.measure(material).score()
            assert found.metric == name
            assert found.signature.startswith(f"{name}|")
            assert found.signature.endswith("|n:3|v:0.1.0")
            assert found.n == 3


def test_the_signature_of_the_style_guide() -> None:
    assert score("distinct-2", [GREAT] * 5).signature == "distinct-2|per:bigram|unit:percent|tok:given|n:5|v:0.1.0"


def test_tokenisations_cut_as_their_names_say() -> None:
    text = "Don't worry, it's 3.5 km."
    assert tokenizer("given")(text) == ["Don't", "worry,", "it's", "3.5", "km."]
    assert tokenizer("13a")(text) == ["Don't", "worry", ",", "it's", "3.5", "km", "."]
    pytest.importorskip("nltk")
    assert tokenizer("moel")(text) == ["do", "not", "worry", ",", "it", "is", "3.5", "km", "."]
    assert score("distinct-1", [(text, "x")], tokenize="moel").signature.count("|tok:moel|") == 1


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(HarkenError, match=r"unknown metric 'bleu-mose'; did you mean 'bleu-moses'\?"):
        metric("bleu-mose")
    with pytest.raises(HarkenError, match=r"unknown tokenisation 'moe'; did you mean 'moel'\?"):
        Settings(tokenize="moe")


def test_the_documentation_knows_every_name() -> None:
    page = (Path(__file__).parents[1] / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert [name for name in (*METRICS, *PERPLEXITIES) if f"`{name}`" not in page] == []


def test_the_documentation_s_worked_examples() -> None:
    assert f"{score('bleu-moses', [SORRY, GREAT]).value:.1f}" == "51.8"
    assert f"{score('bleu-sentence', [SORRY, GREAT]).value:.1f}" == "30.6"
    assert f"{score('rouge-l', [('a x b', 'a b c d')]).value:.1f}" == "57.1"


def test_no_reply_is_an_error() -> None:
    with pytest.raises(HarkenError, match="no reply to score"):
        Material([])


def test_counting_words_by_hand_and_by_grams() -> None:
    """The array counting is plain counting."""
    material = Material([ReplyRecord("1", "a b a b c", response="a b"), ReplyRecord("2", "c", response="")])
    texts, grams = material.grams.reply_grams(2)
    assert Counter(zip(texts.tolist(), grams.tolist(), strict=True)).most_common(1)[0][1] == 2  # "a b" stands twice
    assert material.grams.totals(2).tolist() == [4, 0]
    assert material.grams.matches(1).tolist() == [2, 0]
    assert material.grams.matches(2).tolist() == [1, 0]
