"""What the service and PostgreSQL used: CPU-seconds, memory, bytes of the database and of its journal."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from load.served import Served

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """Up to a moment. CPU in seconds, the others in bytes."""

    answering: float
    tasks: float
    postgresql: float
    database: int
    journal: int

    def since(self, before: "Used") -> "Used":
        return Used(
            **{name: getattr(self, name) - getattr(before, name) for name in Used.__dataclass_fields__}
        )


def used(services: Sequence[Served]) -> Used:
    answering = tasks = 0.0
    for service in services:
        root = psutil.Process(service.pid)
        answering += seconds(root)
        tasks += sum(seconds(each) for each in root.children() if each.name() != "postgres")
    (row,) = services[0].rows(
        "SELECT pg_database_size(current_database()), pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"
    )
    return Used(
        answering=answering,
        tasks=tasks,
        postgresql=sum(seconds(each, reaped=True) for each in postgres_processes(services[0])),
        database=int(row[0]),
        journal=int(row[1]),
    )


def seconds(process: psutil.Process, *, reaped: bool = False) -> float:
    """CPU of a process, with that of its children that ended where these are not counted elsewhere."""
    with suppress(psutil.Error):
        times = process.cpu_times()
        ended = times.children_user + times.children_system if reaped else 0.0
        return float(times.user + times.system + ended)
    return 0.0


def postgres_processes(service: Served) -> list[psutil.Process]:
    pid = int((service.data_dir / "postgresql/postmaster.pid").read_text().split()[0])
    postmaster = psutil.Process(pid)
    return [postmaster, *postmaster.children(recursive=True)]


def megabytes(processes: Sequence[psutil.Process]) -> float:
    """Proportional: a page that several have is shared among them."""
    total = 0
    for process in processes:
        with suppress(psutil.Error, OSError):
            text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
            total += int(text.partition("\nPss:")[2].split()[0]) * 1024
    return total / MEGABYTE


def memory_of(services: Sequence[Served]) -> tuple[float, float]:
    """Of the services, and of PostgreSQL."""
    theirs = {process.pid for process in postgres_processes(services[0])}
    own: list[psutil.Process] = []
    for service in services:
        root = psutil.Process(service.pid)
        own += [root, *(each for each in root.children(recursive=True) if each.pid not in theirs)]
    return megabytes(own), megabytes(postgres_processes(services[0]))


def tables(service: Served) -> list[tuple[str, int]]:
    """The largest tables with their indexes, in bytes."""
    return [
        (str(name), int(size))
        for name, size in service.rows(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' AND relnamespace ="
            " 'public'::regnamespace ORDER BY 2 DESC LIMIT 8"
        )
    ]
