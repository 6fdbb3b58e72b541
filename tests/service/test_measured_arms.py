"""What a service keeps of arms in memory is what the database says, whatever changed since a history was
asked for.
"""

from itertools import pairwise
from typing import Any

import psycopg
import pytest
from service_running import Running
from service_runs import commit_of, run_of

from cliffwatch_service.store.history.measured_arms import MeasuredArms

TREE = "https://git.example.org/bpf-next.git"
NAMES = ["r0", "r1", "r2", "r3"]


def measured(running: Running, names: list[str] = NAMES) -> None:
    running.follow(TREE, "master", [commit_of(name) for name in NAMES])
    for seed, (base, head) in enumerate(pairwise(names)):
        running.measure(run_of(boots=3, cases=1, base=base, head=head, seed=seed))
    running.do_tasks()


def points(running: Running) -> list[dict[str, Any]]:
    (series, *_) = running.get("/series", benchmark="local-storage-cache-seq-get")["items"]
    found: list[dict[str, Any]] = running.get(
        f"/series/{series['series']}/history", tree=TREE, branch="master"
    )["points"]
    return found


def commits(running: Running) -> list[str]:
    return [point["commit"] for point in points(running)]


def changed(running: Running, query: str, *values: Any) -> None:
    with psycopg.connect(running.database) as connection:
        connection.execute(query, values)


def backwards(*names: str) -> list[str]:
    return [commit_of(name) for name in reversed(names)]


def test_a_revision_measured_later_is_there_at_once(running: Running) -> None:
    measured(running, ["r0", "r1", "r2"])
    assert commits(running) == backwards("r0", "r1", "r2")
    running.measure(run_of(boots=3, cases=1, base="r2", head="r3", seed=9))
    running.do_tasks()
    assert commits(running) == backwards("r0", "r1", "r2", "r3")


def test_a_second_measurement_of_a_revision_takes_the_place_of_the_first(running: Running) -> None:
    measured(running)
    first = points(running)[0]
    running.measure(
        run_of(boots=5, cases=1, base="r2", head="r3", seed=9, created="2026-11-21T14:00:00+00:00")
    )
    running.do_tasks()
    second = points(running)[0]
    assert (first["commit"], first["n"], second["commit"], second["n"]) == (
        commit_of("r3"),
        3,
        commit_of("r3"),
        5,
    )
    assert first["run"] != second["run"]


def test_a_run_that_is_not_of_history_any_more_is_gone_and_comes_back(running: Running) -> None:
    measured(running)
    assert commits(running) == backwards("r0", "r1", "r2", "r3")
    newest = points(running)[0]["run"]
    changed(running, "UPDATE run SET of_history = false WHERE digest = %s", newest)
    assert commits(running) == backwards("r0", "r1", "r2")
    changed(running, "UPDATE run SET of_history = true WHERE digest = %s", newest)
    assert commits(running) == backwards("r0", "r1", "r2", "r3")


def test_a_branch_that_was_rewritten_has_its_new_order(running: Running) -> None:
    measured(running)
    assert commits(running) == backwards("r0", "r1", "r2", "r3")
    changed(running, "DELETE FROM branch_revision WHERE ordinal > 1")
    assert commits(running) == backwards("r0", "r1")
    changed(
        running,
        "INSERT INTO branch_revision (branch_id, ordinal, revision_id)"
        " SELECT branch.id, 2, revision.id FROM branch, revision WHERE commit = %s",
        commit_of("r3"),
    )
    assert commits(running) == backwards("r0", "r1", "r3")


@pytest.mark.parametrize("column", ["committed", "authored"])
def test_a_date_that_becomes_known_is_shown(running: Running, column: str) -> None:
    measured(running)
    points(running)
    changed(running, "UPDATE revision SET committed = NULL, authored = NULL")
    points(running)
    changed(
        running, f"UPDATE revision SET {column} = '2020-02-02T02:02:02Z' WHERE commit = %s", commit_of("r3")
    )
    assert points(running)[0]["at"] == "2020-02-02T02:02:02Z"


def test_a_release_that_becomes_known_is_shown(running: Running) -> None:
    measured(running)
    points(running)
    changed(running, "UPDATE revision SET release = 'v6.99' WHERE commit = %s", commit_of("r3"))
    assert points(running)[0]["release"] == "v6.99"


def test_who_began_before_a_change_leaves_nothing_behind(running: Running) -> None:
    """A transaction that has read the count, and looks arms up after another has committed a change and a
    third has learnt of it.
    """
    measured(running)
    known = MeasuredArms()
    with psycopg.connect(running.database) as early, psycopg.connect(running.database) as late:
        early.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        (branch,) = early.execute("SELECT id FROM branch").fetchone() or (0,)
        arms = [row[0] for row in early.execute("SELECT id FROM arm ORDER BY id").fetchall()]
        changed(running, "UPDATE run SET of_history = false")
        known.places(late, branch, arms[:1])
        assert any(each.ordinal is not None for each in known.places(early, branch, arms).values())
        late.commit()
        assert all(each.ordinal is None for each in known.places(late, branch, arms).values())


def test_changes_in_one_transaction_are_counted_once_and_what_is_undone_not_at_all(running: Running) -> None:
    measured(running)
    (before,) = running.rows("SELECT times FROM arms_moved")
    changed(running, "UPDATE branch_revision SET ordinal = ordinal + 100")
    with psycopg.connect(running.database) as connection:
        connection.execute("UPDATE run SET of_history = false")
        connection.rollback()
    (after,) = running.rows("SELECT times FROM arms_moved")
    assert after["times"] == before["times"] + 1
