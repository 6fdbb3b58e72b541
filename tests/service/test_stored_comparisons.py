"""Comparing what is stored: of one run, of two, and with the nearest measured ancestor."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from service_running import Running
from service_runs import commit_of, put_all, record_of, run_of

from cliffwatch_service.compare.pairing import make_answer, pair_revisions
from cliffwatch_service.store.trees import RevisionFacts, keep_revision


def upload(running: Running, *made: Any) -> None:
    with running.http("upload") as http:
        for run in made:
            put_all(http, run)
    running.do_tasks()


def row_of(compared: Any, benchmark: str) -> Any:
    return next(row for row in compared["comparisons"] if row["benchmark"] == benchmark)


def test_two_revisions_are_compared_in_the_run_that_measured_both(running: Running) -> None:
    run = run_of(boots=8, cases=3, shift=0.1)
    upload(running, run)
    compared = running.get(f"/comparisons/{commit_of('base')[:12]}...{commit_of('head')[:12]}")

    assert row_of(compared, "local-storage-cache-seq-get")["verdict"] == "regression"
    assert compared["targets"][0]["runs"] == [run.digest]
    assert [arm["facts"]["commit"] for arm in compared["arms"]] == [commit_of("base"), commit_of("head")]


def test_revisions_of_two_runs_are_compared_when_asked(running: Running) -> None:
    upload(
        running,
        run_of(boots=8, cases=3, base="one", head="two", seed=1),
        run_of(
            boots=8, cases=3, base="two", head="three", shift=0.1, seed=2, created="2026-11-21T11:00:00+00:00"
        ),
    )
    compared = running.get(f"/comparisons/{commit_of('one')}...{commit_of('three')}")
    assert row_of(compared, "local-storage-cache-seq-get")["verdict"] == "regression"
    assert len(compared["targets"][0]["runs"]) == 2


def test_runs_of_different_compilers_are_shown_and_not_judged(running: Running) -> None:
    upload(
        running,
        run_of(boots=8, cases=3, base="one", head="two", seed=1),
        run_of(boots=8, cases=3, base="two", head="three", shift=0.1, seed=2, config="e" * 64),
    )
    row = row_of(
        running.get(f"/comparisons/{commit_of('one')}...{commit_of('three')}"), "local-storage-cache-seq-get"
    )
    assert row["verdict"] == "invalid"
    assert "config" in row["reason"]


def test_the_nearest_measured_ancestor_is_named(running: Running) -> None:
    """Three descends from two, which nobody measured, and two from one."""
    parents = {"three": ["two"], "two": ["one"]}
    upload(running, run_of(boots=8, cases=3, base="zero", head="one", seed=1))
    with running.service.transaction() as connection:
        keep_revision(connection, RevisionFacts(commit=commit_of("two"), parents=[commit_of("one")]))
    upload(
        running, run_of(boots=8, cases=3, base="elsewhere", head="three", parents=parents, shift=0.1, seed=2)
    )

    compared = running.get(f"/comparisons/nearest...{commit_of('three')}")
    assert compared["arms"][0]["facts"]["commit"] == commit_of("one")
    assert compared["targets"][0]["distance"] == 2
    assert row_of(compared, "local-storage-cache-seq-get")["verdict"] == "regression"


def test_platforms_are_never_mixed(running: Running) -> None:
    upload(
        running,
        run_of(boots=8, cases=3, seed=1),
        run_of(boots=8, cases=3, seed=2, platform="intel-skylake", host="skylake-1", shift=0.1),
    )
    compared = running.get(f"/comparisons/{commit_of('base')}...{commit_of('head')}")
    verdicts = {
        row["platform"]: row["verdict"]
        for row in compared["comparisons"]
        if row["benchmark"] == "local-storage-cache-seq-get"
    }
    assert verdicts["intel-skylake"] == "regression"
    assert verdicts["amd-rome"] != "regression"
    only = running.get(f"/comparisons/{commit_of('base')}...{commit_of('head')}", platform="amd-rome")
    assert {row["platform"] for row in only["comparisons"]} == {"amd-rome"}


def test_an_answer_that_the_client_has_is_not_sent_again(running: Running) -> None:
    upload(running, run_of(boots=4, cases=3))
    address = f"/api/v1/comparisons/{commit_of('base')}...{commit_of('head')}"
    with running.http(None) as http:
        first = http.get(address)
        again = http.get(address, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_more_boots_make_another_comparison(running: Running) -> None:
    """A run that goes on after it was analysed is analysed anew."""
    run = run_of(boots=4, cases=3)
    upload(running, run)
    before = running.get(f"/runs/{run.digest}/comparison")["comparison"]
    with running.service.transaction() as connection:
        connection.execute("UPDATE comparison SET inputs = 'other boots'")
    running.get(f"/comparisons/{commit_of('base')}...{commit_of('head')}")
    assert running.get(f"/runs/{run.digest}/comparison")["comparison"] == before
    assert running.rows("SELECT count(*) AS n FROM comparison") == [{"n": 1}]


@pytest.mark.parametrize(
    ("pair", "status", "says"),
    [
        ("main", 422, "BASE...HEAD"),
        ("...", 422, "BASE...HEAD"),
        ("zz...yy", 422, "no commit"),
        ("1234567...7654321", 404, "was measured or followed"),
        (f"1234567...{commit_of('head')}", 404, "1234567"),
        (f"nearest...{commit_of('head')}", 404, "ancestor"),
        (f"{commit_of('head')}...{commit_of('lonely')}", 404, "not measured"),
    ],
)
def test_what_cannot_be_compared_says_what_to_do(running: Running, pair: str, status: int, says: str) -> None:
    upload(running, run_of(boots=1, cases=1))
    with running.service.transaction() as connection:
        keep_revision(connection, RevisionFacts(commit=commit_of("lonely")))
    with running.http(None) as http:
        answer = http.get(f"/api/v1/comparisons/{pair}")
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert says in answer.json()["detail"]


def test_a_run_is_decided_by_the_threshold_that_it_was_given(running: Running) -> None:
    run = run_of(boots=8, cases=3, shift=0.1)
    run.record["plan"]["notable"] = 0.6
    upload(running, run)
    row = row_of(running.get(f"/runs/{run.digest}/comparison"), "local-storage-cache-seq-get")
    assert (row["verdict"], row["threshold"], row["interval_level"]) == ("unchanged", 0.6, 0.99)


def test_a_threshold_that_is_none_is_refused(running: Running) -> None:
    run = run_of(boots=1, cases=1)
    run.record["plan"]["notable"] = 7
    with running.http("upload") as http:
        answer = http.put(f"/api/v1/runs/{run.digest}", json=record_of(run))
    assert answer.status_code == 422
    assert "notable" in answer.json()["detail"]


def test_readers_of_several_targets_do_not_wait_for_each_other_in_a_circle(running: Running) -> None:
    """One has compared the first target and not committed yet, another waits for that: the first one goes on
    all the same.
    """
    upload(
        running,
        run_of(boots=4, cases=3, seed=1, base="one", head="two"),
        run_of(boots=4, cases=3, seed=2, base="two", head="three", created="2026-11-21T11:00:00+00:00"),
        *(
            run_of(
                boots=4, cases=3, seed=seed, base=base, head=head, platform="intel-skylake", host="skylake-1"
            )
            for seed, base, head in ((3, "one", "two"), (4, "two", "three"))
        ),
    )
    now, service = running.clock.now(), running.service
    with service.transaction() as first, ThreadPoolExecutor(1) as pool:
        paired = pair_revisions(first, commit_of("one"), commit_of("three"), None, None)
        make_answer(first, paired.pairs[0], now)
        with psycopg.connect(running.database, autocommit=True) as looking:
            other = pool.submit(
                lambda: running.get(f"/comparisons/{commit_of('one')}...{commit_of('three')}")
            )
            while not waits_for_a_transaction(looking):
                assert not other.done(), other.result()
        make_answer(first, paired.pairs[1], now)
        first.commit()
        assert len(other.result()["targets"]) == 2


def waits_for_a_transaction(connection: psycopg.Connection[Any]) -> bool:
    query = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    return connection.execute(query).fetchone() is not None
