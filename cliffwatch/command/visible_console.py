"""The rich console of all commands."""

from collections.abc import Iterable

from rich.console import Console
from rich.segment import Segment

from cliffwatch.reports.styles import visible


class VisibleConsole(Console):
    """Disarms control characters in texts of a tree, a host or a service.

    Only rich's own escape codes remain.

    All lines, tables and progress bars pass through it after their layout.
    """

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        return super()._render_buffer(
            each if each.control else Segment(visible(each.text), each.style) for each in buffer
        )
