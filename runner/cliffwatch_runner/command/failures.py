"""Prints failures and chooses the exit code."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from cliffwatch.failure import Exit, Failure, host_failed
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.writable_folders import foreign_owner_failure

_SHOWN_LINES = 40
_FULL_DISK = (28, 122)  # ENOSPC, EDQUOT


def print_failures(failures: Sequence[Failure], console: Console) -> Exit:
    """Prints failures with their evidence. A failure of the host decides the exit code."""
    for failure in failures:
        console.print(f"[bold red]cliffwatch: {escape(failure.message)}[/]", highlight=False, soft_wrap=True)
        for line in failure.evidence.splitlines()[:_SHOWN_LINES]:
            console.print(f"    {escape(line)}", highlight=False, soft_wrap=True)
        console.print(f"  {escape(failure.next_step)}", highlight=False, soft_wrap=True)
    return max((failure.exit for failure in failures), key=lambda code: (code == Exit.HOST_FAILED, code))


def host_failure(error: OSError, request: RunRequest) -> Failure:
    """Explains an OSError of a run: another user's file in the cache, a missing program, a full disk."""
    path = Path(str(error.filename or ""))
    if isinstance(error, PermissionError) and path.is_relative_to(request.cache):
        return foreign_owner_failure(path, request.cache)
    if isinstance(error, FileNotFoundError) and path.name == error.filename:
        return host_failed(f"{path} is missing", "install it: `cliffwatch doctor` prints how")
    full = error.errno in _FULL_DISK
    return host_failed(
        "the disk is full" if full else f"this host failed: {error}",
        f"free space for {request.cache} and the results, then run the same command to resume"
        if full
        else "see `cliffwatch doctor`, then run the same command to resume",
    )
