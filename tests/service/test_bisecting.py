"""Confirmed changes of a range are bisected to the commits that made them, on a real history and without a
human.
"""

from pathlib import Path
from typing import Any

import pytest
import toy
from following_a_branch import EMULATED, follow, look, walltime
from history_with_culprits import PlantedHistory
from service_running import Running
from stand_in_host import StandInHost

from cliffwatch_service.store import background


def confirmed(running: Running) -> dict[tuple[int, str], float]:
    """By case and commit that made it."""
    items = running.get("/changes", state="confirmed", limit=200)["items"]
    return {(int(next(iter(each["params"].values()))), each["head"]): each["size"] for each in items}


def test_three_steps_one_of_them_inside_a_merge_are_bisected_past_a_broken_build(
    running: Running, served: Any, tmp_path: Path
) -> None:
    url, repository = served
    history = PlantedHistory(repository)
    number = follow(running, url, tmp_path)
    start = history.commits(3)[-1]
    first = history.commit("bpf: Slow down the lookup", case=0, slower=0.02)
    history.commits(4)
    history.branch("topic", start)
    history.commits(2)
    inside = history.commit("bpf: Slow down the hash map", case=1, slower=0.03)
    history.commits(2)
    history.merge("topic")
    before = history.commits(3)[-1]
    broken = history.commit("bpf: Do not build")
    third = history.commit("bpf: Slow down the control", case=2, slower=0.05)
    history.commits(2)

    look(running, number, tmp_path)
    host = StandInHost(running, history.levels, broken=frozenset([broken]))
    host.work_off(100)
    sizes = confirmed(running)
    assert set(sizes) == {(0, first), (1, inside), (2, third)}
    # What comes after a commit that does not build cannot be told from it: the change lies between the
    # commits around both.
    (last,) = [
        each
        for each in running.get("/changes", state="confirmed", limit=200)["items"]
        if each["head"] == third
    ]
    assert last["base"] == before
    assert sizes[2, third] == pytest.approx(0.05, abs=1e-4)
    assert sizes[0, first] == pytest.approx(0.02, abs=1e-4)
    assert sizes[1, inside] == pytest.approx(0.03, abs=1e-4)
    reports = running.get("/reports")["items"]
    assert len(reports) == 3
    about = {each["head"]: each for each in reports}
    assert (about[inside]["subject"], about[inside]["author"]) == ("bpf: Slow down the hash map", "Test")
    assert about[inside]["base"] == toy.git(repository, "rev-parse", f"{inside}^")
    assert len(set(host.jobs)) == len(host.jobs) < 22


def test_a_step_measures_only_the_cases_that_its_revisions_can_differ_in(
    running: Running, served: Any, tmp_path: Path
) -> None:
    """Of one case's culprit and another's, in revisions of which most change neither."""
    url, repository = served
    history = PlantedHistory(repository)
    number = follow(running, url, tmp_path)
    history.commits(5)
    lookup = history.commit("bpf: Slow down the lookup", case=0, slower=0.02)
    history.commits(5)
    control = history.commit("bpf: Slow down the control", case=2, slower=0.05)
    history.commits(5)

    look(running, number, tmp_path)
    StandInHost(running, history.levels).work_off(100)

    sizes = confirmed(running)
    assert set(sizes) == {(0, lookup), (2, control)}
    assert sizes[0, lookup] == pytest.approx(0.02, abs=1e-4)
    assert sizes[2, control] == pytest.approx(0.05, abs=1e-4)
    query = "SELECT (SELECT count(*) FROM boot WHERE run_id = run.id) AS boots FROM run"
    boots = [row["boots"] for row in running.rows(query)]
    assert 0 in boots
    series = running.rows("SELECT DISTINCT cardinality(series) AS values FROM columns")
    assert min(row["values"] for row in series) < max(row["values"] for row in series)


def test_both_steps_of_a_merge_are_named_though_they_nearly_cancel(
    running: Running, served: Any, tmp_path: Path
) -> None:
    """3 % slower on one side and 2 % faster on the other, on the same case: 0.94 % in all."""
    url, repository = served
    history = PlantedHistory(repository)
    number = follow(running, url, tmp_path)
    fork = toy.git(repository, "rev-parse", "HEAD")
    history.branch("topic", fork)
    history.commits(2)
    slower = history.commit("bpf: Slow down the lookup", case=0, slower=0.03)
    history.commits(2)
    toy.git(repository, "checkout", "--quiet", "master")
    history.commits(2)
    faster = history.commit("bpf: Speed up the lookup", case=0, slower=-0.02)
    history.commits(1)
    history.merge("topic")
    look(running, number, tmp_path)
    StandInHost(running, history.levels).work_off(100)
    sizes = confirmed(running)
    assert set(sizes) == {(0, slower), (0, faster)}
    assert sizes[0, slower] == pytest.approx(0.03, abs=1e-4)
    assert sizes[0, faster] == pytest.approx(-0.02, abs=1e-4)
    (report,) = running.get("/reports")["items"]
    assert (report["head"], report["changes"]) == (slower, 1)


def test_platforms_that_share_a_culprit_share_its_report(
    running: Running, served: Any, tmp_path: Path
) -> None:
    """Counted in icount, and in walltime with boots enough for the noise."""
    url, repository = served
    history = PlantedHistory(repository)
    number = follow(running, url, tmp_path, [*EMULATED, *walltime("amd-rome")])
    history.commits(3)
    culprit = history.commit("bpf: Slow down the lookup", case=0, slower=0.06)
    history.commits(3)
    look(running, number, tmp_path)
    rome = StandInHost(
        running, history.levels, platform="amd-rome", modes=("walltime",), spread=0.01, boots=20
    )
    StandInHost(running, history.levels).work_off(100)
    rome.work_off(100)
    assert set(confirmed(running)) == {(0, culprit)}
    (report,) = running.get("/reports")["items"]
    assert report["head"] == culprit
    assert report["changes"] == 2
    assert sorted(report["platforms"]) == ["amd-rome", "emulated-x86-64"]
    asked = [
        each for each in running.get("/requests")["items"] if each["note"].startswith("master: bisection")
    ]
    assert {each["boots"] for each in asked} > {"auto"}
    query = "SELECT boots, setup -> 'layouts' AS layouts FROM request WHERE note LIKE 'master: bisection%'"
    in_walltime = [row for row in running.rows(query) if row["boots"] != "auto"]
    assert in_walltime
    assert all(row["layouts"] == int(row["boots"]) for row in in_walltime)


def test_a_result_that_comes_late_or_twice_changes_nothing(
    running: Running, served: Any, tmp_path: Path
) -> None:
    url, repository = served
    history = PlantedHistory(repository)
    number = follow(running, url, tmp_path)
    history.commits(2)
    culprit = history.commit("bpf: Slow down the lookup", case=0, slower=0.02)
    history.commits(2)
    look(running, number, tmp_path)
    host = StandInHost(running, history.levels)
    host.work_off(100)
    assert set(confirmed(running)) == {(0, culprit)}
    before = (
        running.get("/changes")["items"],
        running.get("/reports")["items"],
        running.get("/requests")["items"],
    )
    for each in running.rows("SELECT digest FROM run ORDER BY digest DESC"):
        with running.service.transaction() as connection:
            background.ask_analysis(connection, each["digest"])
        running.do_tasks()
    host.work_off(100)
    after = (
        running.get("/changes")["items"],
        running.get("/reports")["items"],
        running.get("/requests")["items"],
    )
    assert [_untimed(each) for each in after] == [_untimed(each) for each in before]


def _untimed(items: Any) -> Any:
    return [{name: value for name, value in each.items() if name != "updated"} for each in items]
