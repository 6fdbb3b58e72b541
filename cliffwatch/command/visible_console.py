"""The console of rich that our commands print to."""

from collections.abc import Iterable

from rich.console import Console
from rich.segment import Segment

from cliffwatch.reports.styles import visible


class VisibleConsole(Console):
    """Prints what a reader sees: what a tree, a host or a service says moves no cursor and colours nothing.

    Lines, tables and bars all come by here, once they are laid out; only rich's own codes are codes.
    """

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        return super()._render_buffer(
            each if each.control else Segment(visible(each.text), each.style) for each in buffer
        )
