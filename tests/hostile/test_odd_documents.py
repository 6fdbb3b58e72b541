"""Documents whose form nobody fixed: whatever they are, they are refused with their place or stored and
shown.
"""

import copy
import json
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb
from service_running import Running
from service_runs import arm_of, boots_of, commit_of, put_all, record_of, run_of

from cliffwatch_service.ingest import free_form
from cliffwatch_service.ingest.boot_document import pack_content, unpack_content
from cliffwatch_service.refusal import Refusal

JSON = {"Content-Type": "application/json"}
MARK = "WHERE-IT-GOES"
DEEP = "[" * 300 + "]" * 300
ODD = {
    "NaN": "NaN",
    "1e400": "1e400",
    "-1e400": "-1e400",
    "300 levels": DEEP,
    "300 levels of objects": '{"a":' * 300 + "1" + "}" * 300,
    "100,000 levels": "[" * 100_000 + "]" * 100_000,
    "300 digits": "9" * 300,
    "5,000 digits": "9" * 5000,
    "64 bits": str(2**63),
    "NUL": '"a\\u0000b"',
    "half a pair": '"\\ud800"',
    "2 MB of text": json.dumps("x" * 700_000 * 3),
}
"""Values as they are written in a body."""

PAGES = ("/", "/hosts", "/runs", "/queue", "/jobs", "/series", "/regressions")


def pages_work(running: Running, *more: str) -> None:
    with running.http(None) as http:
        for path in (*PAGES, "/api/v1/hosts", "/api/v1/runs", "/api/v1/queue", *more):
            assert http.get(path).status_code == 200, (path, http.get(path).text[:300])


def send(http: Any, method: str, path: str, body: Any, value: str) -> Any:
    content = json.dumps(body).replace(json.dumps(MARK), value)
    headers = {**JSON, "Idempotency-Key": "odd"}
    return http.request(method, f"/api/v1{path}", content=content.encode(), headers=headers)


def refused(answer: Any) -> None:
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text[:500])
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"]


def refused_or_stored(running: Running, answer: Any, value: str) -> None:
    """What has too many digits for a whole number may come as a float; all else is refused."""
    if answer.status_code == 201 and value == ODD["300 digits"]:
        return
    refused(answer)


def marked(body: dict[str, Any], *path: str) -> dict[str, Any]:
    """The body with the mark at a place."""
    other = copy.deepcopy(body)
    at: Any = other
    for name in path[:-1]:
        at = arm_of(other["record"], name) if isinstance(at, list) else at.setdefault(name, {})
    at[path[-1]] = MARK
    return other


@pytest.mark.parametrize("path", [("environment", "guest"), ("boot", "parts"), ("outcomes",), ("problems",)])
def test_an_odd_boot_is_refused(running: Running, path: tuple[str, ...]) -> None:
    run = run_of(boots=1, cases=1)
    number, body = next(iter(boots_of(run)))
    with running.http("upload") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run)).raise_for_status()
        for value in ODD.values():
            sent = send(http, "PUT", f"/runs/{run.digest}/boots/{number}", marked(body, *path), value)
            refused_or_stored(running, sent, value)
    pages_work(running, f"/runs/{run.digest}", f"/api/v1/runs/{run.digest}")


@pytest.mark.parametrize(
    "path",
    [
        ("host", "cpu", "odd"),
        ("toolchain", "odd"),
        ("anything",),
        ("plan", "odd"),
        ("arms", "head", "failure", "odd"),
    ],
)
def test_an_odd_record_is_refused(running: Running, path: tuple[str, ...]) -> None:
    run = run_of(boots=1, cases=1)
    arm_of(run.record, "head")["failure"] = {"message": "it does not build"}
    with running.http("upload") as http:
        for value in ODD.values():
            sent = send(http, "PUT", f"/runs/{run.digest}", marked(record_of(run), "record", *path), value)
            refused_or_stored(running, sent, value)
            if sent.status_code == 201:
                pages_work(running, f"/runs/{run.digest}", f"/api/v1/runs/{run.digest}")
    pages_work(running)


def test_what_a_host_says_of_itself_and_of_its_job_is_refused_where_it_is_odd(running: Running) -> None:
    run = run_of(boots=1, cases=1)
    work = running.lease(run)
    offer = {"host": "rome-1", "platform": "amd-rome", "modes": ["walltime"], "isolation": "bubblewrap"}
    event = {"number": 1, "kind": "line", "at": "2026-11-21T12:00:00Z", "data": {"text": MARK}}
    with running.http("of rome-1") as http:
        for value in ODD.values():
            refused(send(http, "POST", "/offers", {**offer, "about": {"doctor": MARK}}, value))
            refused(send(http, "POST", f"/leases/{work['lease']}/events", {"events": [event]}, value))
            refused(
                send(
                    http,
                    "POST",
                    f"/leases/{work['lease']}/complete",
                    {"outcome": "done", "reason": MARK},
                    value,
                )
            )
    pages_work(running, f"/jobs/{work['job']}", f"/api/v1/jobs/{work['job']}/events")


@pytest.mark.parametrize(
    ("scope", "method", "path", "body"),
    [
        ("upload", "POST", "/requests", {"note": MARK}),
        ("triage", "POST", f"/reports/{'0' * 32}/triage", {"state": "noise", "note": MARK}),
        ("triage", "POST", f"/reports/{'0' * 32}/triage", {"state": "noise", "owner": MARK}),
        ("admin", "POST", "/tokens", {"name": MARK, "scopes": ["read"]}),
        ("admin", "POST", "/tokens", {"name": "x", "scopes": ["work"], "host": MARK}),
    ],
)
def test_odd_text_of_people_is_refused(
    running: Running, scope: str, method: str, path: str, body: Any
) -> None:
    asked = {"tree": "https://git.example.org/x.git", "base": commit_of("base"), "head": commit_of("head")}
    asked |= {"targets": [{"platform": "amd-rome", "mode": "walltime"}], "suites": ["local-storage"]}
    running.enrol("amd-rome")
    with running.http(scope) as http:
        for value in ("NUL", "half a pair", "2 MB of text"):
            refused(send(http, method, path, {**asked, **body} if path == "/requests" else body, ODD[value]))


TIMES = [
    "9999-12-31T23:59:59-14:00",
    "9999-12-31T23:59:59.999999+00:00",
    "0001-01-01T00:00:00+14:00",
    "2200-01-01T00:00:00Z",
]


@pytest.mark.parametrize("moment", TIMES)
def test_a_commit_may_be_written_at_any_time(running: Running, moment: str) -> None:
    """Whoever writes a commit writes its dates: such a run is measured and shown, its date is not known."""
    run = run_of(boots=1, cases=1)
    arm_of(run.record, "head")["facts"].update(author_date=moment, commit_date=moment)
    with running.http("upload") as http:
        put_all(http, run)
    running.do_tasks()
    commit = commit_of("head")
    assert running.get(f"/revisions/{commit}")["authored"] is None
    pages_work(running, f"/runs/{run.digest}", f"/revisions/{commit}", f"/compare/{run.digest}")
    with running.http(None) as http:
        for form in ("json", "txt", "md", "commit"):
            assert http.get(f"/compare/{run.digest}.{form}").status_code == 200, form


@pytest.mark.parametrize("moment", TIMES)
def test_nothing_is_measured_at_the_end_of_time(running: Running, moment: str) -> None:
    run = run_of(boots=1, cases=1)
    number, body = next(iter(boots_of(run)))
    late = run_of(boots=1, cases=1, created=moment)
    work = running.lease(run_of(boots=1, cases=1, seed=5))
    event = {"number": 1, "kind": "line", "at": moment, "data": {}}
    with running.http("admin") as http:
        refused(http.put(f"/api/v1/runs/{late.digest}", json=record_of(late)))
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run))
        for name in ("began", "ended"):
            body["boot"][name] = moment
            refused(http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=body))
        refused(http.post(f"/api/v1/leases/{work['lease']}/events", json={"events": [event]}))
        refused(http.post("/api/v1/tokens", json={"name": "x", "scopes": ["read"], "expires": moment}))
    pages_work(running)


def test_a_plan_without_the_optional_stage_is_one_of_screening_boots(running: Running) -> None:
    run = run_of(boots=3, cases=2)
    bodies = list(boots_of(run))
    for boot in run.record["plan"]["boots"]:
        del boot["stage"]
    del run.record["plan"]["stages"]
    for _, body in bodies:
        del body["boot"]["stage"]
    with running.http("upload") as http:
        put_all(http, run, bodies)
    running.do_tasks()
    assert {boot["stage"] for boot in running.get(f"/runs/{run.digest}")["boots"]} == {"screen"}
    pages_work(
        running,
        f"/runs/{run.digest}",
        f"/runs/{run.digest}/boots/1",
        f"/compare/{run.digest}",
        f"/api/v1/runs/{run.digest}/comparison",
        f"/api/v1/runs/{run.digest}/export?format=go-bench",
    )


def test_what_a_terminal_would_obey_is_stored_as_text(running: Running) -> None:
    """A tree's own words come into logs, labels and reasons: they are no reason to refuse a result, and no
    commands.
    """
    run = run_of(boots=1, cases=1)
    run.record["notes"] = ["\x1b]0;owned\x07 red \x1b[31m, tab\t, end\n"]
    arm_of(run.record, "head")["facts"]["subject"] = "bpf: \x9b31m\x1b[2J"
    number, body = next(iter(boots_of(run)))
    body["environment"] = {"cmdline \x1b": "\x1b[2J"}
    body["problems"] = [{**body["outcomes"][0], "line": 1, "text": "\x1bc", "reason": ""}]
    body["outcomes"][0].update(status="failed", reason="\x1b[1m")
    work = running.lease(run)
    event = {"number": 1, "kind": "line", "at": "2026-11-21T12:00:00Z", "data": {"text": "\x1b[2J"}}
    with running.http("of rome-1") as http:
        put_all(http, run, [(number, body)], job=work["job"])
        http.post(f"/api/v1/leases/{work['lease']}/events", json={"events": [event]}).raise_for_status()
        end = {"outcome": "kernel-failed", "reason": "\x1b[2J", "run": run.digest}
        http.post(f"/api/v1/leases/{work['lease']}/complete", json=end).raise_for_status()
    for path in (
        f"/runs/{run.digest}",
        f"/runs/{run.digest}/boots/1",
        f"/jobs/{work['job']}/events",
        "/jobs",
        "/runs",
    ):
        shown = json.dumps(running.get(path), ensure_ascii=False)
        assert not {"\x1b", "\x9b", "\x07"} & set(shown), path
        assert "\\u001b" not in shown, path
    assert running.get(f"/runs/{run.digest}")["record"]["notes"] == ["�]0;owned� red �[31m, tab\t, end\n"]


def test_names_are_one_line(running: Running) -> None:
    for name in ("a\nb", "\x1b[2J", "tab\tbed", "", "x" * 201, "\x85"):
        refuse_name(running, name)


def refuse_name(running: Running, name: str) -> None:
    run = run_of(boots=1, cases=1, host=name)
    other = run_of(boots=1, cases=1, platform=name)
    offer = {"host": name, "platform": "amd-rome", "modes": ["walltime"], "isolation": "bubblewrap"}
    with running.http("admin") as http:
        refused(http.put(f"/api/v1/runs/{run.digest}", json=record_of(run)))
        refused(http.put(f"/api/v1/runs/{other.digest}", json=record_of(other)))
        refused(http.post("/api/v1/offers", json=offer))
        query = {"platform": "amd-rome", "mode": "walltime", "name": name}
        refused(
            http.post("/api/v1/imports", params=query, content="x", headers={"Content-Type": "text/plain"})
        )


STORED = [
    json.loads("[" * 200 + "]" * 200),
    {"doctor": json.loads("[" * 200 + "]" * 200), "modes": 7},
    {"modes": [["walltime"]], "doctor": {"verdict": int("9" * 300), "checks": int("9" * 300)}},
    {"modes": ["walltime"], "doctor": "fine"},
    {"modes": {"walltime": 1}, "doctor": ["a", 1]},
    {"modes": "walltime", "doctor": {"checks": "none"}},
    {"modes": None, "doctor": None},
    {
        "modes": ["walltime"],
        "doctor": {"checks": [1, None, {"fixes": 5}, {"name": {}, "fixes": "x"}, {"mend": 5}]},
    },
]


@pytest.mark.parametrize("about", STORED, ids=range(len(STORED)))
def test_an_odd_document_that_is_stored_breaks_no_page(running: Running, about: Any) -> None:
    """As an older service took it."""
    run = run_of(boots=1, cases=1)
    work = running.lease(run)
    with running.service.transaction() as connection:
        connection.execute(
            "UPDATE host SET about = %s", [Jsonb(about if isinstance(about, dict) else {"a": about})]
        )
        connection.execute(
            "INSERT INTO event (job_id, lease_id, sequence, at, kind, data) VALUES (%s, %s, 7, now(),"
            " 'line', %s)",
            [work["job"], work["lease"], Jsonb({"text": about})],
        )
    job = work["job"]
    pages_work(
        running,
        f"/jobs/{job}",
        f"/api/v1/jobs/{job}/events",
        f"/api/v1/requests/{running.get(f'/jobs/{job}')['request']}",
    )
    with running.http("of rome-1") as http:
        end = {"outcome": "kernel-failed", "reason": "x"}
        http.post(f"/api/v1/leases/{work['lease']}/complete", json=end).raise_for_status()
        for path in (f"/jobs/{job}/stream", f"/api/v1/jobs/{job}/stream"):
            assert "event: end" in http.get(path).text


VALUES: list[Any] = [None, True, 0, -1, 1.5, "", "x", [], {}, [[]], [None], {"": None}, {"a": {"b": []}}]


def paths(holder: Any, at: tuple[Any, ...] = ()) -> Any:
    """Where something lies in a document."""
    items = (
        holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ()
    )
    for name, value in items:
        yield (*at, name)
        yield from paths(value, (*at, name))


def test_a_record_with_anything_anywhere_breaks_no_page(running: Running) -> None:
    """Each place of run.json holds each odd value in turn: what is taken can be read everywhere."""
    example = run_of(boots=1, cases=1)
    example.record["left_out"] = [
        {**example.record["plan"]["cases"][0], "status": "unsupported", "reason": "x"}
    ]
    arm_of(example.record, "head")["failure"] = {
        "whose": "kernel",
        "message": "m",
        "next_step": "n",
        "evidence": "e",
    }
    taken = 0
    with running.http("upload") as http:
        for number, where in enumerate(paths(example.record)):
            if where[0] in ("created", "identity"):
                continue
            for turn in range(3):
                value = VALUES[(number + 5 * turn) % len(VALUES)]
                run = run_of(boots=1, cases=1, seed=10_000 + 10 * number + turn)
                record = {**copy.deepcopy(example.record), "identity": run.record["identity"]}
                at: Any = record
                for name in where[:-1]:
                    at = at[name]
                at[where[-1]] = value
                body = {"host": run.host, "record": record, "job": None}
                answer = http.put(f"/api/v1/runs/{run.digest}", json=body)
                assert answer.status_code < 500, (where, value, answer.text)
                if answer.status_code >= 400:
                    continue
                taken += 1
                for _, boot in boots_of(run):
                    boot["environment"] = {str(where[-1]): value}
                    sent = http.put(f"/api/v1/runs/{run.digest}/boots/{boot['boot']['index']}", json=boot)
                    assert sent.status_code < 500, (where, value, sent.text)
                for path in (
                    f"/runs/{run.digest}",
                    f"/api/v1/runs/{run.digest}",
                    f"/runs/{run.digest}/boots/1",
                    "/runs",
                ):
                    shown = http.get(path)
                    assert shown.status_code < 500, (where, value, path, shown.text[-500:])
    assert taken > 40


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=30,
)


@given(json_values)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_what_the_check_lets_through_can_be_stored_and_read(document: Any) -> None:
    """And what it does not can be shown all the same."""
    try:
        free_form.refuse_odd(document)
    except Refusal:
        json.dumps(free_form.make_showable(document), allow_nan=False)
        return
    stored = json.dumps(
        free_form.replace_control_characters(document), allow_nan=False, ensure_ascii=False
    ).encode()
    assert b"\\u0000" not in stored
    assert free_form.make_showable(document) == document


def test_the_check_needs_no_stack() -> None:
    document: Any = []
    for _ in range(100_000):
        document = [document]
    with pytest.raises(Refusal, match="nested deeper"):
        free_form.refuse_odd(document)


@pytest.mark.parametrize("part", ["suites", "notes", "host", "guest", "bench", "toolchain", "profile"])
def test_an_odd_part_of_a_stored_record_is_left_out(running: Running, part: str) -> None:
    """As an older service took it."""
    run = run_of(boots=2, cases=1)
    with running.http("upload") as http:
        put_all(http, run)
    running.do_tasks()
    with running.service.transaction() as connection:
        ((stored,),) = connection.execute("SELECT record FROM run").fetchall()
        record = {**orjson.loads(unpack_content(stored)), part: 5}
        connection.execute("UPDATE run SET record = %s", [pack_content(orjson.dumps(record))])
    pages_work(
        running,
        f"/runs/{run.digest}",
        f"/runs/{run.digest}/boots/1",
        f"/compare/{run.digest}",
        f"/api/v1/runs/{run.digest}",
    )
