"""The pages of suites: what each case measures, and where it comes from."""

from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from cliffwatch.catalogue.discovery import DISCOVERED
from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.catalogue.suite import CaseSpec
from cliffwatch.comparing.ordering import natural_key
from cliffwatch.samples import PROFILES
from cliffwatch_service.refusal import not_found
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import ReaderHere
from cliffwatch_service.web.layout.wording import parameters

router = APIRouter()


@router.get("/suites")
def list_suites(request: Request, visitor: ReaderHere) -> Response:
    suites = load_catalogue().suites
    counts = {suite.name: {profile: len(suite.cases(profile)) for profile in PROFILES} for suite in suites}
    return page(request, visitor, "suites.html", suites=suites, profiles=PROFILES, counts=counts)


@router.get("/suites/{name}")
def show_suite(name: Annotated[str, Path(max_length=200)], request: Request, visitor: ReaderHere) -> Response:
    if name == DISCOVERED:
        return page(request, visitor, "discovered.html")
    suite = next((suite for suite in load_catalogue().suites if suite.name == name), None)
    if suite is None:
        raise not_found("suite", name)
    return page(request, visitor, "suite.html", suite=suite, ordered=_sort_cases)


def _sort_cases(cases: Iterable[CaseSpec]) -> list[CaseSpec]:
    """Sorts cases in natural order of their parameters, whatever their order in the profiles."""
    return sorted(cases, key=lambda case: natural_key(parameters(case.params)))
