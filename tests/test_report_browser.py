"""The report in Chromium: it loads nothing, says nothing on the console, filters, pages, and fits a phone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harken.scoring.compare_files import Options
from harken.scoring.compare_sources import find_sources
from harken.scoring.replies import write_replies
from harken.scoring.report import write_report
from harken.scoring.uncertainty import Resamples
from starter_replies import blunt, half, near, records, starter, write, write_run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'harken[browser]'")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
QUIET += ["--disable-component-update", "--disable-sync"]
MARKUP = "<img src=x onerror=\"document.title='broken'\"> </script> <b>bold</b> & rare-word"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium, and none is installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three systems on 160 examples: two agree on every tenth, one has markup in its 5th reply and an endless word."""
    folder = tmp_path_factory.mktemp("report")
    write_run(folder / "mime", half)
    write(folder / "near.jsonl", near)
    mixed = records(near)
    mixed = [one if i % 10 == 0 else replace(one, reply=blunt(i, starter()[0])) for i, one in enumerate(mixed)]
    mixed[4] = replace(mixed[4], reply=MARKUP)
    mixed[6] = replace(mixed[6], reply="w" * 400)
    write_replies(folder / "a-system-with-quite-a-long-name-of-its-own.jsonl", mixed)
    names = ("near.jsonl", "a-system-with-quite-a-long-name-of-its-own.jsonl", "mime")
    options = Options(
        metrics=["bleu-1", "distinct-2", "length", "parameters"], resamples=Resamples(samples=50), by="turn"
    )
    write_report(folder / "report.html", find_sources([str(folder / name) for name in names]), options)
    return folder / "report.html"


@pytest.fixture
def page(chromium: Any, report: Path) -> Iterator[Any]:
    with_page = chromium.new_page(viewport={"width": 1280, "height": 900})
    with_page.set_default_timeout(5000)
    troubles: list[str] = []
    with_page.on("console", lambda message: troubles.append(message.text))
    with_page.on("pageerror", lambda problem: troubles.append(str(problem)))
    requests: list[str] = []
    with_page.on("request", lambda request: requests.append(request.url))
    with_page.goto(report.as_uri())
    yield with_page
    assert troubles == []
    assert requests == [report.as_uri()]
    with_page.close()


def shown(page: Any) -> int:
    """How many examples pass the filters."""
    return int(page.locator(".count").inner_text().split()[0].replace(",", ""))


def search(page: Any, words: str) -> None:
    page.get_by_label("Search").fill(words)
    page.wait_for_timeout(300)


def test_all_parts_are_drawn(page: Any) -> None:
    assert shown(page) == 160
    assert page.locator("article.talk").count() == 20
    assert page.locator("#bars svg").count() == 4
    assert page.locator("#lengths svg").count() == 3
    assert page.locator("#embeddings svg text").count() == 32 + 2
    page.get_by_label("By", exact=True).select_option(label="emotion")
    assert page.locator("#map tbody tr").count() == 32
    assert page.title() == "3 systems, 160 examples · harken compare"


def test_replies_are_filtered_by_words_emotion_and_difference(page: Any) -> None:
    search(page, "rare-word")
    assert shown(page) == 1
    assert page.locator("mark").inner_text() == "rare-word"
    search(page, "no text has this")
    assert shown(page) == 0
    search(page, "")
    page.get_by_label("Emotion", exact=True).select_option("afraid")
    expected = [one for one in records(near) if one.emotion == "afraid"]
    assert shown(page) == len(expected)
    assert set(page.locator(".tag").all_inner_texts()) == {"afraid"}
    page.get_by_label("Emotion", exact=True).select_option("")
    page.get_by_title("Show the replies of mime").uncheck()
    page.get_by_label("only where systems differ").check()
    assert shown(page) == 160 - 16  # the two that are left agree on every tenth example
    assert page.locator("article.talk").first.locator("dt").count() == 3  # the response and two systems
    page.get_by_title("Show the replies of mime").check()
    assert shown(page) == 160


def test_pages_turn_with_the_keyboard(page: Any) -> None:
    first = page.locator("article.talk header span").first
    assert first.inner_text() == "example 1"
    assert page.get_by_label("Previous page").is_disabled()
    page.get_by_label("Next page").focus()
    page.keyboard.press("Enter")
    assert first.inner_text() == "example 21"
    page.get_by_label("Page", exact=True).fill("8")
    page.keyboard.press("Tab")
    assert first.inner_text() == "example 141"
    assert page.get_by_label("Next page").is_disabled()
    page.get_by_label("First page").press("Space")
    assert first.inner_text() == "example 1"
    search(page, "rare-word")
    assert page.get_by_label("Next page").is_disabled()


def test_markup_in_a_reply_is_shown_and_does_nothing(page: Any) -> None:
    search(page, "rare-word")
    page.get_by_label("underline words of the response").check()
    assert MARKUP in page.locator("article.talk").inner_text()
    assert page.locator("article.talk img, article.talk b").count() == 0
    assert "broken" not in page.title()


def test_the_heat_map_follows_its_controls(page: Any) -> None:
    page.get_by_label("By", exact=True).select_option(label="turn")
    page.get_by_label("Metric").select_option("length")
    cells = page.locator("#map tbody tr").first.locator("td")
    values = [float(text) for text in cells.all_inner_texts()]
    page.get_by_label("Show", exact=True).select_option("difference")
    minus = [float(text) for text in cells.all_inner_texts()]
    assert minus[0] == 0
    assert minus[1] == pytest.approx(values[1] - values[0], abs=0.011)
    assert "near" in cells.first.get_attribute("title")


@pytest.mark.parametrize("width", [375, 320, 1280])
def test_no_page_is_wider_than_its_window(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    search(page, "wwww")
    assert shown(page) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_control_has_a_name_and_takes_the_focus(page: Any) -> None:
    nameless = page.evaluate(
        """[...document.querySelectorAll("input, select, button, svg, .scroll")].filter((one) =>
             !(one.labels && one.labels.length) && !one.getAttribute("aria-label") && !one.textContent.trim()).length"""
    )
    assert nameless == 0
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    unreachable = page.evaluate(
        """[...document.querySelectorAll("input, select, button:enabled, .scroll, summary")].filter((one) => {
             one.focus(); return document.activeElement !== one; }).length"""
    )
    assert unreachable == 0


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (colour) => {
    canvas.fillStyle = "#000"; canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => part / 255)
      .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = (one) => {
    for (; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)" && colour !== "transparent") return colour;
    }
    return "#fff";
  };
  const found = [...document.querySelectorAll("p, td, th, small, a, dt, dd, code, .mark, .tag, label, button:enabled, .key")]
    .filter((one) => one.textContent.trim() && one.offsetParent).map((one) => {
      const a = light(getComputedStyle(one).color), b = light(back(one));
      return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), one.className, one.textContent.slice(0, 30)];
    });
  return found.sort((a, b) => a[0] - b[0])[0];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_both_colour_schemes(page: Any, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.get_by_label("Show", exact=True).select_option("difference")
    worst = page.evaluate(CONTRAST)
    assert worst[0] >= 4.5, worst
    page.get_by_label("Show", exact=True).select_option("value")
    worst = page.evaluate(CONTRAST)
    assert worst[0] >= 4.5, worst


def test_the_button_chooses_the_colours(page: Any) -> None:
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Colours: system").click()
    page.get_by_role("button", name="Colours: light").wait_for()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
    page.get_by_role("button", name="Colours: light").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_a_large_report_answers_at_once(chromium: Any, tmp_path: Path) -> None:
    """About five thousand examples and four systems: a search, and a page, within a second each."""
    files = [str(write(tmp_path / f"{i}.jsonl", near if i % 2 else half, None)) for i in range(4)]
    write_report(
        tmp_path / "large.html", find_sources(files), Options(metrics=["length"], resamples=Resamples(samples=0))
    )
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto((tmp_path / "large.html").as_uri())
    assert shown(page) > 5000
    clock = """(id) => new Promise((done) => {
      const search = document.getElementById("search"), began = performance.now();
      new MutationObserver(() => requestAnimationFrame(() => done(performance.now() - began)))
        .observe(document.getElementById("talks"), { childList: true });
      if (id) document.querySelector(`[aria-label="${id}"]`).click();
      else { search.value = "the"; search.dispatchEvent(new Event("input")); }
    })"""
    assert page.evaluate(clock, "") < 1000  # 150 ms of it wait for the next key
    assert page.evaluate(clock, "Next page") < 1000
    page.close()
