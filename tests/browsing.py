"""A real Chromium, and what people do on pages."""

import shutil
from typing import Any

from service_running import Running

_NAMES = ("chromium-headless-shell", "google-chrome", "chromium", "chromium-browser")
"""The first starts in half the time of a whole browser, with the same engine."""


def launch(playwright: Any) -> Any:
    """The distribution's Chromium, quiet; without one what `playwright install chromium` brought."""
    program = next((path for name in _NAMES if (path := shutil.which(name))), None)
    quiet = ["--disable-background-networking", "--disable-component-update", "--no-first-run"]
    return playwright.chromium.launch(executable_path=program, args=["--no-sandbox", *quiet])


def sign_in(page: Any, running: Running, scope: str = "admin") -> None:
    page.goto("/sign-in")
    page.get_by_label("Token").fill(running.tokens[scope])
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
