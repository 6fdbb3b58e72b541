"""Structured logs, one line per event: JSON for machines, plain text for a terminal."""

import logging
import sys

import structlog

from cliffwatch.reports.styles import visible


def set_up_logs(*, json: bool, colour: bool = False) -> None:
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            *make_renderers(json=json, colour=colour),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(name)s: %(message)s")


def make_renderers(*, json: bool, colour: bool) -> list[structlog.typing.Processor]:
    """What makes a line of an event. No text within it begins another line or is obeyed by a terminal."""
    if json:
        return [structlog.processors.JSONRenderer()]
    # Plain tracebacks: rendering one with local variables takes seconds, and blocks all requests.
    plain = structlog.dev.ConsoleRenderer(colors=colour, exception_formatter=structlog.dev.plain_traceback)
    return [_disarm, plain]


def _disarm(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return {key: visible(value) if isinstance(value, str) else value for key, value in event.items()}
