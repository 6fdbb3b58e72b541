"""What a stranger learns of a private service, what is believed of a client, and what outlives its end:
nothing.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from service_running import Running
from service_runs import arm_of, boots_of, put_all, record_digest, record_of, run_of

from cliffwatch.command.compare import compare
from cliffwatch_service.postgres.roles import APPLICATION

COMMAND = str(Path(sys.executable).with_name("cliffwatch"))
NEWLINE = "%0A"


@pytest.fixture
def private(serve_with: Any) -> Any:
    with serve_with(public_reading=False) as running:
        yield running


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/openapi.json",
        "/metrics",
        "/api/v1/runs",
        "/api/v1/runs/",
        "/api/v1/runs/none",
        "/api/v1/no-such-route",
        "/api/v1/suites",
        "/",
        "/runs",
        "/badge/master.svg",
        "/runs/0000000",
        "/no-such-page",
        "/jobs/x/stream",
        "/../metrics",
        "/%2e%2e/metrics",
    ],
)
def test_strangers_get_the_same_answer_everywhere(private: Any, path: str) -> None:
    with private.http(None) as http:
        for method in ("GET", "HEAD", "OPTIONS", "POST", "DELETE"):
            answer = http.request(method, path)
            assert answer.status_code == 401, (method, path)
            assert "location" not in answer.headers
            assert "allow" not in answer.headers


def test_a_reader_of_a_private_service_gets_all_of_it(private: Any) -> None:
    with private.http("read") as http:
        for path in ("/api/v1/openapi.json", "/metrics", "/api/v1/runs"):
            assert http.get(path).status_code == 200
        assert http.get("/api/v1/no-such-route").status_code == 404
    with private.http(None) as http:
        assert http.get("/healthz").status_code == 200
        assert http.get("/readyz").status_code == 200
        assert http.get("/sign-in").status_code == 200
        sign_in(private, http, "read")
        assert http.get("/runs").status_code == 200


def sign_in(running: Running, http: Any, scope: str) -> None:
    assert http.post("/sign-in", data={"token": running.tokens[scope]}).status_code == 303


@pytest.mark.parametrize(
    ("trusted", "seen"), [("", "127.0.0.1"), ("127.0.0.1", "203.0.113.9"), ("192.0.2.0/24", "127.0.0.1")]
)
def test_only_proxies_of_the_settings_say_who_a_client_is(serve_with: Any, trusted: str, seen: str) -> None:
    """Seen by whose rate is used up, and by what a cookie is told of https."""
    forwarded = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
    with serve_with(trusted_proxies=trusted, requests_per_minute=3) as running:
        with running.http(None) as http:
            statuses = [http.get("/api/v1/suites", headers=forwarded).status_code for _ in range(4)]
            assert statuses == [200, 200, 200, 429]
            assert http.get("/api/v1/suites").status_code == (429 if seen == "127.0.0.1" else 200)
        running.clock.pass_(minutes=2)
        with running.http(None) as http:
            cookie = http.post("/sign-in", data={"token": running.tokens["read"]}, headers=forwarded).headers[
                "set-cookie"
            ]
            assert ("Secure" in cookie) is (seen != "127.0.0.1")


@pytest.mark.parametrize("given", ["localhost", "10.0.0.0/33", "*", "10.0.0.1;10.0.0.2"])
def test_a_trusted_proxy_is_an_address(tmp_path: Path, given: str) -> None:
    ended = subprocess.run(
        [COMMAND, "serve", "--port", "0", "--data-dir", str(tmp_path)],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "CLIFFWATCH_TRUSTED_PROXIES": given},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 2
    assert "CLIFFWATCH_TRUSTED_PROXIES" in ended.stderr


def test_signing_out_ends_every_copy_of_the_cookie(running: Running) -> None:
    with running.http(None) as http, running.http(None) as thief, running.http(None) as other:
        sign_in(running, http, "triage")
        sign_in(running, other, "triage")
        thief.cookies.update(http.cookies)
        assert "Sign out" in thief.get("/").text
        form = http.get("/").text.split('name="form_token" value="')[1].split('"')[0]
        http.post("/sign-out", data={"form_token": form})
        assert "Sign out" not in thief.get("/").text
        assert "Sign out" in other.get("/").text


def test_a_cookie_from_before_sessions_were_kept_is_nobodys(running: Running) -> None:
    with running.http(None) as http:
        sign_in(running, http, "triage")
        with psycopg.connect(running.database) as connection:
            connection.execute("DELETE FROM session")
        assert "Sign out" not in http.get("/").text


@pytest.mark.parametrize(
    "table", ["boot", "boot_document", "raw_output", "raw_piece", "columns", "series", "point"]
)
def test_the_application_changes_nothing_that_was_measured(running: Running, table: str) -> None:
    run = run_of(boots=1, cases=1)
    with running.http("upload") as http:
        put_all(http, run)
    with psycopg.connect(running.database) as connection:
        connection.execute(f"SET ROLE {APPLICATION}")
        column = connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND attidentity ="
            " '' LIMIT 1",
            [table],
        ).fetchone()
        assert column is not None
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"UPDATE {table} SET {column[0]} = {column[0]}")


@pytest.mark.parametrize(
    "table", ["run", "arm", "boot", "boot_document", "columns", "series", "audit", "triage", "token"]
)
def test_the_application_deletes_nothing_that_boots_hang_on(running: Running, table: str) -> None:
    with psycopg.connect(running.database) as connection:
        connection.execute(f"SET ROLE {APPLICATION}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"DELETE FROM {table}")


def test_names_with_a_newline_are_no_names(running: Running) -> None:
    run = run_of(boots=1, cases=1)
    with running.http("upload") as http:
        put_all(http, run)
        commit = arm_of(run.record, "head")["facts"]["commit"]
        assert http.get(f"/api/v1/revisions/{commit}").status_code == 200
        for path in (
            f"/api/v1/revisions/{commit}{NEWLINE}",
            f"/api/v1/runs/{run.digest}{NEWLINE}",
            f"/runs/{run.digest}{NEWLINE}",
            f"/runs/{run.digest[:12]}{NEWLINE}",
        ):
            assert http.get(path).status_code in (404, 422), path


def test_what_a_host_says_turns_no_page_around(running: Running) -> None:
    """Escape sequences and marks that turn the reading direction, in a subject, a label and a benchmark's
    reason.
    """
    run = run_of(boots=1, cases=1)
    for arm in run.record["arms"]:
        arm["facts"]["subject"] = "bpf: \u202egnp.exe \x1b[31mred\x1b]0;title\x07 \u2066x"
        arm["label"] = "a \u202e\x1b[2J"
    made = run_of_record(run)
    with running.http("upload") as http:
        http.put(f"/api/v1/runs/{made}", json=record_of(run)).raise_for_status()
        for number, boot in boots_of(run):
            http.put(f"/api/v1/runs/{made}/boots/{number}", json=boot).raise_for_status()
        running.do_tasks()
        text = http.get(f"/runs/{made}").raise_for_status().text
    assert not set(text) & set("\u202e\u2066\x1b\x07")


def run_of_record(run: Any) -> str:
    return record_digest(run.record, run.host)


def test_a_first_start_bears_another_command_beside_it(tmp_path: Path) -> None:
    """Four at once on an empty folder: each waits for the others' start and end, and all make their token."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    begun = [
        subprocess.Popen(
            [COMMAND, "token", "make", f"t{number}", "--scope", "read", "--data-dir", str(tmp_path)],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    ended = [(each.communicate(timeout=300), each.returncode) for each in begun]
    assert [code for _, code in ended] == [0] * 4, ended
    listed = subprocess.run(
        [COMMAND, "token", "list", "--data-dir", str(tmp_path)],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(f"t{number} " in listed.stdout for number in range(4))


def test_a_report_is_printed_for_who_sends_a_token(
    private: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, file = f"{private.url}/compare/ffffffffffff...eeeeeeeeeeee", tmp_path / "token"
    file.write_text(private.token("reader", "read"))
    file.chmod(0o600)

    def printed(*arguments: str) -> str:
        return CliRunner().invoke(compare, [address, *arguments]).output

    assert "it is private" in printed()
    assert "it knows no such run or revisions" in printed("--token-file", str(file))
    for service, said in (
        ("https://bench.example.org", "it is private"),  # a token goes to its own service alone
        (f"{private.url}/", "it knows no such run or revisions"),
    ):
        monkeypatch.setenv("CLIFFWATCH_TOKEN_FILE", str(file))
        monkeypatch.setenv("CLIFFWATCH_URL", service)
        assert said in printed(), service


def test_a_page_that_a_program_reads_counts_once(serve_with: Any) -> None:
    with serve_with(public_reading=False, requests_per_minute=3) as private, private.http("read") as http:
        assert [http.get("/runs").status_code for _ in range(4)] == [200, 200, 200, 429]
