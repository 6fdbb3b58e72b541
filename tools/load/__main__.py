"""Fills a service, asks it and feeds it, and writes down how fast it is.

    python tools/load [--samples N] [--seconds S] [--keep FOLDER] [--only reads,pages,ingest,verdict]

PostgreSQL, the service and this program share the machine. With --keep the filled database stays in FOLDER
and is used again.
"""

import argparse
import json
import math
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import zstandard

sys.path.insert(0, str(Path(__file__).parents[1]))
from load import filling
from load.pages import pages
from load.served import Served, served

READS = 200


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def report(name: str, milliseconds: list[float], extra: str = "") -> None:
    middle, high = statistics.median(milliseconds), percentile(milliseconds, 0.95)
    print(
        f"{name:64} median {middle:8.1f} ms   p95 {high:8.1f} ms   n {len(milliseconds)} {extra}", flush=True
    )


def timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def reads(service: Served, samples: int) -> None:
    """Each read for random keys, one client, each answer read whole; compressed, as every client of ours
    asks.
    """
    drawn = random.Random(1)
    with service.http() as http:
        pairs = full_pairs(samples)[:12]
        fresh = [timed(partial(get, http, compare_path(*pair))) for pair in pairs]
        report("comparison nobody asked for before, 2 x 3,000 series", fresh)
        known = [timed(lambda: get(http, compare_path(*drawn.choice(pairs)))) for _ in range(READS)]
        report("comparison of two revisions, 2 x 3,000 series, JSON", known)
        watched = watched_series(samples)
        history = [timed(lambda: get(http, history_path(drawn.choice(watched)))) for _ in range(READS)]
        report(f"history of one series over {filling.REVISIONS:,} revisions", history)
        inbox = [timed(lambda: get(http, "/api/v1/reports?limit=50")) for _ in range(READS)]
        report("regression inbox, 50 reports", inbox)


def get(http: httpx2.Client, path: str) -> None:
    http.get(path, headers={"Accept-Encoding": "gzip"}).raise_for_status()


def full_pairs(samples: int) -> list[tuple[str, str]]:
    step = max(1, filling.REVISIONS // filling.full_runs(samples))
    heads = list(range(filling.REVISIONS - 1, 0, -step))[: filling.full_runs(samples)]
    return [(filling.commit_of(head - 1), filling.commit_of(head)) for head in heads]


def compare_path(base: str, head: str) -> str:
    return f"/api/v1/comparisons/{base}...{head}?mode=walltime"


def history_path(series: str) -> str:
    return f"/api/v1/series/{series}/history?tree={filling.TREE}&branch={filling.BRANCH}&limit=5000"


def watched_series(samples: int) -> list[str]:
    ordered = sorted(filling.cases(), key=lambda case: (case.suite, case.benchmark, case.params))
    chosen = ordered[: filling.watched_series(samples)]
    return [filling.series_row(case, target).digest for case in chosen for target in filling.TARGETS]


def ingest(service: Served, samples: int, seconds: float) -> None:
    """Two hosts upload whole runs of 42 boots of 3,000 values as fast as they are taken, while one client
    reads.
    """
    chosen = filling.cases()
    bodies = [
        _packed(filling.boot_upload(chosen, number, number)) for number in range(1, 2 * filling.BOOTS + 1)
    ]
    stop = threading.Event()
    answered: list[float] = []
    read: list[float] = []
    began = time.perf_counter()

    def feed(target: tuple[str, str]) -> int:
        host = f"{target[0]}-feeding"
        sent = 0
        with service.http() as http:
            for digest, record in filling.runs_to_send(target, host, chosen, int(time.time()) * 1000):
                _put(
                    http,
                    f"/api/v1/runs/{digest}",
                    _packed({"host": host, "record": {**record, "status": "running"}, "job": None}),
                )
                for number, body in enumerate(bodies, 1):
                    answered.append(timed_put(http, f"/api/v1/runs/{digest}/boots/{number}", body))
                    sent += filling.SERIES
                    if stop.is_set():
                        return sent
        return sent

    def ask() -> None:
        drawn = random.Random(2)
        watched, pairs = watched_series(samples), full_pairs(samples)[:4]
        with service.http() as http:
            while not stop.is_set():
                read.append(timed(lambda: get(http, history_path(drawn.choice(watched)))))
                read.append(timed(lambda: get(http, compare_path(*drawn.choice(pairs)))))
                stop.wait(0.2)

    with ThreadPoolExecutor(3) as pool:
        asking = pool.submit(ask)
        feeding = [pool.submit(feed, target) for target in filling.TARGETS[:2]]
        stop.wait(seconds)
        stop.set()
        total = sum(each.result() for each in feeding)
        asking.result()
    rate = total / (time.perf_counter() - began)
    report(
        "one uploaded boot of 3,000 values, under that load",
        answered,
        f"  {rate:,.0f} samples a second for {seconds:.0f} s",
    )
    report("reads meanwhile (history, comparison)", read)


def _packed(content: Any) -> bytes:
    return zstandard.ZstdCompressor().compress(json.dumps(content).encode())


def _put(http: httpx2.Client, path: str, body: bytes) -> None:
    http.put(
        path, content=body, headers={"Content-Type": "application/json", "Content-Encoding": "zstd"}
    ).raise_for_status()


def upload(service: Served) -> None:
    """One boot at a time, nothing else going on."""
    chosen = filling.cases()
    bodies = [
        _packed(filling.boot_upload(chosen, number, number)) for number in range(1, 2 * filling.BOOTS + 1)
    ]
    spent = []
    with service.http() as http:
        runs = filling.runs_to_send(filling.TARGETS[0], "amd-rome-alone", chosen, int(time.time()) * 1000)
        for digest, record in (next(runs) for _ in range(3)):
            _put(
                http,
                f"/api/v1/runs/{digest}",
                _packed({"host": "amd-rome-alone", "record": {**record, "status": "running"}, "job": None}),
            )
            spent += [
                timed_put(http, f"/api/v1/runs/{digest}/boots/{number}", body)
                for number, body in enumerate(bodies, 1)
            ]
    report("one uploaded boot of 3,000 values", spent)


def timed_put(http: httpx2.Client, path: str, body: bytes) -> float:
    return timed(lambda: _put(http, path, body))


def verdicts(service: Served, turns: int = 12) -> None:
    """From the last boot's answer to the stored comparison."""
    chosen = filling.cases()
    bodies = [
        _packed(filling.boot_upload(chosen, number, number)) for number in range(1, 2 * filling.BOOTS + 1)
    ]
    waited = []
    with service.http() as http:
        runs = filling.runs_to_send(filling.TARGETS[0], "amd-rome-verdict", chosen, int(time.time()) * 1000)
        for digest, record in (next(runs) for _ in range(turns)):
            _put(
                http,
                f"/api/v1/runs/{digest}",
                _packed({"host": "amd-rome-verdict", "record": record, "job": None}),
            )
            for number, body in enumerate(bodies, 1):
                _put(http, f"/api/v1/runs/{digest}/boots/{number}", body)
            began = time.perf_counter()
            while http.get(f"/api/v1/runs/{digest}/comparison").status_code != 200:
                time.sleep(0.02)
            waited.append((time.perf_counter() - began) * 1000)
    report("from the last boot to a stored verdict, 3,000 series", waited)


def sizes(service: Served) -> None:
    rows = service.rows(
        "SELECT relname, pg_total_relation_size(pg_class.oid) FROM pg_class WHERE relkind = 'r' AND relname"
        " IN ('boot', 'point', 'columns', 'arm', 'run', 'series', 'benchmark_case', 'comparison', 'verdict',"
        " 'boot_document') ORDER BY 2 DESC"
    )
    count = service.rows("SELECT sum(cardinality(samples)) FROM boot")[0][0]
    hot = sum(size for name, size in rows if name != "boot_document")
    cold = sum(size for name, size in rows if name == "boot_document")
    print(
        f"{count:,} samples: {hot / count:.1f} bytes a sample with all indexes; {cold / count:.1f} more for"
        f" the {filling.READINGS} readings under each"
    )
    for name, size in rows:
        print(f"  {name:16} {size / 1e6:10.1f} MB  {size / count:6.2f} bytes a sample")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=100_000_000)
    parser.add_argument("--seconds", type=float, default=300, help="of ingest")
    parser.add_argument("--keep", type=Path, help="where the filled database stays")
    parser.add_argument("--only", default="sizes,reads,pages,upload,verdict,ingest")
    chosen = parser.parse_args()
    wanted = chosen.only.split(",")
    with tempfile.TemporaryDirectory() as folder:
        home = chosen.keep or Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        with served(home) as service:
            if not service.rows("SELECT 1 FROM branch LIMIT 1"):
                began = time.perf_counter()
                count = filling.fill(service.database, chosen.samples)
                print(f"filled with {count:,} samples in {time.perf_counter() - began:.0f} s", flush=True)
            parts: dict[str, Callable[[], None]] = {
                "sizes": lambda: sizes(service),
                "reads": lambda: reads(service, chosen.samples),
                "pages": lambda: pages(
                    service, full_pairs(chosen.samples)[:40], watched_series(chosen.samples), timed, report
                ),
                "upload": lambda: upload(service),
                "verdict": lambda: verdicts(service),
                "ingest": lambda: ingest(service, chosen.samples, chosen.seconds),
            }
            for name in wanted:
                parts[name]()


if __name__ == "__main__":
    main()
