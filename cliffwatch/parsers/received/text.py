"""A text as the program printed it. Lines keep their numbers, so that a problem names the line of the file."""

from cliffwatch.parsers.received.log_stamps import without_stamps
from cliffwatch.parsers.received.mail import body_of_mail

_BOM = "\ufeff"


def as_printed(text: str) -> str:
    """The text without mail headers, encodings of mail, and time stamps before its lines. Total."""
    return without_stamps(body_of_mail(text.removeprefix(_BOM)))
