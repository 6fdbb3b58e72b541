"""Base and head of requests: what compares nothing is refused, and a branch stands for the commit at which
head left it.
"""

from typing import Any

import pytest
from service_running import Running
from service_runs import commit_of, run_of

from cliffwatch_service.jobs.ends import base_on_branch
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import trees

ASKED = {
    "tree": "https://git.example.org/bpf-next.git",
    "targets": [{"platform": "amd-rome", "mode": "walltime"}],
    "suites": ["local-storage"],
}


def answer(running: Running, **ends: Any) -> Any:
    running.enrol("amd-rome")
    with running.http("upload") as http:
        return http.post("/api/v1/requests", json={**ASKED, **ends}, headers={"Idempotency-Key": "one"})


def test_a_commit_is_not_compared_with_itself(running: Running) -> None:
    refused = answer(running, base=commit_of("r0"), head=commit_of("r0"))
    assert refused.status_code == 422
    assert "base and head are the same commit" in refused.json()["detail"]


def test_a_head_that_is_older_than_base_is_refused(running: Running) -> None:
    running.measure(run_of(boots=2, cases=1, base="r0", head="r1", parents={"r1": ["r0"]}))
    refused = answer(running, base=commit_of("r1"), head=commit_of("r0"))
    assert refused.status_code == 422
    assert "is an ancestor of base" in refused.json()["detail"]
    assert "exchange them" in refused.json()["detail"]
    assert answer(running, base=commit_of("r0"), head=commit_of("r1")).status_code == 201


def test_a_branch_means_the_commit_at_which_head_left_it(running: Running) -> None:
    line = [commit_of(name) for name in ("r0", "r1", "r2", "r3")]
    running.follow("https://git.example.org/bpf-next.git", "master", line)
    running.measure(
        run_of(boots=2, cases=1, base="r1", head="topic", parents={"topic": ["r1"], "r1": ["r0"]})
    )

    with running.service.transaction() as connection:
        (tip,) = trees.revisions_named(connection, line[-1])
        assert base_on_branch(connection, "master", tip, commit_of("topic")) == commit_of("r1")
        with pytest.raises(Refusal) as refused:
            base_on_branch(connection, "master", tip, "e" * 40)
    assert "`git merge-base master HEAD` prints it" in refused.value.detail


def test_a_request_that_names_no_suite_asks_for_those_of_the_change(running: Running) -> None:
    made = answer(running, base=commit_of("r0"), head=commit_of("r1"), suites=[])
    assert made.json()["suites"] == ["auto"]


def test_a_history_is_not_of_suites_that_each_change_chooses(running: Running) -> None:
    body = {"branch": "master", "policy": "commit", **ASKED, "suites": ["auto"]}
    with running.http("admin") as http:
        refused = http.post("/api/v1/follows", json=body)
    assert refused.status_code == 422
    assert "name suites, or `all`" in refused.json()["detail"]
