"""What pages show of jobs that run and wait: a host with a job works, however long ago it was seen."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from service_running import Running
from service_runs import commit_of

from cliffwatch_service.history.published_results import references
from cliffwatch_service.jobs.alarms import alarms, offline_hosts
from cliffwatch_service.jobs.estimates import Estimate, estimate_jobs
from cliffwatch_service.store.overview import TargetStatusRow
from cliffwatch_service.store.series import SeriesRow
from cliffwatch_service.store.work import queue
from cliffwatch_service.store.work.hosts import HostAtWorkRow

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
OFFER = {"host": "rome-1", "platform": "amd-rome", "modes": ["walltime"], "isolation": "bubblewrap"}


@pytest.fixture
def leased(running: Running) -> Any:
    """A service with one job that a host holds, and one that waits."""
    running.enrol("amd-rome", "walltime")
    with running.http("upload") as http:
        for number in range(2):
            body = {
                "tree": "https://git.example.org/bpf-next.git",
                "base": commit_of("base"),
                "head": commit_of(f"head{number}"),
                "targets": [{"platform": "amd-rome", "mode": "walltime"}],
                "suites": ["local-storage"],
            }
            http.post(
                "/api/v1/requests", json=body, headers={"Idempotency-Key": str(number)}
            ).raise_for_status()
    with running.http("work") as http:
        offer = {**OFFER, "about": {"modes": ["walltime"]}}
        work = http.post("/api/v1/offers", json=offer).raise_for_status().json()
    with running.service.transaction() as connection:
        connection.execute("UPDATE lease SET expires = %s", [running.clock.now() + timedelta(days=1)])
    running.clock.moment += timedelta(hours=1)
    return running, work["job"]


def test_a_running_job_says_nothing_of_hosts_that_do_not_work(leased: Any) -> None:
    running, _ = leased
    with running.http(None) as http:
        for path in ("/queue", "/", "/hosts"):
            assert "no host" not in http.get(path).text
        assert "<strong>offline</strong>" not in http.get("/hosts").text


def test_the_holder_of_a_job_counts_as_a_host_at_work(leased: Any) -> None:
    running, job = leased
    with running.service.transaction() as connection:
        estimates = estimate_jobs(connection, queue.queue_of(connection, 10), running.clock.now())
    by_id = {str(identity): expected for identity, expected in estimates.items()}
    assert by_id.pop(job) == Estimate(position=0, hosts=1, seconds=None, low=None, high=None)
    assert [(each.position, each.hosts) for each in by_id.values()] == [(1, 1)]


@pytest.mark.parametrize(("waiting", "words"), [(1, "1 job waits and"), (2, "2 jobs wait and")])
def test_jobs_that_nobody_will_take_are_an_alarm(waiting: int, words: str) -> None:
    target = TargetStatusRow(
        platform="amd-rome",
        mode="walltime",
        newest=None,
        newest_of_history=None,
        seen=None,
        running=0,
        waiting=waiting,
    )
    (alarm,) = alarms([target], [], NOW)
    assert alarm.startswith(f"amd-rome (walltime): {words} no host")
    assert alarms([replace(target, running=1)], [], NOW) == []


def test_a_host_without_a_job_is_offline_after_a_while() -> None:
    seen = NOW - timedelta(hours=1)
    host = HostAtWorkRow(
        name="rome-1",
        platform="amd-rome",
        added=seen,
        last_seen=seen,
        about={"modes": ["walltime"]},
        job=None,
        unfit={},
        quarantined_since=None,
        quarantine_reason=None,
        quarantine_run=None,
    )
    assert offline_hosts([host], NOW) == [host]
    assert offline_hosts([replace(host, job=uuid4())], NOW) == []


@pytest.mark.parametrize(("platform", "skylake"), [("intel-skylake", 1), ("amd-rome", 0), ("published", 0)])
def test_a_published_value_lies_beside_the_series_of_its_own_platform_alone(
    platform: str, skylake: int
) -> None:
    series = SeriesRow(
        id=1,
        digest="0" * 32,
        suite="local-storage",
        benchmark="local-storage-cache-seq-get",
        params=[["nr_maps", "16"]],
        metric="latency",
        unit="ns/op",
        platform=platform,
        mode="walltime",
    )
    labels = [each.label for each in references(series)]
    assert sum("Skylake" in label for label in labels) == skylake
    assert sum("2024" in label for label in labels) == 2, (
        "nobody wrote down on which machine: beside all of them"
    )
