"""`cliffwatch host`: installs the worker on this machine as a systemd service, and removes it.

Its other subcommands are in `hosts/`.
"""

import socket
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import rich_click as click

from cliffwatch.command.secret import read_token
from cliffwatch.command.terminal import echo_failure
from cliffwatch.failure import Exit, Failure
from cliffwatch_runner.command.hosts.calibrate import calibrate
from cliffwatch_runner.command.hosts.collect import collect
from cliffwatch_runner.command.hosts.quarantine import quarantine, release
from cliffwatch_runner.command.options.measuring import modes_option
from cliffwatch_runner.command.options.values import hours_option
from cliffwatch_runner.worker.installation.changes import FileChange, find_changes, unusable_path
from cliffwatch_runner.worker.installation.files import DOCTOR_UNIT, TIMER, WORKER_UNIT, wanted_files
from cliffwatch_runner.worker.installation.order import InstallationOrder, check_order
from cliffwatch_runner.worker.installation.readiness import hindrances
from cliffwatch_runner.worker.installation.removal import Removal, find_removal
from cliffwatch_runner.worker.installation.steps import (
    Step,
    run_steps,
    step_text,
    steps_after_removal,
    steps_before_removal,
    steps_to_install,
)

_LONGEST_JOB = 241 * 3600.0
_HERE = Path("/")


@click.group()
def host() -> None:
    """Make this machine a bench host: a worker as a systemd service, with its own user and sandbox."""


host.add_command(calibrate)
host.add_command(collect)
host.add_command(quarantine)
host.add_command(release)


_root = click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False, resolve_path=True),
    default=_HERE,
    metavar="DIR",
    help="Folder with the files of another host, such as an image under construction: only files change, "
    "no program is started.",
)


@host.command()
@click.option("--url", required=True, help="URL of the service.")
@click.option("--platform", required=True, help="Name of this kind of machine, such as amd-rome.")
@modes_option("Mode of its jobs; may be repeated.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="File with the host's token, readable only by you; it is copied.",
)
@click.option(
    "--name", default=socket.gethostname, help="Name of this host; default: the machine's hostname."
)
@click.option(
    "--program",
    type=click.Path(path_type=Path),
    default=lambda: Path(sys.executable).parent / "cliffwatch",
    metavar="FILE",
    help="The cliffwatch program that the service starts; default: this one.",
)
@hours_option
@click.option(
    "--dry-run", is_flag=True, help="Print every file with its content and every command; write nothing."
)
@_root
def install(
    url: str,
    platform: str,
    modes: tuple[str, ...],
    token_file: Path,
    name: str,
    program: Path,
    hours: float,
    dry_run: bool,
    root: Path,
) -> NoReturn:
    """Install the worker as a service: its user, folders, token, units, and a daily check by the doctor.

    Can be repeated: it changes only what is out of date, and shows the changes.
    """
    token = read_token(token_file)
    if isinstance(token, Failure):
        raise SystemExit(echo_failure(token))
    order = InstallationOrder(
        url=url,
        platform=platform,
        modes=tuple(sorted(set(modes))),
        name=name,
        token=token,
        program=program,
        hours=hours,
    )
    _exit_if_failed(tuple(check_order(order)))
    hindered = tuple(hindrances(order, root))
    if not dry_run:
        _exit_if_failed(hindered)
    changes = find_changes(root, wanted_files(order))
    failures = [each for each in changes if isinstance(each, Failure)]
    _exit_if_failed(failures)
    files = [each for each in changes if isinstance(each, FileChange)]
    if dry_run:
        _show_files(files, token_file)
        _show_steps(steps_to_install(changed=_has_changes(files)), root)
        _show_hindrances(hindered)
        raise SystemExit(Exit.DONE)
    raise SystemExit(_make_changes(files, root))


def _has_changes(files: Sequence[FileChange]) -> bool:
    return any(each.state != "unchanged" for each in files)


def _make_changes(files: Sequence[FileChange], root: Path) -> Exit:
    for change in files:
        try:
            change.make(root)
        except OSError as error:
            return echo_failure(unusable_path(change.path, str(error.strerror)))
        if change.state != "unchanged":
            _show_change(change)
    steps = steps_to_install(changed=_has_changes(files))
    if root != _HERE:
        _show_steps(steps, root)
    else:
        failed = run_steps(steps)
        if failed is not None:
            return echo_failure(_with_restart(failed) if _has_changes(files) else failed)
    if not _has_changes(files):
        click.echo("Nothing changed: the installation is up to date.")
    elif root == _HERE:
        click.echo(f"Started {WORKER_UNIT.name}; follow it with: journalctl -fu {WORKER_UNIT.name}")
    return Exit.DONE


def _with_restart(failed: Failure) -> Failure:
    """Adds the restart to the next step, because a second installation would change and restart nothing."""
    restart = step_text(steps_to_install(changed=True)[-1])
    return replace(
        failed, next_step=f"{failed.next_step}; if a worker is already running, then restart it: `{restart}`"
    )


@host.command()
@click.option(
    "--purge",
    is_flag=True,
    help="Also remove the user and the spool, which may hold results that the service does not have.",
)
@click.option("--dry-run", is_flag=True, help="List what would be removed and each command; remove nothing.")
@_root
def remove(*, purge: bool, dry_run: bool, root: Path) -> NoReturn:
    """Undo `cliffwatch host install`.

    The current job finishes first. Results stay, unless --purge is given.
    """
    hindered = tuple(hindrances(None, root))
    if not dry_run:
        _exit_if_failed(hindered)
    removal = find_removal(root, purge=purge)
    before = steps_before_removal(
        [path for path in removal.files if path in (WORKER_UNIT, DOCTOR_UNIT, TIMER)]
    )
    after = steps_after_removal(files=bool(removal.files), user=removal.user)
    if removal.empty:
        click.echo("There is no installation here to remove.")
    elif dry_run:
        _show_steps(before, root)
        for path in (*removal.files, *removal.folders):
            click.echo(f"would remove {path}")
        _show_steps(after, root)
    else:
        failed = _make_removal(removal, root, before, after)
        if failed is not None:
            raise SystemExit(echo_failure(failed))
    for sentence in removal.kept:
        click.echo(sentence)
    if dry_run:
        _show_hindrances(hindered)
    raise SystemExit(Exit.DONE)


def _make_removal(
    removal: Removal, root: Path, before: Sequence[Step], after: Sequence[Step]
) -> Failure | None:
    if root == _HERE and before:
        click.echo("Stopping the worker after its current job, which may take hours.")
        failed = run_steps(before, seconds=_LONGEST_JOB)
        if failed is not None:
            return failed
    try:
        removal.make(root)
    except OSError as error:
        return unusable_path(Path(str(error.filename or "a folder")), str(error.strerror))
    for path in (*removal.files, *removal.folders):
        click.echo(f"removed {path}")
    return run_steps(after) if root == _HERE else None


def _exit_if_failed(failures: Sequence[Failure]) -> None:
    """Prints all failures and exits; returns if there are none."""
    codes = [echo_failure(failure) for failure in failures]
    if codes:
        raise SystemExit(max(codes, key=lambda code: (code == Exit.HOST_FAILED, code)))


def _show_files(files: Sequence[FileChange], token_file: Path) -> None:
    for change in files:
        if change.wanted is None:
            click.echo(f"== {change.path} would be removed\n")
            continue
        click.echo(f"== {change.path}  mode {change.wanted.mode:04o}  {change.state}")
        if change.wanted.kind == "text":
            click.echo(change.wanted.content.decode())
        elif change.wanted.kind == "secret":
            click.echo(f"(the token of {token_file}, not shown)\n")
        else:
            click.echo("(the tuning helper: `cliffwatch doctor --tuning-helper FILE` writes the same)\n")


def _show_change(change: FileChange) -> None:
    mode = f"  mode {change.wanted.mode:04o}" if change.wanted is not None else ""
    click.echo(f"{change.state:<8} {change.path}{mode}")
    for line in change.differences:
        click.echo(f"    {line}")


def _show_steps(steps: Sequence[Step], root: Path) -> None:
    if not steps:
        return
    click.echo(
        "== Commands"
        if root == _HERE
        else f"== Commands to run on the host whose files are in {root}: none was run"
    )
    for step in steps:
        click.echo(step_text(step))
    click.echo()


def _show_hindrances(hindered: Sequence[Failure]) -> None:
    for failure in hindered:
        click.echo(f"This host is not ready: {failure}")
