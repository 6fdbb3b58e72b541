"""Options that `cliffwatch bisect` and `cliffwatch bisect-run` share."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, get_args

import rich_click as click

from cliffwatch.catalogue.discovery import AUTO
from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.command.numbers import FiniteRange
from cliffwatch.failure import Failure
from cliffwatch.stats.history.culprits.question import ChangeDirection
from cliffwatch_runner.build.cache.executed import measured_by_case
from cliffwatch_runner.command.options.cache import cache_option
from cliffwatch_runner.command.options.measuring import isolation_option, make_request, profile_option
from cliffwatch_runner.command.options.suites import case_option
from cliffwatch_runner.plan.arms import ArmRequest
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.suites.affected import measured_by_suite
from cliffwatch_runner.plan.suites.auto import suites_of_changes
from cliffwatch_runner.source.named_repository import repository_reader
from cliffwatch_runner.source.ranges.changes import changed_files

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--suite",
        "suites",
        default=AUTO,
        show_default=True,
        help="Suites of the cases, separated by commas; `auto`: those whose cases execute the code that "
        "changed between good and bad.",
    ),
    case_option,
    click.option(
        "--threshold",
        type=FiniteRange(0, 100),
        metavar="PERCENT",
        help="Smallest change that makes a commit bad; default: the threshold of each row, as in a report.",
    ),
    click.option(
        "--change",
        "sought",
        type=click.Choice(get_args(ChangeDirection)),
        default="regression",
        show_default=True,
        help="Change that makes a commit bad; with improvement, `bad` is the commit that is better.",
    ),
    click.option("--tree", default=".", show_default=True, help="Repository to bisect."),
    profile_option("Length of the cases."),
    isolation_option(),
    cache_option("Folder of kernels and build output; default: ~/.cache/cliffwatch."),
)


def bisection_options(command: F) -> F:
    """Adds the options in order. All of their values except `sought` go to `bisection_request`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def bisection_request(
    *, tree: str, suites: str, threshold: float | None, base: str, head: str, **options: Any
) -> RunRequest:
    """Makes a run of two commits with base's bench, so that every step measures with the same program."""
    return make_request(
        tree=tree,
        base=None,
        head=None,
        arms=(ArmRequest(name="base", rev=base), ArmRequest(name="head", rev=head)),
        patch=None,
        suites=tuple(dict.fromkeys(name.strip() for name in suites.split(",") if name.strip())),
        bench_from="base",
        notable=None if threshold is None else threshold / 100,
        **options,
    )


def resolve_auto_suites(
    request: RunRequest, repository: Path, good: str, bad: str
) -> tuple[RunRequest, str] | Failure:
    """Replaces `auto` with the same suites for every step.

    Returns the request, and the sentence with the reason.
    """
    if AUTO not in request.suites or request.cases:
        return request, ""
    counted = measured_by_suite(measured_by_case(request.cache, request.trust))
    with repository_reader(repository) as read:
        changes = changed_files(read, good, bad)
    if isinstance(changes, Failure):
        return changes
    chosen = suites_of_changes(load_catalogue().suites, changes, request.suites, counted)
    return chosen if isinstance(chosen, Failure) else (replace(request, suites=chosen.names), chosen.sentence)
