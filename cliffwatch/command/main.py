"""The `cliffwatch` command, made up of the subcommands of all installed distributions."""

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
from cliffwatch.suggesting import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "cliffwatch.commands"

OWN = ("compare", "export", "parse", "suites")
"""Subcommands of this distribution: each is a function in a module of the same name. They run without a
search through the installed distributions."""


ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")
"""Limits numpy to one thread; must be set before numpy is imported. The matrix products are small: on busy
cores, several threads that wait for each other take up to twenty times as long as one."""


class InstalledCommands(click.RichGroup):
    """Finds subcommands in the entry-point group and imports only the subcommand that is called.

    Importing every subcommand would load scipy, the runner and the service even for `cliffwatch --version`.
    The help of a subcommand comes from its source file.
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
        """Returns a subcommand for its help text. `resolve_command` returns the subcommand that runs."""
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
        if args[0] not in _installed_commands() and not args[0].startswith("-"):
            guess = did_you_mean(args[0], _installed_commands())
            ctx.fail(f"no such command {args[0]!r}{guess}")
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
    """Returns the docstring of a command's function from its source file; None if it is not found."""
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
