"""Structured logs, one line per event: JSON for machines, plain text for a terminal."""

import logging
import sys

import structlog


def set_up_logs(*, json: bool, colour: bool = False, level: int = logging.INFO) -> None:
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    # Plain tracebacks: rendering one with local variables takes seconds, and blocks all requests.
    last: structlog.typing.Processor = structlog.processors.JSONRenderer()
    if not json:
        last = structlog.dev.ConsoleRenderer(colors=colour, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(
        processors=[*shared, last],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(name)s: %(message)s")
