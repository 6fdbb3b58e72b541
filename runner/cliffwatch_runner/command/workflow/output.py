"""What steps print."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from cliffwatch_runner.ci.job_log import HarmlessStream


@contextmanager
def harmless_output() -> Iterator[None]:
    """What is printed meanwhile, to both streams, is no command to the runner."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = HarmlessStream(sys.stdout), HarmlessStream(sys.stderr)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = before
