"""Stops long-running commands on a signal."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """Yields an event that the first ^C, SIGTERM or SIGHUP sets.

    The command then ends its children and releases its locks. A second signal raises KeyboardInterrupt.
    """
    stop = threading.Event()

    def on_signal(_: int, __: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {
        number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
