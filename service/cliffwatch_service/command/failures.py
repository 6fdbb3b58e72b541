"""Ends a failed command: prints the reason and the next step, and sets the exit status."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from cliffwatch.command.terminal import say
from cliffwatch.failure import Exit
from cliffwatch_service.refusal import Refusal


def exit_failed(message: str, code: Exit) -> SystemExit:
    """Prints a message and returns the exception for the caller to raise."""
    say(f"cliffwatch: {message.strip()}")
    return SystemExit(code)


@contextmanager
def ending_on_refusal() -> Iterator[None]:
    """Ends the command on a refusal or an unusable database.

    The exit status distinguishes wrong usage from a failed host.
    """
    try:
        yield
    except Refusal as refusal:
        raise exit_failed(refusal.detail, Exit.USAGE if refusal.status < 500 else Exit.HOST_FAILED) from None
    except (psycopg.Error, OSError, RuntimeError) as error:
        raise exit_failed(f"the database cannot be used: {error}", Exit.HOST_FAILED) from None
