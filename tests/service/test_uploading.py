"""Uploading a run: whatever way its parts come, each is stored once, and its comparison follows."""

import gzip
import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from service_running import Running
from service_runs import boots_of, put_all, record_digest, record_of, run_of

from cliffwatch.failure import HttpFailure
from cliffwatch_runner.upload.client import Answered, Client, Patience
from cliffwatch_runner.upload.result_directory import Uploaded, upload_run


def test_a_run_of_the_command_is_uploaded_and_compared(running: Running, data: Path) -> None:
    with_ = running.client("upload")
    uploaded = upload_run(with_, data / "runs/uninlined", "emulator-1")
    assert uploaded == Uploaded(run=uploaded.run, sent=2)

    running.do_tasks()
    compared = running.get(f"/runs/{uploaded.run}/comparison")
    rows = {
        (row["benchmark"], row["params"].get("nr_maps")): row
        for row in compared["comparisons"]
        if row["primary"]
    }
    seq_get = rows["local-storage-cache-seq-get", "16"]
    assert seq_get["verdict"] == "regression"
    assert seq_get["change"] == pytest.approx(0.0486, abs=1e-3)
    assert rows["local-storage-cache-hashmap-control", None]["verdict"] == "unchanged"


def test_parameters_come_in_any_order(running: Running, data: Path, tmp_path: Path) -> None:
    """A case's own order is that of its suite, and not that of their names."""
    folder = tmp_path / "run"
    shutil.copytree(data / "runs/uninlined", folder)
    for path in (folder / "run.json", *folder.glob("boots/*/samples.json")):
        content = json.loads(path.read_text())
        for each in (
            content.get("plan", {}).get("cases", [])
            + content.get("samples", [])
            + content.get("outcomes", [])
        ):
            each["params"] = {**each["params"], "guest-cpus": "1"}
        path.write_text(json.dumps(content))
    uploaded = upload_run(running.client("upload"), folder, "emulator-1")

    assert uploaded == Uploaded(run=uploaded.run, sent=2)
    running.do_tasks()
    rows = running.get(f"/runs/{uploaded.run}/comparison")["comparisons"]
    assert {row["params"]["guest-cpus"] for row in rows} == {"1"}
    assert "failed" not in {row["verdict"] for row in rows}


def test_programs_of_a_planned_object_are_taken_and_compared(running: Running) -> None:
    """A plan has the object; its programs are known when it is opened."""
    made = run_of(boots=1, cases=1, mode="icount")
    planned = {"suite": "veristat", "benchmark": "verify", "params": {"object": "bpf_cubic.bpf.o"}}
    made.record["plan"]["cases"][0].update(planned)
    run = replace(made, measured=("total_insns", "insns"))
    with running.http("upload") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run)).raise_for_status()
        for number, body in boots_of(run):
            program = {**planned, "params": {**planned["params"], "program": "bpf_cubic_init"}}
            body["samples"] = [{**body["samples"][0], **program, "value": 26}]
            refused = {
                **planned,
                "params": {**planned["params"], "program": "odd"},
                "status": "refused",
                "reason": "R1",
            }
            body["outcomes"] = [{**planned, "status": "ok", "reason": ""}, refused]
            http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=body).raise_for_status()
        alien = {
            **body,
            "samples": [{**body["samples"][0], "params": {"object": "no.bpf.o", "program": "x"}}],
        }
        answer = http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=alien)
    running.do_tasks()
    compared = running.get(f"/runs/{run.digest}/comparison")
    (row,) = compared["comparisons"]

    assert answer.status_code in (409, 422)
    assert row["params"] == {"object": "bpf_cubic.bpf.o", "program": "bpf_cubic_init"}
    assert row["verdict"] == "unchanged"
    assert [each["params"]["program"] for each in compared["left_out"]] == ["odd"]


def test_an_upload_that_is_done_again_sends_nothing_and_changes_nothing(running: Running, data: Path) -> None:
    client = running.client("upload")
    first = upload_run(client, data / "runs/uninlined", "emulator-1")
    before = running.rows("SELECT run_id, number, digest, received FROM boot ORDER BY number")
    again = upload_run(client, data / "runs/uninlined", "emulator-1")

    assert again == Uploaded(run=first.run, sent=0)
    assert running.rows("SELECT run_id, number, digest, received FROM boot ORDER BY number") == before


def test_an_interrupted_upload_goes_on(running: Running, data: Path, tmp_path: Path) -> None:
    client = running.client("upload")
    folder = tmp_path / "run"
    shutil.copytree(data / "runs/uninlined", folder)
    late = folder / "boots/002-head/boot.json"
    late.rename(late.with_suffix(".later"))
    assert upload_run(client, folder, "emulator-1").sent == 1
    late.with_suffix(".later").rename(late)

    assert upload_run(client, folder, "emulator-1") == Uploaded(
        run=record_digest(json.loads((folder / "run.json").read_text()), "emulator-1"), sent=1
    )


@pytest.mark.parametrize("seed", range(5))
def test_boots_come_in_any_order_and_twice(running: Running, seed: int) -> None:
    run = run_of(boots=6, cases=20, shift=0.05)
    bodies = list(boots_of(run)) * 2
    random.Random(seed).shuffle(bodies)
    with running.http("upload") as http:
        put_all(http, run, bodies)
    running.do_tasks()

    assert len(running.rows("SELECT number FROM boot")) == 12
    compared = running.get(f"/runs/{run.digest}/comparison")
    assert len(compared["comparisons"]) == 20
    assert running.rows("SELECT count(*) AS n FROM point") == [{"n": 40}]


def test_the_last_piece_asks_for_the_analysis_whichever_it_is(running: Running) -> None:
    """The record says complete before its boots are here, or after."""
    run = run_of(boots=2, cases=3)
    with running.http("upload") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run, "running")).raise_for_status()
        for number, body in boots_of(run):
            http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=body).raise_for_status()
        assert running.rows("SELECT task_name FROM procrastinate_jobs") == []
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run, "complete")).raise_for_status()
    assert running.rows("SELECT task_name, args FROM procrastinate_jobs") == [
        {"task_name": "analyse-run", "args": {"run": run.digest}}
    ]


def test_a_late_copy_of_an_earlier_state_changes_nothing(running: Running) -> None:
    run = run_of(boots=1, cases=1)
    with running.http("upload") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run, "complete")).raise_for_status()
        answer = http.put(f"/api/v1/runs/{run.digest}", json=record_of(run, "running"))
    assert answer.status_code == 200
    assert answer.json()["fresh"] is False
    assert running.get(f"/runs/{run.digest}")["status"] == "complete"


@pytest.mark.parametrize(
    ("seconds", "duration", "status"), [(1200, 3, 201), (1200, None, 409), (None, 3, 409)]
)
def test_a_plan_with_a_time_budget_grows_by_the_boots_that_fill_its_time(
    running: Running, seconds: int | None, duration: int | None, status: int
) -> None:
    run = run_of(boots=3, cases=1)
    plan = {**run.record["plan"], "seconds": seconds}
    boots = [{**boot, "duration": None if boot["block"] < 2 else duration} for boot in plan["boots"]]
    first, whole = (
        replace(run, record={**run.record, "plan": {**plan, "boots": some}}) for some in (boots[:4], boots)
    )
    with running.http("upload") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(first, "running")).raise_for_status()
        answer = http.put(f"/api/v1/runs/{run.digest}", json=record_of(whole))
    assert answer.status_code == status


def test_another_boot_under_the_same_number_is_refused_with_both_hashes(running: Running) -> None:
    run = run_of(boots=1, cases=2)
    number, body = next(iter(boots_of(run)))
    other = json.loads(json.dumps(body))
    other["samples"][0]["value"] += 1
    with running.http("upload") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run)).raise_for_status()
        stored = http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=body).json()["digest"]
        refused = http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=other)
    problem = refused.json()
    assert refused.status_code == 409
    assert problem["stored"] == stored
    assert problem["received"] not in (stored, "")
    assert stored in problem["detail"]
    assert running.rows("SELECT digest FROM boot") == [{"digest": stored}]


def test_raw_outputs_come_back_as_they_were(running: Running, data: Path) -> None:
    uploaded = upload_run(running.client("upload"), data / "runs/uninlined", "emulator-1")
    listed = running.get(f"/runs/{uploaded.run}/boots/1/raw")
    name = "1/cases/000-local-storage-cache-hashmap-control.out"
    assert name in [file["name"] for file in listed["files"]]
    with running.http(None) as http:
        raw = http.get(f"/api/v1/runs/{uploaded.run}/boots/1/raw/{name}")
    assert raw.content == (data / "runs/uninlined/boots/001-base" / name).read_bytes()
    assert raw.headers["content-type"].startswith("text/plain")


def test_a_boot_comes_back_as_it_was(running: Running, data: Path) -> None:
    uploaded = upload_run(running.client("upload"), data / "runs/uninlined", "emulator-1")
    stored = json.loads((data / "runs/uninlined/boots/001-base/samples.json").read_text())
    boot = running.get(f"/runs/{uploaded.run}/boots/1")
    for name in ("samples", "outcomes"):
        one, other = (sorted(map(json.dumps, content[name])) for content in (boot, stored))
        assert one == other


def test_without_a_token_nothing_is_stored(running: Running, data: Path) -> None:
    refused = upload_run(running.client(None), data / "runs/uninlined", "emulator-1")
    assert isinstance(refused, HttpFailure)
    assert refused.status == 401
    assert running.rows("SELECT id FROM run") == []


def test_a_service_that_is_away_is_told_from_one_that_says_no(data: Path, unused_tcp_url: str) -> None:
    waits: list[float] = []
    client = Client(unused_tcp_url, "x", patience=Patience(tries=4, first=1, longest=3), sleep=waits.append)
    assert isinstance(upload_run(client, data / "runs/uninlined", "emulator-1"), HttpFailure)
    assert waits == [1, 2, 3]


def test_gzip_and_plain_bodies_are_taken_too(running: Running) -> None:
    run = run_of(boots=1, cases=2)
    body = json.dumps(record_of(run)).encode()
    with running.http("upload") as http:
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        answer = http.put(f"/api/v1/runs/{run.digest}", content=gzip.compress(body), headers=headers)
        assert answer.status_code == 201
    assert isinstance(running.client("upload").put(f"/runs/{run.digest}", body), Answered)
