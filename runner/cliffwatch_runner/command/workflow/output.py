"""Output of workflow steps."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from cliffwatch_runner.ci.job_log import HarmlessStream


@contextmanager
def harmless_output() -> Iterator[None]:
    """Makes the output of the block harmless: the runner reads no commands in either stream."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = HarmlessStream(sys.stdout), HarmlessStream(sys.stderr)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = before
