"""A worker examines its host before each job, and gives back what the host can no longer do."""

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from made_documents import made_work

from cliffwatch.failure import HttpFailure, host_failed
from cliffwatch.formats.reading import as_json
from cliffwatch.samples import Mode
from cliffwatch_runner.doctor.check import Check, Group, Status
from cliffwatch_runner.upload.client import Answered
from cliffwatch_runner.worker import loop
from cliffwatch_runner.worker.fitness import find_new_failures
from cliffwatch_runner.worker.host import WorkerHost
from cliffwatch_runner.worker.spool import Spool

WORK = as_json(made_work(job="j1", lease="l1", mode="walltime"))


def check(name: str, status: Status, group: Group = "walltime") -> Check:
    fixes = ("put it right",) if status in ("warn", "fail") else ()
    return Check(
        name=name, group=group, status=status, finding=f"{name} is so", why="for numbers", fixes=fixes
    )


@pytest.mark.parametrize(
    ("at_start", "now", "mode", "unfit"),
    [
        ([check("turbo", "ok")], [check("turbo", "fail")], "walltime", True),
        ([check("turbo", "ok")], [check("turbo", "fail")], "icount", False),
        ([check("turbo", "fail")], [check("turbo", "fail")], "walltime", False),
        ([check("turbo", "ok")], [check("turbo", "warn")], "walltime", False),
        ([], [check("gcc", "fail", "build")], "icount", True),
    ],
)
def test_what_fails_since_the_start_ends_fitness(
    at_start: list[Check], now: list[Check], mode: Mode, *, unfit: bool
) -> None:
    reason = find_new_failures(at_start, now, mode)
    assert (reason is not None) is unfit
    if reason is not None:
        assert "put it right" in reason.next_step


@dataclass
class Service:
    """Gives the same job to whoever offers, `offers` times."""

    offers: int
    posts: list[tuple[str, Any]] = field(default_factory=list)
    drain: threading.Event = field(default_factory=threading.Event)

    def post(self, path: str, body: Any) -> Any:
        self.posts.append((path, body))
        if path != "/offers":
            return Answered(status=200, body={})
        self.offers -= 1
        if self.offers == 0:
            self.drain.set()
        return Answered(status=200, body=WORK if body["modes"] else None)


@dataclass
class Quarantining:
    """Answers offers in turn; the last one drains the worker."""

    answers: list[Any]
    drain: threading.Event = field(default_factory=threading.Event)

    def post(self, path: str, body: Any) -> Any:
        assert path == "/offers", body
        if len(self.answers) == 1:
            self.drain.set()
        return self.answers.pop(0)


def work(service: Any, folder: Path, said: list[str], **settings: Any) -> object:
    """Has a walltime host work until the service drains it. Returns how that ended."""
    host = WorkerHost(
        name="rome-1",
        platform="amd-rome",
        modes=("walltime",),
        cache=folder,
        command=("cliffwatch",),
        env={},
        **settings,
    )
    spool, stop = Spool(folder / "jobs"), threading.Event()
    return loop.work(service, host, spool, drain=service.drain, stop=stop, say=said.append, idle=0)


def test_a_host_in_quarantine_says_so_once_and_goes_on_asking(tmp_path: Path) -> None:
    refused = HttpFailure(
        whose="usage", message="rome-1 is in quarantine", next_step="wait", evidence="", status=423
    )
    nothing = Answered(status=204, body=None)
    service, said = Quarantining([refused, refused, nothing, refused]), []
    ended = work(service, tmp_path, said)
    assert ended is None
    assert said == [
        "no walltime job: rome-1 is in quarantine",
        "the quarantine has ended, or there is a job of another mode",
        "no walltime job: rome-1 is in quarantine",
    ]


def test_a_job_is_given_back_with_the_reason_and_no_other_is_taken_until_the_host_is_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, said, begun = Service(offers=2), [], []
    unfit = host_failed("turbo is on", "switch it off")
    states = iter([unfit, unfit, unfit, None, None])
    monkeypatch.setattr(loop, "do_job", lambda job: begun.append(job.name) or True)
    ended = work(service, tmp_path, said, unfit=lambda _: next(states))
    assert ended is None
    assert [path for path, _ in service.posts] == ["/offers", "/leases/l1/complete", "/offers"]
    end = service.posts[1][1]
    assert end["outcome"] == "given-back"
    assert end["reason"] == "turbo is on: switch it off"
    assert begun == ["j1"]
    assert next(states, "none is left") == "none is left"
