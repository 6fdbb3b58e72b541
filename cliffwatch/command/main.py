"""The one `cliffwatch` command, put together from what is installed."""

import gc
import os
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

import cliffwatch
from cliffwatch.command.ending import honest_exit
from cliffwatch.command.streams import prepare_streams
from cliffwatch.command.terminal import style_help

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "cliffwatch.commands"

OWN = ("compare", "export", "parse", "suites")
"""Subcommands of this distribution, each the function of a module of its name: they run without a look at all
that is installed.
"""


ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")
"""For numpy, before anything loads it. Its products are small here: threads that wait for one another on busy
cores take up to twenty times as long as one.
"""


class InstalledCommands(click.RichGroup):
    """Finds subcommands in the entry-point group and imports only the one that is called.

    An import of every subcommand would load scipy, the runner and the service for `cliffwatch --version`;
    their help is read from their source.
    """

    def main(self, *arguments: Any, **settings: Any) -> Any:
        prepare_streams()
        style_help()
        os.environ.setdefault(*ONE_THREAD)
        return super().main(*arguments, **settings)

    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:
        with honest_exit():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        with honest_exit():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(_installed_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """What help says of a subcommand; `resolve_command` gives the one that runs."""
        entry = _installed_commands().get(cmd_name)
        if entry is None:
            return None
        described = _read_docstring(entry)
        return _load_command(entry) if described is None else click.Command(cmd_name, help=described)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in OWN:
            return args[0], _own(args[0]), args[1:]
        name, command, rest = super().resolve_command(ctx, args)
        entry = _installed_commands().get(name or "")
        return name, command if entry is None else _load_command(entry), rest


@cache
def _installed_commands() -> "dict[str, EntryPoint]":
    from importlib.metadata import entry_points  # noqa: PLC0415 - reads what all distributions say of themselves

    return {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}


def _load_command(entry: "EntryPoint") -> click.Command:
    return _command(entry.load())


def _own(name: str) -> click.Command:
    gc.disable()  # what is loaded stays, so that collecting in between only walks it
    try:
        return _command(getattr(import_module(f"cliffwatch.command.{name}"), name))
    finally:
        gc.enable()


def _command(loaded: object) -> click.Command:
    assert isinstance(loaded, click.Command), f"{loaded} is no command"
    return loaded


def _read_docstring(entry: "EntryPoint") -> str | None:
    """The docstring of the function of a command, by its source; None where the source does not say."""
    import ast  # noqa: PLC0415 - for help alone
    import inspect  # noqa: PLC0415 - as above

    spec = find_spec(entry.module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    for statement in ast.parse(Path(spec.origin).read_bytes()).body:
        if isinstance(statement, ast.FunctionDef) and statement.name == entry.attr:
            docstring = ast.get_docstring(statement)
            return None if docstring is None else inspect.cleandoc(docstring).partition("\f")[0]
    return None


@click.group(cls=InstalledCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(cliffwatch.__version__, prog_name="cliffwatch")
def main() -> None:
    """Measure what a kernel change does to BPF performance."""
