"""Health, readiness and metrics, for those who keep the service running."""

import psycopg
from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from psycopg_pool import PoolTimeout

from cliffwatch_service.api.context import ServiceHere
from cliffwatch_service.refusal import Refusal

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


@router.get("/metrics", summary="Prometheus metrics", response_class=PlainTextResponse)
def metrics() -> Response:
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
