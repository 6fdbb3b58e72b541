"""Restores a text as the program printed it.

Lines keep their numbers, so problems name the line of the file.
"""

import re
from itertools import islice

from cliffwatch.parsers.readings import Problem, problem_at
from cliffwatch.parsers.received.mail import MailTooLarge, body_of_mail

_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_ISO = rf"\d{{4}}-\d\d-\d\d[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?"
_SYSLOG = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?"
_EPOCH = r"1\d{9}\.\d{3,9}"
_STAMP = re.compile(
    # `gh run view --log` prints job and step before the time.
    r"(?:[^\t\n]{1,200}\t[^\t\n]{1,200}\t)?\ufeff?"
    rf"(?:\[(?:{_ISO}|{_CLOCK})\]|{_ISO}|{_SYSLOG}|{_CLOCK}|{_EPOCH}|\x1b_bk;t=\d{{1,20}}\x07)"
    # GitLab prints the stream, journald the host and the process.
    r"(?: \d\d[OE][+ ]?)?"
    r"(?:\s[\w.-]{1,64} [\w./-]{1,64}\[\d{1,10}\]:)?"
    r"(?: {1,2}|\t|(?<=[+\x07])|$)"
)
_LOOKED_AT = 50
_BEGIN = 1 << 16


def strip_stamps(text: str) -> str:
    """Removes the time stamps of a log. If none of the first fifty lines has one, the text is unchanged."""
    first = islice((line for line in text[:_BEGIN].split("\n") if line.strip()), _LOOKED_AT)
    if not any(_STAMP.match(line) for line in first):
        return text
    return "\n".join(map(_without_stamp, text.split("\n")))


def _without_stamp(line: str) -> str:
    stamp = _STAMP.match(line)
    return line[stamp.end() :] if stamp else line


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
