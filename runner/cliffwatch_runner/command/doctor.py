"""`cliffwatch doctor`: checks this host item by item, and shows how to fix it."""

import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import NoReturn

import rich_click as click
from rich.console import Console
from rich.text import Text

from cliffwatch.command import terminal
from cliffwatch.command.terminal import Form, echo_failure, form_option
from cliffwatch.failure import Exit, Failure, wrong_usage
from cliffwatch.samples import DEFAULT_ACCEL, Accel, Mode
from cliffwatch_runner.command.options.cache import cache_option
from cliffwatch_runner.command.options.measuring import accel_option, mode_option
from cliffwatch_runner.doctor.check import Check, Group, Status
from cliffwatch_runner.doctor.examination import as_document, for_mode, needed_checks, to_fix, verdict
from cliffwatch_runner.doctor.facts import gather_facts
from cliffwatch_runner.host.journal import JOURNAL, restore_from_journal
from cliffwatch_runner.host.lock import host_lock, lock_path, lock_state
from cliffwatch_runner.host.tuning_helper import write_helper
from cliffwatch_runner.plan.arguments import accel_problem

_SYMBOLS: dict[Status, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "warn": ("!", "yellow"),
    "fail": ("✗", "red"),
    "skip": ("\N{EN DASH}", "dim"),
}
_TITLES: dict[Group, str] = {
    "build": "To build a kernel",
    "boot": "To boot a guest",
    "walltime": "For walltime runs",
}


@click.command()
@mode_option("Mode of the runs to check for.")
@accel_option
@cache_option("Folder of kernels and build output; default: ~/.cache/cliffwatch.")
@form_option("Format of the checks.")
@click.option(
    "--restore",
    is_flag=True,
    help="Only restore the settings of a host that a killed walltime run left tuned.",
)
@click.option(
    "--tuning-helper",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Only write to FILE the helper that tunes this host for users who are not root.",
)
@click.option(
    "--unless-measuring",
    is_flag=True,
    help="Skip all checks while a run uses this host, because the checks take CPU time.",
)
def doctor(
    mode: Mode,
    accel: Accel,
    cache: Path,
    form: Form,
    restore: bool,
    tuning_helper: Path | None,
    unless_measuring: bool,
) -> None:
    """Check item by item whether this host is fit for runs, and show how to fix what is not.

    Exits with 0 if the host is fit for the mode, else with 4. docs/host.md explains every item.
    """
    console = terminal.console()
    wrong = next(accel_problem(accel, mode, None), None)
    if wrong is not None:
        sys.exit(terminal.echo_failure(wrong))
    if tuning_helper is not None:
        try:
            write_helper(tuning_helper)
        except OSError as error:
            refused = wrong_usage(
                f"--tuning-helper: {tuning_helper} cannot be written: {error.strerror}",
                "name a file in a folder of yours",
            )
            raise SystemExit(echo_failure(refused)) from error
        console.print(Text(f"Wrote {tuning_helper}; docs/host.md says how root installs it."), soft_wrap=True)
        sys.exit(Exit.DONE)
    if restore:
        _restore(console)
    if unless_measuring and (held := lock_state()).locked:
        names = "; ".join(map(str, held.holders)) or "an unknown process"
        console.print(Text(f"Nothing was checked: this host is in use by {names}"), soft_wrap=True)
        sys.exit(Exit.DONE)
    facts = gather_facts(cache)
    results = needed_checks(facts, accel)
    if form == "json":
        click.echo(as_document(results, mode, accel))
    else:
        show(console, results, mode, accel)
    sys.exit(Exit.HOST_FAILED if to_fix(results, mode) else Exit.DONE)


def show(console: Console, results: Sequence[Check], mode: Mode, accel: Accel = DEFAULT_ACCEL) -> None:
    """Prints a line per item. For each bad item, adds why it matters and how to fix it.

    Lines are not wrapped, so that commands can be copied.
    """
    width = max(len(check.name) for check in results)
    for group, members in groupby(for_mode(results, mode), key=lambda check: check.group):
        console.print(Text(_TITLES[group], style="bold"), soft_wrap=True)
        for check in members:
            _show_check(console, check, width)
        console.print()
    console.print(Text(verdict(results, mode, accel), style="bold"), soft_wrap=True)


def _show_check(console: Console, check: Check, width: int) -> None:
    symbol, style = _SYMBOLS[check.status]
    line = Text.assemble("  ", (symbol, style), f" {check.name:<{width}}  ", check.finding.splitlines()[0])
    if check.status == "skip":
        line.stylize("dim")
    console.print(line, soft_wrap=True)
    if check.status not in {"warn", "fail"}:
        return
    indent = " " * (width + 6)
    console.print(Text(f"{indent}{check.why}", style="dim"), soft_wrap=True)
    for step in check.fixes:
        console.print(Text(f"{indent}{step}"), soft_wrap=True)


def _restore(console: Console) -> NoReturn:
    """Restores the host's settings under its exclusive lock, so that no run measures meanwhile."""

    def show_line(text: str) -> None:
        console.print(Text(text), soft_wrap=True)

    what = "cliffwatch doctor --restore"
    with host_lock(
        "walltime", what=what, waiting=show_line, should_stop=lambda: False, path=lock_path()
    ) as lock:
        if isinstance(lock, Failure):
            show_line(f"{lock.message} {lock.next_step}")
            sys.exit(lock.exit)
        problems = restore_from_journal(JOURNAL)
    for problem in problems:
        show_line(problem)
    show_line(
        "Not every setting could be restored; run this again as root."
        if problems
        else "The host's settings are restored."
    )
    sys.exit(Exit.HOST_FAILED if problems else Exit.DONE)
