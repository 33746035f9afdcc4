"""The HTML report without a browser: what it holds, that it is one safe file, that its charts show the figures."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from harken.errors import HarkenError
from harken.labels import EMOTIONS
from harken.scoring.compare import Comparison
from harken.scoring.compare_files import Options
from harken.scoring.compare_sources import Embedding, find_sources
from harken.scoring.replies import write_replies
from harken.scoring.report import script_json, write_report
from harken.scoring.report_charts import Bar, Bins, bars, histogram, principal, scatter
from harken.scoring.uncertainty import Resamples
from starter_replies import blunt, half, near, records, write, write_run

NASTY = "</script><script>alert(1)</script><b onclick=x>&amp; \"quoted\" 'text' \u2028"
VOID = {"meta", "line", "rect", "path", "circle", "br", "wbr"}


class Page(HTMLParser):
    """Checks that tags nest, and collects ids, links and the contents of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "id" in given:
            self.ids.append(str(given["id"]))
        if tag == "a":
            self.links.append(str(given["href"]))
        self.loads += [str(given[name]) for name in ("src", "data", "srcset", "poster") if name in given]
        if tag == "link":
            self.loads.append(str(given))
        if tag == "script":
            self.scripts.append((given, ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self.open and self.open[-1] != "style":
            self.text.append(data)


def report(tmp_path: Path, arguments: list[str], **options: object) -> tuple[Comparison, Page, str]:
    out = tmp_path / "report.html"
    given = Options(**{"metrics": ["bleu-1", "length", "ppl-token"], "resamples": Resamples(samples=50)} | options)  # type: ignore[arg-type]
    comparison = write_report(out, find_sources(arguments, group=True), given)
    text = out.read_text(encoding="utf-8")
    return comparison, Page(text), text


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    seeds = [str(write(tmp_path / f"blunt-seed{k}.jsonl", blunt)) for k in (1, 2)]
    return [str(write_run(tmp_path / "mime", half)), str(write(tmp_path / "near.jsonl", near)), *seeds]


def test_it_is_one_file_that_loads_nothing(tmp_path: Path, arguments: list[str]) -> None:
    _, page, text = report(tmp_path, arguments)
    assert page.open == []
    assert page.loads == []
    assert "default-src 'none'" in text
    assert not re.search(r"url\(|@import|https?://", text)
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert len(set(page.ids)) == len(page.ids)


def test_every_part_is_there(tmp_path: Path, arguments: list[str]) -> None:
    _, page, text = report(tmp_path, arguments)
    assert [link[1:] for link in page.links[1:]] == [
        "summary", "bars", "groups", "lengths", "embeddings", "replies", "published", "notes",
    ]  # fmt: skip
    words = "".join(page.text)
    for expected in (
        "3 systems, 160 examples",
        "2 seeds",
        "baseline",
        "▲ better",
        "▼ worse",
        "paired bootstrap, 50 samples",
    ):
        assert expected in words, expected
    assert "bleu-1|order:1|case:kept|smooth:none|unit:percent|tok:given|n:160|" in words
    assert text.count('<figure class="card">') == 4 + 3  # bleu-1, length, ppl-token with and without gold; 3 histograms
    assert text.count('<figure class="plot">') == 1


def test_parts_with_nothing_to_show_are_left_out(tmp_path: Path) -> None:
    bare = tmp_path / "bare.jsonl"
    write_replies(bare, [replace(one, emotion=None, predicted_emotion=None) for one in records(near, 20)])
    _, page, _ = report(tmp_path, [str(bare)], metrics=["length"])
    assert page.ids[:1] == ["theme"]
    assert {"groups", "embeddings"}.isdisjoint(page.ids)
    assert {"summary", "bars", "lengths", "replies"} <= set(page.ids)
    run = write_run(tmp_path / "run", near)
    (run / "replies-test.jsonl").unlink()
    _, page, _ = report(tmp_path, [str(run)], metrics=None)
    assert {"lengths", "replies", "groups"}.isdisjoint(page.ids)
    assert {"summary", "embeddings"} <= set(page.ids)


def test_the_data_is_all_the_replies(tmp_path: Path, arguments: list[str]) -> None:
    comparison, page, _ = report(tmp_path, arguments, baseline="near")
    found = [json.loads(text) for attributes, text in page.scripts if attributes.get("type") == "application/json"]
    data, replies = found[0], found[1:]
    assert data["systems"] == ["mime", "near", "blunt"]
    assert data["baseline"] == 1
    # the baseline is read first, the files say whose replies follow
    assert [(one["label"], one["system"]) for one in data["files"]] == [
        ("near", 1),
        ("mime", 0),
        ("blunt-seed1", 2),
        ("blunt-seed2", 2),
    ]
    for answer, texts in zip((near, half, blunt, blunt), replies, strict=True):
        assert texts == [one.reply for one in records(answer)]
    assert data["examples"] == [[one.id, list(one.context or ()), one.response, one.emotion] for one in records(near)]
    group = data["groups"][0]
    assert group["by"] == "emotion"
    assert sum(n for _, n in group["values"]) == 160
    assert [one["name"] for one in group["metrics"]] == ["bleu-1", "length"]
    expected = comparison.systems[2].groups["emotion"]["afraid"]["length"].value
    place = [value for value, _ in group["values"]].index("afraid")
    assert group["metrics"][1]["rows"][place][2] == pytest.approx(expected)


def test_markup_in_names_and_replies_stays_text(tmp_path: Path) -> None:
    odd = tmp_path / "<i>odd&.jsonl"
    write_replies(odd, [replace(one, reply=NASTY, id=f"{NASTY}{i}") for i, one in enumerate(records(near, 5))])
    _, page, text = report(tmp_path, [str(odd)], metrics=["length"])
    assert page.open == []
    assert "<i>odd" not in text
    assert "alert(1)</script>" not in text
    replies = next(text for attributes, text in page.scripts if attributes.get("class") == "replies")
    assert json.loads(replies) == [NASTY] * 5
    assert len(page.scripts) == 3  # data, one file of replies, the page's own


def test_json_in_a_script_cannot_end_it() -> None:
    assert script_json(NASTY).count("<") == 0
    assert json.loads(script_json({NASTY: [NASTY, None, 1.5]})) == {NASTY: [NASTY, None, 1.5]}


def test_a_report_that_cannot_be_written_says_so_before_scoring(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(HarkenError, match=r"report\.html: cannot be written"):
        report(tmp_path, arguments)


def test_a_failed_comparison_leaves_no_report(tmp_path: Path, arguments: list[str]) -> None:
    with pytest.raises(HarkenError, match="unknown metric"):
        report(tmp_path, arguments, metrics=["blue"])
    assert not (tmp_path / "report.html").exists()


# ---- charts ----


def bar(name: str, value: float, reach: float | None = None) -> Bar:
    low, high = (None, None) if reach is None else (value - reach, value + reach)
    return Bar(name=name, value=value, low=low, high=high, shown=f"{value}", tip=name, colour=0)


def widths(svg: str) -> list[float]:
    return [float(width) for width in re.findall(r'class="bar s\d" x="[\d.]+" y="[\d.]+" width="([\d.]+)"', svg)]


def test_bars_are_as_long_as_their_values() -> None:
    first, second = widths(bars("t", [bar("a", 10), bar("b", 5)]))
    assert first == pytest.approx(2 * second, abs=0.2)
    left, right = map(float, re.findall(r'class="bar s0" x="([\d.]+)"', bars("t", [bar("a", -4), bar("b", 4)])))
    assert left < right  # to both sides of nought
    assert "whisker" in bars("t", [bar("a", 1, 0.1)])
    assert "whisker" not in bars("t", [bar("a", 1)])
    assert widths(bars("t", [bar("a", 0.0)])) == [0.5]  # a figure of nought is still seen


def test_bins_by_hand() -> None:
    """Lengths 0 to 99, one text each: 99 % lie below 99, so bins of four, the last takes the rest."""
    bins = Bins.over([np.ones(100, dtype=np.int64)])
    assert (bins.width, bins.count) == (4, 25)
    assert bins.shares(np.ones(100, dtype=np.int64)).tolist() == [4.0] * 25
    assert bins.shares(np.eye(1, 300, 299, dtype=np.int64)[0]).tolist() == [0.0] * 24 + [100.0]
    assert (bins.label(0), bins.label(24)) == ("0–3", "96 and more")
    svg = histogram("t", np.ones(100, dtype=np.int64), np.ones(50, dtype=np.int64), bins, 4.0, 1)
    assert svg.count('class="bar s1"') == 25


def test_principal_components_by_hand() -> None:
    """Points on the diagonal of a plane in three dimensions: one component holds everything."""
    points, shares = principal(np.array([[0.0, 0, 7], [1, 1, 7], [3, 3, 7]]))
    assert shares == pytest.approx([1, 0])
    assert points[:, 1] == pytest.approx([0, 0, 0], abs=1e-12)
    gaps = np.diff(points[:, 0])
    assert np.abs(gaps) == pytest.approx([2**0.5, 2 * 2**0.5])
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(32, 20))
    projected, shares = principal(cloud)
    direct = np.linalg.eigvalsh(np.cov(cloud.T))[::-1]
    assert shares == pytest.approx(direct[:2] / direct.sum())
    assert projected.var(axis=0, ddof=1) == pytest.approx(direct[:2])


@pytest.mark.parametrize("crowding", [1.0, 4.0])
def test_names_of_emotions_do_not_cover_one_another(crowding: float) -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(32, 10)) + crowding * rng.choice([-1, 1], size=(32, 1))
    svg = scatter("t", Embedding(EMOTIONS, vectors))
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)">(\w+)</text>', svg)
    assert [name for _, _, name in found] == list(EMOTIONS)
    boxes = [(float(x), float(y), float(x) + 6.5 * len(name)) for x, y, name in found]
    for (left, y, right), (left2, y2, right2) in combinations(boxes, 2):
        assert right <= left2 or right2 <= left or abs(y - y2) >= 12
    assert svg.count("<circle") == 13
    assert svg.count('<g class="negative">') == 19
