"""Restores a text as the program printed it.

Lines keep their numbers, so problems name the line of the file.
"""

from cliffwatch.parsers.readings import Problem, problem_at
from cliffwatch.parsers.received.log_stamps import strip_stamps
from cliffwatch.parsers.received.mail import MailTooLarge, body_of_mail

MOST_LINES = 4_000_000
"""The most lines of a text. Each line becomes one or two objects in memory."""

_BOM = "\ufeff"


def extract_printed(text: str) -> str | Problem:
    """Removes mail headers, mail encodings and log time stamps. Never raises.

    Returns a Problem if the text is too large.
    """
    if _has_too_many_lines(text):
        reason = (
            f"it has more than {MOST_LINES // 1_000_000} million lines: split it by benchmark and compare "
            f"the parts"
        )
        return problem_at(0, "", reason)
    try:
        return strip_stamps(body_of_mail(text.removeprefix(_BOM)))
    except MailTooLarge as error:
        return problem_at(0, "", str(error))


def _has_too_many_lines(text: str) -> bool:
    return text.count("\n") + text.count("\r") > 2 * MOST_LINES or text.count("\n") > MOST_LINES
