"""Measures what memory a service takes, idle and over many reads.

    tools/service_memory.py [REQUESTS] [SEED]

A service of its own, begun a second time so that it finds its schema as it should be, on an embedded
PostgreSQL with a few runs. Counted is every process of the service but PostgreSQL's, a page that several
have shared among them. Then REQUESTS (default 100,000) are asked of it: pages, API, exports, mistakes.
Growth is what the last tenth of them finds above the second tenth: caches are full by then. Ends with 1
where the idle service takes more than 150 MB or grows by more than 5 MB.
"""

import multiprocessing
import random
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from load.served import Served, served
from service_runs import commit_of, put_all, run_of

MEGABYTE = 1_000_000
MOST_IDLE = 150.0
MOST_GROWTH = 5.0
CLIENTS = 2
LOOKS = 200
"""At the memory, evenly over the requests."""

_SETTLED_SECONDS = 10.0
_RUNS = 6


def processes(pid: int) -> list[tuple[str, float, float]]:
    """Name, resident and proportional megabytes of a service's processes but PostgreSQL's."""
    found = []
    root = psutil.Process(pid)
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.Error, OSError):
            if process.name() == "postgres":
                continue
            text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
            resident, proportional = (
                int(text.partition(f"\n{name}:")[2].split()[0]) * 1024 / MEGABYTE for name in ("Rss", "Pss")
            )
            name = (
                "resource tracker"
                if "resource_tracker" in " ".join(process.cmdline())
                else "background tasks"
            )
            found.append(("HTTP" if process.pid == pid else name, resident, proportional))
    return found


def memory(pid: int) -> float:
    return sum(proportional for _, _, proportional in processes(pid))


def growth(seen: Sequence[tuple[int, float]], requests: int) -> float:
    """Megabytes between the second tenth of the requests and the last, each a median of what was
    seen in it.
    """
    early = [mega for number, mega in seen if requests // 10 <= number <= requests // 5]
    late = [mega for number, mega in seen if number >= requests - requests // 10]
    return statistics.median(late) - statistics.median(early)


def fill(service: Served) -> None:
    with service.http() as http:
        for number in range(_RUNS):
            put_all(
                http,
                run_of(
                    boots=10,
                    cases=60,
                    base=f"r{number}",
                    head=f"r{number + 1}",
                    seed=number + 1,
                    shift=0.02 * (number % 2),
                ),
            )
    while service.rows(
        "SELECT 1 FROM procrastinate_jobs WHERE status IN ('todo', 'doing') AND task_name = 'analyse-run'"
    ):
        time.sleep(0.5)


def addresses(service: Served) -> list[tuple[str, float]]:
    """What is read, and how often in proportion: most of it small, as clients and monitoring ask, and every
    page.
    """
    runs = [row[0] for row in service.rows("SELECT digest FROM run ORDER BY id")]
    series = [row[0] for row in service.rows("SELECT digest FROM series ORDER BY id LIMIT 20")]
    pairs = [f"{commit_of(f'r{number}')}...{commit_of(f'r{number + 1}')}" for number in range(_RUNS)]
    return [
        *((address, 25) for address in ("/healthz", "/readyz")),
        ("/metrics", 2),
        *((address, 4) for address in ("/", "/runs", "/hosts", "/regressions")),
        *(
            (f"/api/v1/{name}", 12)
            for name in ("runs?limit=20", "hosts", "queue", "reports", "series?limit=20", "suites")
        ),
        *((f"/api/v1/runs/{run}", 2) for run in runs),
        *((f"/runs/{run}", 1) for run in runs),
        *((f"/api/v1/runs/{run}/boots/1", 1) for run in runs),
        (f"/api/v1/runs/{runs[0]}/export?format=csv", 0.2),
        *((f"/api/v1/comparisons/{pair}", 1) for pair in pairs),
        *((f"/compare/{pair}", 1) for pair in pairs),
        *((f"/api/v1/series/{each}/history", 1) for each in series),
        ("/api/v1/runs/nosuch", 2),
        ("/nosuch/RANDOM", 2),
        ("RANDOM", 1),
    ]


def ask(url: str, chosen: Sequence[tuple[str, float]], seed: int, wire: Any) -> None:
    """A client in a process of its own: asks as many requests as the wire says, and answers how
    many failed.
    """
    drawn = random.Random(seed)
    names, weights = [name for name, _ in chosen], [weight for _, weight in chosen]
    with httpx2.Client(base_url=url, trust_env=False, timeout=60) as http:
        while count := wire.recv():
            failed = 0
            for name in drawn.choices(names, weights, k=count):
                if name == "RANDOM":  # a method that nobody had before
                    answer = http.request(f"M{secrets.token_hex(8)}", "/")
                else:
                    answer = http.get(name.replace("RANDOM", secrets.token_hex(8)))
                failed += answer.status_code >= 500
            wire.send(failed)


def main() -> None:
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(folder) as service:
            fill(service)
            token = service.token
        with served(folder, token=token) as service:
            time.sleep(_SETTLED_SECONDS)
            print("| idle | resident | proportional |\n|---|---|---|")
            for what, resident, proportional in processes(service.pid):
                print(f"| {what} | {resident:.0f} MB | {proportional:.0f} MB |")
            idle = memory(service.pid)
            print(f"| all | | {idle:.0f} MB |", flush=True)
            seen, failed = over(service, requests, seed)
            print("\n| all | proportional |\n|---|---|")
            for what, _, proportional in processes(service.pid):
                print(f"| {what} | {proportional:.0f} MB |")
    grown = growth(seen, requests)
    print(
        f"idle {idle:.0f} MB; grown {grown:+.1f} MB from the second tenth to the last; {failed} requests"
        " failed"
    )
    sys.exit(idle > MOST_IDLE or grown > MOST_GROWTH or failed > 0)


def over(service: Served, requests: int, seed: int) -> tuple[list[tuple[int, float]], int]:
    """Memory as it was seen after so many requests, and how many were answered with a server error."""
    chosen = addresses(service)
    context = multiprocessing.get_context("spawn")
    wires, clients = [], []
    for number in range(CLIENTS):
        ours, theirs = context.Pipe()
        client = context.Process(
            target=ask, args=(service.url, chosen, seed * 100 + number, theirs), daemon=True
        )
        client.start()
        wires.append(ours)
        clients.append(client)
    batch = max(1, requests // CLIENTS // LOOKS)
    seen, failed, done, began = [], 0, 0, time.monotonic()
    while done < requests:
        for wire in wires:
            wire.send(batch)
        failed += sum(wire.recv() for wire in wires)
        done += CLIENTS * batch
        seen.append((done, memory(service.pid)))
        if done % 10_000 == 0:
            print(
                f"after {done:,} requests {seen[-1][1]:.1f} MB ({done / (time.monotonic() - began):.0f} a"
                " second)",
                flush=True,
            )
    for wire, client in zip(wires, clients, strict=True):
        wire.send(0)
        client.join()
    return seen, failed


if __name__ == "__main__":
    main()
