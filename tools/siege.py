"""Besieges a service of its own and measures what everybody else notices of it, for docs/performance.md.

    tools/siege.py [SECONDS]

Each attack of tests/hostile goes on for SECONDS (default 20) against a fresh `cliffwatch serve` on an
embedded PostgreSQL, and meanwhile a process of its own asks for /healthz twenty times a second. Memory is
that of the service with all its processes, but PostgreSQL's, each page counted once. Ends with 1 where
/healthz took more than 200 ms (p99) or memory rose by more than 100 MB (300 under exports).
"""

import gzip
import io
import json
import math
import multiprocessing
import random
import socket
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2
import psutil
import psycopg
import zstandard
from psycopg.types.json import Jsonb

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests/hostile"))
from load.served import Served, served
from service_runs import boots_of, put_all, record_of, run_of
from test_archives import gnu_sparse

MIB = 1 << 20
MOST_MILLISECONDS = 200.0
MOST_MEBIBYTES = 100.0
MOST_EXPORTING = 300.0
"""With the process for exports, which has a limit of its own of 512 MiB."""

_BETWEEN = 0.05
_SETTLED_SECONDS = 3.0
TAR = {"Content-Type": "application/x-tar"}
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Noticed:
    """What others noticed of an attack: how long /healthz took, in milliseconds, and the service's most
    memory above idle.
    """

    name: str
    took: list[float]
    mebibytes: float
    answers: dict[int, int]
    limit: float = MOST_MEBIBYTES

    @property
    def p99(self) -> float:
        return sorted(self.took)[max(0, math.ceil(0.99 * len(self.took)) - 1)]

    def is_borne(self) -> bool:
        return self.p99 <= MOST_MILLISECONDS and self.mebibytes <= self.limit


class Attack:
    """A few clients that do the same again and again until they are told to stop; counts what they were
    answered.
    """

    def __init__(self, clients: int, act: Callable[[int], int], *, mebibytes: float = MOST_MEBIBYTES) -> None:
        self.mebibytes = mebibytes
        self._stop = threading.Event()
        self.answers: dict[int, int] = {}
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._go_on, args=(act, number)) for number in range(clients)
        ]

    def _go_on(self, act: Callable[[int], int], number: int) -> None:
        while not self._stop.is_set():
            try:
                status = act(number)
            except (httpx2.TransportError, OSError):
                status = 0  # the service closed the connection
            with self._lock:
                self.answers[status] = self.answers.get(status, 0) + 1

    def __enter__(self) -> Self:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for each in self._threads:
            each.join()


def ask_for_health(url: str, wire: Connection) -> None:
    """In a process of its own, so that the attackers' work is not counted: times until something comes over
    the wire.
    """
    took = []
    with httpx2.Client(base_url=url, trust_env=False, timeout=60) as http:
        http.get("/healthz").raise_for_status()
        wire.send(None)
        while not wire.poll(_BETWEEN):
            began = time.perf_counter()
            http.get("/healthz").raise_for_status()
            took.append((time.perf_counter() - began) * 1000)
    wire.send(took)


def memory(pid: int) -> float:
    """MiB of a process and all that it began, but of PostgreSQL's; a page that several have is shared among
    them.
    """
    pages = 0
    root = psutil.Process(pid)
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.Error, OSError):
            if process.name() != "postgres":
                text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
                pages += int(text.partition("\nPss:")[2].split()[0])
    return pages / 1024


def under(service: Served, name: str, idle: float, attack: Attack, seconds: float) -> Noticed:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    asking = multiprocessing.get_context("spawn").Process(target=ask_for_health, args=(service.url, theirs))
    asking.start()
    ours.recv()
    most = 0.0
    with attack:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            most = max(most, memory(service.pid))
            time.sleep(0.1)
        ours.send(None)
        took = ours.recv()
    asking.join()
    return Noticed(
        name=name, took=took, mebibytes=most - idle, answers=attack.answers, limit=attack.mebibytes
    )


def noise(size: int) -> bytes:
    """An archive of one file that does not pack."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        member = tarfile.TarInfo("noise")
        member.size = size
        tar.addfile(member, io.BytesIO(random.Random(1).randbytes(size)))
    return buffer.getvalue()


def large_boot(run: Any, size: int) -> tuple[int, bytes]:
    """A boot of the run whose JSON is about this large: readings, as a long benchmark has them."""
    number, boot = next(iter(boots_of(run)))
    drawn = random.Random(1)
    each = size // (21 * len(boot["samples"]))
    for sample in boot["samples"]:
        sample["readings"] = [drawn.random() for _ in range(each)]
    return number, json.dumps(boot).encode()


def long_run(http: httpx2.Client) -> str:
    """The digest of a stored run of two arms of ten boots with readings of five megabytes each."""
    run = run_of(boots=10, cases=6, seed=7)
    drawn = random.Random(1)
    bodies = []
    for number, boot in boots_of(run):
        for sample in boot["samples"]:
            sample["readings"] = [drawn.random() for _ in range(40_000)]
        bodies.append((number, boot))
    put_all(http, run, bodies)
    return run.digest


def store_sparse(service: Served, digest: str) -> None:
    """As a service of before would have taken it."""
    content = zstandard.ZstdCompressor().compress(gnu_sparse())
    with psycopg.connect(service.database) as connection:
        connection.execute(
            "INSERT INTO raw_output (run_id, number, digest, files, content, received)"
            " SELECT id, 2, 'd', %s, %s, now() FROM run WHERE digest = %s",
            [Jsonb([{"name": "zeros", "size": 3 << 30}]), content, digest],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prey:
    """What the attacks need of a service: two runs, the first with raw outputs, and bodies of all kinds."""

    run: str
    whole: str
    long: str
    number: int
    sparse: bytes
    bomb: bytes
    archive: bytes
    boot: bytes


def prey(service: Served) -> Prey:
    run, whole = run_of(boots=8, cases=6), run_of(boots=1, cases=6, seed=5)
    number, boot = large_boot(whole, 6 * MIB - 200_000)
    with service.http() as http:
        put_all(http, run)
        for digest, name, content in (
            (run.digest, "1/raw", noise(40 * MIB)),
            (whole.digest, str(number), boot),
        ):
            kind = TAR if name.endswith("raw") else JSON
            if kind is JSON:
                http.put(f"/api/v1/runs/{digest}", json=record_of(whole)).raise_for_status()
            put(http, f"/api/v1/runs/{digest}/boots/{name}", content, kind)
        long = long_run(http)
    store_sparse(service, run.digest)
    return Prey(
        run=run.digest,
        whole=whole.digest,
        long=long,
        number=number,
        sparse=gnu_sparse(),
        bomb=gzip.compress(b" " * (63 * MIB), 9),
        archive=noise(63 * MIB),
        boot=boot,
    )


def attacks(service: Served, prey: Prey, stranger: httpx2.Client, host: httpx2.Client) -> dict[str, Attack]:
    boots = f"/api/v1/runs/{prey.run}/boots"
    largest = f"/api/v1/runs/{prey.whole}"
    bomb = {**TAR, "Content-Encoding": "gzip"}
    return {
        "nothing": Attack(0, lambda _: 0),
        "8 clients upload a sparse archive": Attack(
            8, lambda _: put(host, f"{boots}/3/raw", prey.sparse, TAR)
        ),
        "8 clients read a stored sparse archive": Attack(8, lambda _: read(stranger, f"{boots}/2/raw/zeros")),
        "8 clients read 40 MiB of raw output": Attack(8, lambda _: read(stranger, f"{boots}/1/raw/noise")),
        "4 clients look at its page": Attack(
            4, lambda _: read(stranger, f"/runs/{prey.run}/boots/1/files/noise")
        ),
        "30 clients send bombs without a token": Attack(
            30, lambda _: put(stranger, f"{boots}/3/raw", prey.bomb, bomb)
        ),
        "30 clients send bombs with a token": Attack(
            30, lambda _: put(host, f"{boots}/3/raw", prey.bomb, bomb)
        ),
        "520 half-sent heads of 13 addresses, renewed": Attack(
            13, lambda number: half_sent(service, number, 40)
        ),
        "8 clients drip bodies": Attack(8, lambda number: drip(service, f"{boots}/3/raw", number)),
        "2 clients upload the largest archive": Attack(
            2, lambda index: put(host, f"{boots}/{index + 5}/raw", prey.archive, TAR)
        ),
        "2 clients upload the largest boot": Attack(
            2, lambda _: put(host, f"{largest}/boots/{prey.number}", prey.boot, JSON)
        ),
        "2 clients read the largest boot": Attack(
            2, lambda _: read(stranger, f"{largest}/boots/{prey.number}")
        ),
        "4 clients import newlines": Attack(4, lambda number: post_import(host, b"\n" * (40_000 + number))),
        "4 clients import a text of blanks": Attack(
            4, lambda number: post_import(host, b"Iter " + b" " * (MIB - number))
        ),
        "2 clients export its run": Attack(
            2, lambda _: read(stranger, f"{largest}/export"), mebibytes=MOST_EXPORTING
        ),
        **{
            f"4 clients export a long run as {form}": Attack(
                4,
                lambda _, form=form: read(stranger, f"/api/v1/runs/{prey.long}/export?format={form}"),  # type: ignore[misc]
                mebibytes=MOST_EXPORTING,
            )
            for form in ("kcidb", "bmf", "go-bench", "json", "parquet")
        },
    }


def put(http: httpx2.Client, address: str, content: bytes, headers: dict[str, str]) -> int:
    return http.put(address, content=content, headers=headers).status_code


def post_import(http: httpx2.Client, content: bytes) -> int:
    about = {"platform": "amd-rome", "mode": "walltime", "name": "siege"}
    return http.post(
        "/api/v1/imports", params=about, content=content, headers={"Content-Type": "text/plain"}
    ).status_code


def read(http: httpx2.Client, address: str) -> int:
    with http.stream("GET", address, headers={"Accept-Encoding": "identity"}) as answer:
        for _ in answer.iter_raw():
            pass
        return answer.status_code


def connected(service: Served, source: str) -> socket.socket:
    address = urlsplit(service.url)
    made = socket.create_connection((str(address.hostname), address.port or 80), 30, (source, 0))
    made.settimeout(30)
    return made


def half_sent(service: Served, number: int, count: int) -> int:
    """Holds as many connections as one address may until the service gives them up."""
    with ExitStack() as stack:
        made = [stack.enter_context(connected(service, f"127.0.1.{number + 1}")) for _ in range(count)]
        for each in made:
            each.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        return int(made[-1].recv(100).split()[1])


def drip(service: Served, address: str, number: int) -> int:
    with connected(service, f"127.0.2.{number + 1}") as slow:
        head = f"PUT {address} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.token}\r\n"
        slow.sendall(f"{head}Content-Type: application/x-tar\r\nContent-Length: 1000000\r\n\r\n".encode())
        slow.settimeout(0.1)
        for _ in range(600):
            slow.sendall(b"x" * 100)
            with suppress(TimeoutError):
                return int(slow.recv(100).split()[1])
        return 0


def besieged(folder: Path, token: str, name: str, given: Prey, seconds: float) -> Noticed:
    """One attack on a service that was just started."""
    with ExitStack() as stack:
        service = stack.enter_context(served(folder, token=token))
        host = stack.enter_context(service.http())
        stranger = stack.enter_context(httpx2.Client(base_url=service.url, trust_env=False, timeout=60))
        stranger.get("/").raise_for_status()
        # Starts the process for large documents, which a service that nobody attacks has too.
        put(host, f"/api/v1/runs/{given.whole}/boots/{given.number}", given.boot, JSON)
        time.sleep(_SETTLED_SECONDS)
        attack = attacks(service, given, stranger, host)[name]
        return under(service, name, memory(service.pid), attack, seconds)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(folder) as service, service.http() as http:
            given, token = prey(service), service.token
            names = list(attacks(service, given, http, http))
        print(
            "| under | /healthz: median, p99, largest; n | memory above idle | answers |\n|---|---|---|---|",
            flush=True,
        )
        for each in names:
            noticed = besieged(folder, token, each, given, seconds)
            took = sorted(noticed.took)
            print(
                f"| {each} | {took[len(took) // 2]:.0f}, {noticed.p99:.0f}, {took[-1]:.0f} ms; {len(took)} |"
                f" {noticed.mebibytes:.0f} MiB | {noticed.answers}"
                f" |{'' if noticed.is_borne() else ' **too much**'}",
                flush=True,
            )
            failures.append(noticed)
    sys.exit(not all(noticed.is_borne() for noticed in failures))


if __name__ == "__main__":
    main()
