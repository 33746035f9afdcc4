"""METEOR 1.5 through its jar, NLTK's METEOR, and the reader of WordNet's dictionary files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from harken.errors import HarkenError
from harken.scoring import meteor
from harken.scoring.evaluate import choose
from harken.scoring.material import Material, Settings
from harken.scoring.metrics import metric
from harken.scoring.replies import ReplyRecord
from harken.scoring.statistics import Sums
from harken.scoring.wordnet import WordNet

PAIRS = [
    ("i am so sorry to hear that .", "i am sorry to hear that !"),
    ("that is awesome", "wow , that is really great news"),
    ("did you get hurt ?", "were you injured in the accident ?"),
    ("what a lovely day", "what a lovely day"),
    ("oh", "yes i do"),
]


def material(pairs: list[tuple[str, str]], **options: object) -> Material:
    records = [ReplyRecord(str(i), reply, response=response) for i, (reply, response) in enumerate(pairs)]
    return Material(records, Settings(**options))  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.skipif(meteor.jar_obstacle() is not None, reason=f"METEOR 1.5: {meteor.jar_obstacle()}")
def test_the_jar_s_own_evaluation_gives_the_same_figures() -> None:
    """The program turns counts into scores itself when asked: of each pair, and at the end of all."""
    found = metric("meteor").measure(material(PAIRS))
    assert found.signature() == "meteor|version:1.5|norm:yes|unit:percent|tok:given|n:5|v:0.1.0"
    jar = meteor._jar()
    assert jar is not None
    assert isinstance(found.statistic, Sums)
    counts = found.statistic.columns.copy()
    counts[3, 20] = 1  # the program's own count of chunks for the pair that matches whole
    rows = " ||| ".join(" ".join(map(str, row)) for row in counts)
    shown = subprocess.run(
        ["java", "-jar", jar.name, "-", "-", "-stdio", "-l", "en", "-norm"],
        cwd=jar.parent,
        input=f"EVAL ||| {rows}\n",
        capture_output=True,
        text=True,
        check=True,
    )
    *each, total = (100 * float(line) for line in shown.stdout.split())
    assert found.value == pytest.approx(total)
    assert found.statistic(np.eye(len(PAIRS))) == pytest.approx(each)
    assert each[3] == 100


def test_meteor_from_counts_by_hand() -> None:
    """Three exact content words of four, in two chunks: P = R = 3/4, F = 3/4, penalty 0.6 (2/3)^0.2."""
    counts = np.zeros((1, 23))
    counts[0, :2] = 4  # tokens of reply and response, none a function word
    counts[0, 4:6] = 3  # exact matches of content words
    counts[0, 20:] = (2, 3, 3)
    assert meteor.from_statistics(counts)[0] == pytest.approx(100 * 0.75 * (1 - 0.6 * (2 / 3) ** 0.2))


def test_without_java_meteor_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pycocoevalcap")
    monkeypatch.setenv("PATH", "")
    chosen, left_out = choose(material(PAIRS), ["all"])
    assert "meteor" not in chosen
    assert left_out["meteor"] == "it needs Java, which is not on the path; install a Java runtime"
    with pytest.raises(HarkenError, match="meteor cannot be measured here: it needs Java"):
        choose(material(PAIRS), ["meteor"])


@pytest.fixture
def no_wordnet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = pytest.importorskip("nltk.data")
    monkeypatch.setattr(data, "path", [str(tmp_path)])
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))


@pytest.mark.usefixtures("no_wordnet")
def test_nltk_s_meteor_by_hand() -> None:
    """Four words alike: P = R = 1, one chunk, penalty 0.5 (1/4)³; "cats" meets "cat" by its stem."""
    found = metric("meteor-nltk").measure(material([("a b c d", "a b c d")]))
    assert found.value == pytest.approx(100 * (1 - 0.5 / 64))
    assert found.signature() == "meteor-nltk|match:exact+stem|mean:replies|unit:percent|tok:given|n:1|v:0.1.0"
    assert metric("meteor-nltk").measure(material([("my cats", "my cat")])).value == pytest.approx(100 * (1 - 0.5 / 8))
    assert metric("meteor-nltk").measure(material([("happy", "glad"), ("", "x")])).value == 0


def dictionary(folder: Path) -> Path:
    """A WordNet of two meanings: glad/happy (one marked predicative), and cat with the irregular plural "kitties"."""
    licence = "  1 This dictionary was written for a test.\n"
    glad = "00000044 00 s 02 glad(p) 0 happy 0 000 | pleased  \n"
    cat = "00000044 05 n 04 cat 0 true_cat 0 kitty 0 puss 0 000 | an animal  \n"
    assert len(licence) == 44
    for part, line in (("adj", glad), ("noun", cat), ("verb", ""), ("adv", "")):
        (folder / f"data.{part}").write_text(licence + line, encoding="utf-8")
    (folder / "index.adj").write_text(
        licence + "glad a 1 1 & 1 0 00000044  \nhappy a 1 0 1 0 00000044  \n", encoding="utf-8"
    )
    (folder / "index.noun").write_text(
        licence + "cat n 1 1 @ 1 0 00000044  \nkitty n 1 1 @ 1 0 00000044  \n", encoding="utf-8"
    )
    for part in ("verb", "adv"):
        (folder / f"index.{part}").write_text(licence, encoding="utf-8")
    (folder / "noun.exc").write_text("kitties kitty\n", encoding="utf-8")
    return folder


def test_synonyms_are_found_by_base_form(tmp_path: Path) -> None:
    wordnet = WordNet(dictionary(tmp_path))

    def words(word: str) -> list[str]:
        return [lemma.name() for synset in wordnet.synsets(word) for lemma in synset.lemmas()]

    assert words("Glad") == words("happy") == ["glad", "happy"]
    assert words("cats") == words("kitties") == ["cat", "true_cat", "kitty", "puss"]
    assert words("gladder") == []  # the endings are er and est, and "gladd" is no word
    assert words("dog") == []


@pytest.mark.usefixtures("no_wordnet")
def test_nltk_s_meteor_with_a_wordnet_folder(tmp_path: Path) -> None:
    """NLTK looks the stem up, not the word, so only words that are their own stem find synonyms."""
    folder = dictionary(tmp_path)
    found = metric("meteor-nltk").measure(material([("my old cat", "my old puss")], wordnet=folder))
    assert found.value == pytest.approx(100 * (1 - 0.5 / 27))
    assert "|match:exact+stem+wordnet|" in found.signature()
    assert metric("meteor-nltk").measure(material([("happy", "glad")], wordnet=folder)).value == 0


def test_a_folder_that_is_no_wordnet(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match=r"is no WordNet dictionary, index\.noun is missing"):
        WordNet(tmp_path)
