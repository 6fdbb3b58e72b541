"""Endpoints for the suites of the catalogue."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.catalogue.suite import Suite
from cliffwatch_service.api.answers import answer
from cliffwatch_service.api.models.lists import Page
from cliffwatch_service.api.models.results import BenchmarkAbout, SuiteListed, SuiteWhole
from cliffwatch_service.http.context import PREFIX, Allowed
from cliffwatch_service.refusal import not_found

router = APIRouter(prefix=PREFIX, tags=["suites"])


@router.get("/suites", summary="Every suite of the catalogue", responses={200: {"model": Page[SuiteListed]}})
def list_suites(request: Request, _: Allowed) -> Response:
    return answer(request, {"items": [_about(suite) for suite in load_catalogue().suites], "next": None})


@router.get("/suites/{name}", summary="A suite and its benchmarks", responses={200: {"model": SuiteWhole}})
def read_suite(name: Annotated[str, Path(max_length=200)], request: Request, _: Allowed) -> Response:
    suite = next((suite for suite in load_catalogue().suites if suite.name == name), None)
    if suite is None:
        raise not_found("suite", name)
    benchmarks = [
        BenchmarkAbout(
            benchmark=each.name,
            formerly=list(each.formerly),
            about=each.about,
            kind=each.kind,
            primary=each.primary,
        )
        for each in suite.benchmarks
    ]
    whole = SuiteWhole(suite=suite.name, title=suite.title, about=suite.about, benchmarks=benchmarks)
    return answer(request, whole)


def _about(suite: Suite) -> SuiteListed:
    return SuiteListed(
        suite=suite.name, title=suite.title, about=suite.about, benchmarks=len(suite.benchmarks)
    )
