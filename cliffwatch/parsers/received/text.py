"""A text as the program printed it. Lines keep their numbers, so that a problem names the line of the file."""

from cliffwatch.parsers.received.log_stamps import without_stamps
from cliffwatch.parsers.received.mail import body_of_mail

MOST_LINES = 4_000_000
"""Of a text: each becomes an object or two."""

_BOM = "\ufeff"


def as_printed(text: str) -> str:
    """The text without mail headers, encodings of mail, and time stamps before its lines. Total."""
    if has_too_many_lines(text):
        return text
    return without_stamps(body_of_mail(text.removeprefix(_BOM)))


def has_too_many_lines(text: str) -> bool:
    return text.count("\n") + text.count("\r") > 2 * MOST_LINES or text.count("\n") > MOST_LINES
