"""structlog without rich, which it takes along where it is there."""

import sys


def load_structlog() -> None:
    """Before anything else imports it: rich draws tracebacks on a terminal, 5 MB that a process which writes plain ones does not need."""
    sys.modules["rich"] = None  # type: ignore[assignment]
    import structlog  # noqa: F401, PLC0415

    del sys.modules["rich"]
