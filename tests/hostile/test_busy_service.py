"""A service that takes nothing for an hour loses no result: its worker comes back when it may, and marks what
was taken.
"""

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from made_documents import made_work

from cliffwatch.failure import HttpFailure
from cliffwatch_runner.upload.client import Client, unreached
from cliffwatch_runner.worker import running
from cliffwatch_runner.worker.delivery import Undeliverable, deliver, redeliver
from cliffwatch_runner.worker.host import LeasedJob, Worker
from cliffwatch_runner.worker.job import _Uploads
from cliffwatch_runner.worker.spool import Spool, Spooled

RUN = Path(__file__).parents[1] / "data" / "runs" / "uninlined"
HOUR = 3600.0


class Passing(threading.Event):
    """A clock that each wait moves on, and the event that ends a wait; `waits` are all of them,
    in seconds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.wait(seconds)

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.waits.append(timeout)
        self.now += timeout
        return False


class Service(ThreadingHTTPServer):
    """Answers `refusal` until `until`, and takes everything after that. A refusal of 0 breaks
    the connection.
    """

    daemon_threads = True

    def __init__(self, clock: Passing, refusal: int, until: float, headers: dict[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.clock, self.refusal, self.until, self.headers = clock, refusal, until, headers
        self.refused = 0
        self.taken: list[str] = []
        self.ended: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answers(BaseHTTPRequestHandler):
    server: Service

    def _answer(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        service = self.server
        if service.clock.now < service.until:
            service.refused += 1
            if service.refusal:
                self._send(service.refusal, {"title": "busy", "detail": "come back"}, service.headers)
            self.close_connection = True
            return
        service.taken.append(f"{self.command} {self.path.rpartition('/')[2]}")
        if self.path.endswith("/complete"):
            service.ended.append(json.loads(content))
        self._send(200, {"boots": []} if self.command == "GET" else {}, {})

    do_GET = do_PUT = do_POST = _answer  # noqa: N815 - named by http.server

    def _send(self, status: int, body: Any, headers: dict[str, str]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(text))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def service_that(
    clock: Passing, refusal: int, *, until: float = HOUR, headers: dict[str, str] | None = None
) -> Iterator[Service]:
    with Service(clock, refusal, until, headers or {}) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def job_at(service: Service, clock: Passing, tmp_path: Path, lines: list[str]) -> LeasedJob:
    """A job that is measured and not yet delivered."""
    host: Any = type("Host", (), {"name": "rome-1", "builders": None})()
    worker = Worker(Client(service.url, "token", sleep=clock.sleep), host, lines.append)
    spooled = Spool(tmp_path / "spool").begin(made_work(job="one"))
    shutil.copytree(RUN, spooled.results)
    return LeasedJob(worker, made_work(job="one", lease="lease-one"), spooled, clock)


REFUSALS = (0, 408, 429, 500, 501, 502, 503, 504, 507, 599)


@pytest.mark.parametrize("refusal", REFUSALS)
def test_results_wait_for_a_service_that_refuses_for_an_hour(tmp_path: Path, refusal: int) -> None:
    clock, lines = Passing(), list[str]()
    with service_that(clock, refusal) as service:
        job = job_at(service, clock, tmp_path, lines)
        assert deliver(job, "done", None)
        job.worker.client.close()

    assert [each["outcome"] for each in service.ended] == ["done"]
    assert service.taken.count("PUT raw") == 2
    assert job.spooled.delivered
    assert service.refused <= 500, "a worker that hammers the service that is too busy for it"
    assert clock.now < HOUR + 120, "and comes back soon after it"


@pytest.mark.parametrize("refusal", REFUSALS)
def test_what_an_earlier_job_left_waits_too(tmp_path: Path, refusal: int) -> None:
    clock, lines = Passing(), list[str]()
    with service_that(clock, refusal) as service:
        job = job_at(service, clock, tmp_path, lines)
        redeliver(job.worker, [job.spooled])
        assert not job.spooled.delivered
        assert [each.folder for each in Spool(tmp_path / "spool").waiting()] == [job.spooled.folder]
        clock.now = HOUR
        redeliver(job.worker, [job.spooled])
        job.worker.client.close()
    assert job.spooled.delivered
    assert service.taken.count("PUT raw") == 2


def test_a_refusal_in_the_middle_marks_nothing(tmp_path: Path) -> None:
    """The run was taken and its boots are refused, as where a day's quota is spent within a job."""
    clock, lines = Passing(), list[str]()
    with service_that(clock, 429, until=0) as service:
        job = job_at(service, clock, tmp_path, lines)
        before = _Answers._answer

        def spent(self: _Answers) -> None:
            boot = "/boots/" in self.path and clock.now < HOUR
            service.until = HOUR if boot else 0
            before(self)

        for name in ("do_GET", "do_PUT", "do_POST"):
            setattr(_Answers, name, spent)
        try:
            assert deliver(job, "done", None)
        finally:
            for name in ("do_GET", "do_PUT", "do_POST"):
                setattr(_Answers, name, before)
        job.worker.client.close()
    assert [each["outcome"] for each in service.ended] == ["done"]
    assert service.taken.count("PUT raw") == 2


@pytest.mark.parametrize(
    ("asked", "wait"),
    [
        *[("5", 5.0), ("40", 40.0), ("86400", 900.0), ("9" * 400, 900.0)],
        *[("-5", 0.0), ("nan", 0.0), ("\u0665", 0.0), ("", 0.0), ("Wed, 21 Oct 2026 07:28:00 GMT", 0.0)],
    ],
)
def test_a_service_may_ask_for_a_wait_and_not_for_ever(asked: str, wait: float) -> None:
    clock = Passing()
    with service_that(clock, 429, headers={"Retry-After": asked}) as service:
        client = Client(service.url, None, sleep=clock.sleep)
        reply = client.get("/queue")
        client.close()
    assert isinstance(reply, HttpFailure)
    assert reply.wait == wait
    assert all(each >= min(wait, 30) for each in clock.waits)
    assert len(clock.waits) == (4 if wait <= 30 else 0), "a long wait is the caller's: it can be ended"


def test_a_worker_waits_as_long_as_it_is_asked_to(tmp_path: Path) -> None:
    clock, lines = Passing(), list[str]()
    with service_that(clock, 429, headers={"Retry-After": "600"}) as service:
        job = job_at(service, clock, tmp_path, lines)
        assert deliver(job, "done", None)
        job.worker.client.close()
    assert service.refused == 6
    assert set(clock.waits) == {600.0}


def test_a_running_job_sends_its_news_when_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, lines = Passing(), list[str]()
    monkeypatch.setattr("cliffwatch_runner.clock.monotonic", lambda: clock.now)
    with service_that(clock, 429, headers={"Retry-After": "600"}) as service:
        job = job_at(service, clock, tmp_path, lines)
        uploads = _Uploads(job)
        for _ in range(1300):
            uploads.send_news()
            clock.now += 3
        job.worker.client.close()
    assert service.refused == 6
    assert service.taken.count("PUT raw") == 2


@pytest.mark.parametrize("status", [400, 409, 413, 422])
def test_results_that_are_never_taken_are_not_called_delivered(tmp_path: Path, status: int) -> None:
    clock, lines = Passing(), list[str]()
    with service_that(clock, status) as service:
        job = job_at(service, clock, tmp_path, lines)
        with pytest.raises(Undeliverable):
            deliver(job, "done", None)
        redeliver(job.worker, [job.spooled])
        job.worker.client.close()
    assert not job.spooled.delivered
    assert (job.spooled.folder / "results.aside-1" / "run.json").exists()


def test_a_boot_that_is_never_taken_is_kept_aside(tmp_path: Path) -> None:
    clock, lines = Passing(), list[str]()
    with service_that(clock, 429, until=0) as service:
        job = job_at(service, clock, tmp_path, lines)
        (job.spooled.results / "boots" / "001-base" / "boot.json").write_text("{")
        assert deliver(job, "done", None)
        job.worker.client.close()
    assert [each["outcome"] for each in service.ended] == ["host-failed"]
    assert not job.spooled.delivered
    assert (job.spooled.folder / "results.aside-1" / "run.json").exists()


@pytest.mark.parametrize("status", [401, 403, 404, 302])
def test_a_token_or_an_address_that_is_wrong_loses_nothing(tmp_path: Path, status: int) -> None:
    clock, lines = Passing(), list[str]()
    with service_that(clock, status) as service:
        job = job_at(service, clock, tmp_path, lines)
        assert deliver(job, "done", None)
        job.worker.client.close()
    assert [each["outcome"] for each in service.ended] == ["done"]
    assert job.spooled.delivered


def test_a_page_of_something_else_takes_nothing(tmp_path: Path) -> None:
    """A proxy's own page with a friendly 200."""
    clock = Passing()
    with service_that(clock, 200) as service:
        client = Client(service.url, None, sleep=clock.sleep)
        _Answers._send, before = _page, _Answers._send  # type: ignore[method-assign, assignment]
        try:
            reply = client.put("/runs/x", b"{}")
        finally:
            _Answers._send = before  # type: ignore[method-assign]
        client.close()
    assert isinstance(reply, HttpFailure)
    assert "without JSON" in reply.message


def _page(self: _Answers, status: int, *_: Any) -> None:
    self.send_response(status)
    self.send_header("Content-Length", "13")
    self.end_headers()
    self.wfile.write(b"<html></html>")


def test_files_of_a_request_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, lines = Passing(), list[str]()
    answers: list[Any] = [unreached("busy", wait=600.0)] * 3 + [None]
    monkeypatch.setattr(running, "take_files", lambda *_: answers.pop(0))
    job: Any = LeasedJob(Worker(None, None, lines.append), made_work(job="one"), Spooled(tmp_path), clock)  # type: ignore[arg-type]
    assert running._take_files(job, tmp_path, lambda: False) is None
    assert clock.waits == [600.0] * 3
    assert len(lines) == 3
