"""A job's page while it works: phases, boots and events as they come, and a plain refresh
without JavaScript.
"""

from typing import Any

import pytest
from playwright.sync_api import expect
from service_running import Running
from service_runs import commit_of


@pytest.fixture
def lease(running: Running) -> tuple[str, str]:
    """A lease and its job."""
    body = {
        "tree": "https://git.example.org/bpf-next.git",
        "base": commit_of("base"),
        "head": commit_of("head"),
        "targets": [{"platform": "amd-rome", "mode": "walltime"}],
        "suites": ["local-storage"],
    }
    running.enrol("amd-rome", "walltime")
    with running.http("upload") as http:
        http.post("/api/v1/requests", json=body, headers={"Idempotency-Key": "one"}).raise_for_status()
    offer = {"host": "rome-1", "platform": "amd-rome", "modes": ["walltime"], "isolation": "bubblewrap"}
    with running.http("work") as http:
        work = http.post("/api/v1/offers", json=offer).raise_for_status().json()
    return work["lease"], work["job"]


def tell(running: Running, lease: str, number: int, text: str) -> None:
    event = {"number": number, "kind": "line", "at": "2026-11-21T12:00:00+00:00", "data": {"text": text}}
    with running.http("work") as http:
        http.post(f"/api/v1/leases/{lease}/events", json={"events": [event]}).raise_for_status()


def test_phases_appear_as_the_host_tells_them(running: Running, lease: tuple[str, str], watched: Any) -> None:
    tell(running, lease[0], 1, "[     1 s] build base: linux 6.12.0")
    page = watched.window(running)
    page.goto(f"/jobs/{lease[1]}")
    expect(page.locator(".phases li.now")).to_contain_text("build base")
    tell(
        running,
        lease[0],
        2,
        "[   121 s] measure:  34%, boot 2 of 42 (head): local-storage-cache-seq-get, about 2 min left",
    )
    expect(page.locator(".phases li.now")).to_contain_text("boot 2 of 42")
    expect(page.locator("progress")).to_have_attribute("value", "34")
    expect(page.locator("#events")).to_contain_text("boot 2 of 42")
    assert page.locator("#events li", has_text="build base").count() == 1
    with running.http("work") as http:
        body = {"outcome": "kernel-failed", "reason": "head: it does not build"}
        http.post(f"/api/v1/leases/{lease[0]}/complete", json=body).raise_for_status()
    expect(page.locator(".state.failed").first).to_be_visible()
    expect(page.locator(".failure")).to_contain_text("head: it does not build")


def test_without_javascript_a_refresh_tells_the_same(
    running: Running, lease: tuple[str, str], watched: Any
) -> None:
    page = watched.window(running, script=False)
    page.goto(f"/jobs/{lease[1]}")
    tell(running, lease[0], 1, "[   121 s] measure:  34%, boot 2 of 42 (head): seq-get, about 2 min left")
    page.get_by_role("link", name="Refresh").click()
    assert "boot 2 of 42" in page.locator(".phases").inner_text()


def test_the_queue_says_the_place_and_what_is_expected(
    running: Running, lease: tuple[str, str], watched: Any
) -> None:
    page = watched.window(running)
    page.goto("/queue")
    row = page.locator("#queue tbody tr").first
    expect(row).to_contain_text("now")
    expect(row).to_contain_text("rome-1")
    expect(row).to_contain_text("too few such jobs are known")
