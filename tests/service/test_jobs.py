"""Jobs: each is done once, by one host at a time, and none is lost."""

import json
import threading
from typing import Any

import pytest
from asking import TREE, ask, asked, job_state, offer
from service_running import Running
from service_runs import commit_of, put_all, run_of

from cliffwatch_service.jobs.leases import MOST_ABSENCES


def post(running: Running, path: str, scope: str = "work", **body: Any) -> Any:
    with running.http(scope) as http:
        return http.post(f"/api/v1{path}", json=body)


def test_a_request_becomes_a_job_on_each_target(running: Running) -> None:
    targets = [
        {"platform": "amd-rome", "mode": "walltime"},
        {"platform": "intel-skylake", "mode": "walltime"},
    ]
    made = ask(running, targets=targets)
    assert [(job["platform"], job["state"]) for job in made["jobs"]] == [
        ("amd-rome", "queued"),
        ("intel-skylake", "queued"),
    ]


def test_the_same_key_asks_once_and_another_wish_under_it_is_refused(running: Running) -> None:
    first = ask(running, "key")
    assert ask(running, "key")["request"] == first["request"]
    refused = None
    with running.http("upload") as http:
        body = asked(suites=["ringbufs"])
        refused = http.post("/api/v1/requests", json=body, headers={"Idempotency-Key": "key"})
    assert refused.status_code == 409
    assert len(running.rows("SELECT id FROM job")) == 1


def refused(running: Running, *targets: tuple[str, str]) -> Any:
    body = asked(targets=[{"platform": platform, "mode": mode} for platform, mode in targets])
    with running.http("upload") as http:
        return http.post("/api/v1/requests", json=body, headers={"Idempotency-Key": "none"})


def test_what_no_host_offers_is_refused_with_what_there_is(running: Running) -> None:
    running.enrol("amd-rome", "walltime")
    offer(running, "emulator-1", "emulated-x86-64", modes=["icount"])
    answer = refused(running, ("amd-rome", "walltime"), ("nosuch", "walltime"), ("amd-rome", "icount"))

    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (
        problem["detail"]
        == "no enrolled host offers nosuch:walltime, amd-rome:icount: there are amd-rome:walltime,"
        " emulated-x86-64:icount"
    )
    assert [error["where"] for error in problem["errors"]] == ["body.targets.1", "body.targets.2"]
    assert {"platform": "emulated-x86-64", "mode": "icount"} in problem["offered"]
    assert running.rows("SELECT id FROM job") + running.rows("SELECT id FROM request") == []


def test_without_any_host_the_refusal_says_how_to_get_one(running: Running) -> None:
    assert "start `cliffwatch worker` on one" in refused(running, ("amd-rome", "walltime")).json()["detail"]


def test_a_host_that_is_quiet_at_present_is_waited_for_with_a_warning(running: Running) -> None:
    made = ask(running)

    (warning,) = made["warnings"]
    assert warning.startswith(
        "no host of amd-rome:walltime is online: one was last seen at 2026-11-20 12:00 UTC"
    )
    offer(running, "rome-1", modes=["icount"])
    offer(running, "rome-2", modes=["walltime"])
    assert running.get(f"/requests/{made['request']}")["warnings"] == []


def test_a_request_that_was_made_is_answered_again_whatever_hosts_there_are(running: Running) -> None:
    made = ask(running)
    offer(running, "rome-1", modes=["icount"])

    assert ask(running)["request"] == made["request"]


def test_a_host_takes_a_job_keeps_it_and_ends_it(running: Running) -> None:
    request = ask(running)
    work = offer(running)
    assert (work["base"], work["head"], work["tree"]) == (commit_of("base"), commit_of("head"), TREE)
    assert post(running, f"/leases/{work['lease']}/heartbeat").json() == {"cancel": False}

    run = run_of(boots=2, cases=2)
    run.record["plan"]["seed"] = work["seed"]
    with running.http("work") as http:
        put_all(http, run, job=work["job"])
    assert post(running, f"/leases/{work['lease']}/complete", outcome="done", run=run.digest).json() == {
        "state": "done"
    }
    whole = running.get(f"/requests/{request['request']}")
    assert [(job["state"], job["run"]) for job in whole["jobs"]] == [("done", run.digest)]


def test_two_hosts_that_ask_at_once_never_get_the_same_job(running: Running) -> None:
    for number in range(10):
        ask(running, f"key {number}", head=commit_of(f"h{number}"))
    taken: list[str] = []
    barrier = threading.Barrier(10)

    def take(host: str) -> None:
        barrier.wait()
        taken.append(offer(running, host)["job"])

    threads = [threading.Thread(target=take, args=(f"rome-{number}",)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(taken)) == 10


def test_a_host_that_lost_its_answer_gets_the_same_lease_again(running: Running) -> None:
    ask(running)
    assert offer(running) == offer(running)
    assert len(running.rows("SELECT id FROM lease")) == 1


def test_an_offline_hosts_job_goes_back_and_its_late_result_is_refused(running: Running) -> None:
    ask(running)
    lost = offer(running, "rome-1")
    running.clock.pass_(seconds=91)
    taken = offer(running, "rome-2")
    assert taken["job"] == lost["job"]

    late = post(running, f"/leases/{lost['lease']}/complete", outcome="kernel-failed")
    assert late.status_code == 409
    assert late.json()["outcome"] == "expired"
    assert job_state(running, lost["job"]) == "leased"


def test_a_job_whose_hosts_go_offline_again_and_again_is_parked_until_somebody_looks(
    running: Running,
) -> None:
    """It may be what ends them: it is not handed from host to host for ever."""
    ask(running)
    for turn in range(MOST_ABSENCES):
        taken = offer(running, f"rome-{turn % 2 + 1}")
        running.clock.pass_(seconds=91)
    assert offer(running, "rome-3") is None
    parked = running.get(f"/jobs/{taken['job']}")
    assert (parked["state"], parked["reason"]) == (
        "parked",
        "its hosts went offline 5 times: read their logs before you retry it",
    )

    post(running, f"/jobs/{taken['job']}/retry", "admin").raise_for_status()
    assert offer(running, "rome-1")["job"] == taken["job"]
    running.clock.pass_(seconds=91)
    assert offer(running, "rome-2")["job"] == taken["job"]


def test_a_heartbeat_keeps_a_lease_for_hours(running: Running) -> None:
    ask(running)
    work = offer(running)
    for _ in range(300):
        running.clock.pass_(seconds=60)
        assert post(running, f"/leases/{work['lease']}/heartbeat").status_code == 200
    assert offer(running, "rome-2") is None


def test_a_job_that_two_hosts_failed_at_is_parked_and_an_operator_puts_it_back(running: Running) -> None:
    ask(running)
    for host in ("rome-1", "rome-2"):
        work = offer(running, host)
        reply = post(
            running, f"/leases/{work['lease']}/complete", outcome="host-failed", reason="the disk is full"
        )
    assert reply.json() == {"state": "parked"}
    assert offer(running, "rome-3") is None
    assert running.get("/jobs", state="parked")["items"][0]["reason"] == "the disk is full"

    assert post(running, f"/jobs/{work['job']}/retry", "admin").json()["state"] == "queued"
    assert offer(running, "rome-1")["job"] == work["job"]


def test_a_host_that_failed_at_a_job_is_not_given_it_again(running: Running) -> None:
    ask(running)
    work = offer(running)
    post(running, f"/leases/{work['lease']}/complete", outcome="host-failed", reason="no space")
    assert offer(running) is None
    assert offer(running, "rome-2")["job"] == work["job"]


def test_a_job_that_is_given_back_is_there_for_the_same_host_again(running: Running) -> None:
    """A host that was not fit for a while is no host that failed."""
    ask(running)
    work = offer(running)
    reply = post(running, f"/leases/{work['lease']}/complete", outcome="given-back", reason="turbo is on")
    assert reply.json() == {"state": "queued"}
    again = offer(running)
    assert again["job"] == work["job"]
    assert again["lease"] != work["lease"]


def test_a_host_that_gave_a_job_back_is_shown_as_unfit_until_it_offers_that_mode_again(
    running: Running,
) -> None:
    ask(running)
    work = offer(running)
    post(running, f"/leases/{work['lease']}/complete", outcome="given-back", reason="turbo is on")
    assert offer(running, modes=["icount"]) is None
    (host,) = running.get("/hosts")["items"]
    assert host["unfit"] == {"walltime": "turbo is on"}
    with running.http(None) as http:
        for path in ("/hosts", "/hosts/rome-1"):
            text = " ".join(http.get(path).raise_for_status().text.split())
            assert "<strong>takes no walltime job</strong>: turbo is on" in text

    offer(running)
    assert running.get("/hosts")["items"][0]["unfit"] == {}


def test_a_kernel_that_fails_is_a_result_and_no_reason_to_try_again(running: Running) -> None:
    ask(running)
    work = offer(running)
    reply = post(
        running, f"/leases/{work['lease']}/complete", outcome="kernel-failed", reason="head does not build"
    )
    assert reply.json() == {"state": "failed"}
    assert offer(running, "rome-2") is None
    assert running.get(f"/jobs/{work['job']}")["whose"] == "kernel"


def test_what_cannot_be_measured_as_asked_is_no_fault_of_the_kernel(running: Running) -> None:
    ask(running)
    work = offer(running)
    reason = "cliffwatch: no suite executes what head changes: behaviour"
    reply = post(running, f"/leases/{work['lease']}/complete", outcome="not-possible", reason=reason)
    assert reply.json() == {"state": "failed"}
    assert offer(running, "rome-2") is None
    job = running.get(f"/jobs/{work['job']}")
    assert (job["state"], job["whose"], job["reason"]) == ("failed", "usage", reason)
    post(running, f"/jobs/{work['job']}/retry", "admin")
    job = running.get(f"/jobs/{work['job']}")
    assert (job["state"], job["whose"], job["reason"]) == ("queued", None, None)


def test_a_cancelled_job_is_told_its_host_with_the_next_heartbeat(running: Running) -> None:
    made = ask(running)
    work = offer(running)
    post(running, f"/requests/{made['request']}/cancel", "upload")
    assert post(running, f"/leases/{work['lease']}/heartbeat").json() == {"cancel": True}
    assert post(running, f"/leases/{work['lease']}/complete", outcome="cancelled").json() == {
        "state": "cancelled"
    }
    assert offer(running) is None


def test_a_job_that_waits_is_cancelled_at_once(running: Running) -> None:
    made = ask(running)
    post(running, f"/jobs/{made['jobs'][0]['job']}/cancel", "upload")
    assert offer(running) is None
    assert job_state(running, made["jobs"][0]["job"]) == "cancelled"


def test_who_waits_goes_first_and_nobody_waits_for_ever(running: Running) -> None:
    ask(running, "old backfill", priority="backfill", head=commit_of("b"))
    running.clock.pass_(hours=1)
    ask(running, "push", priority="push", head=commit_of("p"))
    ask(running, "person", priority="person", head=commit_of("q"))
    heads = [job["head"] for job in running.get("/queue")["items"]]
    assert heads == [commit_of("q"), commit_of("p"), commit_of("b")]

    running.clock.pass_(hours=25)
    ask(running, "another person", priority="person", head=commit_of("r"))
    assert [job["head"] for job in running.get("/queue")["items"]][-1] == commit_of("r")


def test_a_host_gets_only_what_it_can_do(running: Running) -> None:
    ask(running)
    assert offer(running, "emulator-1", "emulated-x86-64") is None
    assert offer(running, "rome-1", modes=["icount"]) is None
    assert offer(running, "rome-1") is not None


def test_a_host_without_isolation_is_given_nothing(running: Running) -> None:
    ask(running)
    answer = post(
        running, "/offers", host="rome-1", platform="amd-rome", modes=["walltime"], isolation="none"
    )
    assert answer.status_code == 403
    assert "bubblewrap" in answer.json()["detail"]


def test_a_token_of_one_host_works_for_no_other(running: Running) -> None:
    ask(running)
    with running.http("admin") as http:
        body = {"name": "rome-1", "scopes": ["work"], "host": "rome-1"}
        secret = http.post("/api/v1/tokens", json=body).json()["secret"]
        headers = {"Authorization": f"Bearer {secret}"}
        body = {"host": "rome-2", "platform": "amd-rome", "modes": ["walltime"], "isolation": "bubblewrap"}
        assert http.post("/api/v1/offers", json=body, headers=headers).status_code == 403
        work = http.post("/api/v1/offers", json={**body, "host": "rome-1"}, headers=headers).json()
    other = offer(running, "rome-2")
    assert other is None
    with running.http("admin") as http:
        assert http.post(f"/api/v1/leases/{work['lease']}/heartbeat", headers=headers).status_code == 200


def test_events_are_kept_once_and_streamed_in_order(running: Running) -> None:
    ask(running)
    work = offer(running)
    events = [
        {"number": number, "kind": "boot", "at": "2026-11-21T12:00:00Z", "data": {"boot": number}}
        for number in range(3)
    ]
    for _ in range(2):
        assert post(running, f"/leases/{work['lease']}/events", events=events).status_code == 200
    post(running, f"/leases/{work['lease']}/complete", outcome="kernel-failed", reason="panic")
    with running.http(None) as http, http.stream("GET", f"/api/v1/jobs/{work['job']}/stream") as stream:
        lines = [line for line in stream.iter_lines() if line.startswith(("event", "data"))]
    kinds = [line.removeprefix("event: ") for line in lines if line.startswith("event")]
    assert kinds == ["queued", "leased", "boot", "boot", "boot", "failed", "end"]
    boots = [json.loads(line.removeprefix("data: "))["data"] for line in lines if '"boot"' in line]
    assert [boot["boot"] for boot in boots] == [0, 1, 2]


def test_a_stream_goes_on_after_the_last_event_seen(running: Running) -> None:
    made = ask(running)
    job = made["jobs"][0]["job"]
    (first,) = running.get(f"/jobs/{job}/events")["items"]
    post(running, f"/jobs/{job}/cancel", "upload")
    headers = {"Last-Event-ID": str(first["id"])}
    with (
        running.http(None) as http,
        http.stream("GET", f"/api/v1/jobs/{job}/stream", headers=headers) as stream,
    ):
        kinds = [line.removeprefix("event: ") for line in stream.iter_lines() if line.startswith("event")]
    assert kinds == ["cancelled", "end"]


def test_what_is_expected_comes_from_what_such_jobs_took(running: Running) -> None:
    for number in range(4):
        ask(running, f"done {number}", head=commit_of(f"d{number}"))
        work = offer(running)
        running.clock.pass_(seconds=80)
        post(running, f"/leases/{work['lease']}/heartbeat")
        running.clock.pass_(seconds=20 + number)
        run = run_of(boots=1, cases=1, seed=number, head=f"d{number}")
        run.record["plan"]["seed"] = work["seed"]
        with running.http("work") as http:
            put_all(http, run, job=work["job"])
        assert (
            post(running, f"/leases/{work['lease']}/complete", outcome="done", run=run.digest).status_code
            == 200
        )
    ask(running, "waiting", head=commit_of("w"))
    (waiting,) = [job for job in running.get("/queue")["items"] if job["state"] == "queued"]
    assert waiting["expected"]["position"] == 1
    assert waiting["expected"]["seconds"] == pytest.approx(101.5, abs=3)
    assert waiting["expected"]["low"] <= waiting["expected"]["seconds"] <= waiting["expected"]["high"]


def test_nothing_is_expected_where_nothing_is_known(running: Running) -> None:
    (job,) = ask(running)["jobs"]
    assert job["expected"]["seconds"] is None
    assert job["expected"]["hosts"] == 0
