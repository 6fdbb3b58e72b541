"""How a command ends that cannot be carried out: with what is wrong and what to do, and a code for whose matter it is."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from cliffwatch.command.terminal import say
from cliffwatch.failure import Exit
from cliffwatch_service.refusal import Refusal


def failed(message: str, code: Exit) -> SystemExit:
    """To be raised."""
    say(f"cliffwatch: {message.strip()}")
    return SystemExit(code)


@contextmanager
def ending_on_refusal() -> Iterator[None]:
    """A refusal or an unusable database ends the command; its status says whether the operator's usage was wrong or the
    host failed.
    """
    try:
        yield
    except Refusal as refusal:
        raise failed(refusal.detail, Exit.USAGE if refusal.status < 500 else Exit.HOST_FAILED) from None
    except (psycopg.Error, OSError, RuntimeError) as error:
        raise failed(f"the database cannot be used: {error}", Exit.HOST_FAILED) from None
