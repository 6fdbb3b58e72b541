"""While a job runs its worker sends what is new, and asks the service nothing where nothing is."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_documents import made_work

from cliffwatch.failure import HttpFailure
from cliffwatch_runner.upload.client import unreached
from cliffwatch_runner.upload.result_directory import Uploaded
from cliffwatch_runner.worker import job as jobs
from cliffwatch_runner.worker.host import LeasedJob
from cliffwatch_runner.worker.spool import Spooled


@pytest.fixture
def job(tmp_path: Path) -> LeasedJob:
    host: Any = SimpleNamespace(name="rome-1", builders=None)
    worker: Any = SimpleNamespace(client=None, host=host, say=lambda _: None)
    (tmp_path / "results/boots").mkdir(parents=True)
    return LeasedJob(worker, made_work(job="one", lease="one"), Spooled(tmp_path), threading.Event())


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """One entry for each upload, all of which arrive."""
    answers: list[Any] = []

    def upload(*_: object, **__: object) -> Any:
        answers.append(None)
        return Uploaded(run="run", sent=1)

    monkeypatch.setattr(jobs, "upload_run", upload)
    return answers


def write(job: LeasedJob, name: str) -> None:
    path = job.spooled.results / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}")


def test_what_is_new_is_sent_once(job: LeasedJob, sent: list[Any]) -> None:
    uploads = jobs._Uploads(job)
    uploads.send_news()
    assert len(sent) == 0

    for name in ("run.json", "boots/0001/boot.json", "boots/0002/boot.json"):
        write(job, name)
        for _ in range(3):
            uploads.send_news()

    assert len(sent) == 3


def test_what_did_not_arrive_is_sent_again(job: LeasedJob, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[None] = []

    def away(*_: object, **__: object) -> HttpFailure:
        tried.append(None)
        return unreached("away")

    monkeypatch.setattr(jobs, "upload_run", away)
    write(job, "run.json")
    uploads = jobs._Uploads(job)
    for _ in range(3):
        uploads.send_news()

    assert len(tried) == 3


def test_results_that_cannot_be_handled_are_left_for_the_end(
    job: LeasedJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[None] = []

    def broken(*_: object, **__: object) -> None:
        tried.append(None)
        raise RecursionError

    monkeypatch.setattr(jobs, "upload_run", broken)
    write(job, "run.json")
    uploads = jobs._Uploads(job)
    for _ in range(3):
        uploads.send_news()

    assert len(tried) == 1


def test_the_lease_is_kept_while_a_job_is_delivered() -> None:
    asked: list[str] = []
    twice = threading.Event()

    def post(path: str, _: object) -> None:
        asked.append(path)
        if len(asked) == 2:
            twice.set()

    worker: Any = SimpleNamespace(client=SimpleNamespace(post=post), host=None, say=None)
    leased = LeasedJob(
        worker, made_work(lease="one", heartbeat_seconds=0.01), Spooled(Path()), threading.Event()
    )

    with jobs._heartbeats(leased):
        assert twice.wait(60)
    after = len(asked)

    assert set(asked) == {"/leases/one/heartbeat"}
    assert len(asked) == after
