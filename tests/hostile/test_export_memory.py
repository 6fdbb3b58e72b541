"""Exports take a fixed memory, one at a time, in a process beside; whoever asks meanwhile waits or is told to
come again.
"""

import io
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import psutil
import pytest
from service_running import Running
from service_runs import MadeRun, boots_of, commit_of, put_all, run_of

from cliffwatch_service.compare import export
from cliffwatch_service.compare.export import MEDIA_TYPES, Wanted, export_file, write_export
from cliffwatch_service.http.large import EXPORT_MEMORY
from cliffwatch_service.refusal import Refusal

READINGS = 40_000
"""In each of a boot's six cases: five megabytes of JSON."""


@pytest.fixture
def large(running: Running) -> MadeRun:
    """Two arms of ten such boots; as objects all of them take half a gigabyte."""
    run = run_of(boots=10, cases=6)
    drawn = np.random.default_rng(1)
    bodies = []
    for number, body in boots_of(run):
        for sample in body["samples"]:
            sample["readings"] = drawn.random(READINGS).round(9).tolist()
        bodies.append((number, body))
    with running.http("upload") as http:
        put_all(http, run, bodies)
    return run


@pytest.fixture
def mebibytes_more() -> Callable[[], float]:
    Path("/proc/self/clear_refs").write_text("5")
    before = _peak()
    return lambda: _peak() - before


def _peak(pid: int | str = "self") -> float:
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024


class _Nothing(io.RawIOBase):
    """Counts what is written."""

    size = 0

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        self.size += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self.size


@pytest.mark.timeout(600)
def test_every_format_is_written_with_one_boot_in_memory(running: Running, large: MadeRun) -> None:
    for form in MEDIA_TYPES:
        Path("/proc/self/clear_refs").write_text("5")
        before, file = _peak(), _Nothing()
        write_export(running.service.transaction, file, large.digest, Wanted(form))  # type: ignore[arg-type]
        assert file.size > 1000
        assert _peak() - before < 150, form


@pytest.mark.timeout(600)
def test_eight_who_ask_at_once_take_no_more_than_one(
    running: Running, large: MadeRun, monkeypatch: pytest.MonkeyPatch, mebibytes_more: Callable[[], float]
) -> None:
    monkeypatch.setattr("cliffwatch_service.http.large.LARGE", 0)
    answers: list[httpx2.Response] = []

    def ask(form: str) -> None:
        with running.http(None) as http:
            answers.append(http.get(f"/api/v1/runs/{large.digest}/export", params={"format": form}))

    threads = [threading.Thread(target=ask, args=(form,)) for form in ("kcidb", "bmf") * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {answer.status_code for answer in answers} <= {200, 429, 503}
    assert sum(answer.status_code == 200 for answer in answers) >= 1
    assert all("Retry-After" in answer.headers for answer in answers if answer.status_code != 200)
    beside = [
        each for each in psutil.Process().children(recursive=True) if "spawn_main" in " ".join(each.cmdline())
    ]
    assert beside, "exports are written in another process"
    assert max(_peak(each.pid) for each in beside) < EXPORT_MEMORY / (1 << 20)
    assert mebibytes_more() < 100
    ask("bmf")
    assert answers[-1].status_code == 200
    assert not list(running.service.settings.data_dir.glob("export-*"))


def test_an_export_ends_at_the_largest_file(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(boots=2, cases=3)
    with running.http("upload") as http:
        put_all(http, run)
    monkeypatch.setattr(export, "LARGEST_FILE", 100)
    for form in MEDIA_TYPES:
        with pytest.raises(Refusal, match="ask for one arm"):
            export_file(running.service.transaction, tmp_path, run.digest, Wanted(form))
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said(running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(boots=1, cases=1)
    with running.http("upload") as http:
        put_all(http, run)

        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(export, "write_export", full)
        answer = http.get(f"/api/v1/runs/{run.digest}/export")
    assert (answer.status_code, answer.json()["title"]) == (507, "no room")
    assert not list(running.service.settings.data_dir.glob("export-*"))


def test_who_leaves_gives_his_place_back(running: Running) -> None:
    """Eight places for all, four for one: as many again and again."""
    run = run_of(boots=1, cases=2)
    with running.http("upload") as http:
        put_all(http, run)
    for _ in range(20):
        with running.http(None) as http:
            assert http.get(f"/api/v1/runs/{run.digest}/export").status_code == 200
            with http.stream("GET", f"/api/v1/runs/{run.digest}/export"):
                pass
    until = time.monotonic() + 30
    while running.service.exports._taken.total() and time.monotonic() < until:
        with running.http(None) as http:  # the last answer ends after its reader has gone
            http.get("/healthz")
    assert running.service.exports._taken.total() == 0


def test_a_large_comparison_is_made_in_the_background(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unsigned request for a pair that nobody compared yet, at every address."""
    monkeypatch.setattr("cliffwatch_service.compare.pairing.AT_ONCE", 10)
    monkeypatch.setattr("cliffwatch_service.compare.pairing.make_answer", None)
    run = run_of(boots=4, cases=3, shift=0.1)
    with running.http("upload") as http:
        put_all(http, run)
    pair = f"{commit_of('base')}...{commit_of('head')}"
    with running.http(None) as http:
        answer = http.get(f"/api/v1/comparisons/{pair}")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
        assert http.get(f"/compare/{pair}.json").status_code == 202
        running.do_tasks()
        assert len(http.get(f"/api/v1/comparisons/{pair}").raise_for_status().json()["comparisons"]) > 0
