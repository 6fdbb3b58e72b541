"""A tree that somebody else names is fetched without this host's keys, and from nowhere that its networks
keep to themselves.
"""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import toy

from cliffwatch.failure import Failure
from cliffwatch.trees.addresses import (
    TreeAddress,
    closed,
    has_credentials,
    is_allowed,
    read_address,
    without_credentials,
)
from cliffwatch_runner.source import access as tree_access
from cliffwatch_runner.source.access import FetchPlan, plan_fetch
from cliffwatch_runner.source.git import git
from cliffwatch_runner.source.revision import Revision
from cliffwatch_runner.source.tree import Tree, open_tree
from cliffwatch_service.history.git import branch_head, fetch_commits

CLOSED = [
    *(
        "0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.169.254",
    ),
    *(
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.1",
    ),
    *("203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"),
    *(
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "::ffff:a00:1",
        "::7f00:1",
        "64:ff9b::7f00:1",
        "64:ff9b::a00:1",
    ),
    *(
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:a00:1::",
        "3fff::1",
        "fc00::1",
        "fd12::1",
    ),
    *("fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "5f00::1", "2606:4700::1%1", "no address", ""),
]
OPEN = [
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.0.1",
    "172.32.0.1",
    "2606:4700::1",
    "64:ff9b::808:808",
]


@pytest.mark.parametrize("address", CLOSED)
def test_an_address_that_is_not_everybodys_is_closed(address: str) -> None:
    assert closed(address)


@pytest.mark.parametrize("address", OPEN)
def test_a_public_address_is_open(address: str) -> None:
    assert not closed(address)


UNREADABLE = [
    *(
        "",
        "linux",
        "/srv/linux",
        "file:///srv/linux",
        "ssh://git@example.org/linux",
        "git+ssh://example.org/linux",
    ),
    *(
        "ext::sh -c id",
        "example.org:linux",
        "git@example.org:linux",
        "ftp://example.org/linux",
        "https:example.org/linux",
    ),
    *(
        "https:///linux",
        "https://",
        "https://example.org:0/x",
        "https://example.org:65536/x",
        "https://example.org:/x",
    ),
    *(
        "https://user@example.org/x",
        "https://user:secret@example.org/x",
        "https://good.example\\@evil.example/x",
    ),
    *(
        "https://good.example%2f@evil.example/x",
        "https://good.example%2fevil.example/x",
        "https://exa mple.org/x",
    ),
    *(
        "https://example.org/../x",
        "https://example.org/a/../b",
        "https://example.org/a/./b",
        "https://example.org/a//b",
    ),
    *(
        "https://example.org/%2e%2e/x",
        "https://example.org/a%2fb",
        "https://example.org/a%5cb",
        "https://example.org/%252e",
    ),
    *(
        "https://example.org/a%00b",
        "https://example.org/a%0ab",
        "https://example.org/a\\b",
        "https://example.org/x?token=1",
    ),
    *(
        "https://example.org/x#y",
        "https://ex\u00e4mple.org/x",
        "https://127.1/x",
        "https://0x7f000001/x",
        "https://2130706433/x",
    ),
    *(
        "https://0177.0.0.1/x",
        "https://1.2.3.4.5/x",
        "https://[::1/x",
        "https://[fe80::1%25eth0]/x",
        "https://-x.org/x",
    ),
    *(
        "https://example..org/x",
        "https://.example.org/x",
        "--upload-pack=id",
        "https://example.org/x\n",
        "-x://example.org/x",
    ),
    "https://" + "a" * 3000 + "/x",
]


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_two_programs_could_read_in_two_ways_is_no_address(text: str) -> None:
    wrong = read_address(text)
    assert isinstance(wrong, Failure)
    assert "secret" not in str(wrong)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("HTTPS://Example.ORG./Linux.git/", "https://example.org/Linux.git"),
        ("https://example.org:443/x", "https://example.org/x"),
        ("http://example.org:8080/~user/x", "http://example.org:8080/~user/x"),
        ("https://example.org/my%20tree/%41", "https://example.org/my%20tree/A"),
        ("git://[2606:4700:0::1]:9418/x", "git://[2606:4700::1]/x"),
        ("https://example.org", "https://example.org/"),
    ],
)
def test_an_address_has_one_way_to_write_it(text: str, url: str) -> None:
    address = read_address(text)
    assert isinstance(address, TreeAddress)
    assert address.url == url
    assert read_address(url) == address


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ("https://git.example.org/kernel/linux.git", True),
        ("https://GIT.example.org/kernel", True),
        ("https://git.example.org:443/kernel/a/b", True),
        ("https://git.example.org/kernel-of-somebody-else/linux.git", False),
        ("https://git.example.org/kernel/../other", False),
        ("https://git.example.org/kernel/%2e%2e/other", False),
        ("https://git.example.org/Kernel/linux.git", False),
        ("https://git.example.org/", False),
        ("http://git.example.org/kernel/linux.git", False),
        ("https://git.example.org:8443/kernel/linux.git", False),
        ("https://git.example.org.evil.example/kernel/linux.git", False),
        ("https://git.example.org@evil.example/kernel/linux.git", False),
        ("https://evil.example/https://git.example.org/kernel/", False),
    ],
)
def test_a_prefix_allows_whole_parts_of_a_path(tree: str, expected: bool) -> None:
    address = read_address(tree)
    found = isinstance(address, TreeAddress) and is_allowed(address, ["https://git.example.org/kernel/"])
    assert found is expected


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:secret@example.org/x", "https://***@example.org/x"),
        ("https://secret@example.org/x", "https://***@example.org/x"),
        ("https://user:se@cret@example.org/x", "https://***@example.org/x"),
        ("ssh://git:secret@example.org/x", "ssh://***@example.org/x"),
        (
            "https://example.org/x?private_token=secret&depth=1",
            "https://example.org/x?private_token=***&depth=1",
        ),
        ("https://example.org/x?access_token=secret", "https://example.org/x?access_token=***"),
    ],
)
def test_credentials_are_seen_refused_and_never_shown(url: str, shown: str, tmp_path: Path) -> None:
    assert has_credentials(url)
    assert without_credentials(f"fatal: '{url}' is away") == f"fatal: '{shown}' is away"
    for access in tree_access.ACCESSES:
        refused = open_tree(url, tmp_path, access)
        assert isinstance(refused, Failure)
        assert "secret" not in f"{refused.message} {refused.next_step} {refused.evidence}"


@pytest.mark.parametrize(
    "url", ["ssh://git@example.org/x", "https://example.org/x@y", "https://example.org/x", "plain"]
)
def test_what_is_no_credential_is_left_alone(url: str) -> None:
    assert not has_credentials(url)
    assert without_credentials(url) == url


def test_hiding_credentials_takes_no_time_in_a_text_that_is_made_for_it() -> None:
    text = "://" + "?" + "a" * 1_000_000 + "?token" * 100_000
    assert without_credentials(text)


@dataclass
class Server:
    """An HTTP server on loopback: files of a folder, and what a test says of some paths; it remembers who
    asked for what.
    """

    folder: Path
    seen: list[tuple[str, str]] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    port: int = 0


@pytest.fixture
def servers() -> Iterator[Any]:
    running: list[ThreadingHTTPServer] = []

    def start(folder: Path, *, smart: bool = False) -> Server:
        server = Server(folder)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.seen.append((self.headers.get("Host", ""), self.path))
                if smart:
                    backend(self, folder)
                    return
                path = self.path.partition("?")[0]
                for start, target in server.redirects.items():
                    if path.startswith(start):
                        self.send_response(302)
                        self.send_header("Location", target + path.removeprefix(start))
                        self.end_headers()
                        return
                file = server.folder / path.lstrip("/")
                self.send_response(200 if file.is_file() else 404)
                self.end_headers()
                if file.is_file():
                    self.wfile.write(file.read_bytes())

            def do_POST(self) -> None:
                backend(self, folder)

            def log_message(self, *_: Any) -> None: ...

        http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        running.append(http)
        server.port = http.server_address[1]
        return server

    yield start
    for http in running:
        http.shutdown()
        http.server_close()


@pytest.fixture
def tree(tmp_path: Path) -> tuple[Path, str]:
    """A folder with `linux.git` for plain HTTP servers, and the head's commit."""
    repository = toy.toy_repository(tmp_path / "upstream")
    served = tmp_path / "served"
    served.mkdir()
    toy.git(repository, "clone", "--quiet", "--bare", str(repository), str(served / "linux.git"))
    toy.git(served / "linux.git", "update-server-info")
    return served, toy.git(repository, "rev-parse", "HEAD")


@pytest.fixture
def open_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's own servers count as public; all other addresses as ever."""
    monkeypatch.setattr(tree_access, "is_closed", lambda address: address != "127.0.0.1")


def lead(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Lets names lead to addresses, another list at each look; names that were looked up."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def look_up(host: str, port: int, **more: Any) -> Any:
        if host.replace(".", "").isdigit():
            return real(host, port, **more)
        asked.append(host)
        found = answers[min(len(asked), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


def listed(url: str) -> Any:
    reach = plan_fetch(url, "public")
    assert isinstance(reach, FetchPlan), reach
    return git(["ls-remote", "--", reach.url], fetching=reach)


def test_a_public_tree_is_fetched(
    tree: Any, servers: Any, open_loopback: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a name that leads nowhere outside this test: git does not look it up again, it goes where the
    checked look-up led.
    """
    served, commit = tree
    server = servers(served)
    lead(monkeypatch, ["127.0.0.1"])
    found = listed(f"http://git.example.invalid:{server.port}/linux.git")

    assert found.ok, found.output
    assert commit in found.output
    assert server.seen[0][0] == f"git.example.invalid:{server.port}"


def test_a_name_that_leads_elsewhere_the_next_time_changes_nothing(
    tree: Any, servers: Any, open_loopback: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: `localhost` is known to every resolver, but git is kept to the address of the check,
    where nobody listens.
    """
    served, _ = tree
    inner = servers(served)
    monkeypatch.setattr(tree_access, "is_closed", lambda address: address != "127.8.8.8")
    lead(monkeypatch, ["127.8.8.8"])
    found = listed(f"http://localhost:{inner.port}/linux.git")

    assert not found.ok
    assert inner.seen == []


@pytest.mark.parametrize(
    "answer", [["10.0.0.1"], ["8.8.8.8", "192.168.0.1"], ["169.254.169.254"], ["::ffff:127.0.0.1"], ["::1"]]
)
def test_a_name_that_leads_to_a_closed_address_is_refused(
    answer: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lead(monkeypatch, answer)
    refused = plan_fetch("https://git.example.invalid/linux.git", "public")

    assert isinstance(refused, Failure)
    assert refused.whose == "usage"
    assert "private or reserved address" in refused.message
    assert not any(address in refused.message for address in answer)


def test_this_host_itself_is_no_public_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its address is one of everybody's: what listens there may trust it."""
    monkeypatch.setattr(tree_access, "closed", lambda _: False)
    assert tree_access.is_closed("127.0.0.1")
    assert not tree_access.is_closed("192.0.2.1")


@pytest.mark.parametrize("scheme", ["git", "ssh", "file", "ext", "ftp"])
def test_a_public_tree_comes_by_http_alone(scheme: str) -> None:
    assert isinstance(plan_fetch(f"{scheme}://8.8.8.8/linux.git", "public"), Failure)


def test_an_old_git_cannot_be_held_to_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_access, "_git_version", lambda: (2, 36))
    lead(monkeypatch, ["8.8.8.8"])
    refused = plan_fetch("https://git.example.invalid/linux.git", "public")

    assert isinstance(refused, Failure)
    assert refused.whose == "host"
    assert "2.37" in refused.next_step


@pytest.mark.parametrize("access", ["public", "allowed"])
def test_a_redirect_is_not_followed(
    tree: Any, servers: Any, open_loopback: None, access: Any, tmp_path: Path
) -> None:
    served, commit = tree
    inner, outer = servers(served), servers(tmp_path / "empty")
    outer.redirects["/linux.git"] = f"http://127.0.0.1:{inner.port}/linux.git"
    opened = open_tree(f"http://127.0.0.1:{outer.port}/linux.git", tmp_path / "cache", access)
    assert isinstance(opened, Tree)

    assert isinstance(opened.resolve("master"), Failure)
    assert isinstance(opened.resolve(commit), Failure)
    assert outer.seen != []
    assert inner.seen == []


def test_alternates_of_a_server_lead_to_no_other_server(
    tree: Any, servers: Any, open_loopback: None, tmp_path: Path
) -> None:
    """A server without smart HTTP may name others that have its objects."""
    served, commit = tree
    inner = servers(served)
    hollow = tmp_path / "hollow" / "linux.git"
    (hollow / "objects" / "info").mkdir(parents=True)
    (hollow / "info").mkdir()
    (hollow / "HEAD").write_text("ref: refs/heads/master\n")
    (hollow / "info" / "refs").write_text(f"{commit}\trefs/heads/master\n")
    (hollow / "objects" / "info" / "http-alternates").write_text(
        f"http://127.0.0.1:{inner.port}/linux.git/objects\n"
    )
    outer = servers(tmp_path / "hollow")
    git(["init", "--quiet", "--bare", str(tmp_path / "mirror.git")])
    reach = plan_fetch(f"http://127.0.0.1:{outer.port}/linux.git", "public")
    assert isinstance(reach, FetchPlan)
    fetched = git(["fetch", "--", reach.url, "master"], git_dir=tmp_path / "mirror.git", fetching=reach)

    assert not fetched.ok
    assert ("127.0.0.1:" + str(outer.port), "/linux.git/objects/info/http-alternates") in outer.seen
    assert inner.seen == []


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with everything that could be used in his name: a fake ssh, git's settings, a credential store,
    proxies. What was used writes into the folder that this answers.
    """
    used = tmp_path / "used"
    used.mkdir()
    home = tmp_path / "home"
    home.mkdir()
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("ssh", "helper"):
        (programs / name).write_text(f'#!/bin/sh\necho "$@" >> {used}/{name}\nexit 1\n')
        (programs / name).chmod(0o755)
    (home / ".netrc").write_text("machine 127.0.0.1 login user password the-users-secret\n")
    (home / ".gitconfig").write_text(
        f"[core]\n\tsshCommand = {programs}/ssh configured\n[credential]\n\thelper = !{programs}/helper\n"
        f"[http]\n\textraHeader = X-Secret: the-users-secret\n\tproxy = http://127.0.0.1:9\n"
        f'[url "ssh://git@example.invalid/"]\n\tinsteadOf = http://127.0.0.1\n'
    )
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(home / "agent"))
    monkeypatch.setenv("GIT_SSH_COMMAND", f"{programs}/ssh named")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_ASKPASS", f"{programs}/helper")
    for name in ("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0"):
        monkeypatch.setenv(name, {"T": "1", "0": "protocol.allow"}.get(name[-1], "always"))
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "always")
    return used


SSH = [
    "ssh://git@127.0.0.1/linux",
    "git+ssh://127.0.0.1/linux",
    "git@127.0.0.1:linux",
    "127.0.0.1:linux",
    "ext::ssh x",
]


@pytest.mark.parametrize("access", ["public", "allowed"])
@pytest.mark.parametrize("url", SSH)
def test_no_job_calls_ssh(user: Path, url: str, access: Any, tmp_path: Path) -> None:
    assert isinstance(open_tree(url, tmp_path / "cache", access), Failure)
    assert list(user.iterdir()) == []


@pytest.mark.parametrize("access", ["public", "allowed"])
def test_git_itself_would_not_call_ssh_in_a_job(
    user: Path, access: Any, open_loopback: None, tmp_path: Path
) -> None:
    """Were the address not refused, the settings of the call would."""
    reach = plan_fetch("http://127.0.0.1/linux", access)
    assert isinstance(reach, FetchPlan)
    for url in (*SSH, f"file://{tmp_path}", str(tmp_path)):
        assert not git(["ls-remote", "--", url], fetching=reach).ok
    assert list(user.iterdir()) == []


def test_a_user_who_names_a_tree_by_hand_fetches_it_with_his_keys(user: Path, tmp_path: Path) -> None:
    opened = open_tree("ssh://git@127.0.0.1/linux", tmp_path / "cache", "own")
    assert isinstance(opened, Tree)

    assert isinstance(opened.resolve("master"), Failure)
    assert "git@127.0.0.1" in (user / "ssh").read_text()


@pytest.mark.parametrize("access", ["public", "allowed"])
def test_a_job_sends_nothing_that_is_the_users(
    user: Path, tree: Any, servers: Any, open_loopback: None, access: Any
) -> None:
    """No header, password, proxy or rewritten address of his git's settings, no credential
    helper, no .netrc.
    """
    served, commit = tree
    server = servers(served)
    reach = plan_fetch(f"http://127.0.0.1:{server.port}/linux.git", access)
    assert isinstance(reach, FetchPlan)
    found = git(["ls-remote", "--", reach.url], fetching=reach)

    assert found.ok, found.output
    assert commit in found.output
    assert list(user.iterdir()) == []
    assert "the-users-secret" not in repr(reach)


def test_a_public_tree_passes_by_every_proxy(
    tree: Any, servers: Any, open_loopback: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A proxy would look the name up for itself."""
    served, _ = tree
    proxy, server = servers(tmp_path / "empty"), servers(served)
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")

    assert listed(f"http://127.0.0.1:{server.port}/linux.git").ok
    assert proxy.seen == []


@pytest.mark.parametrize("spec", ["file:///srv/linux", "/srv/linux", ".", "linux.tar.xz", "~/linux"])
@pytest.mark.parametrize("access", ["public", "allowed"])
def test_a_jobs_tree_is_no_place_on_the_host(spec: str, access: Any, tmp_path: Path) -> None:
    assert isinstance(open_tree(spec, tmp_path / "cache", access), Failure)


def test_an_allowed_tree_is_fetched_from_wherever_it_is(tmp_path: Path, tree: Any, servers: Any) -> None:
    served, commit = tree
    server = servers(served)
    reach = plan_fetch(f"HTTP://LOCALHOST.:{server.port}/linux.git/", "allowed")

    assert isinstance(reach, FetchPlan)
    assert commit in git(["ls-remote", "--", reach.url], fetching=reach).output


def test_the_services_own_git_uses_no_key_and_follows_no_redirect(
    user: Path, tree: Any, servers: Any, tmp_path: Path
) -> None:
    served, commit = tree
    inner, outer = servers(served), servers(tmp_path / "empty")
    outer.redirects["/linux.git"] = f"http://127.0.0.1:{inner.port}/linux.git"

    for url in (
        *SSH,
        f"file://{served}/linux.git",
        f"{served}/linux.git",
        "https://user:secret@127.0.0.1/linux.git",
    ):
        refused = branch_head(url, "master")
        assert isinstance(refused, Failure)
        assert "secret" not in refused.message
        assert isinstance(fetch_commits(tmp_path / "git", url, "master", known=None), Failure)
    assert isinstance(branch_head(f"http://127.0.0.1:{outer.port}/linux.git", "master"), Failure)
    assert inner.seen == []
    assert branch_head(f"http://127.0.0.1:{inner.port}/linux.git", "master") == commit
    assert list(user.iterdir()) == []


def test_the_command_refuses_credentials_and_prints_none(tmp_path: Path) -> None:
    url = "https://user:the-users-secret@example.invalid/linux.git"
    argv = [sys.executable, "-m", "cliffwatch.command"]
    tree = ["--tree", url, "--base", "v6.12", "--head", "master"]
    env = {**os.environ, "CLIFFWATCH_TOKEN": "t", "HOME": str(tmp_path)}
    for words in (
        [*argv, "run", *tree, "--cache", str(tmp_path / "cache"), "--dry-run"],
        [*argv, "submit", *tree, "--url", "http://127.0.0.1:9", "--on", "x:icount"],
    ):
        ended = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
        assert ended.returncode == 2
        assert "the-users-secret" not in ended.stdout + ended.stderr
        assert "credentials" in ended.stderr


def test_a_smart_server_is_fetched_from_too(tmp_path: Path, servers: Any, open_loopback: None) -> None:
    """As jobs do: one commit, by its whole hash, from git's own HTTP server."""
    repository = toy.toy_repository(tmp_path / "upstream")
    toy.git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    commit = toy.git(repository, "rev-parse", "HEAD")
    server = servers(repository.parent, smart=True)
    opened = open_tree(f"http://127.0.0.1:{server.port}/linux", tmp_path / "cache", "public")
    assert isinstance(opened, Tree)
    revision = opened.resolve(commit)

    assert isinstance(revision, Revision), revision
    assert revision.commit == commit


def backend(request: BaseHTTPRequestHandler, folder: Path) -> None:
    """Answers by `git http-backend`, a CGI program."""
    path, _, query = request.path.partition("?")
    length = request.headers.get("Content-Length", "0")
    env = {
        "PATH": os.environ["PATH"],
        "GIT_PROJECT_ROOT": str(folder),
        "GIT_HTTP_EXPORT_ALL": "1",
        "REQUEST_METHOD": request.command,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "CONTENT_LENGTH": length,
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
    }
    argv = ["git", "-c", "safe.directory=*", "http-backend"]
    body = request.rfile.read(int(length))
    response = subprocess.run(argv, env=env, input=body, capture_output=True, check=True).stdout
    head, _, content = response.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
    request.send_response(int(headers.pop("Status", "200 OK").split()[0]))
    for name, value in headers.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(content)
