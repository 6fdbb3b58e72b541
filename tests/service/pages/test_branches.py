"""Branches are followed, backfilled and let go on their page, with JavaScript and without."""

from typing import Any

import pytest
from browsing import sign_in
from service_running import Running
from service_runs import commit_of

TREE = "https://git.example.org/bpf-next.git"


@pytest.mark.parametrize("script", [True, False])
def test_a_preset_is_followed_by_a_form_and_let_go(script: bool, running: Running, watched: Any) -> None:
    running.enrol("amd-rome")
    page = watched.window(running, script=script)
    page.goto("/branches")
    assert page.get_by_role("button", name="Follow", exact=True).count() == 0
    sign_in(page, running, "admin")
    page.goto("/branches")
    for target in ("emulated-x86-64:icount", "amd-rome:walltime"):
        page.get_by_label("Tree").fill("bpf-next")
        page.get_by_label("Target").select_option(target)
        page.get_by_label("Suite").select_option("local-storage")
        page.get_by_role("button", name="Follow", exact=True).click()
        page.wait_for_url("**/branches")
    text = page.locator("main").inner_text()
    assert "bpf/bpf-next.git, commit" in text
    assert "bpf/bpf-next.git, nightly" in text
    assert "amd-rome:walltime; local-storage, profile standard" in text
    page.get_by_role("button", name="Unfollow master").first.click()
    page.wait_for_url("**/branches")
    page.get_by_role("button", name="Unfollow master").first.click()
    page.wait_for_url("**/branches")
    assert "No branch is followed yet." in page.locator("main").inner_text()


def test_a_range_is_backfilled_by_a_form(running: Running, watched: Any) -> None:
    running.follow(TREE, "master", [commit_of(f"r{number}") for number in range(5)])
    page = watched.window(running, script=False)
    sign_in(page, running, "admin")
    page.goto("/branches")
    page.get_by_label("Measure every commit after").fill(commit_of("r0")[:12])
    page.get_by_label("up to").fill(commit_of("r3"))
    page.get_by_role("button", name="Backfill").click()
    page.wait_for_url("**/branches")
    assert "3 commits lie in ranges that are measured later" in page.locator("main").inner_text()


def test_who_may_not_follow_is_refused(running: Running) -> None:
    with running.http(None) as http:
        http.post("/sign-in", data={"token": running.tokens["triage"], "next": "/"})
        assert http.post("/branches", data={"tree": "bpf-next"}).status_code in (401, 403)
        assert running.rows("SELECT id FROM follow") == []
