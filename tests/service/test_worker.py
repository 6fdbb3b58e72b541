"""The worker: from a job of the service to results on it, over a real git server, with a stand-in for the
guest alone.
"""

import json
import os
import shutil
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import toy
from asking import ask
from made_documents import made_work
from service_running import Running
from worker_jobs import TARGET, do_one, request

from cliffwatch.command.secret import read_token
from cliffwatch.failure import Failure
from cliffwatch_runner import clock
from cliffwatch_runner.upload import result_directory
from cliffwatch_runner.upload.client import Client, Patience, unreached
from cliffwatch_runner.upload.result_directory import upload_run
from cliffwatch_runner.worker import delivery
from cliffwatch_runner.worker import job as worker_job
from cliffwatch_runner.worker.delivery import redeliver
from cliffwatch_runner.worker.host import LeasedJob, Worker, WorkerHost
from cliffwatch_runner.worker.limits import JobLimits
from cliffwatch_runner.worker.loop import work
from cliffwatch_runner.worker.spool import Spool


@pytest.mark.namespaces
def test_a_job_is_built_measured_uploaded_and_compared(
    running: Running, served: Any, host: WorkerHost, tmp_path: Path
) -> None:
    made = request(running, served)
    do_one(running, host, tmp_path / "spool")
    running.do_tasks()
    (seen,) = running.get("/hosts")["items"]
    assert seen["about"]["doctor"]["verdict"] == "This host is fit for icount runs."

    (job,) = running.get(f"/requests/{made['request']}")["jobs"]
    assert (job["state"], job["reason"]) == ("done", None)
    compared = running.get(f"/comparisons/{made['base']}...{made['head']}")
    assert compared["targets"][0]["runs"] == [job["run"]]
    assert len(compared["comparisons"]) > 0
    assert len(running.rows("SELECT number FROM boot")) == 4
    assert len(running.rows("SELECT number FROM raw_output")) == 4
    (head,) = running.rows(f"SELECT parents, subject FROM revision WHERE commit = '{made['head']}'")
    assert head == {"parents": [made["base"]], "subject": "bpf: Change core"}
    texts = [
        event["data"]["text"]
        for event in running.get(f"/jobs/{job['job']}/events")["items"]
        if event["kind"] == "line"
    ]
    assert any("measure" in text for text in texts)


@pytest.mark.namespaces
def test_a_head_that_does_not_build_is_a_result_with_the_compilers_error(
    running: Running, served: Any, host: WorkerHost, tmp_path: Path
) -> None:
    url, repository = served
    base = toy.git(repository, "rev-parse", "v6.12")
    head = toy.change(repository, "kernel/bpf/core.c", "int core = \n", "bpf: Break core")
    made = ask(running, tree=url, base=base, head=head, targets=TARGET, profile="smoke", boots="1")
    do_one(running, host, tmp_path / "spool")
    (job,) = running.get(f"/requests/{made['request']}")["jobs"]
    assert job["state"] == "failed"
    assert "core.c" in job["reason"]
    assert running.get(f"/runs/{job['run']}")["record"]["arms"][1]["failure"]["whose"] == "kernel"


def test_a_revision_that_the_tree_lacks_fails_the_job_with_the_reason(
    running: Running, served: Any, host: WorkerHost, tmp_path: Path
) -> None:
    url, repository = served
    made = ask(
        running, tree=url, base=toy.git(repository, "rev-parse", "v6.12"), head="1" * 40, targets=TARGET
    )
    do_one(running, host, tmp_path / "spool")
    (job,) = running.get(f"/requests/{made['request']}")["jobs"]
    assert job["state"] == "failed"
    assert "1111111" in job["reason"]


@pytest.mark.namespaces
def test_a_worker_that_was_stopped_goes_on_with_the_boots_that_are_done(
    running: Running, served: Any, host: WorkerHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped at the first boot that the service has."""
    monkeypatch.setattr(worker_job, "_UPLOAD_EVERY", 0.05)
    made = request(running, served)
    stop = threading.Event()
    upload = upload_run

    def uploading(*arguments: Any, **more: Any) -> Any:
        uploaded = upload(*arguments, **more)
        if getattr(uploaded, "sent", 0):
            stop.set()
        return uploaded

    for module in (worker_job, delivery):
        monkeypatch.setattr(module, "upload_run", uploading)
    do_one(running, host, tmp_path / "spool", stop)
    before = running.rows("SELECT number, received FROM boot ORDER BY number")
    running.clock.pass_(seconds=5)
    for module in (worker_job, delivery):
        monkeypatch.setattr(module, "upload_run", upload)
    do_one(running, host, tmp_path / "spool")

    after = running.rows("SELECT number, received FROM boot ORDER BY number")
    assert 1 <= len(before) <= 4
    assert len(after) == 4
    assert [row for row in after if row in before] == before
    (job,) = running.get(f"/requests/{made['request']}")["jobs"]
    assert job["state"] == "done"


@pytest.mark.namespaces
def test_a_service_that_is_away_gets_everything_when_it_is_back(
    running: Running, served: Any, host: WorkerHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Away from the moment the job was taken until everything is measured; an hour passes on its clock."""
    made = request(running, served)
    real = Client._send
    away = threading.Event()

    def send(self: Client, method: str, path: str, **more: Any) -> Any:
        if away.is_set():
            return unreached("away")
        reply = real(self, method, path, **more)
        if path == "/offers" and reply.body is not None:
            away.set()
        return reply

    monkeypatch.setattr(Client, "_send", send)

    def back(text: str) -> None:
        if "waits in the spool" in text:
            running.clock.pass_(hours=1)
            away.clear()

    client = Client(running.url, running.tokens["work"], patience=Patience(tries=1))
    spool = Spool(tmp_path / "spool")
    work(client, host, spool, drain=threading.Event(), stop=threading.Event(), say=back, idle=0.05, jobs=1)
    client.close()
    (job,) = running.get(f"/requests/{made['request']}")["jobs"]
    assert job["state"] == "done"
    assert len(running.rows("SELECT number FROM boot")) == 4


@pytest.mark.namespaces
def test_two_workers_after_one_job(running: Running, served: Any, host: WorkerHost, tmp_path: Path) -> None:
    """One does it; the other finds nothing."""
    made = request(running, served)
    other = WorkerHost(**{**{name: getattr(host, name) for name in host.__slots__}, "name": "emulator-2"})
    drains = [threading.Event(), threading.Event()]
    lines: list[str] = []

    def run(which: WorkerHost, drain: threading.Event) -> None:
        client = Client(running.url, running.tokens["work"], patience=Patience(tries=1))
        spool = Spool(tmp_path / which.name)
        work(client, which, spool, drain=drain, stop=threading.Event(), say=lines.append, idle=0.05)
        client.close()

    threads = [threading.Thread(target=run, args=each) for each in zip((host, other), drains, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive() and running.get(f"/requests/{made['request']}")["jobs"][0]["state"] != "done":
            thread.join(0.2)
        for drain in drains:
            drain.set()
        thread.join()
    assert len(running.rows("SELECT id FROM lease")) == 1
    assert len(running.rows("SELECT id FROM run")) == 1


def test_a_cancelled_job_ends_within_a_heartbeat_and_keeps_what_it_has(
    running: Running, served: Any, host: WorkerHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_job, "_UPLOAD_EVERY", 0.05)
    made = request(running, served)
    (job,) = made["jobs"]
    do_job = worker_job.do_job

    def cancelling(work: LeasedJob) -> bool:
        with running.http("upload") as http:
            http.post(f"/api/v1/jobs/{job['job']}/cancel").raise_for_status()
        return do_job(replace(work, offer=msgspec.structs.replace(work.offer, heartbeat_seconds=0.1)))

    monkeypatch.setattr("cliffwatch_runner.worker.loop.do_job", cancelling)
    do_one(running, host, tmp_path / "spool")
    assert running.get(f"/jobs/{job['job']}")["state"] == "cancelled"


def test_a_full_disk_is_the_hosts_fault(
    running: Running, served: Any, host: WorkerHost, tmp_path: Path
) -> None:
    made = request(running, served)
    full = WorkerHost(
        **{**{name: getattr(host, name) for name in host.__slots__}, "limits": JobLimits(free_disk=1 << 62)}
    )
    lines: list[str] = []
    client = Client(running.url, running.tokens["work"], patience=Patience(tries=1))
    drain = threading.Event()

    def say(text: str) -> None:
        lines.append(text)
        drain.set()

    work(client, full, Spool(tmp_path / "spool"), drain=drain, stop=threading.Event(), say=say, idle=0.05)
    client.close()
    (job,) = running.get(f"/requests/{made['request']}")["jobs"]
    assert job["state"] == "queued"
    assert "left on the disk" in job["reason"]


@pytest.mark.namespaces
def test_children_never_see_the_token(
    running: Running, served: Any, host: WorkerHost, tmp_path: Path
) -> None:
    """A tree whose Makefile looks for it everywhere it can reach, and fails with what it found as the
    compiler's error.
    """
    url, repository = served
    secret = running.tokens["work"]
    token_file = tmp_path / "token"
    token_file.write_text(secret)
    token_file.chmod(0o600)
    look = (
        "$(error LOOKED env $(shell env | tr '\\n' ' ')"
        f" file $(shell cat {token_file} 2>&1)"
        " proc $(shell cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' ' '))\n"
    )
    base = toy.git(repository, "rev-parse", "v6.12")
    head = toy.change(
        repository, "Makefile", look + (repository / "Makefile").read_text(), "Look for secrets"
    )
    made = ask(running, tree=url, base=base, head=head, targets=TARGET, profile="smoke", boots="1")
    do_one(running, host, tmp_path / "spool")

    (job,) = running.get(f"/requests/{made['request']}")["jobs"]
    whole = json.dumps(running.get(f"/runs/{job['run']}"))
    assert job["state"] == "failed"
    assert "LOOKED env" in whole
    assert "No such file" in whole
    assert secret not in whole
    for path in (path for path in tmp_path.rglob("*") if path.is_file() and path != token_file):
        assert secret.encode() not in path.read_bytes(), path


def test_a_token_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("secret\n")
    file.chmod(0o644)
    assert isinstance(read_token(file), Failure)
    file.chmod(0o600)
    assert read_token(file) == "secret"
    assert isinstance(read_token(file, seen_by_builds=(tmp_path,)), Failure)


def test_a_token_of_the_environment_is_forgotten_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIFFWATCH_TOKEN", "secret")
    assert read_token(None) == "secret"
    assert "CLIFFWATCH_TOKEN" not in os.environ


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.7, 0.99])
def test_a_spool_file_that_was_cut_off_is_told_and_nothing_else_is_lost(
    running: Running, data: Path, host: WorkerHost, tmp_path: Path, kept: float
) -> None:
    """A crash of the host can cut job.json, never run.json and the boots, which are renamed into place."""
    spool = Spool(tmp_path / "spool")
    spooled = spool.begin(made_work(job="a-job"))
    shutil.copytree(data / "runs/uninlined", spooled.results)
    content = (spooled.folder / "job.json").read_bytes()
    (spooled.folder / "job.json").write_bytes(content[: int(len(content) * kept)])
    client = running.client("work")
    lines: list[str] = []
    redeliver(Worker(client, host, lines.append), list(spool.waiting()))
    assert len(running.rows("SELECT number FROM boot")) == 2, lines
    assert list(spool.waiting()) == []


def test_what_an_earlier_job_left_is_sent_when_there_is_nothing_to_do(
    running: Running, data: Path, host: WorkerHost, tmp_path: Path
) -> None:
    spool = Spool(tmp_path / "spool")
    made = ask(running)
    spooled = spool.begin(made_work(job=made["jobs"][0]["job"]))
    shutil.copytree(data / "runs/uninlined", spooled.results)
    lines: list[str] = []
    drain = threading.Event()

    def say(text: str) -> None:
        lines.append(text)
        drain.set()

    client = running.client("work")
    work(client, host, spool, drain=drain, stop=threading.Event(), say=say, idle=0.05)
    assert lines == [f"sent the results of job {made['jobs'][0]['job']}: 2 boots"]
    record = json.loads((data / "runs/uninlined/run.json").read_text())
    assert running.rows("SELECT identity FROM run") == [{"identity": record["identity"]}]


def test_a_result_cut_anywhere_is_told_and_the_rest_is_sent(
    running: Running, data: Path, tmp_path: Path
) -> None:
    """At every byte for what is read of it; over HTTP at a few."""
    source = data / "runs/uninlined"
    kinds = {
        "boots/002-head/boot.json": result_directory._BootNamed,
        "boots/002-head/samples.json": result_directory._Measured,
        "run.json": result_directory._RunNamed,
    }
    for name, kind in kinds.items():
        content = (source / name).read_bytes()
        for kept in range(len(content.rstrip()) - 1):
            with pytest.raises(ValueError, match=name):
                result_directory._read(content[:kept], name, kind)
    client = running.client("work")
    for name, kept in (("boot.json", 0.0), ("samples.json", 0.5), ("environment.json", 0.9)):
        folder = tmp_path / name
        shutil.copytree(source, folder)
        file = folder / "boots/002-head" / name
        whole = file.read_bytes()
        file.write_bytes(whole[: int(len(whole) * kept)])
        uploaded = result_directory.upload_run(client, folder, f"emulator {name}")
        assert (uploaded.sent, len(uploaded.refused)) == (1, 1)
        file.write_bytes(whole)
        assert result_directory.upload_run(client, folder, f"emulator {name}").refused == ()
    (tmp_path / "boot.json/run.json").write_bytes(b"{")
    assert (
        result_directory.upload_run(client, tmp_path / "boot.json", "x").next_step
        == "run the measurement again"
    )


@pytest.mark.namespaces
@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_an_hour_off_loses_no_lease(
    running: Running,
    served: Any,
    host: WorkerHost,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hours: int,
) -> None:
    """Leases live on the service's clock; what the host writes down carries its own."""
    real = clock.now
    monkeypatch.setattr(clock, "now", lambda: real() + timedelta(hours=hours))
    made = request(running, served)
    do_one(running, host, tmp_path / "spool")
    assert running.get(f"/requests/{made['request']}")["jobs"][0]["state"] == "done"
