"""Health, readiness and metrics, for those who keep the service running."""

import psycopg
from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, Gauge, generate_latest
from psycopg_pool import PoolTimeout

from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store.tasks import counts

PATHS = ("/healthz", "/readyz", "/metrics")
router = APIRouter(tags=["operations"])


@router.get("/healthz", summary="Whether the process lives", response_class=PlainTextResponse)
def healthz() -> str:
    return "alive\n"


@router.get(
    "/readyz", summary="Whether requests can be answered: the database is there", response_class=PlainTextResponse
)
def readyz(service: ServiceHere) -> str:
    try:
        with service.pool.connection(timeout=2) as connection:
            connection.execute("SELECT 1")
    except (psycopg.Error, PoolTimeout) as error:
        raise Refusal(503, "not ready", f"the database does not answer: {str(error)[:200]}") from None
    return "ready\n"


JOBS = Gauge("cliffwatch_jobs", "Jobs in each state", ["state"])
TASKS = Gauge("cliffwatch_tasks", "Background tasks in each state", ["state"])


@router.get("/metrics", summary="Prometheus metrics", response_class=PlainTextResponse)
def metrics(service: ServiceHere) -> Response:
    with service.transaction() as connection:
        found = counts(connection)
    for gauge, name in ((JOBS, "jobs"), (TASKS, "tasks")):
        gauge.clear()
        for state, count in found[name].items():
            gauge.labels(state).set(count)
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
