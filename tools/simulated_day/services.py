"""Several service processes on one database, behind a round-robin; and a git server with the
followed branch.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from load.served import COMMAND, Served, address_said, environment, served

SESSION_KEY = "of all processes of a simulated day, not a secret"
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")

_NGINX = """\
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 2000; }}
http {{
    access_log off;
    client_max_body_size 64m;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream services {{ {servers} keepalive 64; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://services;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $remote_addr;
        }}
    }}
}}
"""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def settings(git_url: str) -> dict[str, str]:
    """Of a service whose hosts all come from one address, for days that pass in minutes."""
    return {
        "CLIFFWATCH_TREES": f"{git_url}/",
        "CLIFFWATCH_HTTP_CONNECTIONS_PER_ADDRESS": "450",
        "CLIFFWATCH_TRUSTED_PROXIES": "127.0.0.1",
        "CLIFFWATCH_POLL_SECONDS": "10",
        "CLIFFWATCH_SESSION_KEY": SESSION_KEY,
    }


@contextmanager
def services(folder: Path, count: int, git_url: str) -> Iterator[tuple[list[Served], str]]:
    """So many services on the database of the first, and the address where they are reached."""
    with ExitStack() as stack:
        (folder / "service-0").mkdir()
        first = stack.enter_context(served(folder / "service-0", **settings(git_url)))
        all_of_them = [first]
        for number in range(1, count):
            (folder / f"service-{number}").mkdir()
            all_of_them.append(
                stack.enter_context(beside(first, folder / f"service-{number}", settings(git_url)))
            )
        url = first.url if count == 1 else stack.enter_context(round_robin(folder, all_of_them))
        yield all_of_them, url


@contextmanager
def beside(first: Served, folder: Path, given: dict[str, str]) -> Iterator[Served]:
    """A further service on the first one's database, as on another machine: with a data
    directory of its own.
    """
    env = {**environment(folder), **given, "DATABASE_URL": first.database}
    with (folder / "serve.log").open("a") as log:
        process = subprocess.Popen(
            [COMMAND, "serve", "--port", "0"], env=env, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        try:
            url = address_said(process, log)
            drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=log)
            yield Served(url, first.token, first.database, process.pid, folder)
        finally:
            process.terminate()
            process.wait(60)
            drain.wait(10)
            process.stderr.close()


@contextmanager
def round_robin(folder: Path, behind: list[Served]) -> Iterator[str]:
    """An nginx that gives each request to the next service."""
    if NGINX is None:
        raise RuntimeError("several services need nginx: tools/install-packages.sh proxy")
    port = free_port()
    servers = " ".join(f"server {each.url.removeprefix('http://')};" for each in behind)
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, user=user, servers=servers, port=port))
    with (folder / "nginx.log").open("w") as log:
        process = subprocess.Popen([NGINX, "-c", str(folder / "nginx.conf"), "-e", "stderr"], stderr=log)
    try:
        _until_it_listens(process, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _until_it_listens(process: "subprocess.Popen[bytes]", port: int) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"it ended with {process.returncode} before it listened")
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("it does not listen")


@contextmanager
def git_server(folder: Path, commits: int) -> Iterator[tuple[str, list[str]]]:
    """A git server with the repository `linux`, whose branch `master` has so many commits: its address, and
    they, oldest first.
    """
    repository = folder / "trees" / "linux"
    subprocess.run(
        ["git", "init", "--quiet", "--bare", "--initial-branch=master", str(repository)], check=True
    )
    stream = "".join(
        f"commit refs/heads/master\ncommitter A Developer <dev@example.org> {1_790_000_000 + 60 * number}"
        f" +0000\ndata <<END\nbpf: Change {number}\nEND\nM 100644 inline kernel/bpf/core.c\ndata <<END\nint"
        f" core = {number};\nEND\n\n"
        for number in range(commits)
    )
    subprocess.run(
        ["git", "-C", str(repository), "fast-import", "--quiet"], input=stream, text=True, check=True
    )
    shown = subprocess.run(
        ["git", "-C", str(repository), "rev-list", "--reverse", "master"],
        capture_output=True,
        text=True,
        check=True,
    )
    with git_daemon(repository.parent, free_port()) as url:
        yield url, shown.stdout.split()


@contextmanager
def git_daemon(repositories: Path, port: int) -> Iterator[str]:
    """Serves a folder of repositories; the log goes beside it."""
    argv = [
        "git",
        "-c",
        "uploadpack.allowAnySHA1InWant=true",
        "-c",
        "safe.directory=*",
        "daemon",
        "--export-all",
    ]
    argv += ["--reuseaddr", "--listen=127.0.0.1", f"--port={port}", f"--base-path={repositories}"]
    with repositories.with_name("git.log").open("a") as log:
        process = subprocess.Popen(argv, stderr=log, start_new_session=True)
    try:
        _until_it_listens(process, port)
        yield f"git://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, 15)
        process.wait(30)
