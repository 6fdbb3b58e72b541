"""Followed branches: what is requested of them, from a real git server."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import toy
from service_runs import arm_of, record_of, run_of

from cliffwatch_service.history.follow import MOST_COMMITS, Wish, poll, wishes
from cliffwatch_service.store import follows

NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.mark.parametrize(
    ("policy", "fresh", "requested", "expected"),
    [
        ("commit", ["b", "c"], None, [Wish("a", "b"), Wish("b", "c")]),
        ("push", ["b", "c"], None, [Wish("a", "c")]),
        ("nightly", ["b", "c"], None, [Wish("a", "c")]),
        ("nightly", ["b", "c"], NOW - timedelta(hours=3), []),
        ("nightly", ["b", "c"], NOW - timedelta(hours=23), [Wish("a", "c")]),
        ("commit", [], None, []),
    ],
)
def test_a_policy_asks(policy: Any, fresh: list[str], requested: datetime | None, expected: list[Wish]) -> None:
    assert wishes(policy, fresh, "a", requested, NOW) == expected


def test_of_a_large_push_the_newest_commits_are_measured_one_by_one() -> None:
    fresh = [f"c{index}" for index in range(500)]
    wanted = wishes("commit", fresh, "a", None, NOW)
    assert len(wanted) == MOST_COMMITS
    assert wanted[-1] == Wish("c498", "c499")


def follow(running: Any, url: str, policy: str = "commit") -> int:
    body = {
        "tree": url,
        "branch": "master",
        "policy": policy,
        "targets": [{"platform": "emulated-x86-64", "mode": "icount"}],
        "suites": ["local-storage"],
    }
    with running.http("admin") as http:
        return int(http.post("/api/v1/follows", json=body).raise_for_status().json()["follow"])


def look(running: Any, number: int, tmp_path: Path) -> int:
    with running.service.transaction() as connection:
        return poll(connection, number, tmp_path / "git", running.clock.now())


def test_each_new_commit_is_requested_against_its_parent_once(
    running: Any,
    served: Any,
    tmp_path: Path,
) -> None:
    url, repository = served
    number = follow(running, url)
    assert look(running, number, tmp_path) == 0
    start = toy.git(repository, "rev-parse", "HEAD")
    made = [toy.change(repository, "kernel/bpf/core.c", f"int core = {n};\n", f"bpf: Change {n}") for n in range(3)]
    assert look(running, number, tmp_path) == 3
    assert look(running, number, tmp_path) == 0

    asked = running.get("/requests")["items"]
    assert {(each["base"], each["head"]) for each in asked} == set(pairwise([start, *made]))
    assert {each["asked_by"] for each in asked} == {"follow"}
    rows = running.rows(
        "SELECT commit, subject FROM branch_revision JOIN revision ON revision.id = revision_id ORDER BY ordinal"
    )
    assert [row["commit"] for row in rows] == [start, *made]
    assert rows[-1]["subject"] == "bpf: Change 2"


def test_a_forced_push_replaces_what_it_replaced(running: Any, served: Any, tmp_path: Path) -> None:
    url, repository = served
    number = follow(running, url, "push")
    start = toy.git(repository, "rev-parse", "HEAD")
    look(running, number, tmp_path)
    old = toy.change(repository, "kernel/bpf/core.c", "int core = 1;\n", "bpf: First try")
    look(running, number, tmp_path)
    toy.git(repository, "reset", "--quiet", "--hard", start)
    new = toy.change(repository, "kernel/bpf/core.c", "int core = 2;\n", "bpf: Second try")
    assert look(running, number, tmp_path) == 1

    rows = running.rows(
        "SELECT commit FROM branch_revision JOIN revision ON revision.id = revision_id ORDER BY ordinal"
    )
    assert [row["commit"] for row in rows] == [start, new]
    assert old in [row["commit"] for row in running.rows("SELECT commit FROM revision")]


def test_a_tree_that_cannot_be_reached_says_why_and_is_tried_again(
    running: Any, unused_tcp_url: str, tmp_path: Path
) -> None:
    number = follow(running, unused_tcp_url.replace("http", "git") + "/linux")
    assert look(running, number, tmp_path) == 0
    (entry,) = running.get("/follows")["items"]
    assert "unable to connect" in entry["problem"]
    with running.service.transaction() as connection:
        later = running.clock.now() + timedelta(minutes=6)
        assert follows.due_follows(connection, later - timedelta(seconds=300)) == [number]


def test_facts_of_a_branchs_revisions_come_from_git_and_not_from_uploads(
    running: Any, served: Any, tmp_path: Path
) -> None:
    """Somebody claims a commit before the service has looked at it, with lies for subject, author, date and release."""
    url, repository = served
    head = toy.git(repository, "rev-parse", "HEAD")
    run = run_of(boots=1, cases=1)
    lies = {"commit": head, "subject": "bpf: a lie", "author": "Nobody", "release": "9.9.9", "parents": ["f" * 40]}
    arm_of(run.record, "head")["facts"].update(lies)
    with running.http("upload") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run)).raise_for_status()
        assert running.get(f"/revisions/{head}")["subject"] == "bpf: a lie"
    number = follow(running, url)
    look(running, number, tmp_path)
    other = run_of(boots=1, cases=1, seed=2)
    arm_of(other.record, "head")["facts"].update(lies)
    with running.http("upload") as http:
        http.put(f"/api/v1/runs/{other.digest}", json=record_of(other)).raise_for_status()
    known = running.get(f"/revisions/{head}")
    assert known["subject"] == toy.git(repository, "log", "-1", "--format=%s")
    assert known["author"] == toy.git(repository, "log", "-1", "--format=%an")
    assert (known["release"], known["parents"]) == (None, toy.git(repository, "log", "-1", "--format=%P").split())
