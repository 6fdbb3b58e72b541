"""What people do on pages."""

from typing import Any


def sign_in(page: Any, running: Any, scope: str = "admin") -> None:
    page.goto("/sign-in")
    page.get_by_label("Token").fill(running.tokens[scope])
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
