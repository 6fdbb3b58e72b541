"""Imports structlog without rich, which structlog loads if it is installed."""

import sys


def load_structlog() -> None:
    """Imports structlog without rich. Call it before anything else imports structlog.

    rich renders tracebacks for terminals. It takes 5 MB, and a process that writes plain tracebacks does not
    need it.
    """
    sys.modules["rich"] = None  # type: ignore[assignment]
    import structlog  # noqa: F401, PLC0415

    del sys.modules["rich"]
