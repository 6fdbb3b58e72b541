"""Every page, in both themes and widths: whole, quiet, accessible, and asking nobody else for anything."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from pages_named import PAGES, address

PLACES = """() => [...document.querySelectorAll("main *, footer")]
  .filter((each) => !each.closest("#history svg, #history .uplot, #live, #events"))
  .map((each) => each.getBoundingClientRect().top)"""
"""Where everything stands, but for what scripts draw anew inside boxes of their own."""

BEFORE_SCRIPTS = f"""document.addEventListener("readystatechange", () => {{
  if (document.readyState === "interactive") window.placesBefore = ({PLACES})();
}})"""
"""Notes it when the page is parsed and styled and no deferred script has run yet."""

MOVED = f"""() => {{
  const after = ({PLACES})();
  const seen = window.placesBefore.map((top, index) => (top < innerHeight ? Math.abs(top - after[index]) : 0));
  return Math.max(...seen);
}}"""
"""Of what a reader sees first; rows below are drawn, and so measured, when he comes to them."""


SIDEWAYS = """() => [document.documentElement, ...document.querySelectorAll("body *")]
  .filter((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 1
    && !["visible", "hidden", "clip"].includes(getComputedStyle(each).overflowX))
  .map((each) => `${each.tagName}.${each.className}: ${each.scrollWidth} > ${each.clientWidth}`)"""
"""What has to be scrolled sideways."""

CUT = """() => [...document.querySelectorAll("body *")].filter((each) => {
  const style = getComputedStyle(each);
  const hides = (way) => ["hidden", "clip"].includes(way);
  return each.clientWidth > 1 && !each.closest("svg, input, select, #history")
    && ((hides(style.overflowX) && each.scrollWidth > each.clientWidth + 1)
      || (hides(style.overflowY) && each.scrollHeight > each.clientHeight + 1));
}).map((each) => `${each.tagName}.${each.className}: ${each.textContent.slice(0, 80)}`)"""
"""What its box cuts off."""

HOLLOW = """() => [...document.querySelectorAll("main *")]
  .filter((each) => each.getBoundingClientRect().height > 300 && !each.textContent.trim()
    && !each.closest("svg, #history") && !each.querySelector("svg, img, input, #history"))
  .map((each) => `${each.tagName}.${each.className}`)"""
"""What is high and empty."""

UNALIGNED = """() => [...document.querySelectorAll("table.list")].flatMap((table) => [...table.tBodies[0]?.rows[0]?.cells ?? []]
  .map((cell) => [cell, table.tHead?.rows[0]?.cells[cell.cellIndex]])
  .filter(([cell, head]) => head && getComputedStyle(cell).textAlign !== getComputedStyle(head).textAlign)
  .map(([, head]) => head.textContent))"""
"""Heads of columns that stand elsewhere than what is below them."""


THEMES = {1280: "light", 390: "dark"}
"""Of a desk and of a hand. Themes differ in colours, which axe looks at in both, and widths in where things
stand.
"""


@pytest.mark.parametrize("width", THEMES)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_and_accessible(name: str, width: int, watched: Any, demonstration: Any) -> None:
    page = watched.window(demonstration, width=width, theme=THEMES[width])
    page.add_init_script(BEFORE_SCRIPTS)
    answer = page.goto(address(demonstration, name))
    assert answer is not None
    assert answer.status == PAGES[name].status
    assert page.locator("main h1").first.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "wider than the window"
    assert page.locator(".demonstration").is_visible()
    assert page.evaluate(MOVED) < 1, "something moved when scripts began"
    assert serious(page) == []
    if width == 390:
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert page.evaluate(SIDEWAYS) == []
    else:
        assert page.evaluate(UNALIGNED) == []
        assert [each for each in page.evaluate(SIDEWAYS) if each.startswith("DIV.scroll")] == []
    if PAGES[name].status >= 400:  # a browser tells of every failed load
        watched.complaints = [each for each in watched.complaints if "Failed to load resource" not in each]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_at_twice_its_size(name: str, watched: Any, demonstration: Any) -> None:
    """A window of 1280 pixels zoomed to 200 % has 640 of CSS; one that is made narrower follows."""
    page = watched.window(demonstration, width=640)
    page.goto(address(demonstration, name))
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for width, height in ((640, 450), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "wider than the window"
        assert page.get_by_role("button", name="Menu").is_visible()
        assert not page.locator("nav#menu").is_visible()
        assert page.evaluate(SIDEWAYS) == []
        assert page.evaluate(CUT) == []
        assert page.evaluate(HOLLOW) == []
    if PAGES[name].status >= 400:
        watched.complaints = [each for each in watched.complaints if "Failed to load resource" not in each]


def serious(page: Any) -> list[str]:
    """axe-core's serious and critical violations, with the first elements that have them."""
    violations = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes'][:3]]}"
        for each in violations
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_without_javascript(name: str, watched: Any, demonstration: Any) -> None:
    page = watched.window(demonstration, script=False)
    page.goto(address(demonstration, name))
    assert PAGES[name].words in page.locator("main").inner_text()
    assert page.locator("button:visible", has_text="Theme").count() == 0
    watched.complaints = [each for each in watched.complaints if "Failed to load resource" not in each]


def test_a_page_prints_its_content_and_not_its_switches(opened: Any) -> None:
    page = opened("/compare/21d6391a3033...e975db19874b")
    page.emulate_media(media="print")
    assert page.locator("h1.sentence").is_visible()
    assert not page.locator("#filters").is_visible()
    assert not page.locator(".top nav").is_visible()


def test_the_theme_that_was_chosen_stays(opened: Any) -> None:
    page = opened("/", theme="light")
    page.get_by_role("button", name="Theme").click()
    page.goto("/hosts")
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_pages_allow_nothing_but_their_own(demonstration: Any) -> None:
    with demonstration.http(None) as http:
        headers = http.get("/").headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        style = http.get("/").text.split('rel="stylesheet" href="')[1].split('"')[0]
        assert "immutable" in http.get(style).headers["cache-control"]
        assert http.get("/static/0123456789ab/style.css").status_code == 404


def test_a_link_that_is_shared_tells_the_verdict(demonstration: Any) -> None:
    with demonstration.http(None) as http:
        text = http.get("/compare/21d6391a3033...e975db19874b").text
    assert '<meta property="og:title" content="[demonstration] 15 slower (' in text
    assert "Take the local storage lookup out of line: 15 slower" in text.split("og:description")[1][:300]
