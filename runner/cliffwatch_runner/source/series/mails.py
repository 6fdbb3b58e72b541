"""Mails of a mailbox, read as patches: what their subjects say of place and version, and the diffs that they
carry.

Everything in a mailbox is somebody's mail. What cannot be read as a mail is passed over; nothing in it is
believed.
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
    """A text with a diff. `title` is that of its own header; empty where it has none."""

    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchMail:
    """One mail that is no reply.

    `named`: its subject's brackets say PATCH or RFC, or patchwork wrote it. `notice`: a bot tells what
    became of a patch. `index` and `total` are None where its subject has no place (`[PATCH]`); `answered`
    are the mails that it answers. `inline` is its text; `attached` are the diffs beside it.
    """

    identity: str
    sender: str
    subject: str
    title: str
    named: bool
    notice: bool
    resent: bool
    version: int
    index: int | None
    total: int | None
    answered: frozenset[str]
    inline: str
    attached: tuple[AttachedPatch, ...]

    @property
    def has_diff(self) -> bool:
        return bool(self.attached) or has_diff(self.inline)


def has_diff(text: str) -> bool:
    return _DIFF.search(text) is not None


def diff_of(text: str) -> str:
    """What a text changes, without its words and its signature; the same for the same patch by two lists."""
    match = _DIFF.search(text)
    return text[match.start() :].partition("\n-- \n")[0].rstrip() if match else ""


def read_mails(content: bytes) -> Iterator[PatchMail]:
    """Every mail that is no reply, each once, though it may have come by several lists; also those that a
    mail has attached.
    """
    seen = set()
    for raw in _split(content):
        for message in _messages(_QUOTED_FROM.sub(rb"\1", raw).lstrip(b"\xef\xbb\xbf\n")):
            mail = _read_mail(message)
            if mail is not None and (not mail.identity or mail.identity not in seen):
                seen.add(mail.identity)
                yield mail


def _split(content: bytes) -> Iterator[bytes]:
    """Mails between their `From ` lines; one alone need not have any."""
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
    """A mail and the mails that it has attached whole; nothing of one that is nested too deeply to be
    anybody's.
    """
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
    """The brackets that a subject begins with, and its title."""
    brackets = []
    while match := _BRACKETS.match(subject):
        brackets.append(match["words"])
        subject = subject[match.end() :]
    return brackets, subject


def _last(pattern: re.Pattern[str], words: Sequence[str]) -> re.Match[str] | None:
    """The last whole word of this form: `5.10/5.15` is no place and `riscv64` no version."""
    return next((match for word in reversed(words) if (match := pattern.fullmatch(word))), None)


def _texts(message: EmailMessage) -> tuple[str, tuple[AttachedPatch, ...]]:
    """The mail's text, the first with a diff before others, and the diffs beside it in the order of their
    names' numbers.
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
    """The parts that are texts or files of patches; not those of mails that are attached whole."""
    for part in message.iter_parts() if message.is_multipart() else (message,):
        kind = part.get_content_type()
        if part.is_multipart() and kind != "message/rfc822" and part is not message:
            yield from _parts(part)
        elif kind in _TEXT_TYPES or (
            kind in _FILE_TYPES and (part.get_filename() or "").endswith(_PATCH_NAMES)
        ):
            yield part


def _content(part: MIMEPart) -> str:
    """The text of a part as it was written: bytes that its charset does not have are kept."""
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    text = payload.decode(part.get_content_charset("utf-8"), errors="surrogateescape")
    text = text.replace("\r\n", "\n")
    if str(part.get_param("format", "")).lower() != "flowed":
        return text
    return undo_flowed(text, delete_space=str(part.get_param("delsp", "")).lower() == "yes")


def undo_flowed(text: str, *, delete_space: bool) -> str:
    """Undoes format=flowed (RFC 3676) as git does: a space that was put before a line goes, and lines that
    end in one go on.
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
    """The title in the header of an attached patch, as `git format-patch` writes one."""
    head = text[: max(text.find("\n\n"), 0)].encode(errors="surrogateescape")
    if head.startswith(b"From "):
        head = head.partition(b"\n")[2]
    return _split_subject(_header(message_from_bytes(head, policy=policy.default), "Subject"))[1][:200]
