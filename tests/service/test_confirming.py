"""Candidates that history shows are compared afresh without anybody asking, and end as changes or refuted,
with the figures.
"""

from itertools import pairwise
from typing import Any

import pytest
from service_running import Running
from service_runs import commit_of, run_of
from stand_in_host import StandInHost

from cliffwatch_service.store import background

TREE = "https://git.example.org/bpf-next.git"
NAMES = [f"r{index:02d}" for index in range(31)]
STEP = 21
"""The first revision on the new level."""


def measured_history(running: Running, *, shift: float = 0.08, cases: int = 1, seed: int = 0) -> int:
    """Thirty comparisons of neighbours in too few boots to tell; how slow each revision is stands in their
    points.
    """
    branch = int(running.follow(TREE, "master", [commit_of(name) for name in NAMES]))
    for index, (base, head) in enumerate(pairwise(NAMES)):
        run = run_of(boots=3, cases=cases, base=base, head=head, seed=seed + index, spread=0.002)
        run.logs[0] += shift * (index >= STEP)
        run.logs[1] += shift * (index + 1 >= STEP)
        running.measure(run)
    running.do_tasks()
    return branch


def rome(running: Running, slower: float, **more: Any) -> StandInHost:
    """A host on which every case is slower from the step on."""
    late = {commit_of(name) for name in NAMES[STEP:]}

    def levels(commit: str) -> dict[int, float]:
        return dict.fromkeys(range(3), slower if commit in late else 0.0)

    return StandInHost(running, levels, platform="amd-rome", modes=("walltime",), spread=0.002, **more)


def test_a_step_that_fresh_boots_bear_out_becomes_a_change_with_a_report(running: Running) -> None:
    measured_history(running)
    (candidate,) = running.get("/changes", state="candidate")["items"]
    assert (candidate["head"], candidate["waits_for"]) == (commit_of(NAMES[STEP]), "asked")
    (asked,) = [each for each in running.get("/requests")["items"] if each["priority"] == "watch"]
    assert asked["suites"] == ["local-storage"]

    rome(running, 0.083, cases=1).work_off()
    (change,) = running.get("/changes")["items"]
    assert (change["state"], change["kind"], change["waits_for"]) == ("confirmed", "regression", None)
    assert change["size"] == pytest.approx(0.083, abs=0.01)
    (report,) = running.get("/reports")["items"]
    assert (report["base"], report["head"]) == (change["base"], change["head"])


def test_a_step_that_fresh_boots_do_not_show_is_refuted_with_their_figures(running: Running) -> None:
    measured_history(running)
    host = rome(running, 0.0, cases=1)
    host.work_off()
    (change,) = running.get("/changes")["items"]
    assert change["state"] == "refuted"
    assert change["size"] == pytest.approx(0.083, abs=0.01)
    assert change["fresh_change"] == pytest.approx(0.0, abs=0.005)
    # The interval of an unchanged row, which excludes the truth once in ten: it rules the step out, not each
    # trifle.
    assert -0.01 < change["fresh_low"] < change["fresh_change"] < change["fresh_high"] < 0.01
    assert 0 < change["fresh_mde"] < 0.02
    assert running.get("/reports")["items"] == []
    assert len(host.jobs) == 1


def test_what_a_first_comparison_leaves_open_is_asked_again_with_more_boots(running: Running) -> None:
    measured_history(running)
    host = rome(running, 0.03, cases=1, boots=None)
    host.spread = 0.05
    host.do(host.take() or {})
    running.do_tasks()
    asked = [each for each in running.get("/requests")["items"] if each["priority"] == "watch"]
    first, second = sorted((each["boots"] for each in asked), key=int)
    assert (first, int(second) > 21) == ("21", True)
    # More boots of the same layouts would tell little more.
    layouts = running.rows("SELECT setup -> 'layouts' AS layouts FROM request WHERE setup ? 'layouts'")
    assert sorted(row["layouts"] for row in layouts) == [21, int(second)]
    (change,) = running.get("/changes")["items"]
    assert (change["state"], change["waits_for"]) == ("candidate", "asked")
    assert running.rows("SELECT reason FROM confirmation") == [
        {"reason": f"1 candidate left open by the first comparison: again with {second} boots"}
    ]

    host.spread = 0.002
    assert host.work_off() == 1
    (change,) = running.get("/changes")["items"]
    assert (change["state"], change["kind"]) == ("confirmed", "regression")


def test_a_second_comparison_leaves_nothing_open(running: Running) -> None:
    measured_history(running)
    host = rome(running, 0.03, cases=1, boots=None)
    host.spread = 0.05
    host.do(host.take() or {})
    running.do_tasks()
    host.levels = lambda _: {}
    assert host.work_off() == 1
    (change,) = running.get("/changes")["items"]
    assert change["state"] == "refuted"
    assert change["fresh_low"] < change["fresh_change"] < change["fresh_high"]


def test_a_candidate_is_judged_by_itself_and_not_by_what_is_notable_among_all_rows(running: Running) -> None:
    measured_history(running, shift=0.0085)
    rome(running, 0.0085, cases=1).work_off()
    (change,) = running.get("/changes")["items"]
    assert (change["state"], change["kind"]) == ("confirmed", "regression")
    assert change["size"] == pytest.approx(0.0085, abs=0.002)
    (report,) = running.get("/reports")["items"]
    assert (report["base"], report["head"]) == (change["base"], change["head"])
    compared = running.get(f"/comparisons/{change['base']}...{change['head']}")
    assert [row["verdict"] for row in compared["comparisons"]] == ["unchanged"]


def test_series_that_step_together_ask_once(running: Running) -> None:
    measured_history(running, cases=3)
    assert len(running.get("/changes", state="candidate")["items"]) == 3
    host = rome(running, 0.083)
    assert host.work_off() == 1
    assert {each["state"] for each in running.get("/changes")["items"]} == {"confirmed"}
    assert len(running.get("/reports")["items"]) == 1


def test_where_no_boot_came_up_it_is_asked_again_twice_and_then_said(running: Running) -> None:
    measured_history(running)
    host = rome(running, 0.083, cases=1, hung=frozenset(commit_of(name) for name in NAMES))
    assert host.work_off() == 3
    (change,) = running.get("/changes")["items"]
    assert (change["state"], change["waits_for"]) == ("candidate", "unanswered")
    assert running.rows("SELECT state, attempts, reason FROM confirmation") == [
        {"state": "unanswered", "attempts": 3, "reason": "no boot came up"}
    ]


def test_what_may_not_be_open_yet_waits_and_is_asked_later(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cliffwatch_service.history.watching.confirming.MOST_OPEN", 0)
    measured_history(running)
    (candidate,) = running.get("/changes", state="candidate")["items"]
    assert candidate["waits_for"] == "waiting"
    monkeypatch.setattr("cliffwatch_service.history.watching.confirming.MOST_OPEN", 1)
    with running.service.transaction() as connection:
        background.ask_advance(connection)
    assert rome(running, 0.083, cases=1).work_off() == 1
    assert [each["state"] for each in running.get("/changes")["items"]] == ["confirmed"]


def test_a_late_second_result_of_the_same_job_changes_nothing(running: Running) -> None:
    measured_history(running)
    host = rome(running, 0.083, cases=1)
    work = host.take()
    assert work is not None
    host.do(work)
    running.do_tasks()
    before = running.get("/changes")["items"], running.get("/reports")["items"]
    with running.http(f"of {host.name}") as http:
        http.post(
            f"/api/v1/leases/{work['lease']}/complete", json={"outcome": "done", "run": host.run(work).digest}
        )
    host.levels = lambda _: {}
    again = host.run(work)
    again.record["identity"] = "e" * 32
    running.do_tasks()
    assert (running.get("/changes")["items"], running.get("/reports")["items"]) == before
