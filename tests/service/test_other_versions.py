"""A worker and a service of other versions than each other: refused in words or understood, never an error of
the service, and no result lost.
"""

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from asking import ask, offer
from made_documents import made_work
from service_running import Running
from service_runs import boots_of, record_of, run_of

from cliffwatch_runner.worker.delivery import redeliver
from cliffwatch_runner.worker.host import Worker, WorkerHost
from cliffwatch_runner.worker.spool import Spool

OFFER = {"host": "rome-1", "platform": "amd-rome", "modes": ["walltime"], "isolation": "bubblewrap"}
NEW = {"member_of_tomorrow": {"a": [1, 2]}}


def changed(body: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at a place; None takes the member away."""
    copied = copy.deepcopy(body)
    inner = copied
    for step in path[:-1]:
        inner = inner[step]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return copied


def sane(answer: Any) -> None:
    """Taken, or refused with a reason that somebody can act on."""
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert answer.json()["title"]
        assert answer.json()["detail"]


@pytest.mark.parametrize(
    "body",
    [
        {**OFFER, **NEW},
        *({name: value for name, value in OFFER.items() if name != left} for left in OFFER),
        {**OFFER, "modes": ["quantum"]},
        {**OFFER, "modes": "walltime"},
        {**OFFER, "isolation": "gvisor"},
        {**OFFER, "setups": "yes"},
        {**OFFER, "cpus": -1},
        {**OFFER, "about": []},
    ],
    ids=str,
)
def test_offers_of_other_workers(running: Running, body: Any) -> None:
    ask(running)
    with running.http("work") as http:
        sane(http.post("/api/v1/offers", json=body))


@pytest.mark.parametrize(
    "end",
    [
        {"outcome": "done"},
        {"outcome": "paused", "reason": "of tomorrow"},
        {"outcome": "done", "reason": None, "run": None, **NEW},
        {"state": "done"},
        {},
        [],
    ],
    ids=str,
)
def test_ends_of_other_workers(running: Running, end: Any) -> None:
    made = ask(running)
    lease = offer(running)["lease"]
    with running.http("work") as http:
        sane(http.post(f"/api/v1/leases/{lease}/complete", json=end))
    assert running.get(f"/jobs/{made['jobs'][0]['job']}")["state"] in ("leased", "queued", "done", "parked")


@pytest.mark.parametrize(
    "event",
    [
        {"number": 0, "kind": "of tomorrow", "at": "2026-11-21T12:00:00+00:00", "data": {}},
        {"number": 0, "kind": "line", "at": "yesterday", "data": {"text": "x"}},
        {"number": 0, "kind": "line", "at": "2026-11-21T12:00:00+00:00", "data": {"text": "x"}, **NEW},
        {"kind": "line"},
    ],
    ids=str,
)
def test_events_of_other_workers(running: Running, event: Any) -> None:
    ask(running)
    lease = offer(running)["lease"]
    with running.http("work") as http:
        sane(http.post(f"/api/v1/leases/{lease}/events", json={"events": [event]}))
        sane(http.post(f"/api/v1/leases/{lease}/heartbeat", json=NEW))


RECORDS = [
    *((("format_version",), version) for version in (0, 2, 99, "1", None)),
    *((("member_of_tomorrow",), value) for value in ({}, [1])),
    *(
        ((name,), None)
        for name in ("arms", "plan", "bench", "toolchain", "created", "status", "identity", "mode")
    ),
    (("status",), "of tomorrow"),
    (("mode",), "of tomorrow"),
    (("plan", "stages"), {"of": "tomorrow"}),
    (("plan", "boots", 0, "stage"), "of tomorrow"),
]


@pytest.mark.parametrize(("path", "value"), RECORDS, ids=str)
def test_records_of_other_workers(running: Running, path: Any, value: Any) -> None:
    run = run_of(boots=1, cases=2)
    with running.http("work") as http:
        whole = record_of(run)
        sane(
            http.put(
                f"/api/v1/runs/{run.digest}", json={**whole, "record": changed(whole["record"], path, value)}
            )
        )
        running.do_tasks()
        for page in (f"/api/v1/runs/{run.digest}", f"/runs/{run.digest}", "/"):
            sane(http.get(page)) if page.startswith("/api") else None
            assert http.get(page).status_code < 500


BOOTS = [
    *(((name,), None) for name in ("boot", "environment", "samples", "outcomes", "problems")),
    (("member_of_tomorrow",), 1),
    (("boot", "format_version"), 99),
    (("boot", "status"), "of tomorrow"),
    (("samples", 0, "metric"), None),
    (("samples", 0, "member_of_tomorrow"), 1),
    (("outcomes", 0, "status"), "of tomorrow"),
]


@pytest.mark.parametrize(("path", "value"), BOOTS, ids=str)
def test_boots_of_other_workers(running: Running, path: Any, value: Any) -> None:
    run = run_of(boots=1, cases=2)
    with running.http("work") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run)).raise_for_status()
        number, body = next(iter(boots_of(run)))
        sane(http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=changed(body, path, value)))


def test_results_that_only_another_version_reads_stay_on_the_host(
    running: Running, data: Path, host: WorkerHost, tmp_path: Path
) -> None:
    """A host that was updated before its service, or a spool that is older than both."""
    spool = Spool(tmp_path / "spool")
    spooled = spool.begin(made_work(job="another"))
    shutil.copytree(data / "runs/uninlined", spooled.results)
    record = json.loads((spooled.results / "run.json").read_text())
    (spooled.results / "run.json").write_text(json.dumps({**record, "format_version": 99}))
    lines: list[str] = []
    redeliver(Worker(running.client("work"), host, lines.append), [spooled])
    kept = [*spooled.folder.glob("results*/run.json")]
    assert len(kept) == 1
    assert json.loads(kept[0].read_text())["format_version"] == 99
    assert not spooled.delivered
    assert "99" in "\n".join(lines), lines
