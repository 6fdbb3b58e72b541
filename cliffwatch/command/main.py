"""The one `cliffwatch` command, put together from what is installed."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

import rich_click as click

import cliffwatch
from cliffwatch.command.terminal import style_help

ENTRY_POINT_GROUP = "cliffwatch.commands"


class InstalledCommands(click.RichGroup):
    """Finds subcommands in the entry-point group and imports only the one that is called.

    An import of every subcommand would load scipy and the runner for `cliffwatch --version`.
    """

    def main(self, *arguments: Any, **settings: Any) -> Any:
        style_help()
        return super().main(*arguments, **settings)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(entry.name for entry in entry_points(group=ENTRY_POINT_GROUP))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        installed: list[EntryPoint] = list(entry_points(group=ENTRY_POINT_GROUP, name=cmd_name))
        if not installed:
            return None
        command = installed[0].load()
        assert isinstance(command, click.Command), f"entry point {cmd_name} is no command"
        return command


@click.group(cls=InstalledCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(cliffwatch.__version__, prog_name="cliffwatch")
def main() -> None:
    """Measure what a kernel change does to BPF performance."""
