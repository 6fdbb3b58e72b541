"""Writes to the terminal. Only this module evaluates NO_COLOR (no-color.org) and TERM=dumb."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, get_args

import click

from cliffwatch.command.help_groups import group_help
from cliffwatch.failure import Exit, Failure
from cliffwatch.reports.styles import visible

if TYPE_CHECKING:
    from rich.console import Console

Form = Literal["text", "json"]

_UNBROKEN = 100_000
"""Columns in a pipe: a program that reads it needs names that are neither cut nor wrapped."""


def form_option(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds the option `--format text|json`, as the argument `form`, to a command that is no report."""
    return click.option(
        "--format", "form", type=click.Choice(get_args(Form)), default="text", show_default=True, help=what
    )


def wants_no_colour() -> bool:
    """True if the environment asks for plain text without any style: neither colour nor bold."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM", "").lower() in ("dumb", "unknown")


def console(*, stderr: bool = False, soft_wrap: bool = False) -> "Console":
    """Returns a rich console without automatic highlighting. It never wraps lines in a pipe."""
    from cliffwatch.command.visible_console import VisibleConsole  # noqa: PLC0415 - reports are written without rich

    system: Literal["auto"] | None = None if wants_no_colour() else "auto"
    made = VisibleConsole(stderr=stderr, soft_wrap=soft_wrap, highlight=False, color_system=system)
    if not made.is_terminal:
        made.width = _UNBROKEN
    return made


def style_help() -> None:
    """Groups commands and options, and makes help and usage messages respect NO_COLOR and TERM=dumb."""
    import rich_click  # noqa: PLC0415 - a service writes to a terminal too, and has no help

    group_help(rich_click.rich_click)
    rich_click.rich_click.COLOR_SYSTEM = None if wants_no_colour() else "auto"


def say(text: str) -> None:
    """Prints text to standard error. Control characters in it, as from a tree or a file, have no effect."""
    click.echo(visible(text), err=True)


def echo_failure(failure: Failure) -> Exit:
    """Prints a failure in two lines and returns its exit code."""
    say(f"cliffwatch: {failure.message}\n  {failure.next_step}")
    return failure.exit
