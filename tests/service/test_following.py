"""Followed branches: what is requested of them, from a real git server."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import toy
from service_running import Running
from service_runs import arm_of, record_of, run_of

from cliffwatch_service.history.follow import RevisionPair, choose_pairs, poll
from cliffwatch_service.ingest.provenance import trust_of
from cliffwatch_service.store import follows
from cliffwatch_service.store.work import queue

NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.mark.parametrize(
    ("policy", "fresh", "requested", "expected"),
    [
        ("commit", ["b", "c"], None, [RevisionPair("a", "b"), RevisionPair("b", "c")]),
        ("affected", ["b", "c"], None, [RevisionPair("a", "b"), RevisionPair("b", "c")]),
        ("push", ["b", "c"], None, [RevisionPair("a", "c")]),
        ("nightly", ["b", "c"], None, [RevisionPair("a", "c")]),
        ("nightly", ["b", "c"], NOW - timedelta(hours=3), []),
        ("nightly", ["b", "c"], NOW - timedelta(hours=23), [RevisionPair("a", "c")]),
        ("commit", [], None, []),
    ],
)
def test_a_policy_asks(
    policy: Any, fresh: list[str], requested: datetime | None, expected: list[RevisionPair]
) -> None:
    assert choose_pairs(policy, fresh, "a", requested, NOW) == expected


def follow(running: Running, url: str, policy: str = "commit") -> int:
    body = {
        "tree": url,
        "branch": "master",
        "policy": policy,
        "targets": [{"platform": "emulated-x86-64", "mode": "icount"}],
        "suites": ["local-storage"],
    }
    with running.http("admin") as http:
        return int(http.post("/api/v1/follows", json=body).raise_for_status().json()["follow"])


def look(running: Running, number: int, tmp_path: Path) -> int:
    with running.service.transaction() as connection:
        return poll(connection, number, tmp_path / "git", running.clock.now())


def test_each_new_commit_is_requested_against_its_parent_once(
    running: Running,
    served: Any,
    tmp_path: Path,
) -> None:
    url, repository = served
    number = follow(running, url)
    assert look(running, number, tmp_path) == 0
    start = toy.git(repository, "rev-parse", "HEAD")
    made = [
        toy.change(repository, "kernel/bpf/core.c", f"int core = {n};\n", f"bpf: Change {n}")
        for n in range(3)
    ]
    assert look(running, number, tmp_path) == 3
    assert look(running, number, tmp_path) == 0

    asked = running.get("/requests")["items"]
    assert {(each["base"], each["head"]) for each in asked} == set(pairwise([start, *made]))
    assert {each["asked_by"] for each in asked} == {"follow"}
    rows = running.rows(
        "SELECT commit, subject FROM branch_revision JOIN revision ON revision.id = revision_id ORDER BY"
        " ordinal"
    )
    assert [row["commit"] for row in rows] == [start, *made]
    assert rows[-1]["subject"] == "bpf: Change 2"


@pytest.mark.parametrize(("policy", "only"), [("affected", True), ("commit", False), ("push", False)])
def test_a_policy_measures_of_every_commit_the_cases_that_it_can_touch(
    running: Running, served: Any, tmp_path: Path, policy: str, *, only: bool
) -> None:
    """Its code is of the followed branch for all that: the host that measures it keeps what it knows."""
    url, repository = served
    number = follow(running, url, policy)
    look(running, number, tmp_path)
    toy.change(repository, "kernel/bpf/core.c", "int core = 1;\n", "bpf: Change")
    look(running, number, tmp_path)

    with running.service.transaction() as connection:
        (row,) = connection.execute("SELECT id FROM job").fetchall()
        job = queue.job_row(connection, row[0])
        assert job is not None
        assert (job.setup == {"only_affected": True}) is only
        assert trust_of(connection, job) == "followed"
        assert (
            trust_of(connection, replace(job, setup={"only_affected": True, "bench_args": ["x"]}))
            == "outside"
        )


def test_a_forced_push_replaces_what_it_replaced(running: Running, served: Any, tmp_path: Path) -> None:
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
    running: Running, unused_tcp_url: str, tmp_path: Path
) -> None:
    number = follow(running, unused_tcp_url.replace("http", "git") + "/linux")
    assert look(running, number, tmp_path) == 0
    (entry,) = running.get("/follows")["items"]
    assert "unable to connect" in entry["problem"]
    with running.service.transaction() as connection:
        later = running.clock.now() + timedelta(minutes=6)
        assert follows.due_follows(connection, later - timedelta(seconds=300)) == [number]


def test_facts_of_a_branchs_revisions_come_from_git_and_not_from_uploads(
    running: Running, served: Any, tmp_path: Path
) -> None:
    """Somebody claims a commit before the service has looked at it, with lies for subject, author, date and
    release.
    """
    url, repository = served
    head = toy.git(repository, "rev-parse", "HEAD")
    run = run_of(boots=1, cases=1)
    lies = {
        "commit": head,
        "subject": "bpf: a lie",
        "author": "Nobody",
        "release": "9.9.9",
        "parents": ["f" * 40],
    }
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
    assert (known["release"], known["parents"]) == (
        None,
        toy.git(repository, "log", "-1", "--format=%P").split(),
    )


def big_push(repository: Path, commits: int) -> list[str]:
    """So many commits at once, the oldest first."""
    tree, parent, made = (
        toy.git(repository, "rev-parse", "HEAD^{tree}"),
        toy.git(repository, "rev-parse", "HEAD"),
        [],
    )
    for number in range(commits):
        parent = toy.git(repository, "commit-tree", tree, "-p", parent, "-m", f"bpf: Commit {number}")
        made.append(parent)
    toy.git(repository, "reset", "--quiet", "--hard", parent)
    return made


def asked_pairs(running: Running) -> list[tuple[str, str]]:
    """What was asked of the branch, in that order."""
    rows = running.rows(
        "SELECT base_commit, head_commit FROM request JOIN job ON request_id = request.id ORDER BY job.seed"
    )
    return [(row["base_commit"], row["head_commit"]) for row in rows]


def test_a_large_push_is_worked_off_coarse_first_to_its_last_commit(
    running: Running, served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cliffwatch_service.history.backlog.MOST_WAITING", 4)
    url, repository = served
    number = follow(running, url)
    look(running, number, tmp_path)
    start = toy.git(repository, "rev-parse", "HEAD")
    made = big_push(repository, 60)
    line = [start, *made]
    assert look(running, number, tmp_path) == 4
    assert set(asked_pairs(running)) == {
        (line[0], line[60]),
        (line[0], line[30]),
        (line[30], line[45]),
        (line[0], line[15]),
    }
    (entry,) = running.get("/follows")["items"]
    assert entry["backlog"] > 50
    assert look(running, number, tmp_path) == 0

    for _ in range(100):
        with running.service.transaction() as connection:
            connection.execute("UPDATE job SET state = 'done'")
        if not look(running, number, tmp_path):
            break
    pairs = asked_pairs(running)
    assert len(pairs) == len(set(pairs)) <= 90
    assert set(pairs) >= set(pairwise(line))
    assert running.get("/follows")["items"][0]["backlog"] == 0


def test_a_range_is_backfilled_on_request(running: Running, served: Any, tmp_path: Path) -> None:
    url, repository = served
    made = big_push(repository, 6)
    number = follow(running, url)
    look(running, number, tmp_path)
    address = f"/api/v1/follows/{number}/backfill"
    with running.http("admin") as http:
        answer = http.post(address, json={"base": made[0], "head": made[4][:12]}).raise_for_status().json()
        backwards = http.post(address, json={"base": made[4], "head": made[0]})
        unknown = http.post(address, json={"base": "f" * 40, "head": made[0]})
    assert answer == {"follow": number, "commits": 4}
    assert (backwards.status_code, "not before" in backwards.json()["detail"]) == (422, True)
    assert unknown.status_code == 404
    look(running, number, tmp_path)
    assert set(asked_pairs(running)) >= set(pairwise(made[:5]))


def test_a_branch_is_followed_by_each_policy_on_targets_of_its_own(
    running: Running, served: Any, tmp_path: Path
) -> None:
    url, repository = served
    commits, nightly = follow(running, url), follow(running, url, "nightly")
    assert commits != nightly
    for number in (commits, nightly):
        look(running, number, tmp_path)
    start = toy.git(repository, "rev-parse", "HEAD")
    made = big_push(repository, 2)
    assert (look(running, commits, tmp_path), look(running, nightly, tmp_path)) == (2, 1)
    assert set(asked_pairs(running)) == {*pairwise([start, *made]), (start, made[-1])}
