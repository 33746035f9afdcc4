"""Emotionality, selection and statistics, worked by hand; then their laws."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harken.classifiers.base import Classifier, Floats, Item
from harken.corpora import store
from harken.curation.emotionality import NAMES, dialogue_emotionality, label, recall, utterance_emotionality
from harken.curation.select import NOTHING, Cut, find_cut
from harken.curation.shards import Counts, add_up
from harken.curation.stats import CurationStats, Size, corpus_stats, folder_stats, tally
from harken.curation.stats_plot import draw, plot_last
from harken.dialogue import ROLES, Dialogue, Turn
from harken.errors import HarkenError

Harken = Callable[..., tuple[int, str, str]]


def dialogue(name: str, *turns: tuple[str, str | None]) -> Dialogue:
    return Dialogue(name, tuple(Turn(ROLES[i % 2], text, felt) for i, (text, felt) in enumerate(turns)))


class Written:
    """A scorer that knows three sentences by heart; its labels stand in another order than the table's."""

    labels = tuple(reversed(NAMES))
    says = {  # noqa: RUF012
        "I miss her.": {"sad": 0.75, "nostalgic": 0.125, "neutral": 0.125},
        "Where is she?": {"questioning": 0.5, "anxious": 0.25, "neutral": 0.25},
        "At home.": {"neutral": 1.0},
    }

    def scores(self, items: list[Item], advance: object = None) -> Floats:
        chances = [[self.says[str(item)].get(name, 0.0) for name in self.labels] for item in items]
        with np.errstate(divide="ignore"):
            return np.log(np.array(chances, dtype=np.float32))


WRITTEN = Classifier("intent", Written.labels, Written(), "written")  # type: ignore[arg-type]


def test_emotionality_by_hand() -> None:
    """An utterance: .75 + .125 = .875, .25 and 0; a dialogue the mean: (.875 + .25) / 2 = .5625, and 0."""
    labelled = label(
        [
            dialogue("a", ("I miss her.", None), ("Where is she?", None)),
            dialogue("b", ("At home.", None)),
            dialogue("c", ("Where is she?", None), ("At home.", None), ("I miss her.", None)),
        ],
        WRITTEN,
    )
    assert labelled.emotionality == pytest.approx([0.5625, 0.0, (0.25 + 0 + 0.875) / 3])
    assert [[turn.label for turn in one.turns] for one in labelled.dialogues] == [
        ["sad", "questioning"],
        ["neutral"],
        ["questioning", "neutral", "sad"],
    ]
    assert labelled.probabilities[0, NAMES.index("sad")] == pytest.approx(0.75)
    assert labelled.probabilities.shape == (6, 41)


def test_the_32_emotions_count_and_the_nine_others_do_not() -> None:
    assert utterance_emotionality(np.eye(41, dtype=np.float32)).tolist() == [1.0] * 32 + [0.0] * 9


def test_no_dialogue_has_no_emotionality() -> None:
    assert dialogue_emotionality(np.zeros(0), []).tolist() == []
    assert label([], WRITTEN).dialogues == []


def cut_of(ranked: dict[str, float], top: int, shards: int = 2) -> Cut:
    ids = list(ranked)
    parts = [(ids[i::shards], np.array([ranked[name] for name in ids[i::shards]])) for i in range(shards)]
    return find_cut(lambda: parts, top)


def kept(ranked: dict[str, float], cut: Cut) -> set[str]:
    return {name for name, value in ranked.items() if cut.keeps(value, name)}


def test_selection_by_hand() -> None:
    """Of .9, .5, .5, .5 and .1 the three most emotional are .9 and, by their ids, the first two of the three at .5."""
    ranked = {"d": 0.5, "a": 0.1, "c": 0.5, "e": 0.9, "b": 0.5}
    cut = cut_of(ranked, 3)
    assert cut == Cut(0.5, "c")
    assert kept(ranked, cut) == {"e", "b", "c"}
    assert kept(ranked, cut_of(ranked, 1)) == {"e"}
    assert kept(ranked, cut_of(ranked, 99)) == set(ranked)
    assert cut_of(ranked, 0) == NOTHING
    assert kept(ranked, NOTHING) == set()


@given(
    st.dictionaries(st.text("abcd#", min_size=1), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])),
    st.integers(0, 12),
    st.integers(1, 4),
)
def test_a_cut_is_sorting(ranked: dict[str, float], top: int, shards: int) -> None:
    """However dialogues lie in shards, the cut keeps what sorting all of them by emotionality and id would."""
    first = sorted(ranked, key=lambda name: (-ranked[name], name))[:top]
    assert kept(ranked, cut_of(ranked, top, shards)) == set(first)


def test_recall_by_hand() -> None:
    """Of ten dialogues a fifth is selected, the two at .9 and .8; the pre-filter let only the first pass."""
    judged = [(True, 0.9), (False, 0.8), *((True, 0.1 * i) for i in range(8))]
    assert recall(judged, 0.2) == 0.5
    assert recall(judged, 0.1) == 1.0
    assert recall(judged, 1.0) == 0.9
    assert recall([], 0.5) == 1.0


TALKS = [
    dialogue("a", ("That's great!", "excited"), ("Is it?", "questioning")),  # 3 and 3 tokens
    dialogue("b", ("Yes.", "agreeing"), ("Go on.", "encouraging"), ("No, never.", "angry")),  # 2, 3 and 4
    dialogue("c", ("Why", None), ("not?", "questioning")),  # 1 and 2
]


def test_tables_by_hand() -> None:
    counts = tally(TALKS)
    assert counts == {"dialogues": 3, "turns": 7, "tokens": 18, "last": {"questioning": 2, "angry": 1}}
    assert Size(3, 7, 18).rows() == {
        "dialogs": 3,
        "turns": 7,
        "tokens": 18,
        "turns per dialog": 2.33,
        "tokens per turn": 2.57,
        "tokens per dialog": 6.0,
    }


def test_the_paper_s_averages_follow_from_its_totals() -> None:
    """Tables 1 and 2: 4.70 turns a dialog, 16.58 tokens a turn, 77.95 a dialog; 3.49, 19.05, 66.45."""
    table_1 = Size(4_010_009, 18_849_440, 312_574_468).rows()
    table_2 = Size(1_000_000, 3_488_300, 66_447_274).rows()
    averages = ("turns per dialog", "tokens per turn", "tokens per dialog")
    assert [table_1[name] for name in averages] == [4.70, 16.58, 77.95]
    assert [table_2[name] for name in averages] == [3.49, 19.05, 66.45]


def test_nothing_has_averages_of_zero() -> None:
    assert Size(0, 0, 0).rows()["tokens per turn"] == 0


@given(st.integers(0, 3))
def test_counts_add_up_over_shards(cut: int) -> None:
    total: Counts = {}
    for part in (TALKS[:cut], TALKS[cut:]):
        add_up(total, tally(part))
    assert total == tally(TALKS)


def written(folder: Path) -> Path:
    folder.mkdir()
    selected = {"edos": tally(TALKS[:1]), "os": tally(TALKS[1:])}
    (folder / "manifest.json").write_text(json.dumps({"selected": selected}))
    return folder


def test_a_folder_has_three_tables(tmp_path: Path) -> None:
    found = folder_stats(written(tmp_path / "out"))
    assert list(found.tables.values()) == [Size(3, 7, 18), Size(1, 2, 6), Size(2, 5, 12)]
    assert found.last == {"questioning": 1}  # Figure 2 is of EDOS


def test_the_figure_has_a_bar_for_each_label(tmp_path: Path) -> None:
    stats = CurationStats({}, {"angry": 1, "questioning": 2, "joyful": 1})
    assert stats.shares() == {"questioning": 0.5, "angry": 0.25, "joyful": 0.25}
    axes = draw(stats, "films").axes[0]
    assert [one.get_text() for one in axes.get_xticklabels()] == ["questioning", "angry", "joyful"]
    assert [bar.get_height() for bar in list(axes.patches)[:3]] == [0.5, 0.25, 0.25]  # type: ignore[attr-defined]
    for form in ("png", "svg"):
        plot_last(stats, tmp_path / f"figure.{form}", "films")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "questioning" in (tmp_path / "figure.svg").read_text()


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match=r"end the name in \.png, \.svg, \.pdf"):
        plot_last(CurationStats({}, {"sad": 1}), tmp_path / "figure.gif", "films")
    with pytest.raises(HarkenError, match="nothing to draw"):
        plot_last(CurationStats({}, {}), tmp_path / "figure.png", "films")


def test_the_command_counts_folders_and_corpora(home: Path, tmp_path: Path, harken: Harken) -> None:
    code, shown, _ = harken("curate", "stats", written(tmp_path / "out"), "--plot", tmp_path / "f.svg", "--json")
    assert code == 0
    assert json.loads(shown)["tables"]["EDOS (Table 2)"]["turns per dialog"] == 2.0
    assert (tmp_path / "f.svg").exists()
    store.save("talks", TALKS, title="", citation="", licence="", origin="here")
    assert corpus_stats("talks").last == {"angry": 1, "questioning": 2}
    code, shown, _ = harken("curate", "stats", "talks")
    assert code == 0
    assert "tokens per dialog" in shown
    assert "questioning     66.7%" in shown


@pytest.mark.parametrize(
    ("content", "sentence"), [(None, "has no manifest.json"), ("[]", "was not written by harken curate")]
)
def test_other_folders_are_refused(content: str | None, sentence: str, tmp_path: Path, harken: Harken) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    code, _, complaint = harken("curate", "stats", tmp_path)
    assert code == 2
    assert sentence in complaint
