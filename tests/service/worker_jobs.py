"""A worker that does one job of a service."""

import threading
from pathlib import Path
from typing import Any

import toy
from asking import ask
from service_running import Running

from cliffwatch_runner.upload.client import Client, Patience
from cliffwatch_runner.worker.host import WorkerHost
from cliffwatch_runner.worker.loop import work
from cliffwatch_runner.worker.spool import Spool

TARGET = [{"platform": "emulated-x86-64", "mode": "icount"}]


def request(running: Running, served: tuple[str, Path], **other: Any) -> Any:
    url, repository = served
    base = toy.git(repository, "rev-parse", "v6.12")
    head = toy.change(repository, "kernel/bpf/core.c", "int core = 2;\n", "bpf: Change core")
    return ask(running, tree=url, base=base, head=head, targets=TARGET, profile="smoke", boots="2", **other)


def do_one(running: Running, host: WorkerHost, spool: Path, stop: threading.Event | None = None) -> list[str]:
    lines: list[str] = []
    client = Client(running.url, running.tokens["work"], patience=Patience(tries=1))
    ended = work(
        client,
        host,
        Spool(spool),
        drain=threading.Event(),
        stop=stop or threading.Event(),
        say=lines.append,
        idle=0.05,
        jobs=1,
    )
    client.close()
    assert ended is None, ended
    return lines
