"""A patch series from a mailbox, as b4 and lore give it: which mails are its patches, of which version, on which base.

Everything in it is somebody's mail: replies, other versions, the same mail by two lists. What is chosen is said; where a series
cannot be told from what is there, that is said instead.
"""

import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

from cliffwatch.counting import counted
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.reports.styles import plain

LARGEST = 64 << 20
"""Bytes of a mailbox that are read, unpacked; the longest series are a tenth of it."""

_GZIP = b"\x1f\x8b"
_SEPARATOR = re.compile(rb"^From [^\n]+[0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4}[^\n]*\n", re.MULTILINE)
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_REPLY = re.compile(r"\s*(?:re|aw|fwd?|antw?|sv|vs)\s*:", re.IGNORECASE)
_BRACKETS = re.compile(r"\s*\[(?P<words>[^\]]*)\]\s*")
_PLACE = re.compile(r"(?P<index>[0-9]{1,4})/(?P<total>[0-9]{1,4})")
_VERSION = re.compile(r"v(?P<number>[0-9]{1,3})", re.IGNORECASE)
_DIFF = re.compile(r"^(?:diff --git |--- (?:a/|/dev/null))", re.MULTILINE)
_BASE = re.compile(r"^base-commit:\s*(?P<commit>[0-9a-f]{40})\s*$", re.MULTILINE)
_MOST_PATCHES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPatch:
    """One patch: its title without brackets, and its mail's text with the diff."""

    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Patches in their order. `base` is the whole commit of its `base-commit:` line; `notes` say what was chosen."""

    patches: tuple[SeriesPatch, ...]
    base: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mail:
    """A mail that may be a patch or a cover letter. `index` is None where its subject has no place (`[PATCH]`)."""

    identity: str
    title: str
    version: int
    index: int | None
    total: int | None
    text: str
    is_patch: bool


def read_series(file: Path) -> Series | Failure:
    """The newest series in a mailbox file, which may be packed by gzip as lore gives it."""
    content = _content(file)
    if isinstance(content, Failure):
        return content
    mails = list(_mails(content))
    patches = [mail for mail in mails if mail.is_patch]
    if not patches:
        return _no_patches(file, mails)
    newest = max(mail.version for mail in patches)
    return _series(file, mails, newest)


def _content(file: Path) -> bytes | Failure:
    try:
        with file.open("rb") as plain:
            raw = plain.read(LARGEST + 1)
        if raw.startswith(_GZIP):
            with gzip.open(file) as packed:
                raw = packed.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        return wrong_usage(f"the mailbox {file} cannot be read: {error}", "check the path")
    if len(raw) > LARGEST:
        return wrong_usage(f"{file} is too large for a series", "name a mailbox with one series")
    return raw.replace(b"\r\n", b"\n")


def _mails(content: bytes) -> Iterator[_Mail]:
    """Every mail that is no reply, each once, though it may have come by several lists."""
    seen = set()
    for raw in _split(content):
        mail = _read_mail(message_from_bytes(_QUOTED_FROM.sub(rb"\1", raw), policy=policy.default))
        if mail is not None and (not mail.identity or mail.identity not in seen):
            seen.add(mail.identity)
            yield mail


def _split(content: bytes) -> Iterator[bytes]:
    """Mails between their `From ` lines; one alone need not have any."""
    marks = list(_SEPARATOR.finditer(content))
    marks = [mark for mark in marks if mark.start() == 0 or content[mark.start() - 2 : mark.start()] == b"\n\n"]
    if not marks or content[: marks[0].start()].strip():
        yield content[: marks[0].start()] if marks else content
    ends = [*(mark.start() for mark in marks[1:]), len(content)]
    for mark, end in zip(marks, ends, strict=True) if marks else ():
        yield content[mark.end() : end]


def _read_mail(message: object) -> _Mail | None:
    assert isinstance(message, EmailMessage)
    try:
        subject = " ".join(str(message.get("Subject", "")).split())
        identity = str(message.get("Message-ID", "")).strip()
        text = _text(message)
    except (LookupError, ValueError, TypeError, AttributeError, IndexError):  # of a header or body that is none
        return None
    if _REPLY.match(subject) or not subject:
        return None
    words, title = _taken_apart(subject)
    place, version = _PLACE.search(words), _VERSION.search(re.sub(r"[0-9]+/[0-9]+", "", words))
    index = int(place["index"]) if place else None
    return _Mail(
        identity=identity,
        title=plain(title[:200]).encode(errors="replace").decode(),
        version=int(version["number"]) if version else 1,
        index=index,
        total=int(place["total"]) if place else None,
        text=text,
        is_patch=index != 0 and bool(_DIFF.search(text)),
    )


def _taken_apart(subject: str) -> tuple[str, str]:
    """The words of the brackets that a subject begins with, and its title."""
    words = []
    while match := _BRACKETS.match(subject):
        words.append(match["words"])
        subject = subject[match.end() :]
    return " ".join(words), subject


def _text(message: EmailMessage) -> str:
    """The first plain text with a diff, else the first at all."""
    texts = [
        str(part.get_content()).replace("\r\n", "\n")
        for part in message.walk()
        if part.get_content_maintype() == "text" and part.get_content_subtype() in ("plain", "x-patch", "x-diff")
    ]
    return next((text for text in texts if _DIFF.search(text)), texts[0] if texts else "")


def _no_patches(file: Path, mails: Sequence[_Mail]) -> Failure:
    if any(mail.index == 0 for mail in mails):
        return wrong_usage(
            f"{file} holds a cover letter and none of its patches", "get the whole thread: b4 mbox MESSAGE-ID"
        )
    return wrong_usage(
        f"{file} holds no patch", "name a mailbox as b4 or lore gives it, or use --patch for a plain diff"
    )


def _series(file: Path, mails: Sequence[_Mail], version: int) -> Series | Failure:
    patches = [mail for mail in mails if mail.is_patch and mail.version == version]
    covers = [mail for mail in mails if not mail.is_patch and mail.index == 0 and mail.version == version]
    ordered = _in_order(file, patches, version)
    if isinstance(ordered, Failure):
        return ordered
    older = sorted({mail.version for mail in mails if mail.is_patch} - {version})
    bases = [match["commit"] for mail in (*covers, *ordered) for match in [_BASE.search(mail.text)] if match]
    if len(set(bases)) > 1:
        return wrong_usage(f"{file} names several bases: {', '.join(sorted(set(bases)))}", "say which with --base")
    versions = ", ".join(f"v{each}" for each in older)
    return Series(
        patches=tuple(SeriesPatch(title=mail.title, text=mail.text) for mail in ordered),
        base=bases[0] if bases else None,
        notes=(
            f"head is v{version} of the series in {file.name}, {counted(len(ordered), 'patch', 'patches')}",
            *((f"the mailbox holds {versions} too; the newest version is measured",) if older else ()),
        ),
    )


def _in_order(file: Path, patches: Sequence[_Mail], version: int) -> list[_Mail] | Failure:
    """The patches by their places; without places as they come."""
    if len(patches) > _MOST_PATCHES:
        return wrong_usage(f"{file} holds {len(patches)} patches", f"name a series of at most {_MOST_PATCHES}")
    if all(mail.index is None for mail in patches):
        return list(patches)
    totals = {mail.total for mail in patches}
    places: dict[int, list[_Mail]] = {}
    for mail in patches:
        places.setdefault(mail.index or 0, []).append(mail)
    twice = next((index for index, those in places.items() if len(those) > 1), None)
    if len(totals) > 1 or twice is not None:
        what = f"two patches {twice}" if twice is not None else "patches of series of different lengths"
        return wrong_usage(
            f"{file} holds {what} of v{version}", "name a mailbox with one series: b4 am -o . MESSAGE-ID writes one"
        )
    total = totals.pop() or 0
    missing = [str(index) for index in range(1, total + 1) if index not in places]
    if missing or len(places) != total:
        return wrong_usage(
            f"{file} lacks patches of v{version}: {', '.join(missing[:20]) or 'its places are not those of a series'}",
            "get the whole thread: b4 mbox MESSAGE-ID",
        )
    return [places[index][0] for index in sorted(places)]
