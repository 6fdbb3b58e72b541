"""The console of rich that our commands print to."""

from typing import Any

from rich.console import Console

from cliffwatch.reports.styles import visible


class VisibleConsole(Console):
    """Prints what a reader sees: what a tree, a host or a service says moves no cursor and colours nothing."""

    def print(self, *objects: Any, **named: Any) -> None:
        super().print(*(visible(each) if isinstance(each, str) else each for each in objects), **named)
