"""What `cliffwatch bisect` and `cliffwatch bisect-run` are asked alike: which change of which cases, and how it is measured."""

from collections.abc import Callable
from typing import Any, TypeVar

import rich_click as click

from cliffwatch_runner.command.options.cache import cache_option
from cliffwatch_runner.command.options.measuring import isolation_option, profile_option, request_of
from cliffwatch_runner.command.options.suites import case_option
from cliffwatch_runner.plan.request import RunRequest

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--suite",
        "suites",
        default="local-storage",
        show_default=True,
        help="Suites of the cases, with commas between them.",
    ),
    case_option,
    click.option(
        "--threshold",
        type=click.FloatRange(0, 100),
        metavar="PERCENT",
        help="Smallest change that makes a commit bad; default: that of each row, as in a report.",
    ),
    click.option(
        "--change",
        "sought",
        type=click.Choice(["regression", "improvement"]),
        default="regression",
        show_default=True,
        help="Change that makes a commit bad; with improvement, `bad` is the commit from which on it is better.",
    ),
    click.option("--tree", default=".", show_default=True, help="Repository that is bisected."),
    profile_option("Length of the cases."),
    isolation_option(),
    cache_option("Folder of kernels and build output; default: ~/.cache/cliffwatch."),
)


def bisection_options(command: F) -> F:
    """Adds the options, in their order; what they give but `sought` is for `bisection_request`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def bisection_request(
    *, tree: str, suites: str, threshold: float | None, base: str, head: str, **options: Any
) -> RunRequest:
    """A run of two commits, with bench of the base: what measures is the same in every step."""
    return request_of(
        tree=tree,
        base=base,
        head=head,
        patch=None,
        suites=tuple(dict.fromkeys(name.strip() for name in suites.split(",") if name.strip())),
        bench_from="base",
        notable=None if threshold is None else threshold / 100,
        **options,
    )
