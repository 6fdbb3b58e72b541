"""Options of `cliffwatch run` for what to measure: suites, the user's suite folders, and program inputs."""

import shlex
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any, TypeVar

import rich_click as click

from cliffwatch.catalogue.discovery import AUTO
from cliffwatch.catalogue.suite import GuestNeeds
from cliffwatch.failure import Failure
from cliffwatch_runner.plan.shapes import SHAPE_WORDS, parse_shape

F = TypeVar("F", bound=Callable[..., Any])


def _words(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(value or ""))
    except ValueError as error:
        raise click.BadParameter(f"{error}: quote it as for a shell") from None


def _shapes(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[GuestNeeds, ...]:
    shapes = []
    for value in values:
        shape = parse_shape(value)
        if isinstance(shape, Failure):
            raise click.BadParameter(f"{value!r}: {shape}")
        shapes.append(shape)
    if len(set(shapes)) < len(shapes):
        raise click.BadParameter("a shape is named twice")
    return tuple(shapes)


_OPTIONS = (
    click.option(
        "--suite",
        "suites",
        default=AUTO,
        show_default=True,
        help="Suites, separated by commas; `auto`: those whose cases execute the code that head changes; "
        "`all`; `discovered`: benchmarks that only this tree has; with a slash (./my-suite): a folder of "
        "your own.",
    ),
    click.option(
        "--bench-args",
        callback=_words,
        metavar="LINE",
        help="Arguments for the benchmarks of `discovered`, one line quoted as for a shell; "
        "{data} stands for the file of --data.",
    ),
    click.option(
        "--data",
        type=click.Path(path_type=Path, exists=True),
        help="File that programs read. The guest has it read-only, at the path in CLIFFWATCH_DATA. For "
        "suites veristat and prog-run: a folder of BPF objects (*.o), with packets, contexts and recorded "
        "configurations beside them, instead of the selftests. At most 64 MiB.",
    ),
    click.option(
        "--shape",
        "shapes",
        multiple=True,
        metavar="'cpus=N …'",
        callback=_shapes,
        help=f"Guest for every case without its own: {SHAPE_WORDS}; may be repeated.",
    ),
)


case_option = click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="PATTERN",
    help="Case to measure, with its empty loop: a part of its name, or a pattern with *; may be repeated; "
    "default: all of the profile.",
)
"""Adds `--case`. The command gets `cases`."""


def suite_options(command: F) -> F:
    """Adds the options in order. The command gets `suites` as text, `bench_args`, `data` and `shapes`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def take_suites(options: MutableMapping[str, object]) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Removes `suites` from the options.

    Returns the names of suites, and the folders (names with a slash).
    """
    named = dict.fromkeys(name.strip() for name in str(options.pop("suites")).split(",") if name.strip())
    return tuple(name for name in named if "/" not in name), tuple(
        Path(name) for name in named if "/" in name
    )
