"""A run stays what it is: planned boots only, one record once it is complete, and only so much a day."""

import copy
import io
import tarfile
from collections.abc import Callable
from typing import Any

import pytest
from service_running import Running
from service_runs import MadeRun, arm_of, boots_of, commit_of, put_all, record_of, run_of

Change = Callable[[dict[str, Any]], object]


def put_record(http: Any, run: MadeRun, change: Change | None = None, status: str = "complete") -> Any:
    body = copy.deepcopy(record_of(run, status))
    if change is not None:
        change(body["record"])
    return http.put(f"/api/v1/runs/{run.digest}", json=body)


CHANGES: dict[str, Change] = {
    "another head": lambda record: arm_of(record, "head")["facts"].update(commit=commit_of("evil")),
    "another base": lambda record: arm_of(record, "base")["facts"].update(commit=commit_of("evil")),
    "another kernel": lambda record: arm_of(record, "head")["facts"].update(kernel="e" * 32),
    "another label": lambda record: arm_of(record, "head").update(label="cafe (bpf: evil)"),
    "an arm more": lambda record: record["arms"].append({**arm_of(record, "head"), "name": "third"}),
    "an arm less": lambda record: record["arms"].remove(arm_of(record, "base")),
    "another platform": lambda record: record.update(platform="elsewhere"),
    "another mode": lambda record: record.update(mode="icount"),
    "another tree": lambda record: record.update(tree="https://git.example.org/evil.git"),
    "another compiler": lambda record: record.update(toolchain={"gcc": "gcc 2.95"}),
    "another seed": lambda record: record["plan"].update(seed=99),
    "a case more": lambda record: record["plan"]["cases"].append(record["plan"]["cases"][0]),
    "a boot more": lambda record: record["plan"]["boots"].append(
        {"index": 5, "block": 2, "arm": "head", "stage": "screen"}
    ),
    "other boots": lambda record: record["plan"]["boots"][0].update(arm="head"),
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("status", ["running", "complete"])
def test_a_stored_run_never_becomes_another(running: Running, what: str, status: str) -> None:
    run = run_of(boots=2, cases=2)
    with running.http("upload") as http:
        put_record(http, run, status=status).raise_for_status()
        before = running.get(f"/runs/{run.digest}")
        answer = put_record(http, run, CHANGES[what])
    assert 400 <= answer.status_code < 500, answer.text
    assert running.get(f"/runs/{run.digest}") == before
    assert running.rows("SELECT count(*) AS n FROM revision")[0]["n"] == 2


def test_a_complete_record_is_frozen_and_the_same_bytes_may_come_again(running: Running) -> None:
    run = run_of(boots=2, cases=2)
    with running.http("upload") as http:
        put_record(http, run).raise_for_status()
        answer = put_record(http, run, lambda record: record["notes"].append("a word more"))
        again = put_record(http, run)
    assert (answer.status_code, "is complete" in answer.json()["detail"]) == (409, True)
    assert (again.status_code, again.json()["fresh"]) == (200, False)
    assert running.get(f"/runs/{run.digest}")["record"]["notes"] == []


def test_a_running_run_goes_on_and_its_plan_may_confirm(running: Running) -> None:
    run = run_of(boots=1, cases=1)
    more = {"index": 3, "block": 1, "arm": "head", "stage": "confirm"}
    with running.http("upload") as http:
        put_record(http, run, status="running").raise_for_status()
        grown = put_record(http, run, lambda record: record["plan"]["boots"].append(more), "running")
        late = put_record(http, run, lambda record: record["notes"].append("of before"), "running")
        done = put_record(http, run, lambda record: record["plan"]["boots"].append(more))
    assert [answer.status_code for answer in (grown, late, done)] == [201, 200, 201]
    assert [answer.json()["fresh"] for answer in (grown, late, done)] == [True, False, True]
    stored = running.get(f"/runs/{run.digest}")
    assert (stored["status"], len(stored["record"]["plan"]["boots"]), stored["record"]["notes"]) == (
        "complete",
        3,
        [],
    )


@pytest.mark.parametrize("status", ["running", "complete"])
def test_a_boot_that_the_plan_lacks_is_refused_with_all_that_belongs_to_it(
    running: Running, status: str
) -> None:
    run = run_of(boots=1, cases=1)
    with running.http("upload") as http:
        put_record(http, run, status=status).raise_for_status()
        body = next(iter(boots_of(run)))[1]
        body["boot"]["index"] = 3
        boot = http.put(f"/api/v1/runs/{run.digest}/boots/3", json=body)
        raw = http.put(
            f"/api/v1/runs/{run.digest}/boots/3/raw",
            content=archive(),
            headers={"Content-Type": "application/x-tar"},
        )
        planned = http.put(
            f"/api/v1/runs/{run.digest}/boots/2/raw",
            content=archive(),
            headers={"Content-Type": "application/x-tar"},
        )
    assert (boot.status_code, raw.status_code, planned.status_code) == (422, 422, 201)
    assert "plans no boot 3" in boot.json()["detail"]
    assert "plans no boot 3" in raw.json()["detail"]
    assert running.rows("SELECT number FROM raw_output") == [{"number": 2}]
    assert running.rows("SELECT number FROM boot") == []


def archive() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("dmesg"))
    return buffer.getvalue()


@pytest.mark.parametrize(("name", "value"), [("arm", "head"), ("block", 7), ("stage", "confirm")])
def test_a_planned_boot_comes_as_it_was_planned(running: Running, name: str, value: Any) -> None:
    run = run_of(boots=1, cases=1)
    number, body = next(iter(boots_of(run)))
    body["boot"][name] = value
    with running.http("upload") as http:
        put_record(http, run).raise_for_status()
        answer = http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=body)
    assert (answer.status_code, f"plans boot {number} as" in answer.json()["detail"]) == (422, True)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda record: record["plan"]["boots"][1].update(index=1), "a number twice"),
        (lambda record: record["plan"]["boots"][1].update(arm="third"), "which the run lacks"),
    ],
)
def test_a_plan_that_is_none_is_refused(running: Running, change: Change, says: str) -> None:
    run = run_of(boots=1, cases=1)
    with running.http("upload") as http:
        answer = put_record(http, run, change)
    assert (answer.status_code, says in answer.json()["detail"]) == (422, True)


def test_a_run_is_its_beginners(running: Running) -> None:
    run = run_of(boots=1, cases=1)
    running.token("theirs", "upload")
    number, body = next(iter(boots_of(run)))
    with running.http("upload") as http:
        put_record(http, run, status="running").raise_for_status()
    with running.http("theirs") as http:
        answers = [
            put_record(http, run),
            http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=body),
            http.put(
                f"/api/v1/runs/{run.digest}/boots/1/raw",
                content=archive(),
                headers={"Content-Type": "application/x-tar"},
            ),
        ]
    assert [answer.status_code for answer in answers] == [403] * 3
    assert running.get(f"/runs/{run.digest}")["status"] == "running"


def test_a_host_whose_token_was_replaced_goes_on_with_its_run(running: Running) -> None:
    running.token("old", "work", host="rome-1")
    running.token("new", "work", host="rome-1")
    run = run_of(boots=1, cases=1)
    with running.http("old") as http:
        put_record(http, run, status="running").raise_for_status()
    with running.http("admin") as http:
        http.delete("/api/v1/tokens/old").raise_for_status()
    with running.http("new") as http:
        put_all(http, run)
    assert len(running.rows("SELECT number FROM boot")) == 2


def over(answer: Any, status: int, says: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["title"] == "over the quota"
    assert says in answer.json()["detail"]


def test_runs_of_a_token_are_counted_by_the_day(serve_with: Any) -> None:
    with serve_with(runs_per_day=2) as running:
        running.token("theirs", "upload")
        made = [run_of(boots=1, cases=1, seed=seed) for seed in range(4)]
        with running.http("upload") as http:
            for run in made[:2]:
                put_all(http, run)
            refused = put_record(http, made[2])
            over(refused, 429, "2 of 2 runs of today (UTC): send the rest tomorrow")
            assert refused.headers["retry-after"] == str(12 * 3600)  # the clock says noon
            put_all(http, made[0])  # what is here may come again
            query = {"platform": "amd-rome", "mode": "walltime", "name": "x"}
            text = {"Content-Type": "text/plain"}
            imported = http.post(
                "/api/v1/imports", params=query, content="BenchmarkX-1 10 5 ns/op\n", headers=text
            )
            over(imported, 429, "CLIFFWATCH_RUNS_PER_DAY")
            with running.http("theirs") as other:
                put_all(other, made[3])
            running.clock.pass_(hours=12)
            put_all(http, made[2])
        assert len(running.rows("SELECT id FROM run")) == 4


def test_bytes_of_a_token_are_counted_by_the_day_and_the_same_again_costs_nothing(serve_with: Any) -> None:
    with serve_with(upload_bytes_per_day=1 << 20) as running:
        run, large = run_of(boots=1, cases=1), "x" * 700_000
        one, other = (body for _, body in boots_of(run))
        for body in (one, other):
            body["environment"] = {"note": large}
        with running.http("upload") as http:
            put_record(http, run).raise_for_status()
            for _ in range(3):
                http.put(f"/api/v1/runs/{run.digest}/boots/1", json=one).raise_for_status()
            over(http.put(f"/api/v1/runs/{run.digest}/boots/2", json=other), 429, "of 1048576 bytes of today")
            alone = {**other, "environment": {"note": large, "more": large}}
            over(http.put(f"/api/v1/runs/{run.digest}/boots/2", json=alone), 413, "this body alone has")
            running.clock.pass_(days=1)
            http.put(f"/api/v1/runs/{run.digest}/boots/2", json=other).raise_for_status()
        assert len(running.rows("SELECT number FROM boot")) == 2
