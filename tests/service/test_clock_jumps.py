"""A service whose clock jumps back, as a virtual machine's does that was resumed: nothing is refused, lost or
held for as long.
"""

from datetime import timedelta
from typing import Any

import pytest
from asking import ask, job_state, offer
from service_running import Running
from service_runs import boots_of, put_all, record_of, run_of

from cliffwatch_service.http.context import Rates

JUMPS = [timedelta(hours=1), timedelta(days=1), timedelta(days=400)]


@pytest.fixture(params=JUMPS, ids=str)
def back(request: Any, running: Running) -> Any:
    return lambda: running.clock.pass_(seconds=-request.param.total_seconds())


def test_a_request_from_before_is_offered(running: Running, back: Any) -> None:
    made = ask(running)
    back()
    given = offer(running)
    assert given is not None
    assert given["job"] == made["jobs"][0]["job"]


def test_a_job_under_way_goes_on_and_is_compared(running: Running, back: Any) -> None:
    run = run_of(boots=4, cases=2, shift=0.1)
    work = running.lease(run)
    with running.http(f"of {run.host}") as http:
        for _ in range(3):
            back()
            http.post(f"/api/v1/leases/{work['lease']}/heartbeat", json={}).raise_for_status()
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run, job=work["job"])).raise_for_status()
        for number, body in boots_of(run):
            back()
            http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=body).raise_for_status()
        back()
        end = {"outcome": "done", "run": run.digest}
        http.post(f"/api/v1/leases/{work['lease']}/complete", json=end).raise_for_status()
    back()
    running.do_tasks()
    assert job_state(running, work["job"]) == "done"
    compared = running.get(f"/comparisons/{work['base']}...{work['head']}")
    assert len(compared["comparisons"]) > 0


def test_a_job_of_a_host_that_died_meanwhile_is_offered_again(running: Running, back: Any) -> None:
    """Not only once the clock is again where it was."""
    made = ask(running)
    assert offer(running) is not None
    back()
    running.get("/queue")  # which is looked at every minute
    running.clock.pass_(seconds=2 * running.service.settings.lease_seconds)
    again = offer(running, host="rome-2")
    assert again is not None
    assert again["job"] == made["jobs"][0]["job"]


def test_callers_keep_their_rate(running: Running, back: Any) -> None:
    rates = Rates(60)
    assert all(rates.allow("x", running.clock.now()) for _ in range(60))
    assert not rates.allow("x", running.clock.now())
    back()
    running.clock.pass_(seconds=5)
    rates.allow("x", running.clock.now())
    running.clock.pass_(seconds=5)
    assert rates.allow("x", running.clock.now())


def test_pages_and_lists_are_shown(running: Running, back: Any) -> None:
    run = run_of(boots=2, cases=2)
    with running.http("upload") as http:
        put_all(http, run)
    ask(running)
    offer(running)
    back()
    running.do_tasks()
    with running.http("admin") as http:
        for page in (
            "/",
            "/queue",
            "/hosts",
            f"/runs/{run.digest}",
            "/api/v1/queue",
            "/api/v1/hosts",
            "/metrics",
            "/readyz",
        ):
            assert http.get(page).status_code == 200, page
