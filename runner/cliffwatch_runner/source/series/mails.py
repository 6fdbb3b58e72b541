"""Reads the mails of a mailbox as patches: the place and version in their subjects, and their diffs.

Mail is untrusted: a mail that cannot be parsed is skipped.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart

_SEPARATOR = re.compile(rb"^From [^\n]+[0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4}[^\n]*\n", re.MULTILINE)
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_REPLY = re.compile(r"\s*(?:re|aw|fwd?|antw?|sv|vs|wg|tr)\s*:", re.IGNORECASE)
_BRACKETS = re.compile(r"\s*\[(?P<words>[^\]]*)\]\s*")
_WORD_ENDS = re.compile(r"[\s,;]+")
_PLACE = re.compile(r"(?P<index>[0-9]{1,4})/(?P<total>[0-9]{1,4})")
_VERSION = re.compile(r"(?:(?:patch|rfc)[-_]?)?v(?P<number>[0-9]{1,3})", re.IGNORECASE)
_PATCH_WORD = re.compile(r"(?<![a-z])(?:patch|rfc)", re.IGNORECASE)
_NOTICE = re.compile(r'(?:\[tip:|\[[a-z-]*merged|patch "|failed: patch |[+-] \S+\.patch )', re.IGNORECASE)
_DIFF = re.compile(r"^(?:diff --git |--- (?:a/|/dev/null))", re.MULTILINE)
_IDENTITY = re.compile(r"<[^<>\s]{1,500}>")
_NUMBERED = re.compile(r"[0-9]{1,6}")
_PATCH_NAMES = (".patch", ".diff")
_TEXT_TYPES = ("text/plain", "text/x-patch", "text/x-diff")
_FILE_TYPES = ("application/octet-stream", "application/x-patch", "application/x-diff")
_CONTAINERS = (b"multipart/", b"message/rfc822")
_MOST_CONTAINERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedPatch:
    """An attached text with a diff."""

    title: str
    """Title from its own header; empty if it has none."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchMail:
    """One mail that is not a reply."""

    identity: str
    """Message-ID; empty if missing."""
    sender: str
    subject: str
    title: str
    """Subject without brackets."""
    named: bool
    """True if the brackets of the subject contain PATCH or RFC, or if patchwork wrote the mail."""
    notice: bool
    """True if a bot reports what happened to a patch."""
    resent: bool
    version: int
    """1 if the subject names none."""
    index: int | None
    """Place in the series, 0 for a cover letter; None if the subject has no place (`[PATCH]`)."""
    total: int | None
    """Length of the series; None if the subject has no place."""
    answered: frozenset[str]
    """Message-IDs of the mails that it answers."""
    inline: str
    """Text of the mail."""
    attached: tuple[AttachedPatch, ...]
    """Diffs besides the text."""

    @property
    def has_diff(self) -> bool:
        return bool(self.attached) or has_diff(self.inline)


def has_diff(text: str) -> bool:
    return _DIFF.search(text) is not None


def diff_of(text: str) -> str:
    """Returns the diff of a text, without its description and signature.

    Copies of a patch from two lists are equal.
    """
    match = _DIFF.search(text)
    return text[match.start() :].partition("\n-- \n")[0].rstrip() if match else ""


def read_mails(content: bytes) -> Iterator[PatchMail]:
    """Yields every mail that is not a reply, including attached mails.

    A mail that came from several lists is yielded once.
    """
    seen = set()
    for raw in _split(content):
        for message in _messages(_QUOTED_FROM.sub(rb"\1", raw).lstrip(b"\xef\xbb\xbf\n")):
            mail = _read_mail(message)
            if mail is not None and (not mail.identity or mail.identity not in seen):
                seen.add(mail.identity)
                yield mail


def _split(content: bytes) -> Iterator[bytes]:
    """Yields the mails between `From ` lines. A single mail needs no such line."""
    marks = list(_SEPARATOR.finditer(content))
    marks = [
        mark for mark in marks if mark.start() == 0 or content[mark.start() - 2 : mark.start()] == b"\n\n"
    ]
    if not marks or content[: marks[0].start()].strip():
        yield content[: marks[0].start()] if marks else content
    ends = [*(mark.start() for mark in marks[1:]), len(content)]
    for mark, end in zip(marks, ends, strict=True) if marks else ():
        yield content[mark.end() : end]


def _messages(raw: bytes) -> Sequence[EmailMessage]:
    """Returns a mail and the mails attached to it; empty if it is nested too deeply to be genuine."""
    if (
        sum(map(raw.lower().count, _CONTAINERS)) > _MOST_CONTAINERS
    ):  # the parser's time grows with their square
        return ()
    try:
        message = message_from_bytes(raw, policy=policy.default)
        return [message, *(part for part in message.walk() if _is_forwarded(part, message))]
    except RecursionError:
        return ()


def _is_forwarded(part: EmailMessage, message: EmailMessage) -> bool:
    return part is not message and "Subject" in part


def _read_mail(message: EmailMessage) -> PatchMail | None:
    try:
        subject = _header(message, "Subject")
        sender = _header(message, "From")
        identity = _header(message, "Message-ID")
        answered = _IDENTITY.findall(f"{_header(message, 'In-Reply-To')} {_header(message, 'References')}")
        inline, attached = _texts(message)
    except (
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
        RecursionError,
    ):  # of a header or body that is none
        return None
    brackets, title = _split_subject(subject)
    if not subject or _REPLY.match(subject) or _REPLY.match(title):
        return None
    words = [word for bracket in brackets for word in _WORD_ENDS.split(bracket)]
    place = _last(_PLACE, words)
    version = _last(_VERSION, words)
    return PatchMail(
        identity=identity,
        sender=sender,
        subject=subject[:200],
        title=title[:200],
        named=any(_PATCH_WORD.search(bracket) for bracket in brackets) or "X-Patchwork-Id" in message,
        notice=_NOTICE.match(subject) is not None or _header(message, "X-Patchwork-Hint").lower() == "ignore",
        resent=any(word.lower() == "resend" for word in words),
        version=int(version["number"]) if version else 1,
        index=int(place["index"]) if place else None,
        total=int(place["total"]) if place else None,
        answered=frozenset(answered),
        inline=inline,
        attached=attached,
    )


def _header(message: EmailMessage, name: str) -> str:
    return " ".join(str(message.get(name, "")).split())


def _split_subject(subject: str) -> tuple[list[str], str]:
    """Returns the leading brackets of a subject, and its title."""
    brackets = []
    while match := _BRACKETS.match(subject):
        brackets.append(match["words"])
        subject = subject[match.end() :]
    return brackets, subject


def _last(pattern: re.Pattern[str], words: Sequence[str]) -> re.Match[str] | None:
    """Returns the last word that matches completely.

    `5.10/5.15` is not a place, and `riscv64` is not a version.
    """
    return next((match for word in reversed(words) if (match := pattern.fullmatch(word))), None)


def _texts(message: EmailMessage) -> tuple[str, tuple[AttachedPatch, ...]]:
    """Returns the mail's text and its attached diffs.

    A text with a diff comes before others. If all attachment names start with a number, the diffs are ordered
    by it.
    """
    inline: list[str] = []
    attached: list[tuple[str, AttachedPatch]] = []
    for part in _parts(message):
        text, name = _content(part), part.get_filename() or ""
        if not name and part.get_content_disposition() != "attachment":
            inline.append(text)
        elif has_diff(text):
            attached.append((name, AttachedPatch(title=_own_title(text), text=text)))
    first = next((text for text in inline if has_diff(text)), inline[0] if inline else "")
    if all(_NUMBERED.match(name) for name, _ in attached):
        attached.sort(key=lambda each: _number(each[0]))
    return first, tuple(patch for _, patch in attached if diff_of(patch.text) != diff_of(first))


def _number(name: str) -> int:
    match = _NUMBERED.match(name)
    return int(match[0]) if match else 0


def _parts(message: MIMEPart) -> Iterator[MIMEPart]:
    """Yields the parts that are texts or patch files, except those of attached mails."""
    for part in message.iter_parts() if message.is_multipart() else (message,):
        kind = part.get_content_type()
        if part.is_multipart() and kind != "message/rfc822" and part is not message:
            yield from _parts(part)
        elif kind in _TEXT_TYPES or (
            kind in _FILE_TYPES and (part.get_filename() or "").endswith(_PATCH_NAMES)
        ):
            yield part


def _content(part: MIMEPart) -> str:
    """Returns the text of a part as written.

    Bytes that are invalid in its charset are kept, escaped (PEP 383).
    """
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    text = payload.decode(part.get_content_charset("utf-8"), errors="surrogateescape")
    text = text.replace("\r\n", "\n")
    if str(part.get_param("format", "")).lower() != "flowed":
        return text
    return undo_flowed(text, delete_space=str(part.get_param("delsp", "")).lower() == "yes")


def undo_flowed(text: str, *, delete_space: bool) -> str:
    """Undoes format=flowed (RFC 3676) as git does.

    Removes space stuffing, and joins lines that end in a space.
    """
    lines: list[str] = []
    begun = ""
    for line in text.split("\n"):
        if line == "-- ":
            lines += [begun, line] if begun else [line]
            begun = ""
            continue
        begun += line.removeprefix(" ")
        if line.endswith(" "):
            begun = begun.removesuffix(" ") if delete_space else begun
            continue
        lines.append(begun)
        begun = ""
    return "\n".join([*lines, begun] if begun else lines)


def _own_title(text: str) -> str:
    """Returns the title in the header of an attached patch, as `git format-patch` writes it."""
    head = text[: max(text.find("\n\n"), 0)].encode(errors="surrogateescape")
    if head.startswith(b"From "):
        head = head.partition(b"\n")[2]
    return _split_subject(_header(message_from_bytes(head, policy=policy.default), "Subject"))[1][:200]
