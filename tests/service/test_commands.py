"""The commands as people type them: serve, token, submit, run --upload, backup and restore."""

import asyncio
import io
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import toy
from click.testing import CliRunner
from load.served import COMMAND, served
from service_running import Running
from worker_jobs import do_one

from cliffwatch.command.main import main
from cliffwatch.command.terminal import say
from cliffwatch_runner.command import worker as worker_command
from cliffwatch_runner.worker.host import WorkerHost
from cliffwatch_service.command.listening import bind_sockets, cannot_listen


def cliffwatch(database: str, tmp_path: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "DATABASE_URL": database, "HOME": str(tmp_path)}
    return subprocess.run([COMMAND, *arguments], env=env, capture_output=True, text=True, check=False)


def test_tokens_are_made_listed_and_revoked(database: str, tmp_path: Path) -> None:
    made = cliffwatch(
        database, tmp_path, "token", "make", "rome-1", "--scope", "work", "--host", "rome-1", "--days", "30"
    )
    assert made.returncode == 0
    assert made.stdout.startswith("cliffwatch_")
    assert made.stdout.count("\n") == 1
    listed = cliffwatch(database, tmp_path, "token", "list").stdout
    assert "rome-1" in listed
    assert made.stdout.strip() not in listed

    twice = cliffwatch(database, tmp_path, "token", "make", "rome-1", "--scope", "read")
    assert twice.returncode == 2
    assert "choose another name" in twice.stderr
    assert cliffwatch(database, tmp_path, "token", "revoke", "rome-1").returncode == 0
    assert "revoked" in cliffwatch(database, tmp_path, "token", "list").stdout
    assert cliffwatch(database, tmp_path, "token", "revoke", "nobody").returncode == 2


def test_branches_are_followed_listed_and_let_go(database: str, tmp_path: Path) -> None:
    targets = [
        "--target",
        "emulated-x86-64:icount",
        "--target",
        "amd-rome:walltime",
        "--suite",
        "local-storage",
    ]
    added = cliffwatch(database, tmp_path, "follow", "add", "bpf-next", *targets)
    assert added.returncode == 0
    assert [line.split(" ", 1)[1] for line in added.stdout.splitlines()] == [
        (
            "https://git.kernel.org/pub/scm/linux/kernel/git/bpf/bpf-next.git master, commit, on"
            " emulated-x86-64:icount"
        ),
        (
            "https://git.kernel.org/pub/scm/linux/kernel/git/bpf/bpf-next.git master, nightly, on"
            " amd-rome:walltime"
        ),
    ]
    listed = cliffwatch(database, tmp_path, "follow", "list").stdout
    assert "nightly" in listed
    number = added.stdout.split(":")[0]
    unknown = cliffwatch(
        database, tmp_path, "follow", "backfill", number, "--base", "1234567", "--head", "master"
    )
    assert unknown.returncode == 2
    assert "no revision 1234567" in unknown.stderr
    assert (
        cliffwatch(database, tmp_path, "follow", "add", "https://git.example.org/linux.git").returncode == 2
    )
    assert cliffwatch(database, tmp_path, "follow", "add", "/a/folder", "--branch", "master").returncode == 2
    assert cliffwatch(database, tmp_path, "follow", "remove", number).returncode == 0
    assert cliffwatch(database, tmp_path, "follow", "remove", number).returncode == 2
    assert (
        cliffwatch(database, tmp_path, "follow", "add", "bpf", *targets, "--anchor", "v6.17").returncode == 0
    )
    counted = cliffwatch(database, tmp_path, "follow", "add", "bpf", "--anchor", "v6.17")
    assert counted.returncode == 2
    assert "an anchor is measured in walltime" in counted.stderr


def test_a_database_that_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    refused = cliffwatch("postgresql://nobody@/nothing?host=/nowhere", tmp_path, "token", "list")
    assert refused.returncode == 4
    assert refused.stderr.startswith("cliffwatch: the database cannot be used")
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_that_is_taken_is_this_hosts_matter_and_said_before_anything_is_begun(
    tmp_path: Path, host: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        refused = cliffwatch(
            "", tmp_path, "serve", "--host", host, "--port", port, "--data-dir", str(tmp_path / "data")
        )
    assert refused.returncode == 4
    assert refused.stderr.splitlines() == [
        f"cliffwatch: port {port} of {host} is taken by another program",
        f"  choose another port with --port, or end that program (`ss -ltnp 'sport = :{port}'` names it)",
    ]
    assert not (tmp_path / "data").exists()


def test_an_address_of_another_machine_is_usage(tmp_path: Path) -> None:
    for host in ("192.0.2.1", "no such host"):
        refused = cliffwatch("", tmp_path, "serve", "--host", host, "--data-dir", str(tmp_path / "data"))
        assert refused.returncode == 2
        assert refused.stderr.startswith(
            f"cliffwatch: this machine has no address {host!r}\n  name one of its own"
        )


def test_a_port_that_is_taken_meanwhile_is_said_the_same_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two programs may bind a port until one of them listens."""
    taken = bind_sockets("127.0.0.1", 0)
    assert isinstance(taken, tuple)
    with taken[0], socket.create_server(taken[0].getsockname()), pytest.raises(OSError) as raised:
        taken[0].listen()
    assert "is taken by another program" in cannot_listen("127.0.0.1", 8000, raised.value).detail


def test_a_service_keeps_its_data_and_leaves_nothing_running(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with served(tmp_path / "data") as first, first.http() as http:
        assert http.get("/readyz").text == "ready\n"
        token = first.token
        assert (tmp_path / "data/postgresql/postmaster.pid").exists()
    assert not (tmp_path / "data/postgresql/postmaster.pid").exists()
    with served(tmp_path / "data", token=token) as second, second.http() as http:
        assert http.get("/api/v1/tokens").status_code == 200


def test_upload_sends_results_and_prints_the_page(running: Running, data: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(running.tokens["upload"])
    token.chmod(0o600)
    words = ["upload", str(data / "runs/uninlined"), "--token-file", str(token), "--url"]
    first, again = (CliRunner().invoke(main, [*words, running.url]) for _ in range(2))
    assert (first.exit_code, again.exit_code) == (0, 0), first.output
    assert first.stderr == again.stderr
    page = first.stderr.removeprefix("uploaded: ").strip()
    with running.http(None) as http:
        assert http.get(page.removeprefix(running.url)).status_code == 200

    refused = CliRunner().invoke(main, [*words, f"{running.url}/elsewhere"])
    assert refused.exit_code != 0
    assert "the results were not uploaded" in refused.stderr
    assert f"cliffwatch upload {data / 'runs/uninlined'} --url" in refused.stderr


@pytest.mark.namespaces
def test_submit_asks_follows_and_prints_what_was_found(
    running: Running,
    served_tree: Any,
    host: WorkerHost,
    tmp_path: Path,
) -> None:
    url, repository = served_tree
    toy.change(repository, "kernel/bpf/core.c", "int core = 2;\n", "bpf: Change core")
    token = tmp_path / "token"
    token.write_text(running.tokens["upload"])
    token.chmod(0o600)

    def work() -> None:
        while not running.rows("SELECT id FROM job"):
            pass
        do_one(running, host, tmp_path / "spool")
        running.do_tasks()

    running.enrol("emulated-x86-64", "icount")
    worker = threading.Thread(target=work)
    worker.start()
    arguments = ["--url", running.url, "--token-file", str(token), "--tree", url, "--base", "v6.12..master"]
    arguments += ["--suite", "local-storage"]
    asked = CliRunner().invoke(
        main, ["submit", *arguments, "--on", "emulated-x86-64:icount", "--profile", "smoke", "--boots", "1"]
    )
    worker.join()
    assert asked.exit_code == 0, asked.output
    assert "unchanged" in asked.stdout
    assert "measure" in asked.stderr
    assert re.search(r"request [0-9a-f-]{36}, 1 job$", asked.stderr, re.MULTILINE)
    assert "warning: no host of emulated-x86-64:icount is online: one was last seen at" in asked.stderr


def test_submit_asks_for_the_merge_base_of_a_branch_and_says_so(
    running: Running, served_tree: Any, tmp_path: Path
) -> None:
    url, repository = served_tree
    parted = toy.git(repository, "rev-parse", "HEAD")
    toy.git(repository, "checkout", "--quiet", "-b", "topic")
    head = toy.change(repository, "kernel/bpf/core.c", "int core = 2;\n", "bpf: Change core")
    toy.git(repository, "checkout", "--quiet", "master")
    toy.change(repository, "kernel/bpf/core.c", "int core = 3;\n", "bpf: Change core otherwise")
    token = tmp_path / "token"
    token.write_text(running.tokens["upload"])
    token.chmod(0o600)
    running.enrol("emulated-x86-64", "icount")
    words = [
        "submit",
        "--url",
        running.url,
        "--token-file",
        str(token),
        "--tree",
        url,
        "--on",
        "emulated-x86-64:icount",
    ]

    asked = CliRunner().invoke(main, [*words, "--base", "master", "--head", "topic", "--detach"])
    assert asked.exit_code == 0, asked.output
    said = (
        f"Base is {parted[:12]}, the merge base of master and topic: 1 commit of topic, without 1 newer"
        " commit of master"
    )
    assert said in asked.stderr.replace("\n", " ")
    (row,) = running.rows("SELECT base_commit, head_commit, suites, note FROM request")
    assert row == {"base_commit": parted, "head_commit": head, "suites": ["auto"], "note": said}

    older = CliRunner().invoke(main, [*words, "--base", "topic", "--head", "v6.12", "--detach"])
    assert older.exit_code == 2
    assert "head v6.12 is older than base topic" in older.stderr


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ({"--on": "emulated-x86-64:both"}, 2, "PLATFORM:MODE"),
        ({"--head": "no-such-branch"}, 2, "no-such-branch"),
        ({"--suite": "no-such-suite"}, 2, "no such suite"),
        (
            {"--on": "nosuch:walltime"},
            2,
            "no enrolled host offers nosuch:walltime: there are emulated-x86-64:icount",
        ),
        (
            {"--on": "emulated-x86-64:walltime"},
            2,
            "offers emulated-x86-64:walltime: there are emulated-x86-64:icount",
        ),
    ],
)
def test_a_request_that_cannot_be_made_says_why(
    running: Running, served_tree: Any, tmp_path: Path, change: dict[str, str], code: int, says: str
) -> None:
    running.enrol("emulated-x86-64", "icount")
    toy.change(served_tree[1], "notes", "one\n", "bpf: Take notes")
    token = tmp_path / "token"
    token.write_text(running.tokens["upload"])
    token.chmod(0o600)
    options = {
        "--url": running.url,
        "--token-file": str(token),
        "--tree": served_tree[0],
        "--base": "v6.12",
        "--head": "master",
        "--on": "emulated-x86-64:icount",
        **change,
    }
    refused = CliRunner().invoke(main, ["submit", *(word for pair in options.items() for word in pair)])
    assert refused.exit_code == code, refused.output
    assert says in refused.output.replace("no suite", "no such suite")


def worker(running: Running, token: Path, tmp_path: Path) -> "subprocess.Popen[str]":
    arguments = [
        "--url",
        running.url,
        "--platform",
        "emulated-x86-64",
        "--name",
        "emulator-1",
        "--mode",
        "icount",
    ]
    folders = [
        "--token-file",
        str(token),
        "--cache",
        str(tmp_path / "cache"),
        "--spool",
        str(tmp_path / "spool"),
    ]
    return subprocess.Popen([COMMAND, "worker", *arguments, *folders], stderr=subprocess.PIPE, text=True)


@pytest.mark.namespaces
def test_a_worker_without_work_ends_at_once_when_it_is_told_to(running: Running, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(running.tokens["work"])
    token.chmod(0o600)
    process = worker(running, token, tmp_path)
    while not running.get("/hosts")["items"]:
        assert process.poll() is None, process.communicate()
    process.terminate()
    _, printed = process.communicate(timeout=600)
    assert process.returncode == 0, printed
    assert "draining" in printed


class SignalledStream(io.RawIOBase):
    """A stream in whose first write a SIGTERM comes."""

    written = b""

    def writable(self) -> bool:
        return True

    def write(self, text: Any) -> int:
        first, self.written = not self.written, self.written + bytes(text)
        if first:
            signal.raise_signal(signal.SIGTERM)
        return len(text)


def test_a_signal_that_comes_while_a_worker_says_something_drains_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what became of a job while results are on their way: an error there loses the job."""
    stream = SignalledStream()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BufferedWriter(stream), write_through=True))
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        drain, stop = worker_command._signals()
        say("job 1: done")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

    assert (drain.is_set(), stop.is_set()) == (True, False)
    assert stream.written == b"job 1: done\n"


def test_a_worker_of_a_platform_that_is_no_name_does_not_begin(tmp_path: Path) -> None:
    ended = cliffwatch(
        "", tmp_path, "worker", "--url", "http://127.0.0.1:9", "--platform", "amd rome", "--mode", "icount"
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith(
        "cliffwatch: --platform: 'amd rome' is no name of a platform\n  use letters"
    )


@pytest.mark.namespaces
def test_a_worker_with_a_wrong_token_gives_up_and_says_why(running: Running, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("cliffwatch_wrong")
    token.chmod(0o600)
    process = worker(running, token, tmp_path)
    _, printed = process.communicate(timeout=600)
    assert process.returncode == 2
    assert "not known" in printed


def test_answers_on_a_connection_that_is_kept_are_not_held_back() -> None:
    """Otherwise the kernel waits for the client's acknowledgement of the head before it sends the body: 40 ms
    an answer.
    """

    async def without_delay() -> int:
        (taken,) = bind_sockets("127.0.0.1", 0)
        options: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            options.set_result(
                writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            )
            writer.close()

        async with await asyncio.start_server(answer, sock=taken):
            _, writer = await asyncio.open_connection(*taken.getsockname())
            answered = await options
            writer.close()
        return answered

    assert asyncio.run(without_delay()) != 0
