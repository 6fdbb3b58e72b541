"""Runs that leave out what the change cannot touch: the service says what they say, and takes nothing for
measured that was not.
"""

from typing import Any

from service_running import Running
from service_runs import commit_of, run_leaving_out, run_of

REASON = "it executes none of the 3 functions that differ between r0 and r1"


def made(measured: int) -> Any:
    return run_leaving_out(
        run_of(boots=3, cases=3, base="r0", head="r1"), measured, "unchanged-build", REASON
    )


def compared(running: Running, suffix: str = "") -> Any:
    with running.http(None) as http:
        return http.get(
            f"/compare/{commit_of('r0')[:12]}...{commit_of('r1')[:12]}{suffix}"
        ).raise_for_status()


def test_cases_of_an_unchanged_build_are_named_with_the_reason(running: Running) -> None:
    running.measure(made(measured=1))
    running.do_tasks()

    document = compared(running, ".json").json()
    page = compared(running).text

    (target,) = document["targets"]
    left = target["left_out"]
    assert [(each["status"], each["reason"]) for each in left] == [("unchanged-build", REASON)] * 2
    assert "Unchanged build on amd-rome" in page
    assert REASON in page
    assert f"unchanged build: {REASON}" in compared(running, ".txt").text


def test_a_run_that_need_not_boot_at_all_is_complete_and_compares(running: Running) -> None:
    """A change of comments alone: the answer is that nothing changed, and that nothing was measured."""
    running.measure(made(measured=0))
    running.do_tasks()

    page = compared(running).text

    assert "no change: 3 unchanged build" in page
    assert "Unchanged build on amd-rome" in page
    assert running.rows("SELECT count(*) AS points FROM point")[0]["points"] == 0


def test_an_unchanged_case_makes_no_point_of_history(running: Running) -> None:
    running.measure(made(measured=1))
    running.do_tasks()

    (row,) = running.rows("SELECT count(DISTINCT series_id) AS series FROM point")
    assert row["series"] == 1
