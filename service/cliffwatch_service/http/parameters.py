"""Refuses query parameters that an endpoint does not have: a misspelt filter would answer everything."""

from collections.abc import Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from cliffwatch.suggesting import did_you_mean
from cliffwatch_service.refusal import Refusal

_LONGEST_SHOWN = 60


def refuse_unknown_parameters(request: Request) -> None:
    """A dependency of every API router. Raises Refusal (422) and names the parameters there are."""
    if not request.query_params:
        return
    route = request.scope["route"]
    assert isinstance(route, APIRoute)
    known = list(dict.fromkeys(_parameters(route.dependant)))
    for name in request.query_params:
        if name not in known:
            raise Refusal(422, "no such parameter", _unknown(name[:_LONGEST_SHOWN], known))


def _parameters(part: Dependant) -> Iterator[str]:
    """Names of the query parameters of an endpoint and of what it depends on."""
    yield from (each.alias for each in part.query_params)
    for below in part.dependencies:
        yield from _parameters(below)


def _unknown(name: str, known: list[str]) -> str:
    if not known:
        return f"this address takes no parameters: leave out {name!r}"
    return f"this address has no parameter {name!r}: it takes {', '.join(known)}{did_you_mean(name, known)}"
