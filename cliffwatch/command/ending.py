"""Exit codes of commands that end unexpectedly: never 1, which tells CI that --fail-on was met."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from cliffwatch.command.streams import drop_output
from cliffwatch.command.terminal import echo_failure
from cliffwatch.failure import Exit, host_failed
from cliffwatch.reports.styles import visible

_FULL_DISK = (28, 122)  # ENOSPC, EDQUOT


@contextmanager
def honest_exit(unexpected: int = Exit.HOST_FAILED) -> Iterator[None]:
    """Ends the command with `unexpected` if the block raises an unexpected error, and shows the traceback."""
    try:
        yield
    except click.exceptions.Exit:
        raise
    except click.ClickException as error:
        if error.exit_code != Exit.FAIL_ON_MET:
            raise
        error.show()
        raise SystemExit(Exit.USAGE) from None
    except (KeyboardInterrupt, click.Abort):
        click.echo("\ncliffwatch: interrupted", err=True)
        raise SystemExit(Exit.INTERRUPTED) from None
    except BrokenPipeError:
        drop_output()
        raise SystemExit(Exit.OUTPUT_CLOSED) from None
    except Exception as error:  # noqa: BLE001 - the last one to look at it
        drop_output()
        _show(error)
        drop_output()
        raise SystemExit(unexpected) from None


def _show(error: Exception) -> None:
    if isinstance(error, OSError) and error.errno in _FULL_DISK:
        echo_failure(host_failed("the disk is full", "make room, and repeat the command"))
        return
    if isinstance(error, MemoryError):
        echo_failure(host_failed("this host has too little memory for it", "close what needs it"))
        return
    import traceback  # noqa: PLC0415 - for the one who meets an error

    click.echo(visible("".join(traceback.format_exception(error))), err=True)
    echo_failure(
        host_failed(
            f"an error of cliffwatch itself ended this command: {type(error).__name__}: {error}",
            "please report it, with the lines above and what you typed",
        )
    )
