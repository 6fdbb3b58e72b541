"""Kills the worker, the service and PostgreSQL at random moments of jobs in flight, and counts what is left
of the results.

    tools/break_service.py [KILLS] [SEED]

Real processes, real HTTP, a real git server and a toy kernel tree whose guests are played by a stand-in.
Whatever is killed is started again, as a supervisor would. At the end every job must have ended once,
every boot be stored once with the samples that its host measured, and every run be compared.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import psycopg

sys.path[:0] = [str(Path(__file__).parents[1] / "tests"), str(Path(__file__).parents[1] / "tests/runner")]
import toy  # noqa: E402
from load.served import COMMAND, environment  # noqa: E402

HOST = Path(__file__).with_name("break_service_host.py")
TARGETS = ("worker", "service", "postgresql")
TARGET = [{"platform": "emulated-x86-64", "mode": "icount"}]
BOOTS = 3


class Town:
    """All the processes, and how to start each again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = environment(folder / "data")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = (folder / "log").open("a")
        self.repository = toy.toy_repository(folder / "served")
        self.git_url, self.git = self._git_server()
        self.env["CLIFFWATCH_TREES"] = (
            self.git_url
        )  # hosts fetch nothing from loopback that no administrator allows
        self.service = self._start_service()
        self.wait_ready()
        made = subprocess.run(
            [COMMAND, "token", "make", "town", "--scope", "admin"],
            env=self.env,
            capture_output=True,
            text=True,
            check=True,
        )
        self.token = made.stdout.strip()
        self.worker = self._start_worker()

    def _git_server(self) -> tuple[str, "subprocess.Popen[bytes]"]:
        port = free_port()
        argv = [
            "git",
            "-c",
            "uploadpack.allowAnySHA1InWant=true",
            "-c",
            "safe.directory=*",
            "daemon",
            "--export-all",
            "--reuseaddr",
        ]
        argv += ["--listen=127.0.0.1", f"--port={port}", f"--base-path={self.repository.parent}"]
        return f"git://127.0.0.1:{port}/linux", subprocess.Popen(
            argv, stderr=self.log, start_new_session=True
        )

    def _start_service(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen([COMMAND, "serve", "--port", str(self.port)], env=self.env, stderr=self.log)

    def _start_worker(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, str(HOST), self.url, self.token, str(self.folder)], stderr=self.log
        )

    def wait_ready(self, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if httpx2.get(f"{self.url}/readyz", trust_env=False, timeout=5).status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            self.revive()
            time.sleep(0.1)
        raise RuntimeError(f"the service is not ready after {seconds} s; see {self.log.name}")

    def postmaster(self) -> int | None:
        try:
            return int((self.folder / "data/postgresql/postmaster.pid").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return None

    def kill(self, target: str) -> bool:
        pid = {"worker": self.worker.pid, "service": self.service.pid, "postgresql": self.postmaster()}[
            target
        ]
        try:
            os.kill(pid or 0x7FFFFFFF, signal.SIGKILL)
        except ProcessLookupError:
            return False
        if target == "worker":
            self.worker.wait()
        elif target == "service":
            self.service.wait()
        return True

    def revive(self) -> None:
        if self.service.poll() is not None:
            self.service = self._start_service()
        if hasattr(self, "worker") and self.worker.poll() is not None:
            self.worker = self._start_worker()

    def end(self) -> None:
        for process in (self.worker, self.service):
            process.terminate()
        for process in (self.worker, self.service):
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
        os.killpg(self.git.pid, signal.SIGTERM)

    def ask(self, number: int) -> dict[str, Any]:
        """Asks for a job of a revision of its own, as often as it takes; the key makes it one."""
        base = toy.git(self.repository, "rev-parse", "v6.12")
        head = toy.change(
            self.repository, "kernel/bpf/core.c", f"int core = {number};\n", f"bpf: Change {number}"
        )
        body = {
            "tree": self.git_url,
            "base": base,
            "head": head,
            "targets": TARGET,
            "suites": ["local-storage"],
            "profile": "smoke",
            "boots": str(BOOTS),
        }
        headers = {"Authorization": f"Bearer {self.token}", "Idempotency-Key": str(uuid.uuid4())}
        while True:
            try:
                answer = httpx2.post(
                    f"{self.url}/api/v1/requests", json=body, headers=headers, trust_env=False, timeout=20
                )
                if answer.status_code < 300:
                    return answer.json()
            except httpx2.TransportError:
                pass
            self.revive()
            time.sleep(0.2)

    def states(self) -> Counter[str]:
        """How many jobs are in each state, as soon as the database says so."""
        while True:
            try:
                with psycopg.connect(self.database()) as connection:
                    return Counter(row[0] for row in connection.execute("SELECT state FROM job").fetchall())
            except (psycopg.Error, OSError, IndexError):
                self.revive()
                time.sleep(0.1)

    def settle(self, seconds: float = 240) -> None:
        """Waits for background tasks: one whose process was killed is done again within a minute
        and a half.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with psycopg.connect(self.database()) as connection:
                query = (
                    "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing') AND task_name"
                    " <> 'minute-round'"
                )
                ((left,),) = connection.execute(query).fetchall()
                if not left:
                    return
            time.sleep(1)

    def database(self) -> str:
        return f"postgresql://postgres:@/cliffwatch?host={(self.folder / 'data/postgresql/postmaster.pid').read_text().splitlines()[4]}"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def check(town: Town) -> list[str]:
    """What is wrong with the results, in words."""
    wrong = []
    with psycopg.connect(town.database()) as connection:
        states = town.states()
        if set(states) != {"done"}:
            wrong.append(
                f"jobs ended as {dict(states)}:"
                f" {connection.execute('SELECT state, reason FROM job').fetchall()}"
            )
        jobs = sum(states.values())
        for what, query, expected in (
            ("runs", "SELECT count(*) FROM run", jobs),
            ("boots", "SELECT count(*) FROM boot", jobs * 2 * BOOTS),
            (
                "documents of boots",
                "SELECT count(*) FROM boot JOIN boot_document USING (run_id, number)",
                jobs * 2 * BOOTS,
            ),
            ("raw outputs", "SELECT count(*) FROM raw_output", jobs * 2 * BOOTS),
            ("comparisons", "SELECT count(*) FROM comparison", jobs),
            ("jobs that name a run of their own", "SELECT count(DISTINCT run_id) FROM job", jobs),
        ):
            ((count,),) = connection.execute(query).fetchall()
            if count != expected:
                wrong.append(f"{count} {what}, expected {expected}")
        stored = connection.execute(
            "SELECT job.id, number, samples FROM job JOIN boot USING (run_id)"
        ).fetchall()
    for job, number, samples in stored:
        (file,) = (town.folder / f"spool/{job}/results/boots").glob(f"{number:03d}-*/samples.json")
        measured = [each["value"] for each in json.loads(file.read_text())["samples"]]
        if sorted(measured) != sorted(samples):
            wrong.append(f"boot {number} of job {job}: stored {samples}, measured {measured}")
    return wrong


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    drawn = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    killed: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        town = Town(Path(folder))
        asked = 0
        try:
            while sum(killed.values()) < kills:
                waiting = town.states()
                while sum(waiting[state] for state in ("queued", "leased")) < 3:
                    asked += 1
                    town.ask(asked)
                    waiting["queued"] += 1
                time.sleep(drawn.uniform(0.0, 2.0))
                target = drawn.choice(TARGETS)
                killed[target] += town.kill(target)
                town.revive()
                if sum(killed.values()) % 10 == 0:
                    print(f"{sum(killed.values())} kills, jobs {dict(town.states())}", flush=True)
            end = time.monotonic() + 300
            while set(town.states()) != {"done"} and time.monotonic() < end:
                town.revive()
                time.sleep(1)
            town.settle()
            wrong = check(town)
        finally:
            town.end()
            (Path(tempfile.gettempdir()) / "break_service.log").write_bytes(
                (Path(folder) / "log").read_bytes()
            )
    print(f"killed {dict(killed)}; {asked} jobs asked, {len(wrong)} things wrong")
    for text in wrong:
        print(f"  {text}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
