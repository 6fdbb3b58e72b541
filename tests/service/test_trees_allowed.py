"""Which trees may be asked for, what a host is told of them, and that no credential of theirs is stored or
shown.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asking import asked, offer
from service_running import Running
from service_runs import put_all, record_digest, run_of

from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.settings import Settings, read_settings
from cliffwatch_service.store import follows, trees

TARGET = [{"platform": "amd-rome", "mode": "walltime"}]
SECRET = "the-secret-of-somebody"
ADVICE = "ask an administrator to allow it (CLIFFWATCH_TREES)"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    allowed = ("git://git.example.org/kernel/", "https://10.1.2.3/")
    return Settings(data_dir=tmp_path, requests_per_minute=100_000, trees=allowed)


def ask(running: Running, tree: str) -> Any:
    running.enrol("amd-rome")
    with running.http("upload") as http:
        return http.post("/api/v1/requests", json=asked(tree=tree), headers={"Idempotency-Key": tree[:200]})


def follow(running: Running, tree: str) -> Any:
    body = {
        "tree": tree,
        "branch": "master",
        "policy": "push",
        "targets": TARGET,
        "suites": ["local-storage"],
    }
    with running.http("admin") as http:
        return http.post("/api/v1/follows", json=body)


def everything(running: Running) -> str:
    """All that the database holds of trees, requests and who asked."""
    tables = ("tree", "request", "audit", "event", "follow")
    return "\n".join(str(running.rows(f"SELECT * FROM {table}")) for table in tables)


@pytest.mark.parametrize(
    ("tree", "why"),
    [
        (f"https://user:{SECRET}@example.org/x", "user name or a password"),
        (f"https://{SECRET}@example.org/x", "user name or a password"),
        (f"https://example.org/x?private_token={SECRET}", "a query"),
        (f"ssh://git:{SECRET}@example.org/x", "ssh would need somebody's key"),
        ("ssh://example.org/x", "ssh would need somebody's key"),
        ("git://git.kernel.org/x", "use that, or " + ADVICE),
        ("git://git.example.org/kernel-of-others/x", "use that, or " + ADVICE),
        ("https://127.0.0.1/x", "private or reserved address: " + ADVICE),
        ("https://10.1.2.4/x", "private or reserved address: " + ADVICE),
        ("https://[::ffff:10.1.2.4]/x", "private or reserved address: " + ADVICE),
        ("https://localhost/x", "private or reserved address: " + ADVICE),
        ("https://git.corp.internal/x", "private or reserved address: " + ADVICE),
        ("https://2130706433/x", "not a plain name or address"),
        ("https://example.org/a/../b", "empty parts, parts of dots only"),
    ],
)
def test_a_tree_that_no_host_would_fetch_is_refused_and_not_repeated(
    running: Running, tree: str, why: str
) -> None:
    refused = ask(running, tree)

    assert refused.status_code == 422
    assert why in refused.json()["detail"]
    assert SECRET not in refused.text
    assert running.rows("SELECT id FROM request") == []
    assert SECRET not in everything(running)


@pytest.mark.parametrize(
    ("tree", "access"),
    [
        ("https://git.kernel.org/pub/scm/linux.git", "public"),
        ("http://8.8.8.8/linux.git", "public"),
        ("git://git.example.org/kernel/bpf-next.git", "allowed"),
        ("git://GIT.example.org:9418/kernel/", "allowed"),
        ("https://10.1.2.3/any/thing", "allowed"),
    ],
)
def test_a_host_is_told_by_whose_word_a_tree_is_fetched(running: Running, tree: str, access: str) -> None:
    ask(running, tree).raise_for_status()
    work = offer(running)
    assert (work["tree"], work["tree_access"]) == (tree, access)


def test_a_followed_tree_is_an_administrators_word_as_long_as_it_is_followed(running: Running) -> None:
    tree = "git://10.9.9.9/linux"
    assert ask(running, tree).status_code == 422
    made = follow(running, tree)
    assert made.status_code == 201
    ask(running, tree).raise_for_status()
    assert ask(running, f"{tree}/../other").status_code == 422
    assert ask(running, "git://10.9.9.9/").status_code == 422
    with running.http("admin") as http:
        http.delete(f"/api/v1/follows/{made.json()['follow']}").raise_for_status()
    assert offer(running)["tree_access"] == "public"


@pytest.mark.parametrize("tree", [f"https://user:{SECRET}@example.org/x", "ssh://git@example.org/x"])
def test_a_branch_is_not_followed_by_credentials_or_keys(running: Running, tree: str) -> None:
    refused = follow(running, tree)
    assert refused.status_code == 422
    assert SECRET not in refused.text + everything(running)


def test_credentials_that_were_stored_before_they_were_refused_are_not_shown(running: Running) -> None:
    """Neither by the API nor on a page, to nobody."""
    tree = f"https://user:{SECRET}@example.org/x"
    made_run = run_of(boots=1, cases=1, shift=0.0)
    record = {**made_run.record, "tree": tree}
    run = replace(made_run, record=record, digest=record_digest(record, made_run.host))
    with running.http("upload") as http:
        put_all(http, run)
    made = ask(running, "https://example.org/x").json()
    (job,) = made["jobs"]
    with running.service.transaction() as connection:
        connection.execute("UPDATE request SET tree = %s", [tree])
        number = trees.keep_tree(connection, tree, running.clock.now())
        row = follows.FollowFacts(
            tree=tree,
            branch="old",
            policy="push",
            targets=[("amd-rome", "walltime")],
            suites=["x"],
            profile="smoke",
        )
        entry = follows.keep_follow(connection, trees.keep_branch(connection, number, "old"), row)
        follows.set_polled(
            connection, entry, running.clock.now(), problem=f"fatal: unable to access '{tree}/'"
        )
    paths = [
        *("/api/v1/requests", f"/api/v1/requests/{made['request']}", "/api/v1/queue", "/api/v1/jobs"),
        *(f"/api/v1/jobs/{job['job']}", f"/api/v1/runs/{run.digest}", "/api/v1/follows"),
        *(
            "/",
            "/branches",
            "/branches/old",
            f"/requests/{made['request']}",
            f"/jobs/{job['job']}",
            f"/runs/{run.digest}",
            "/hosts",
            "/queue",
        ),
    ]
    with running.http() as http:
        for path in paths:
            answer = http.get(path)
            assert answer.status_code == 200, path
            assert SECRET not in answer.text, path
        assert "***@example.org/x" in http.get("/api/v1/follows").text
        assert "***@example.org/x" in http.get(f"/requests/{made['request']}").text
    work = offer(running)
    assert work["tree_access"] == "public"
    assert SECRET not in work["tree"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", ()),
        ("https://a.example/x, git://b.example/", ("https://a.example/x", "git://b.example/")),
        ("https://a.example/x https://b.example", ("https://a.example/x", "https://b.example")),
    ],
)
def test_prefixes_are_words_of_a_setting(
    monkeypatch: pytest.MonkeyPatch, given: str, expected: tuple[str, ...]
) -> None:
    monkeypatch.setenv("CLIFFWATCH_TREES", given)
    assert read_settings().trees == expected


@pytest.mark.parametrize(
    "given", [f"https://u:{SECRET}@a.example/", "ssh://a.example/", "a.example", "https://a.example/../"]
)
def test_a_prefix_that_is_no_address_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("CLIFFWATCH_TREES", f"https://b.example/ {given}")
    with pytest.raises(Refusal, match="CLIFFWATCH_TREES: ") as refused:
        read_settings()
    assert SECRET not in str(refused.value)
