"""A Go module that anybody chose: go asks the module proxies of this host for it, and nothing else; it runs
where neither a network nor this user's files are.
"""

import json
import os
import shutil
import socket
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from go_module_runs import go_suite
from go_module_runs import run as run_arms
from stepping_suite import MODULE, be_the_catalogue, needs_go, proxy_environment, write_suite
from toy import FAKEVNG, toy_repository

from cliffwatch.catalogue.folder import suites_folder
from cliffwatch.failure import Failure
from cliffwatch_runner.build.programs import module_relay
from cliffwatch_runner.build.programs.modules import FetchConfinement
from cliffwatch_runner.build.programs.source import ProgramSource, program_source
from cliffwatch_runner.run import build, measure
from cliffwatch_runner.sandbox.isolation import choose_guest_sandbox
from cliffwatch_runner.sandbox.limits import host_limits
from cliffwatch_runner.sandbox.sandbox import Sandbox

pytestmark = [needs_go, pytest.mark.namespaces, pytest.mark.timeout(180)]

HOSTILE = "v1.2.0"


class Listener:
    """An HTTP server on loopback that remembers what it was asked, and serves a folder."""

    def __init__(self, folder: Path) -> None:
        asked: list[str] = []
        headers: list[str | None] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                headers.append(self.headers.get("Authorization"))
                file = folder / self.path.lstrip("/")
                self.send_response(200 if file.is_file() else 404)
                self.end_headers()
                self.wfile.write(file.read_bytes() if file.is_file() else b"")

            def log_message(self, *_: Any) -> None: ...

        self.asked, self.headers = asked, headers
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()


@pytest.fixture
def listeners() -> Iterator[Any]:
    made: list[Listener] = []

    def make(folder: Path) -> Listener:
        made.append(Listener(folder))
        return made[-1]

    yield make
    for each in made:
        each.http.shutdown()
        each.http.server_close()


@pytest.fixture
def proxy(tmp_path: Path, listeners: Any, monkeypatch: pytest.MonkeyPatch) -> Listener:
    """The host's module proxy, and a user with programs and settings that go would use."""
    for name, value in proxy_environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    write_suite(
        tmp_path / "catalogue" / "stepping", "%d steps", 'steps = { unit = "steps", better = "lower" }'
    )
    served = listeners(tmp_path / "proxy")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("git", "ssh", "hg", "svn"):
        real = shutil.which(name) or "false"
        (programs / name).write_text(
            f'#!/bin/sh\ncase "$*" in *127.0.0.1*) echo "$@" >> {tmp_path}/ran-{name};; esac\nexec {real}'
            ' "$@"\n'
        )
        (programs / name).chmod(0o755)
    monkeypatch.setenv("GOPROXY", f"http://{served.address},direct")
    monkeypatch.setenv("GOPRIVATE", "*")
    monkeypatch.setenv("GOINSECURE", "*")
    monkeypatch.setenv("GOVCS", "*:all")
    return served


def publish_hostile(folder: Path, requirement: str, directives: str = "") -> None:
    """A version of the module that requires one which lies at an address."""
    home = folder / "proxy" / MODULE / "@v"
    mod = f"module {MODULE}\n\ngo 1.20\n\nrequire {requirement} v1.0.0\n{directives}"
    source = f'package steps\n\nimport _ "{requirement}"\n\nfunc Count() int {{ return 1 }}\n'
    (home / f"{HOSTILE}.info").write_text(json.dumps({"Version": HOSTILE, "Time": "2025-06-01T00:00:00Z"}))
    (home / f"{HOSTILE}.mod").write_text(mod)
    with zipfile.ZipFile(home / f"{HOSTILE}.zip", "w") as archive:
        archive.writestr(f"{MODULE}@{HOSTILE}/go.mod", mod)
        archive.writestr(f"{MODULE}@{HOSTILE}/steps.go", source)


def walls() -> FetchConfinement:
    sandbox = choose_guest_sandbox("bubblewrap")
    assert isinstance(sandbox, Sandbox)
    return FetchConfinement(sandbox=sandbox, limits=host_limits(300.0))


def fetched(tmp_path: Path, chosen: dict[str, Path | str]) -> ProgramSource | Failure:
    return program_source(go_suite(tmp_path / "catalogue" / "stepping"), chosen, lambda: False, walls())


def test_a_version_comes_from_the_proxy(tmp_path: Path, proxy: Listener) -> None:
    source = fetched(tmp_path, {MODULE: "v1.1.0"})

    assert isinstance(source, ProgramSource), source
    assert source.modules == {MODULE: "v1.1.0"}
    assert f"/{MODULE}/@v/v1.1.0.zip" in proxy.asked


@pytest.mark.parametrize("name", ["127.0.0.1/x.git", "127.0.0.1.nip.io/x.git", "localhost.example/x"])
def test_nothing_else_is_asked_for_what_a_module_requires(
    tmp_path: Path, proxy: Listener, listeners: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path / 'programs'}:{os.environ['PATH']}")
    other = listeners(tmp_path / "nowhere")
    monkeypatch.setenv("https_proxy", f"http://{other.address}")
    publish_hostile(tmp_path, name)
    before = len(proxy.asked)

    assert isinstance(fetched(tmp_path, {MODULE: HOSTILE}), Failure)
    assert len(proxy.asked) > before
    assert other.asked == []
    assert not list(tmp_path.glob("ran-*"))


@pytest.mark.parametrize("trust", ["followed", "outside"])
def test_every_arm_of_somebody_elses_run_is_fetched_within_the_walls(
    tmp_path: Path, proxy: Listener, monkeypatch: pytest.MonkeyPatch, trust: str
) -> None:
    """From the request on: the suite is the catalogue's, the version is whoever's asked."""
    monkeypatch.setattr(measure, "guest_programs", lambda: (FAKEVNG,))
    monkeypatch.setattr(build, "_NEEDED_BYTES", 0)
    monkeypatch.setenv("PATH", f"{tmp_path / 'programs'}:{os.environ['PATH']}")
    real = suites_folder()
    publish_hostile(tmp_path, "127.0.0.1/x.git")
    (tmp_path / "at").mkdir()
    repository = toy_repository(tmp_path / "at")
    be_the_catalogue(tmp_path / "catalogue")
    try:
        arms = (f"old=HEAD module={MODULE}@v1.0.0", f"new=HEAD module={MODULE}@{HOSTILE}")
        ended = run_arms(repository, "stepping", *arms, trust=trust)  # type: ignore[arg-type]
    finally:
        be_the_catalogue(real)

    assert ended.exit_code in (2, 4), ended.output
    assert "127.0.0.1/x.git" in ended.output
    assert not list(tmp_path.glob("ran-*"))


def test_go_sees_no_file_and_no_network_of_the_host(tmp_path: Path, proxy: Listener) -> None:
    """What a module's replacement points at is not there, whatever go were brought to."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "go.mod").write_text("module example.org/inner\n")
    (secret / "inner.go").write_text("package inner\n")
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "go.mod").write_text(f"module {MODULE}\n\ngo 1.20\n")
    (folder / "steps.go").symlink_to(secret / "inner.go")

    assert isinstance(fetched(tmp_path, {MODULE: folder}), Failure)


@pytest.mark.parametrize(
    "path",
    [
        "/0/../secret",
        "/0/%2e%2e/secret",
        "/9/x",
        "/x",
        "http://127.0.0.1/",
        "/0",
        "/0//x",
        "/0/x?y=1",
        "/0/x%0d%0aX:1",
    ],
)
def test_the_relay_asks_for_paths_of_modules_alone(tmp_path: Path, proxy: Listener, path: str) -> None:
    before = len(proxy.asked)

    assert b" 403 " in _asked(tmp_path, [f"http://{proxy.address}"], path)
    assert len(proxy.asked) == before


def test_credentials_of_a_proxy_stay_outside(tmp_path: Path, proxy: Listener) -> None:
    proxies = module_relay.module_proxies(f"http://user:secret@{proxy.address},off", "off")

    assert "secret" not in proxies.goproxy
    assert b" 404 " in _asked(tmp_path, proxies.urls, "/0/x/@v/list")
    assert proxy.headers[-1] == "Basic dXNlcjpzZWNyZXQ="


def test_a_proxy_that_cannot_be_reached_is_the_hosts_fault_and_named(
    tmp_path: Path, proxy: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOPROXY", "http://user:secret@127.0.0.1:1/go")
    failure = fetched(tmp_path, {MODULE: "v1.1.0"})

    assert isinstance(failure, Failure)
    assert failure.whose == "host"
    assert "127.0.0.1:1/go/" in failure.message
    assert "secret" not in f"{failure.message} {failure.evidence}"


def test_what_go_is_told_of_proxies() -> None:
    named = module_relay.module_proxies("https://a.example/go,file:///srv/go|direct,off", "")

    assert named.urls == ("https://a.example/go", "https://sum.golang.org")
    assert named.goproxy == "{relay}/0,file://{folder0},off"
    assert named.gosumdb == "sum.golang.org {relay}/1"
    assert module_relay.module_proxies("direct", "off").goproxy == "off"
    assert module_relay.module_proxies("", "sum.golang.google.cn").urls[-1] == "https://sum.golang.google.cn"


def _asked(tmp_path: Path, urls: Any, path: str) -> bytes:
    with module_relay.module_relay(urls, tmp_path / "relay"), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "relay"))
        client.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        answer = b""
        while piece := client.recv(1 << 16):
            answer += piece
    return answer
