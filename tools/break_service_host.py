"""The worker of tools/break_service.py: the real one, with a stand-in for the guests alone."""

import os
import sys
import threading
from pathlib import Path

from cliffwatch_runner.upload.client import Client
from cliffwatch_runner.worker.host import WorkerHost
from cliffwatch_runner.worker.limits import JobLimits
from cliffwatch_runner.worker.loop import work
from cliffwatch_runner.worker.spool import Spool

url, token, home = sys.argv[1], sys.argv[2], Path(sys.argv[3])
stand_in = Path(__file__).parents[1] / "tests/service/stand_in_command.py"
(home / "cache").mkdir(exist_ok=True)
host = WorkerHost(
    name="emulator-1",
    platform="emulated-x86-64",
    modes=("icount",),
    cache=home / "cache",
    command=(sys.executable, str(stand_in)),
    env={"PATH": os.environ["PATH"], "HOME": str(home)},
    limits=JobLimits(free_disk=0, free_memory=0),
)


def say(text: str) -> None:
    print(f"worker: {text}", file=sys.stderr, flush=True)


work(
    Client(url, token),
    host,
    Spool(home / "spool"),
    drain=threading.Event(),
    stop=threading.Event(),
    say=say,
    idle=0.3,
)
