"""A service filled with the demonstration, and a real Chromium that looks at it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from browsing import launch
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from service_running import Running

WIDTHS = {"desk": 1280, "hand": 390}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for each module: while it is open, Playwright's event loop runs in this thread, and nothing else
    can run one.
    """
    with sync_playwright() as playwright:
        chromium = launch(playwright)
        yield chromium
        chromium.close()


_PATIENCE_MS = 300_000
"""A browser beside other work is slow, and that is no failure of a page."""

expect.set_options(timeout=_PATIENCE_MS)


@dataclass
class Watched:
    """Browser windows, and what went wrong in them."""

    browser: Browser
    contexts: list[BrowserContext] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def window(
        self, running: Running, *, width: int = 1280, theme: str = "light", script: bool = True
    ) -> Page:
        context = self.browser.new_context(
            base_url=running.url,
            viewport={"width": width, "height": 900},
            color_scheme=theme,
            java_script_enabled=script,
            permissions=["clipboard-read", "clipboard-write"],
        )
        context.set_default_timeout(_PATIENCE_MS)
        self.contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self._console(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(f"script: {error}"))
        page.on(
            "dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss())
        )
        page.on("request", lambda request: self._request(running.url, request.url))
        return page

    def _console(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(f"console: {text}")

    def _request(self, own: str, url: str) -> None:
        if not url.startswith((own, "data:", "blob:")):
            self.complaints.append(f"a request to another host: {url}")


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    """Windows whose every complaint fails the test; those that a test expects it takes out of
    `complaints`.
    """
    visitor = Watched(browser)
    yield visitor
    for context in visitor.contexts:
        context.close()
    assert visitor.complaints == []


Opened = Callable[..., Page]


@pytest.fixture
def opened(watched: Watched, demonstration: Running) -> Opened:
    """Opens an address of the demonstration."""

    def open_page(path: str, **how: Any) -> Page:
        page = watched.window(demonstration, **how)
        page.goto(path)
        return page

    return open_page
