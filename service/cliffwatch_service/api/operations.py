"""Endpoints for operators: health, readiness and metrics."""

import math
import shutil

import psycopg
import structlog
from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, Gauge, generate_latest
from psycopg_pool import PoolTimeout

from cliffwatch_service.http.context import Allowed, ServiceHere
from cliffwatch_service.jobs.alarms import online_hosts
from cliffwatch_service.jobs.staleness import stale_targets
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import database
from cliffwatch_service.store.background import counts, oldest_queued
from cliffwatch_service.store.history.news import outbox
from cliffwatch_service.store.work.hosts import list_hosts

PATHS = ("/healthz", "/readyz", "/metrics")
router = APIRouter(tags=["operations"])
_log = structlog.get_logger("cliffwatch")


@router.get("/healthz", summary="Whether the process is alive", response_class=PlainTextResponse)
async def healthz() -> str:
    """Runs on the event loop, because all threads may be waiting for the database."""
    return "alive\n"


@router.get(
    "/readyz",
    summary="Whether requests can be answered: the database is reachable",
    response_class=PlainTextResponse,
)
def readyz(service: ServiceHere) -> str:
    try:
        with service.pool.connection(timeout=2) as connection:
            database.answers(connection)
    except (psycopg.Error, PoolTimeout) as error:
        _log.error("database away", reason=str(error)[:500])
        raise Refusal(
            503, "not ready", "the database does not answer: see the reason in the service's log"
        ) from None
    return "ready\n"


JOBS = Gauge("cliffwatch_jobs", "Jobs in each state", ["state"])
TASKS = Gauge("cliffwatch_tasks", "Background tasks in each state", ["state"])

NEWS = Gauge("cliffwatch_news_deliveries", "Deliveries of news in each state", ["channel", "state"])
STALE = Gauge(
    "cliffwatch_stale_cases",
    "Cases of a followed branch without a fresh point",
    ["branch", "platform", "mode"],
)

HOSTS_ONLINE = Gauge("cliffwatch_hosts_online", "Hosts that are online", ["platform"])
HOSTS_QUARANTINED = Gauge("cliffwatch_hosts_quarantined", "Hosts that are in quarantine", ["platform"])
OLDEST_JOB = Gauge("cliffwatch_oldest_queued_job_seconds", "Age of the oldest queued job; 0 if none waits")
BACKUP_AGE = Gauge("cliffwatch_backup_age_seconds", "Age of the last verified backup; +Inf if there was none")
DATABASE_BYTES = Gauge("cliffwatch_database_bytes", "Size of the database")
DISK_FREE_BYTES = Gauge("cliffwatch_data_disk_free_bytes", "Free space below CLIFFWATCH_DATA_DIR")


@router.get("/metrics", summary="Prometheus metrics", response_class=PlainTextResponse)
def metrics(service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        states = counts(connection)
        deliveries = outbox.delivery_counts(connection)
        stale = stale_targets(connection, service.now())
        known = list_hosts(connection)
        online = online_hosts(known, service.now())
        oldest = oldest_queued(connection)
        backup = database.last_backup(connection)
        DATABASE_BYTES.set(database.size_bytes(connection))
    OLDEST_JOB.set((service.now() - oldest).total_seconds() if oldest else 0)
    BACKUP_AGE.set((service.now() - backup).total_seconds() if backup else math.inf)
    DISK_FREE_BYTES.set(shutil.disk_usage(service.settings.data_dir).free)
    HOSTS_ONLINE.clear()
    for platform, hosts in online.items():
        HOSTS_ONLINE.labels(platform).set(hosts)
    HOSTS_QUARANTINED.clear()
    for host in known:
        HOSTS_QUARANTINED.labels(host.platform).inc(host.quarantined_since is not None)
    for gauge, name in ((JOBS, "jobs"), (TASKS, "tasks")):
        gauge.clear()
        for state, count in states[name].items():
            gauge.labels(state).set(count)
    NEWS.clear()
    for each in deliveries:
        NEWS.labels(each.channel, each.state).set(each.n)
    STALE.clear()
    for target in stale:
        STALE.labels(target.branch, target.platform, target.mode).set(len(target.cases))
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
