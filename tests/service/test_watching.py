"""What watching a branch says: candidates of steps, events of a host, slow trends."""

from datetime import timedelta

import numpy as np
from numpy.typing import NDArray
from series_without_points import SERIES, branch_without_points
from service_running import Running
from service_runs import commit_of

from cliffwatch_service.history.watching.branch import watch_branch
from cliffwatch_service.history.watching.trends import look_for_trends
from cliffwatch_service.store.history.points import replace_points


def measured_branch(running: Running, logs: NDArray[np.float64], mode: str = "walltime") -> int:
    """A branch whose revisions read `logs`, (revisions, series), each measured by an arm of one
    run; its id.
    """
    branch = branch_without_points(running, len(logs), mode)
    for index, values in enumerate(logs):
        add_point(running, branch, index, values)
    return branch


def add_point(running: Running, branch: int, index: int, values: NDArray[np.float64]) -> None:
    (run,) = running.rows("SELECT id, environment_id FROM run")
    (member,) = running.rows(
        f"SELECT revision_id FROM branch_revision WHERE branch_id = {branch} ORDER BY ordinal OFFSET {index}"
        " LIMIT 1"
    )
    series = running.rows(f"SELECT id FROM series ORDER BY id LIMIT {SERIES}")
    with running.service.transaction() as connection:
        (arm,) = connection.execute(
            "INSERT INTO arm (run_id, name, revision_id, label) VALUES (%s, %s, %s, '') RETURNING id",
            [run["id"], f"of r{index}", member["revision_id"]],
        ).fetchone()
        points = [
            (each["id"], 5, float(np.exp(value)), None, None)
            for each, value in zip(series, values, strict=True)
        ]
        replace_points(connection, arm, member["revision_id"], run["environment_id"], points)
        at = running.clock.now() - timedelta(days=80) + index * timedelta(hours=16)
        connection.execute("UPDATE revision SET committed = %s WHERE id = %s", [at, member["revision_id"]])


def noise(revisions: int, spread: float = 0.005) -> NDArray[np.float64]:
    return np.log(100) + np.random.default_rng(5).normal(0, spread, (revisions, SERIES))


def watch(running: Running, branch: int) -> int:
    with running.service.transaction() as connection:
        return watch_branch(connection, branch, running.clock.now())


def page(running: Running, path: str) -> str:
    with running.http(None) as http:
        return str(http.get(path).raise_for_status().text)


def digests(running: Running) -> list[str]:
    return [row["digest"] for row in running.rows(f"SELECT digest FROM series ORDER BY id LIMIT {SERIES}")]


def test_a_step_of_one_series_is_a_candidate_between_the_revisions_that_hold_it(running: Running) -> None:
    logs = noise(50)
    logs[30:, 0] += 0.05
    branch = measured_branch(running, logs)

    assert watch(running, branch) == 1
    (change,) = running.get("/changes")["items"]
    assert (change["state"], change["base"], change["head"]) == (
        "candidate",
        commit_of("r29"),
        commit_of("r30"),
    )
    assert watch(running, branch) == 0


def test_series_of_a_host_that_step_together_are_an_event_that_a_fresh_comparison_is_to_judge(
    running: Running,
) -> None:
    logs = noise(50)
    logs[30:, :5] += 0.05
    branch = measured_branch(running, logs)

    assert watch(running, branch) == 5
    assert {each["state"] for each in running.get("/changes")["items"]} == {"candidate"}
    assert running.get("/reports")["items"] == []
    (event,) = running.get(f"/series/{digests(running)[0]}/history")["host_events"]
    assert (event["stepped"], event["measured"]) == (5, SERIES)
    assert event["head"] == commit_of("r30")
    assert running.get(f"/series/{digests(running)[7]}/history")["host_events"] == []
    shown = page(running, f"/series/{digests(running)[0]}")
    assert "5 of 8 series" in shown
    assert "the host or a commit" in shown


def test_after_an_event_a_series_is_watched_anew(running: Running) -> None:
    logs = noise(80)
    logs[30:, :5] += 0.05
    logs[60:, 0] += 0.05
    branch = measured_branch(running, logs)

    assert watch(running, branch) == 6
    assert watch(running, branch) == 0
    heads = sorted(each["head"] for each in running.get("/changes")["items"])
    assert heads == sorted([*[commit_of("r30")] * 5, commit_of("r60")])
    assert len(running.rows("SELECT id FROM host_event")) == 1


def test_counted_series_that_step_together_are_a_commits_doing(running: Running) -> None:
    logs = noise(50, spread=0)
    logs[30:, :5] += 0.05
    branch = measured_branch(running, logs, mode="icount")

    assert watch(running, branch) == 5
    assert running.rows("SELECT id FROM host_event") == []


def test_a_slow_drift_is_a_trend_and_no_step(running: Running) -> None:
    logs = noise(110)
    logs[:, 2] += np.linspace(0, 0.06, 110)
    branch = measured_branch(running, logs)

    assert watch(running, branch) == 0
    with running.service.transaction() as connection:
        assert look_for_trends(connection, running.clock.now()) == 2
    digest = digests(running)[2]
    trends = running.get(f"/series/{digest}/history")["trends"]
    assert [trend["since"] for trend in trends] == ["90 days", "release"]
    assert abs(trends[0]["total"] - 0.06) < 0.02
    assert "without a step" in page(running, f"/series/{digest}")


def test_a_trend_that_is_no_longer_there_is_no_longer_shown(running: Running) -> None:
    logs = noise(110)
    logs[:, 2] += np.linspace(0, 0.06, 110)
    measured_branch(running, logs)
    with running.service.transaction() as connection:
        look_for_trends(connection, running.clock.now())
        connection.execute("DELETE FROM point")
        assert look_for_trends(connection, running.clock.now()) == 0
    assert running.get(f"/series/{digests(running)[2]}/history")["trends"] == []
