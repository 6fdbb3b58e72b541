"""Several service processes on one database, asked by turns as behind a proxy (docs/scaling.md)."""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from load.served import Served
from service_runs import boots_of, commit_of, record_of, run_of
from simulated_day.services import beside

from cliffwatch_service.access.tokens import make_token
from cliffwatch_service.postgres.pool import open_pool
from cliffwatch_service.runtime import clock

KEY = {"CLIFFWATCH_SESSION_KEY": "k" * 40}


@pytest.fixture
def three(database: str, tmp_path: Path) -> Iterator[list[Served]]:
    """Three processes with data directories of their own; the last one lacks the others' session key."""
    pool = open_pool(database, connections=2, statement_seconds=10)
    with pool, pool.connection() as connection:
        secret = make_token(connection, "everybody", ["admin"], by="test", now=clock.now())
    stub = Served("", secret, database, 0, tmp_path)
    with ExitStack() as stack:
        served = []
        for number, given in enumerate((KEY, KEY, {})):
            folder = tmp_path / f"service-{number}"
            folder.mkdir()
            served.append(stack.enter_context(beside(stub, folder, given)))
        yield served


def test_processes_answer_by_turns_as_one(three: list[Served]) -> None:
    run = run_of(boots=6, cases=3, shift=0.1)
    with ExitStack() as stack:
        turns = itertools.cycle([stack.enter_context(service.http()) for service in three])
        offer = {"platform": "amd-rome", "modes": ["walltime"], "isolation": "bubblewrap"}
        assert next(turns).post("/api/v1/offers", json={"host": "rome-1", **offer}).status_code == 204
        asked = [ask(next(turns), run).json() for _ in three]
        assert len({each["request"] for each in asked}) == 1

        work = next(turns).post("/api/v1/offers", json={"host": "rome-1", **offer}).json()
        assert next(turns).post("/api/v1/offers", json={"host": "rome-2", **offer}).status_code == 204
        run.record["plan"]["seed"] = work["seed"]
        put(next(turns), f"runs/{run.digest}", record_of(run, job=work["job"]))
        for number, body in boots_of(run):
            put(next(turns), f"runs/{run.digest}/boots/{number}", body)
        assert next(turns).post(f"/api/v1/leases/{work['lease']}/heartbeat", json={}).json() == {
            "cancel": False
        }
        end = {"outcome": "done", "run": run.digest}
        assert next(turns).post(f"/api/v1/leases/{work['lease']}/complete", json=end).json() == {
            "state": "done"
        }

        answers = [
            next(turns).get(f"/api/v1/comparisons/{commit_of('base')}...{commit_of('head')}").json()
            for _ in three
        ]
    assert [each["comparisons"] for each in answers] == [answers[0]["comparisons"]] * 3
    assert answers[0]["targets"][0]["counts"]["regression"] == 1
    with psycopg.connect(three[0].database) as connection:
        row = connection.execute("SELECT count(*), count(DISTINCT number) FROM boot").fetchone()
    assert row == (12, 12)


def ask(http: httpx2.Client, run: Any) -> httpx2.Response:
    body = {
        "tree": run.record["tree"],
        "base": commit_of("base"),
        "head": commit_of("head"),
        "targets": [{"platform": "amd-rome", "mode": "walltime"}],
        "suites": ["local-storage"],
    }
    return http.post("/api/v1/requests", json=body, headers={"Idempotency-Key": "once"}).raise_for_status()


def put(http: httpx2.Client, path: str, body: Any) -> None:
    http.put(f"/api/v1/{path}", json=body).raise_for_status()


def test_a_browser_is_signed_in_at_all_that_share_the_session_key(three: list[Served]) -> None:
    first, second, stranger = three
    with httpx2.Client(trust_env=False, timeout=60) as http:
        answer = http.post(f"{first.url}/sign-in", data={"token": first.token, "next": "/"})
        assert answer.status_code == 303
        cookie = answer.headers["set-cookie"].partition(";")[0]
        signed_in = {
            each.url: "everybody" in http.get(each.url, headers={"Cookie": cookie}).text for each in three
        }
    assert signed_in == {first.url: True, second.url: True, stranger.url: False}
