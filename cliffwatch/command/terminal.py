"""What may be written to a terminal: the one place that knows NO_COLOR (no-color.org) and TERM=dumb."""

import os
from typing import TYPE_CHECKING, Literal

import click

from cliffwatch.failure import Exit, Failure
from cliffwatch.reports.styles import visible

if TYPE_CHECKING:
    from rich.console import Console

_UNBROKEN = 100_000
"""Columns where nobody watches: a name that is cut or broken in a pipe is lost to whoever reads it."""


def wants_no_colour() -> bool:
    """Whether the environment asks for text alone: no colour, no bold, no other escape sequence of style."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM", "").lower() in ("dumb", "unknown")


def console(*, stderr: bool = False, soft_wrap: bool = False) -> "Console":
    """A console of ours. Numbers and names are not coloured by guessing, and lines are never broken in a
    pipe.
    """
    from cliffwatch.command.visible_console import VisibleConsole  # noqa: PLC0415 - reports are written without rich

    system: Literal["auto"] | None = None if wants_no_colour() else "auto"
    made = VisibleConsole(stderr=stderr, soft_wrap=soft_wrap, highlight=False, color_system=system)
    if not made.is_terminal:
        made.width = _UNBROKEN
    return made


def style_help() -> None:
    """Makes help and messages on usage follow the same wish."""
    import rich_click  # noqa: PLC0415 - a service writes to a terminal too, and has no help

    rich_click.rich_click.COLOR_SYSTEM = None if wants_no_colour() else "auto"


def say(text: str) -> None:
    """Lines on standard error, of which some may be what a tree or a file says."""
    click.echo(visible(text), err=True)


def echo_failure(failure: Failure) -> Exit:
    """One failure in two plain lines, and the exit code of a command that ends with it."""
    say(f"cliffwatch: {failure.message}\n  {failure.next_step}")
    return failure.exit
