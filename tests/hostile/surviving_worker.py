"""A worker whose service is a stand-in that breaks."""

import os
import sys
import threading
from pathlib import Path
from typing import Any

from made_documents import made_work

from cliffwatch.failure import Failure, HttpFailure
from cliffwatch.formats.reading import as_json
from cliffwatch_runner.upload.client import Answered, Client, Reply
from cliffwatch_runner.worker.host import WorkerHost
from cliffwatch_runner.worker.limits import JobLimits
from cliffwatch_runner.worker.loop import work
from cliffwatch_runner.worker.spool import Spool

RUN = Path(__file__).parents[1] / "data" / "runs" / "uninlined"


class Service(Client):
    """What a worker hears from a service: the jobs of a list, and yes to everything else. It remembers what
    came.
    """

    def __init__(self, *jobs: Any) -> None:
        super().__init__("http://service.invalid", None)
        self.jobs = list(jobs)
        self.ended: dict[str, dict[str, Any]] = {}
        self.sent: list[bytes] = []
        self.refusing: list[HttpFailure] = []

    def post(self, path: str, content: Any, *, key: str | None = None) -> Reply:
        if path == "/offers":
            return Answered(status=200, body=self.jobs.pop(0) if self.jobs else None)
        lease, _, what = path.removeprefix("/leases/").partition("/")
        if what == "complete":
            if self.refusing:
                return self.refusing.pop(0)
            self.ended[lease] = content
        return Answered(status=200, body={"cancel": False})

    def get(self, path: str, **params: Any) -> Reply:
        return Answered(status=200, body={"boots": []})

    def put(self, path: str, content: bytes, kind: str = "application/json") -> Reply:
        self.sent.append(content)
        return Answered(status=201, body={})


def job(name: str, **other: Any) -> dict[str, Any]:
    """As the service answers it."""
    answer: dict[str, Any] = as_json(made_work(job=name, lease=f"lease-{name}"))
    return answer | other


STAND_IN = """
import pathlib, shutil, sys
out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
out.exists() or shutil.copytree(sys.argv[1], out)
"""


def host(tmp_path: Path, *, after: str = "") -> WorkerHost:
    """A host whose `cliffwatch run` leaves the recorded run, and then does what the test says."""
    cache = tmp_path / "cache"
    cache.mkdir(exist_ok=True)
    return WorkerHost(
        name="emulator-1",
        platform="emulated-x86-64",
        modes=("icount",),
        cache=cache,
        command=(sys.executable, "-c", STAND_IN + after, str(RUN)),
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        limits=JobLimits(free_disk=0, free_memory=0),
    )


def do(service: Service, where: WorkerHost, spool: Path, *, jobs: int | None = None) -> list[str]:
    """Works until there is no job left, and looks at the spool once."""
    lines: list[str] = []
    drain = threading.Event()
    before = Service.post

    def post(path: str, content: Any, *, key: str | None = None) -> Reply:
        if path == "/offers" and not service.jobs:
            drain.set()
        return before(service, path, content, key=key)

    service.post = post  # type: ignore[method-assign]
    ended = work(
        service, where, Spool(spool), drain=drain, stop=threading.Event(), say=lines.append, idle=0, jobs=jobs
    )
    assert ended is None or isinstance(ended, Failure)
    assert ended is None
    return lines
