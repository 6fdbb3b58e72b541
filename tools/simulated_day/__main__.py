"""One day of a fleet against a real service: requests of pushes, offers, leases, uploads, comparisons, and
people who look.

    python tools/simulated_day [--seed N] [--hosts N] [--pushes N] [--seconds S] [--pace S] [--services N] [--keep FOLDER]

The day passes in S seconds: what work brings (requests, jobs, boots, uploads, events, pages) comes whole;
what a clock brings (offers of idle hosts, heartbeats, a worker's looks at its results every three seconds)
comes at the worker's own pace, so it is thinned by the ratio. What that costs is measured after the day,
over --pace seconds at the true pace, with half of the hosts at work. Service, PostgreSQL, hosts and
readers share the machine. Ends with 1 where a result is lost, duplicated or altered.
"""

import argparse
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]
import psycopg  # noqa: E402
from load.served import Served  # noqa: E402

from cliffwatch_service.store.background import ask_poll  # noqa: E402
from simulated_day.asking import Record, TimedClient  # noqa: E402
from simulated_day.day import CASES, DAY, boots_planned, hosts, pushes, views  # noqa: E402
from simulated_day.fleet import AtWork, Fleet  # noqa: E402
from simulated_day.people import Asked, Reader, ask, carry_out, events_of, platforms  # noqa: E402
from simulated_day.results import templates, wrong_results  # noqa: E402
from simulated_day.services import git_server, services  # noqa: E402
from simulated_day.used import Used, memory_of, tables, used  # noqa: E402

IDLE_SECONDS = 1.0
"""Between two offers of an idle host, of the clock: at the day's pace it would be 10 s of the day."""

TRUE_IDLE_SECONDS = 10.0
MOST_WAITING = 300.0
"""Seconds after the day in which the rest must be done."""

_WARM_SECONDS = 15.0


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--pushes", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--pace", type=float, default=60)
    parser.add_argument("--services", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = given.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        wrong = simulate(folder, given)
    for text in wrong[:20]:
        print(f"  {text}")
    print(f"{len(wrong)} things wrong")
    sys.exit(bool(wrong))


def simulate(folder: Path, given: Any) -> list[str]:
    ratio = DAY / given.seconds
    day = pushes(given.seed, given.pushes)
    jobs = sum(len(push.targets) for push in day)
    templates(folder, ROOT / "tests/data/bench-6.12-tcg")
    print(
        f"seed {given.seed}: {given.hosts} hosts, {len(day):,} pushes, {jobs:,} jobs, {boots_planned(day):,}"
        f" boots of {CASES} cases; a day in {given.seconds:.0f} s, 1:{ratio:.0f}; {given.services} service"
        " processes",
        flush=True,
    )
    followed = sum(push.followed for push in day)
    with (
        git_server(folder, followed + 1) as (git_url, commits),
        services(folder, given.services, git_url) as (all_of_them, url),
    ):
        first = all_of_them[0]
        fleet = Fleet(url, folder, hosts(given.hosts), enrolled(first, given.hosts), ratio, IDLE_SECONDS)
        follow(first, f"{git_url}/linux", len(commits))
        with at_work(fleet, first):
            began, before = time.monotonic(), used(all_of_them)
            measure(folder, first, url, given, git_url, commits)
            waited = until_done(first)
            report(
                all_of_them, used(all_of_them).since(before), time.monotonic() - began, waited, ratio, jobs
            )
        kinds(folder)
        wrong = wrong_results(first, day, folder / "spool")
        if given.pace:
            at_true_pace(all_of_them, fleet, given, git_url)
    return wrong


def enrolled(service: Served, count: int) -> dict[str, str]:
    """A token for each host."""
    with service.http() as http:
        return {
            name: (
                http.post("/api/v1/tokens", json={"name": name, "scopes": ["work"], "host": name})
                .raise_for_status()
                .json()["secret"]
            )
            for name, _, _ in hosts(count)
        }


def follow(service: Served, tree: str, commits: int) -> None:
    """Follows the branch and waits until the service's own git has its commits. The policy asks nothing by
    itself.
    """
    body = {
        "tree": tree,
        "branch": "master",
        "policy": "nightly",
        "targets": [{"platform": "emulated-x86-64", "mode": "icount"}],
        "suites": ["local-storage"],
    }
    with service.http() as http:
        number = http.post("/api/v1/follows", json=body).raise_for_status().json()["follow"]
    with psycopg.connect(service.database) as connection:
        ask_poll(connection, number)  # else the service looks within a minute
    end = time.monotonic() + 180
    while service.rows("SELECT count(*) FROM branch_revision")[0][0] < commits:
        if time.monotonic() > end:
            raise RuntimeError("the service does not look at the followed branch")
        time.sleep(0.5)


@contextmanager
def at_work(fleet: Fleet, service: Served) -> Iterator[None]:
    """From when all hosts have offered to work until they have ended."""
    work = AtWork(fleet)
    try:
        while service.rows("SELECT count(*) FROM host WHERE about ? 'modes'")[0][0] < len(fleet.hosts):
            time.sleep(0.2)
        yield
    finally:
        work.end()


def measure(
    folder: Path, service: Served, url: str, given: Any, git_url: str, commits: Sequence[str]
) -> None:
    """The day itself."""
    record, asked = Record(), Asked()
    client = TimedClient(url, service.token, record)
    reader = Reader(url, record, asked)
    events = events_of(
        pushes(given.seed, given.pushes),
        views(given.seed, given.pushes),
        lambda push: ask(client, push, git_url, commits, asked),
        reader.look,
    )
    late = carry_out(events, DAY / given.seconds)
    print(f"what people did came {late:.1f} s of the clock late at most", flush=True)
    record.write(folder / "asked-by-people.json")


def until_done(service: Served) -> float:
    """Seconds until every job is done and every task is."""
    began = time.monotonic()
    while time.monotonic() - began < MOST_WAITING:
        jobs = service.rows("SELECT count(*) FROM job WHERE state IN ('queued', 'leased')")[0][0]
        tasks = service.rows(
            "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing') AND task_name <>"
            " 'minute-round'"
        )[0][0]
        if not jobs and not tasks:
            break
        time.sleep(0.5)
    return time.monotonic() - began


def report(
    services: Sequence[Served], spent: Used, seconds: float, waited: float, ratio: float, jobs: int
) -> None:
    print(f"the day took {seconds:.0f} s, of which {waited:.0f} s after its end")
    print(
        f"CPU: service {spent.answering:.0f} s, background tasks {spent.tasks:.0f} s, PostgreSQL"
        f" {spent.postgresql:.0f} s; of a job"
        f" {1000 * (spent.answering + spent.tasks + spent.postgresql) / jobs:.0f} ms"
    )
    own, theirs = memory_of(services)
    print(f"memory at its end: service {own:.0f} MB, PostgreSQL {theirs:.0f} MB (proportional)")
    samples = int(services[0].rows("SELECT sum(cardinality(samples)) FROM boot")[0][0])
    print(
        f"database: {spent.database / 1e6:.0f} MB more, {spent.database / samples:.0f} bytes a sample of"
        f" {samples:,}; journal {spent.journal / 1e6:.0f} MB; "
        + ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in tables(services[0]))
    )
    waits(services[0], ratio)


def waits(service: Served, ratio: float) -> None:
    """How long jobs were queued, in minutes of the day."""
    rows = service.rows(
        "SELECT platform, mode, extract(epoch FROM started - created)::float8, extract(epoch FROM ended -"
        " started)::float8 FROM job WHERE ended IS NOT NULL"
    )
    for target in sorted({(row[0], row[1]) for row in rows}):
        queued, worked = (
            [row[column] * ratio / 60 for row in rows if (row[0], row[1]) == target] for column in (2, 3)
        )
        print(
            f"queue of {' '.join(target)}: {len(queued):,} jobs waited p50 {statistics.median(queued):.0f},"
            f" p95 {percentile(queued, 0.95):.0f}, largest {max(queued):.0f} min of the day; a job took"
            f" {statistics.median(worked):.0f} min"
        )


def kinds(folder: Path) -> None:
    """A row for each kind of request."""
    rows: dict[str, list[tuple[float, int]]] = {}
    for file in sorted(folder.glob("asked-by-*.json")):
        for kind, milliseconds, status in json.loads(file.read_text()):
            rows.setdefault(kind, []).append((milliseconds, status))
        file.unlink()
    print("| request | n | p50 | p95 | p99 | not answered, 5xx, 429 |\n|---|---|---|---|---|---|")
    for kind, answers in sorted(rows.items(), key=lambda item: -len(item[1])):
        took = [milliseconds for milliseconds, _ in answers]
        failed = sum(status == 0 or status >= 500 or status == 429 for _, status in answers)
        values = " | ".join(f"{percentile(took, share):.0f} ms" for share in (0.5, 0.95, 0.99))
        print(f"| {kind} | {len(took):,} | {values} | {failed} |")
    print(f"| all | {sum(map(len, rows.values())):,} | | | | |", flush=True)


def at_true_pace(services: Sequence[Served], fleet: Fleet, given: Any, git_url: str) -> None:
    """What the clock brings: half of the hosts at work, as slowly as they are, the others idle."""
    slow = Fleet(fleet.url, fleet.folder / "slow", fleet.hosts, fleet.tokens, 1.0, TRUE_IDLE_SECONDS)
    slow.folder.mkdir()
    templates(slow.folder, ROOT / "tests/data/bench-6.12-tcg")
    with services[0].http() as http:
        for (platform, mode), count in platforms(fleet.hosts).items():
            for number in range((count + 1) // 2):
                body = {
                    "tree": f"{git_url}/developers",
                    "base": f"e{number:039x}",
                    "head": f"f{number:039x}",
                    "targets": [{"platform": platform, "mode": mode}],
                    "suites": ["local-storage"],
                }
                key = {"Idempotency-Key": f"pace {platform} {mode} {number}"}
                http.post("/api/v1/requests", json=body, headers=key).raise_for_status()
    with at_work(slow, services[0]):
        time.sleep(_WARM_SECONDS)
        before, asked, began = used(services), requests_of(services), time.monotonic()
        time.sleep(given.pace)
        spent, seconds = used(services).since(before), time.monotonic() - began
        answered = requests_of(services) - asked
    busy = platforms(fleet.hosts)
    print(
        f"at the true pace, {sum((count + 1) // 2 for count in busy.values())} of {len(fleet.hosts)} hosts at"
        f" work, for {seconds:.0f} s: {answered / seconds:.1f} requests a second; of one core the service"
        f" takes {100 * spent.answering / seconds:.1f} %, background tasks {100 * spent.tasks / seconds:.1f}"
        f" %, PostgreSQL {100 * spent.postgresql / seconds:.1f} %"
    )
    kinds(slow.folder)


def requests_of(services: Sequence[Served]) -> float:
    """Requests that the services have answered up to now."""
    total = 0.0
    for service in services:
        with service.http() as http:
            lines = http.get("/metrics").text.splitlines()
        total += sum(
            float(line.rpartition(" ")[2]) for line in lines if line.startswith("cliffwatch_requests_total{")
        )
    return total


if __name__ == "__main__":
    main()
