"""The HTTP API, under /api/v1: JSON in, JSON out."""

from fastapi import APIRouter

from cliffwatch_service.api import (
    comparisons,
    exchange,
    follows,
    github,
    hosts,
    requests,
    runs,
    search,
    series,
    suites,
    tokens,
)
from cliffwatch_service.api.regressions import news, reports


def routers() -> tuple[APIRouter, ...]:
    """Returns the routers of all resources in the order of the OpenAPI description."""
    parts = (
        runs,
        comparisons,
        series,
        search,
        reports,
        news,
        suites,
        exchange,
        requests,
        hosts,
        follows,
        github,
        tokens,
    )
    return tuple(part.router for part in parts)
