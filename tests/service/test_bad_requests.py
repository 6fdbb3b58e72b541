"""Bad input gets a problem document that says what and where; nothing is half stored and nothing fails
unforeseen.
"""

import copy
import gzip
import io
import json
import socket
import tarfile
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import zstandard
from service_running import Running
from service_runs import arm_of, boots_of, commit_of, put_all, record_digest, record_of, run_of

from cliffwatch_service.access.tokens import make_token

JSON = {"Content-Type": "application/json"}


def problem_of(answer: Any, status: int) -> Any:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert problem["detail"]
    return problem


def stored(running: Running) -> list[Any]:
    return running.rows("SELECT (SELECT count(*) FROM run) AS runs, (SELECT count(*) FROM boot) AS boots")


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Bearer cliffwatch_unknown", 401),
        ("Bearer", 401),
        ("Basic dXNlcjpwYXNz", 401),
        ("\x80\xff", 401),
    ],
)
def test_a_wrong_token_is_refused_everywhere_even_for_reading(
    running: Running, header: str, status: int
) -> None:
    with running.http(None) as http:
        answer = http.get("/api/v1/runs", headers={"Authorization": header.encode("latin-1")})
        problem_of(answer, status)
        assert answer.headers["www-authenticate"] == "Bearer"


def test_expired_revoked_and_foreign_tokens_are_told_apart(running: Running) -> None:
    now = running.clock.now()
    with running.service.transaction() as connection:
        old = make_token(connection, "old", ["upload"], by="test", now=now, expires=now + timedelta(days=1))
        gone = make_token(connection, "gone", ["upload"], by="test", now=now)
        foreign = make_token(connection, "foreign", ["upload"], by="test", now=now, host="elsewhere")
    with running.http("admin") as http:
        http.delete("/api/v1/tokens/gone").raise_for_status()
    running.clock.pass_(days=2)
    run = run_of(boots=1, cases=1)
    with running.http(None) as http:
        for secret, status, says in (
            (old, 401, "expired"),
            (gone, 401, "revoked"),
            (foreign, 403, "elsewhere"),
        ):
            headers = {"Authorization": f"Bearer {secret}"}
            answer = http.put(f"/api/v1/runs/{run.digest}", json=record_of(run), headers=headers)
            assert says in problem_of(answer, status)["detail"]
    assert stored(running) == [{"runs": 0, "boots": 0}]


@pytest.mark.parametrize("pack", [lambda body: body, gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_body_over_the_limit_is_refused_however_small_it_was_packed(
    running: Running, pack: Callable[[bytes], bytes]
) -> None:
    run = run_of(boots=1, cases=1)
    bomb = pack(b" " * (65 << 20))
    encoding = {gzip.compress: "gzip"}.get(pack, "identity" if len(bomb) > 1 << 20 else "zstd")
    with running.http("upload") as http:
        answer = http.put(
            f"/api/v1/runs/{run.digest}", content=bomb, headers={**JSON, "Content-Encoding": encoding}
        )
    assert "decompression" in problem_of(answer, 413)["detail"]


@pytest.mark.parametrize(
    ("encoding", "body", "status"),
    [
        ("gzip", b"no gzip at all", 400),
        ("gzip", gzip.compress(b"{}", mtime=0)[:-5], 400),
        ("gzip", gzip.compress(b"{}", mtime=0) + b"more", 400),
        ("zstd", b"no zstd at all", 400),
        ("br", b"{}", 415),
        ("identity", b"{", 400),
        ("identity", b"\xff\xfe", 400),
        ("identity", b'{"host": "a\\u0000b"}', 400),
        ("identity", b"[" * 100_000, 400),
    ],
)
def test_a_body_that_is_damaged_is_refused(running: Running, encoding: str, body: bytes, status: int) -> None:
    run = run_of(boots=1, cases=1)
    with running.http("upload") as http:
        answer = http.put(
            f"/api/v1/runs/{run.digest}", content=body, headers={**JSON, "Content-Encoding": encoding}
        )
    problem_of(answer, status)


def changed(boot: Any, change: Callable[[Any], None]) -> Any:
    other = copy.deepcopy(boot)
    change(other)
    return other


@pytest.mark.parametrize(
    ("where", "value", "says"),
    [
        ("value", "12", "samples.0.value"),
        ("value", None, "samples.0.value"),
        ("unit", "parsecs", "unknown unit"),
        ("metric", "x" * 5_000_000, "samples.0.metric"),
        ("metric", "", "samples.0.metric"),
        ("metric", "throughput\x1b[31m", "samples.0: a name is one line"),
        ("unit", "M/s\n", "samples.0: a name is one line"),
        ("suite", "local\x7fstorage", "samples.0: a name is one line"),
        ("params", {"nr\x85maps": "1"}, "samples.0: a name is one line"),
        ("benchmark", "no-such-benchmark", "not in the plan"),
        ("params", {"nr_maps": "999"}, "not in the plan"),
        ("params", {"a" * 300: "1"}, "samples.0.params"),
        ("readings", ["x"], "samples.0.readings.0"),
        ("resolution", -1, "samples.0.resolution"),
    ],
)
def test_a_sample_that_is_none_is_refused_with_its_place(
    running: Running, where: str, value: Any, says: str
) -> None:
    run = run_of(boots=1, cases=2)
    number, body = next(iter(boots_of(run)))
    with running.http("upload") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run)).raise_for_status()
        wrong = changed(body, lambda boot: boot["samples"][0].update({where: value}))
        answer = http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=wrong)
    assert says in problem_of(answer, 422)["detail"]
    assert stored(running) == [{"runs": 1, "boots": 0}]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_what_is_no_number_is_refused(running: Running, number: str) -> None:
    run = run_of(boots=1, cases=1)
    index, body = next(iter(boots_of(run)))
    value = json.dumps(body["samples"][0]["value"])
    text = json.dumps(body).replace(f'"value": {value}', f'"value": {number}')
    with running.http("upload") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run)).raise_for_status()
        answer = http.put(f"/api/v1/runs/{run.digest}/boots/{index}", content=text, headers=JSON)
    assert answer.status_code in (400, 422), answer.text
    problem_of(answer, answer.status_code)
    assert stored(running) == [{"runs": 1, "boots": 0}]


def test_a_metric_twice_in_a_boot_is_refused(running: Running) -> None:
    run = run_of(boots=1, cases=1)
    number, body = next(iter(boots_of(run)))
    with running.http("upload") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run)).raise_for_status()
        twice = changed(body, lambda boot: boot["samples"].append(boot["samples"][0]))
        answer = http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=twice)
    assert "twice" in problem_of(answer, 422)["detail"]


def test_a_case_that_the_catalogue_lacks_is_refused_by_name(running: Running) -> None:
    run = run_of(boots=1, cases=1)
    run.record["plan"]["cases"][0]["benchmark"] = "bpf-from-the-future"
    with running.http("upload") as http:
        answer = http.put(f"/api/v1/runs/{run.digest}", json=record_of(run))
    assert "bpf-from-the-future" in problem_of(answer, 422)["detail"]
    assert stored(running) == [{"runs": 0, "boots": 0}]


def test_an_address_that_is_not_of_the_content_is_refused(running: Running) -> None:
    run = run_of(boots=1, cases=1)
    with running.http("upload") as http:
        answer = http.put(f"/api/v1/runs/{'0' * 32}", json=record_of(run))
    problem = problem_of(answer, 409)
    assert run.digest in problem["detail"]


HOSTILE = [
    "'; DROP TABLE run; --",
    "<script>alert(1)</script>",
    "%s%(x)s{}",
    "\u202e\ufeff",
    "a\nb",
    "🐝" * 50,
    "../../etc",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_sql_and_html_are_text_like_any_other(running: Running, text: str) -> None:
    run = run_of(boots=1, cases=1)
    arm_of(run.record, "head")["label"] = text
    arm_of(run.record, "head")["facts"]["subject"] = text
    run.record["notes"] = [text]
    host = " ".join(text.split())  # a name is one line
    body = {**record_of(run), "host": host}

    digest = record_digest(run.record, host)
    with running.http("upload") as http:
        http.put(f"/api/v1/runs/{digest}", json=body).raise_for_status()
        for name in ("platform", "mode", "suite", "benchmark"):
            assert http.get("/api/v1/series", params={name: text}).status_code in (200, 422)
        assert http.get("/api/v1/runs", params={"revision": text}).status_code == 422
    listed = running.get("/runs")["items"][0]
    assert listed["host"] == host
    assert listed["arms"]["head"]["label"] == text
    assert running.rows(f"SELECT subject FROM revision WHERE commit = '{commit_of('head')}'") == [
        {"subject": text}
    ]


@pytest.mark.parametrize(
    "path",
    [
        "/runs?revision=%00",
        "/series/%00",
        "/suites/%00",
        "/comparisons/%00...%00",
        "/runs?cursor=%00",
        "/audit?cursor=x",
    ],
)
def test_nul_in_an_address_is_refused(running: Running, path: str) -> None:
    with running.http("admin") as http:
        answer = http.get(f"/api/v1{path}")
    assert 400 <= answer.status_code < 500, answer.text
    problem_of(answer, answer.status_code)


def tar_of(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, link
        tar.addfile(member)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "archive",
    [
        b"no archive",
        tar_of("../escape"),
        tar_of("/etc/passwd"),
        tar_of("a/../../b"),
        tar_of("link", tarfile.SYMTYPE, "/etc/passwd"),
        tar_of("pipe", tarfile.FIFOTYPE),
        tar_of("bad\nname"),
    ],
)
def test_archives_hold_plain_files_alone(running: Running, archive: bytes) -> None:
    run = run_of(boots=1, cases=1)
    with running.http("upload") as http:
        put_all(http, run)
        answer = http.put(
            f"/api/v1/runs/{run.digest}/boots/1/raw",
            content=archive,
            headers={"Content-Type": "application/x-tar"},
        )
    problem_of(answer, 422)
    assert running.rows("SELECT number FROM raw_output") == []


def test_a_half_sent_body_stores_nothing_and_holds_nothing_up(running: Running) -> None:
    run = run_of(boots=1, cases=1)
    body = json.dumps(record_of(run)).encode()
    host, port = running.url.removeprefix("http://").split(":")
    head = (
        f"PUT /api/v1/runs/{run.digest} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer"
        f" {running.tokens['upload']}\r\nContent-Type: application/json\r\nContent-Length:"
        f" {len(body)}\r\n\r\n"
    )
    for kept in (0, 1, len(body) // 2, len(body) - 1):
        with socket.create_connection((host, int(port))) as half:
            half.sendall(head.encode() + body[:kept])
    with running.http("upload") as http:
        assert http.get("/api/v1/runs").json()["items"] == []
        assert http.put(f"/api/v1/runs/{run.digest}", json=record_of(run)).status_code == 201


def test_who_asks_too_often_is_told_to_wait(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running.service.rates, "_per_minute", 5)
    with running.http("read") as http:
        answers = [http.get("/api/v1/suites").status_code for _ in range(8)]
        assert answers[:4] == [200] * 4
        assert answers[-1] == 429
        assert http.get("/api/v1/suites").headers["retry-after"] == "5"
        running.clock.pass_(minutes=1)
        assert http.get("/api/v1/suites").status_code == 200


def test_a_database_that_is_away_is_said_to_be(running: Running) -> None:
    with running.http(None) as http:
        running.service.pool.close()
        assert http.get("/healthz").status_code == 200
        problem_of(http.get("/readyz"), 503)
        problem_of(http.get("/api/v1/runs"), 503)


def test_reading_can_be_closed_to_the_public(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    object.__setattr__(
        running.service, "settings", running.service.settings.model_copy(update={"public_reading": False})
    )
    with running.http(None) as http:
        problem_of(http.get("/api/v1/runs"), 401)
    with running.http("read") as http:
        assert http.get("/api/v1/runs").status_code == 200


def test_methods_that_clients_invent_are_counted_together(running: Running) -> None:
    """Each that was counted by itself would be kept for ever."""
    with running.http("read") as http:
        for number in range(3):
            assert http.request(f"INVENTED{number}", "/").status_code == 405
        counted = http.get("/metrics").text
    assert 'cliffwatch_requests_total{method="other"' in counted
    assert "INVENTED" not in counted
