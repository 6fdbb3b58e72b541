"""How fast the pages are: at the server, on the wire, and in a browser on the same machine."""

import json
import random
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from load.served import Served

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from browsing import launch

_REPEATS = 200
_LOADS = 12

_LINKED = {
    "regression page": r'href="(/regressions/[0-9a-f]{32})"',
    "branch page": r'href="(/branches/[^"]+)"',
}
"""Pages whose first address the home page has."""

_SCROLL = """
() => new Promise((done) => {
  const frames = []; let last = performance.now(), y = 0;
  const end = document.documentElement.scrollHeight;
  const step = (now) => {
    frames.push(now - last); last = now; y += 400;
    scrollTo({ top: y, behavior: "instant" });
    if (y < end && frames.length < 600) requestAnimationFrame(step); else done(frames.slice(2));
  };
  requestAnimationFrame(step);
})
"""


def page_path(base: str, head: str) -> str:
    return f"/compare/{base}...{head}?mode=walltime"


def pages(
    service: Served,
    pairs: Sequence[tuple[str, str]],
    series: Sequence[str],
    timed: Callable[[Callable[[], Any]], float],
    report: Callable[..., None],
) -> None:
    """Compare, home, series and inbox as HTML. The first view of each comparison is laid out; the next ones
    are kept.
    """
    drawn = random.Random(3)
    headers = {"Accept-Encoding": "gzip", "Accept": "text/html"}
    with service.http() as http:

        def get(path: str) -> Any:
            answer = http.get(path, headers=headers).raise_for_status()
            assert answer.status_code == 200, f"{path}: {answer.status_code}"
            return answer

        for pair in pairs:  # whatever nobody asked for before is compared now
            http.get(f"/api/v1/comparisons/{pair[0]}...{pair[1]}?mode=walltime").raise_for_status()
        get("/")
        first = [timed(partial(get, page_path(*pair))) for pair in pairs]
        report("compare page, 2 x 3,000 series, first view", first)
        last = pairs[-12:]
        again = [timed(lambda: get(page_path(*drawn.choice(last)))) for _ in range(_REPEATS)]
        report("compare page, the same again", again)
        answer = get(page_path(*pairs[0]))
        size = answer.num_bytes_downloaded
        print(f"compare page: {size / 1000:.0f} KB compressed, {len(answer.content) / 1000:,.0f} KB of HTML")
        report(
            "compare page, filtered",
            [
                timed(lambda: get(page_path(*drawn.choice(last)) + f"&text={drawn.randrange(3000)}"))
                for _ in range(40)
            ],
        )
        report("home page", [timed(lambda: get("/")) for _ in range(_REPEATS)])
        report(
            "series page over 5,000 revisions",
            [timed(lambda: get(f"/series/{drawn.choice(series)}?last=5000")) for _ in range(40)],
        )
        report("regressions page", [timed(lambda: get("/regressions")) for _ in range(_REPEATS)])
    home = get("/").text
    others = {
        "home page": "/",
        "series page": f"/series/{series[0]}",
        **{
            name: found[0].replace("&amp;", "&")
            for name, pattern in _LINKED.items()
            if (found := re.findall(pattern, home))
        },
    }
    _browser(service.url, [page_path(*pair) for pair in pairs], others, report)


def _browser(
    url: str, compared: Sequence[str], others: Mapping[str, str], report: Callable[..., None]
) -> None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - the other measurements need no browser

    frames: list[float] = []
    with sync_playwright() as playwright:
        chromium = launch(playwright)

        def first_paint(path: str, *, scroll: bool = False) -> float:
            page = chromium.new_context(viewport={"width": 1280, "height": 900}).new_page()
            page.goto(url + path)
            page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0")
            at = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            frames.extend(page.evaluate(_SCROLL) if scroll else [])
            page.context.close()
            return float(at)

        paints = [first_paint(compared[turn % len(compared)], scroll=True) for turn in range(_LOADS)]
        report("compare page, first contentful paint", paints)
        for name, path in others.items():
            report(f"{name}, first contentful paint", [first_paint(path) for _ in range(_LOADS)])
        chromium.close()
    report("compare page, frames while scrolling 400 px a frame", frames)
    print(json.dumps({"frames over 50 ms": sum(frame > 50 for frame in frames), "frames": len(frames)}))
