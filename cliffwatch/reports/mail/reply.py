"""The report as a reply to a mail: a complete message for `git send-email` or a mail program, in 72 columns.

For whoever posted a series: the commits and the text for a commit message or cover letter. The `mail` report
is the robot's own mail to an author whose commit changed something.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from urllib.parse import unquote

from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.identities import digest_of
from cliffwatch.reports.commit import commit_report
from cliffwatch.reports.context import ReportContext
from cliffwatch.reports.mail.report import mail_sides, mail_subject
from cliffwatch.reports.styles import plain
from cliffwatch.shell_lines import WIDTH

_IDENTITY = re.compile(
    r"<?(?P<id>[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,200}@[A-Za-z0-9!#$%&'*+/=?^_`{|}~.\[\]:-]{1,200})>?"
)
_AT_LORE = re.compile(r"https://lore\.kernel\.org/[\w.-]{1,100}/(?P<id>[^/\s]{1,400})/?")
_LONGEST_HEADER = 990
"""Maximum length of a header line. Long enough that a Message-ID is never folded or encoded, which would
change it."""

_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,100}@[A-Za-z0-9.-]{1,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The mail to reply to, and the sender of the reply."""

    to: str
    """Message-ID without brackets."""
    sender_name: str
    sender: str


def read_reply(in_reply_to: str, mail_from: str) -> Reply | Failure:
    """Parses the options of a reply.

    `in_reply_to` is a Message-ID, with or without brackets, or a mail's URL at lore.kernel.org. `mail_from`
    is `Name <address>`.
    """
    text = in_reply_to.strip()
    at_lore = _AT_LORE.fullmatch(text)
    identity = _IDENTITY.fullmatch(unquote(at_lore["id"]) if at_lore else text)
    if identity is None:
        return wrong_usage(
            f"--in-reply-to: {text[:100]!a} is no Message-ID",
            "give one such as 20261122103000.1-1-a@example.org",
        )
    name, address = parseaddr(mail_from)
    if not _ADDRESS.fullmatch(address) or not name.isprintable():
        return wrong_usage(
            f"--mail-from: {mail_from[:100]!a} is no address",
            "say who replies: --mail-from 'Name <name@example.org>'",
        )
    return Reply(to=identity["id"], sender_name=name, sender=address)


def reply_report(compared: ComparisonSet, context: ReportContext, reply: Reply, *, date: datetime) -> str:
    """Writes a complete message (RFC 5322) with its headers. The sender has to add the recipients."""
    body = "\n".join(_body(compared, context)) + "\n"
    message = EmailMessage(policy=policy.default.clone(max_line_length=_LONGEST_HEADER))
    user, _, domain = reply.sender.partition("@")
    message["From"] = Address(display_name=reply.sender_name, username=user, domain=domain)
    message["Date"] = format_datetime(date)
    message["Subject"] = f"Re: {plain(mail_subject(compared))[:200]}"
    message["Message-ID"] = (
        f"<cliffwatch-{digest_of([body, reply.to, reply.sender, date.isoformat()])}@{domain}>"
    )
    message["In-Reply-To"] = f"<{reply.to}>"
    message["References"] = f"<{reply.to}>"
    message.set_content(body, cte="8bit")
    return message.as_bytes().decode()


def _body(compared: ComparisonSet, context: ReportContext) -> Iterator[str]:
    yield "Hello,"
    yield ""
    for line in mail_sides(compared):
        yield from _wrap_reply(line)
    yield ""
    yield from commit_report(compared, context).splitlines()
    for note in context.notes:
        yield from _wrap_reply(note)


def _wrap_reply(line: str) -> list[str]:
    return textwrap.wrap(plain(line), WIDTH, break_long_words=True, break_on_hyphens=False) or [""]
