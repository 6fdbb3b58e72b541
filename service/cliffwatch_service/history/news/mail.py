"""Sends mails through the server of the settings, to addresses that the settings allow.

No other module sends mails.
"""

import smtplib
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime

from cliffwatch.reports.styles import plain
from cliffwatch_service.history.news.sending import NotSent, Sent
from cliffwatch_service.runtime.destinations import allows_mail
from cliffwatch_service.runtime.settings import Settings

_SECONDS = 20.0
"""Timeout of each SMTP step."""

_WHOLE_SECONDS = 90.0
_LONGEST_HEADER = 990
"""In characters. Long enough that no Message-ID is folded: folding would change it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A mail to send."""

    to: str
    subject: str
    text: str
    identity: str
    """Left part of its Message-ID; the same for every attempt."""
    before: Sequence[str]
    """Message-IDs of its thread, oldest first."""
    manage: str
    """URL for unsubscribing."""


def send_mail(settings: Settings, letter: Letter, now: datetime) -> Sent | NotSent:
    """Sends a mail. The Message-ID in the result is the thread that later mails answer.

    Checks the recipient here, so that no caller can bypass the settings.
    """
    if settings.mail_server is None or settings.mail_from is None:
        return NotSent(reason="no mail server is set: set CLIFFWATCH_MAIL_SERVER and CLIFFWATCH_MAIL_FROM")
    if not allows_mail(settings.news_mail, letter.to):
        return NotSent(reason="the settings do not allow this address (CLIFFWATCH_NEWS_MAIL)", for_good=True)
    message = message_of(letter, settings.mail_from, now)
    try:
        _hand_over(settings, settings.mail_server, message, letter.to)
    except smtplib.SMTPRecipientsRefused as refused:
        code, answer = next(iter(refused.recipients.values()))
        return NotSent(reason=_describe_answer(code, answer), for_good=500 <= code < 600)
    except smtplib.SMTPResponseException as error:
        return NotSent(reason=_describe_answer(error.smtp_code, error.smtp_error))
    except (OSError, smtplib.SMTPException) as error:
        return NotSent(
            reason=f"the mail server was not reached: {plain(str(error) or type(error).__name__)[:300]}"
        )
    return Sent(thread=message["Message-ID"])


def message_of(letter: Letter, sender: str, now: datetime) -> EmailMessage:
    """Returns the mail as a plain-text message (RFC 5322).

    It belongs to the thread of its report (RFC 5322, 3.6.4) and is marked as automatic (RFC 3834).
    """
    message = EmailMessage(policy=policy.SMTP.clone(max_line_length=_LONGEST_HEADER))
    message["From"] = f"Cliffwatch <{sender}>"
    message["To"] = letter.to
    message["Date"] = format_datetime(now)
    message["Subject"] = plain(letter.subject)[:300]
    message["Message-ID"] = f"<{letter.identity}@{sender.rpartition('@')[2]}>"
    if letter.before:
        message["In-Reply-To"] = letter.before[0]
        message["References"] = " ".join([letter.before[0], *letter.before[1:][-9:]])
    message["Auto-Submitted"] = "auto-generated"
    message["List-Unsubscribe"] = f"<{letter.manage}>"
    message.set_content(letter.text, cte="8bit" if not letter.text.isascii() else "7bit")
    return message


def _hand_over(settings: Settings, server: str, message: EmailMessage, to: str) -> None:
    host, _, port = server.partition(":")
    context = ssl.create_default_context()
    kind = {"tls": 465, "starttls": 587, "none": 25}[settings.mail_security]
    if settings.mail_security == "tls":
        connection: smtplib.SMTP = smtplib.SMTP_SSL(timeout=_SECONDS, context=context)
    else:
        connection = smtplib.SMTP(timeout=_SECONDS)
    connection._host = host  # type: ignore[attr-defined]  # noqa: SLF001 - the name that the certificate must have; as an argument it would connect at once
    with _cut_after(_WHOLE_SECONDS, connection), connection as smtp:
        smtp.connect(host, int(port or kind))
        if settings.mail_security == "starttls":
            smtp.starttls(context=context)
        if settings.mail_user is not None and settings.mail_password is not None:
            smtp.login(settings.mail_user, settings.mail_password.get_secret_value())
        smtp.send_message(message, to_addrs=[to])


@contextmanager
def _cut_after(seconds: float, connection: smtplib.SMTP) -> Iterator[None]:
    """Ends the connection after `seconds`.

    The timeout of a step applies to each read: a server that sends one byte at a time would never reach it.
    """

    def cut() -> None:
        taken = connection.sock
        if taken is not None:
            with suppress(OSError):  # already disconnected
                taken.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _describe_answer(code: int, answer: bytes | str) -> str:
    text = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
    return f"the mail server answered {code}: {plain(' '.join(text.split()))[:300]}"
