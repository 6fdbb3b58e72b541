"""The hosts: the real worker's loop, client, spool and delivery, ten hosts to a process; only its jobs are
stand-ins.
"""

import multiprocessing
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path

from cliffwatch_runner.worker.host import WorkerHost
from cliffwatch_runner.worker.limits import JobLimits
from cliffwatch_runner.worker.loop import work
from cliffwatch_runner.worker.spool import Spool
from simulated_day.asking import Record, TimedClient
from simulated_day.day import BOOT_SECONDS, BUILD_SECONDS, SLOWER_PUSHES

HOSTS_EACH = 10
"""To a process."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """What hosts need to know. `ratio` is of the day's time to the clock's, `idle` what a host without a job
    waits.
    """

    url: str
    folder: Path
    hosts: Sequence[tuple[str, str, str]]
    tokens: Mapping[str, str]
    ratio: float
    idle: float


def work_all(fleet: Fleet, chosen: Sequence[tuple[str, str, str]], number: int, stop: Event) -> None:
    """In a process of its own: these hosts work until they are told to stop."""
    record, ended = Record(), threading.Event()
    log = (fleet.folder / f"hosts-{number}.log").open("w")
    env = {
        "PATH": os.environ["PATH"],
        "SIMULATED_RATIO": str(fleet.ratio),
        "SIMULATED_BOOT_SECONDS": str(BOOT_SECONDS),
        # At the true pace nobody waits for a build: a host asks most while it boots.
        "SIMULATED_BUILD_SECONDS": " ".join(map(str, BUILD_SECONDS if fleet.ratio > 1 else (0, 0))),
        "SIMULATED_SLOWER": str(SLOWER_PUSHES),
        "SIMULATED_TEMPLATES": str(fleet.folder),
    }
    (fleet.folder / "cache").mkdir(exist_ok=True)

    def one(name: str, platform: str, mode: str) -> None:
        host = WorkerHost(
            name=name,
            platform=platform,
            modes=(mode,),  # type: ignore[arg-type]
            cache=fleet.folder / "cache",
            command=(sys.executable, "-I", "-S", str(Path(__file__).with_name("job.py"))),
            env=env,
            limits=JobLimits(free_disk=0, free_memory=0),
        )
        client = TimedClient(fleet.url, fleet.tokens[name], record)
        spool = Spool(fleet.folder / "spool" / name)
        work(
            client,
            host,
            spool,
            drain=ended,
            stop=ended,
            say=lambda text: print(text, file=log),
            idle=fleet.idle,
        )

    threads = [threading.Thread(target=one, args=each) for each in chosen]
    for thread in threads:
        thread.start()
    stop.wait()
    ended.set()
    for thread in threads:
        thread.join()
    record.write(fleet.folder / f"asked-by-hosts-{number}.json")
    log.close()


class AtWork:
    """A fleet at work, from `begin` to `end`."""

    def __init__(self, fleet: Fleet) -> None:
        context = multiprocessing.get_context("spawn")
        self._stop = context.Event()
        parts = [fleet.hosts[first : first + HOSTS_EACH] for first in range(0, len(fleet.hosts), HOSTS_EACH)]
        self.processes = [
            context.Process(target=work_all, args=(fleet, part, number, self._stop))
            for number, part in enumerate(parts)
        ]
        for process in self.processes:
            process.start()

    def end(self) -> None:
        self._stop.set()
        for process in self.processes:
            process.join()
