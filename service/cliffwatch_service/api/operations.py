"""Endpoints for operators: health, readiness and metrics."""

import psycopg
import structlog
from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, Gauge, generate_latest
from psycopg_pool import PoolTimeout

from cliffwatch_service.http.context import Allowed, ServiceHere
from cliffwatch_service.jobs.staleness import stale_targets
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import database
from cliffwatch_service.store.background import counts
from cliffwatch_service.store.history.news import outbox

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


@router.get("/metrics", summary="Prometheus metrics", response_class=PlainTextResponse)
def metrics(service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        states = counts(connection)
        deliveries = outbox.delivery_counts(connection)
        stale = stale_targets(connection, service.now())
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
