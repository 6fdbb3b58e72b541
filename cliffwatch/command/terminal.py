"""What may be written to a terminal: the one place that knows NO_COLOR (no-color.org) and TERM=dumb."""

import os
from typing import Any, Literal

import rich_click as click
from rich.console import Console

from cliffwatch.failure import Exit, Failure
from cliffwatch.reports.styles import visible

_UNBROKEN = 100_000
"""Columns where nobody watches: a name that is cut or broken in a pipe is lost to whoever reads it."""


def wants_no_colour() -> bool:
    """Whether the environment asks for text alone: no colour, no bold, no other escape sequence of style."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM", "").lower() in ("dumb", "unknown")


class _Visible(Console):
    """Prints what a reader sees: what a tree, a host or a service says moves no cursor and colours nothing."""

    def print(self, *objects: Any, **named: Any) -> None:
        super().print(*(visible(each) if isinstance(each, str) else each for each in objects), **named)


def console(*, stderr: bool = False, soft_wrap: bool = False) -> Console:
    """A console of ours. Numbers and names are not coloured by guessing, and lines are never broken in a pipe."""
    system: Literal["auto"] | None = None if wants_no_colour() else "auto"
    made = _Visible(stderr=stderr, soft_wrap=soft_wrap, highlight=False, color_system=system)
    if not made.is_terminal:
        made.width = _UNBROKEN
    return made


def style_help() -> None:
    """Makes help and messages on usage follow the same wish."""
    click.rich_click.COLOR_SYSTEM = None if wants_no_colour() else "auto"


def echo_failure(failure: Failure) -> Exit:
    """One failure in two plain lines, and the exit code of a command that ends with it."""
    click.echo(visible(f"cliffwatch: {failure.message}\n  {failure.next_step}"), err=True)
    return failure.exit
