"""A host whose control moved takes no walltime job until somebody ends its quarantine."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from asking import TREE, ask, offer
from click.testing import CliRunner
from service_running import Running
from service_runs import MadeRun, commit_of, put_all, record_digest, run_of
from test_metrics import metrics

from cliffwatch.command.main import main
from cliffwatch_service.jobs.estimates import estimate_jobs
from cliffwatch_service.store import background
from cliffwatch_service.store.work import queue

SAID = "base differed from itself in 1 of 3 rows, by up to 10"


def with_control(run: MadeRun, moved: float) -> MadeRun:
    """The run with base under a second name, which is slower than base by `moved` in the first case."""
    plan, (base, *_) = run.record["plan"], run.record["arms"]
    more = [
        {**boot, "arm": "control", "index": len(plan["boots"]) + number}
        for number, boot in enumerate((boot for boot in plan["boots"] if boot["arm"] == "base"), start=1)
    ]
    arms = [*run.record["arms"], {**base, "name": "control"}]
    record = {**run.record, "arms": arms, "plan": {**plan, "boots": [*plan["boots"], *more]}}
    control = run.logs[:1] + np.random.default_rng(7).normal(0, 0.001, run.logs[:1].shape)
    control[0, :, 0] += np.log1p(moved)
    logs = np.concatenate([run.logs, control])
    return replace(run, record=record, logs=logs, digest=record_digest(record, run.host))


def measure(running: Running, moved: float, **other: Any) -> MadeRun:
    run = with_control(run_of(boots=12, cases=3, spread=0.001, **other), moved)
    work = running.lease(replace(run, record={**run.record, "arms": run.record["arms"][:2]}))
    with running.http("of rome-1") as http:
        put_all(http, run, job=work["job"])
        end = {"outcome": "done", "run": run.digest}
        http.post(f"/api/v1/leases/{work['lease']}/complete", json=end).raise_for_status()
    running.do_tasks()
    return run


@pytest.fixture
def followed(running: Running) -> Running:
    running.follow(TREE, "master", [commit_of("base"), commit_of("head"), commit_of("next")])
    return running


def test_a_moved_control_keeps_the_host_from_walltime_jobs_alone(followed: Running) -> None:
    run = measure(followed, moved=0.1)
    ask(followed, head=commit_of("next"))

    (host,) = followed.get("/hosts")["items"]
    assert host["quarantine_reason"].startswith(SAID)
    assert host["quarantine_run"] == run.digest
    with followed.http("of rome-1") as http:
        body = {"host": "rome-1", "platform": "amd-rome", "isolation": "bubblewrap"}
        refused = http.post("/api/v1/offers", json={**body, "modes": ["walltime", "icount"]})
        assert refused.status_code == 423
        assert SAID in refused.json()["detail"]
        assert "cliffwatch host calibrate --mode walltime --tree DIR --url URL" in refused.json()["detail"]
        assert "cliffwatch host release rome-1 --reason TEXT" in refused.json()["detail"]
        assert http.post("/api/v1/offers", json={**body, "modes": ["icount"]}).status_code == 204
        ask(followed, "counted", targets=[{"platform": "amd-rome", "mode": "icount"}])
        work = http.post("/api/v1/offers", json={**body, "modes": ["walltime", "icount"]}).json()
    assert work["mode"] == "icount"
    assert offer(followed, "rome-2", modes=["walltime"])["mode"] == "walltime"


def test_a_job_that_waits_for_it_counts_no_host(followed: Running) -> None:
    measure(followed, moved=0.1)
    made = ask(followed, head=commit_of("next"))
    with followed.http("of rome-1") as http:
        body = {"host": "rome-1", "platform": "amd-rome", "isolation": "bubblewrap"}
        http.post("/api/v1/offers", json={**body, "modes": ["walltime", "icount"]})
    ask(followed, "counted", targets=[{"platform": "amd-rome", "mode": "icount"}])
    with followed.http(None) as http:
        assert "0 hosts at work" in http.get(f"/jobs/{made['jobs'][0]['job']}").text
        assert "no host takes such jobs now" in http.get("/queue").text
    with followed.service.transaction() as connection:
        estimates = estimate_jobs(connection, queue.queue_of(connection, 10), followed.clock.now())
    assert sorted(each.hosts for each in estimates.values()) == [0, 1]


def test_pages_alarms_dashboards_and_metrics_say_so(followed: Running) -> None:
    measure(followed, moved=0.1)

    with followed.http(None) as http:
        for path in ("/", "/hosts", "/hosts/rome-1"):
            assert SAID in http.get(path).raise_for_status().text, path
    assert metrics(followed)["cliffwatch_hosts_quarantined", "amd-rome"] == 1
    with psycopg.connect(followed.database) as connection:
        query = "SELECT quarantine_reason, quarantined_since FROM dashboard.host"
        ((reason, since),) = connection.execute(query).fetchall()
    assert reason.startswith(SAID)
    assert since == followed.clock.now()


def test_an_operator_ends_it_and_the_same_run_does_not_begin_it_again(
    followed: Running, tmp_path: Path
) -> None:
    run = measure(followed, moved=0.1)
    ask(followed, head=commit_of("next"))
    token = tmp_path / "token"
    token.write_text(followed.tokens["admin"])
    token.chmod(0o600)
    words = ["rome-1", "--reason", "a fan was broken", "--url", followed.url, "--token-file", str(token)]
    ended = CliRunner().invoke(main, ["host", "release", *words])
    assert "rome-1 gets walltime jobs again: a fan was broken\n" in ended.output

    again = CliRunner().invoke(main, ["host", "release", *words])
    assert "host rome-1 is not in quarantine" in again.output
    assert again.exit_code == 2
    with followed.service.transaction() as connection:
        background.ask_analysis(connection, run.digest)
    followed.do_tasks()
    assert followed.get("/hosts")["items"][0]["quarantined_since"] is None
    with followed.http(None) as http:
        assert "a fan" not in http.get("/hosts/rome-1").text
        assert "ended by admin" in http.get("/hosts/rome-1").text
    (noted,) = [
        each for each in followed.get("/audit", "admin")["items"] if each["action"] == "end-quarantine"
    ]
    assert noted["detail"] == {"reason": "a fan was broken"}


def test_an_operator_begins_one_by_hand(running: Running, tmp_path: Path) -> None:
    ask(running)
    token = tmp_path / "token"
    token.write_text(running.tokens["admin"])
    token.chmod(0o600)
    words = ["rome-1", "--reason", "new memory", "--url", running.url, "--token-file", str(token)]
    assert CliRunner().invoke(main, ["host", "quarantine", *words]).exit_code == 0
    assert running.get("/hosts")["items"][0]["quarantine_reason"] == "new memory"


def test_no_quarantine_without_a_moved_control_or_for_a_run_that_is_not_of_history(
    running: Running,
) -> None:
    measure(running, moved=0.1)
    assert running.rows("SELECT of_history FROM run") == [{"of_history": False}]
    running.follow(TREE, "master", [commit_of("base"), commit_of("head"), commit_of("next")])
    measure(running, moved=0.0, base="head", head="next", seed=2)
    assert running.get("/hosts")["items"][0]["quarantined_since"] is None
