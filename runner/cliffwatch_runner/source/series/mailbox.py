"""Reads a patch series from a mailbox of b4 or lore: its patches, their version and their base.

A mailbox contains untrusted mail: replies, other versions, bot notices, the same mail from two lists. The
notes of the series say what was chosen and what was left out. If the mails leave the series ambiguous,
reading fails.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.parsers.received.opening import read_content
from cliffwatch.reports.styles import plain
from cliffwatch_runner.source.series.mails import PatchMail, diff_of, has_diff, read_mails

_BASE = re.compile(r"^base-commit:\s*(?P<commit>[0-9a-f]{40})\s*$", re.MULTILINE)
_MOST_PATCHES = 1000
_ONE_SERIES = "name a mailbox with one series: b4 am -o . MESSAGE-ID writes one"
_WHOLE_THREAD = "get the whole thread: b4 mbox MESSAGE-ID"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPatch:
    """One patch."""

    title: str
    """Subject without brackets."""
    text: str
    """Mail text with the diff. Bytes that are not UTF-8 are escaped (PEP 383)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A patch series."""

    patches: tuple[SeriesPatch, ...]
    """In the order of application."""
    base: str | None
    """Full hash from its `base-commit:` line; None if it has none."""
    notes: tuple[str, ...]
    """Sentences about what was chosen and what was left out."""


def read_series(file: Path) -> Series | Failure:
    """Reads the newest series in a mailbox file, which may be compressed as lore serves it."""
    content = _content(file)
    if isinstance(content, Failure):
        return content
    mails = list(read_mails(content))
    candidates = [mail for mail in mails if _may_be_patch(mail)]
    named = [mail for mail in candidates if mail.named and not mail.notice]
    patches = named or [mail for mail in candidates if not mail.notice]
    if not patches:
        return _no_patches(file, mails)
    newest = max(mail.version for mail in patches)
    of_newest = _drop_copies(_drop_answers([mail for mail in patches if mail.version == newest]))
    ordered = _in_order(file, of_newest, newest)
    return ordered if isinstance(ordered, Failure) else _series(file, mails, ordered, newest)


def _content(file: Path) -> bytes | Failure:
    content = read_content(file)
    return content if isinstance(content, Failure) else content.replace(b"\r\n", b"\n")


def _may_be_patch(mail: PatchMail) -> bool:
    """True if the mail has a diff. A cover letter counts only if the whole series is attached to it."""
    return mail.has_diff if mail.index != 0 else bool(mail.attached) and len(mail.attached) == mail.total


def _no_patches(file: Path, mails: Sequence[PatchMail]) -> Failure:
    if any(mail.index == 0 for mail in mails):
        return wrong_usage(f"{file} holds a cover letter and none of its patches", _WHOLE_THREAD)
    if any(mail.notice for mail in mails):
        return wrong_usage(f"{file} holds notices of what became of a patch and no patch", _WHOLE_THREAD)
    return wrong_usage(
        f"{file} holds no patch", "name a mailbox as b4 or lore gives it, or use --patch for a plain diff"
    )


def _drop_answers(patches: Sequence[PatchMail]) -> list[PatchMail]:
    """Leaves out patches that other people sent as answers to the series.

    If any patch has a place such as 2/5, only patches with a place are kept. Otherwise a patch that answers a
    patch of another sender is left out.
    """
    if any(mail.index is not None for mail in patches):
        return [mail for mail in patches if mail.index is not None]
    senders = {mail.identity: mail.sender for mail in patches if mail.identity}
    return [
        mail
        for mail in patches
        if all(
            senders.get(identity, mail.sender) == mail.sender for identity in mail.answered - {mail.identity}
        )
    ]


def _drop_copies(patches: Sequence[PatchMail]) -> list[PatchMail]:
    """Returns each patch once, even if it came from two lists. A resent patch replaces the earlier mail."""
    resent = {(mail.index, mail.title) for mail in patches if mail.resent}
    kept: dict[object, PatchMail] = {}
    for mail in patches:
        if mail.resent or (mail.index, mail.title) not in resent:
            kept.setdefault((mail.index, mail.title, diff_of(mail.inline), mail.attached), mail)
    return list(kept.values())


def _series(
    file: Path, mails: Sequence[PatchMail], ordered: Sequence[PatchMail], version: int
) -> Series | Failure:
    patches = _patches(file, ordered)
    if isinstance(patches, Failure):
        return patches
    covers = [
        mail.inline for mail in mails if mail.index == 0 and mail.version == version and mail not in ordered
    ]
    texts = [*covers, *(mail.inline for mail in ordered), *(patch.text for patch in patches)]
    bases = [match["commit"] for text in texts for match in [_BASE.search(text)] if match]
    if len(set(bases)) > 1:
        return wrong_usage(
            f"{file} names several bases: {', '.join(sorted(set(bases)))}", "say which with --base"
        )
    others = [mail for mail in mails if _may_be_patch(mail) and mail not in ordered]
    older = sorted({mail.version for mail in others if mail.named and not mail.notice} - {version})
    versions = ", ".join(f"v{each}" for each in older)
    left_out = _explain_left_out(
        [mail for mail in others if mail.version not in older or mail.notice], ordered
    )
    return Series(
        patches=patches,
        base=bases[0] if bases else None,
        notes=(
            (
                f"head is v{version} of the series in {file.name},"
                f" {count_noun(len(patches), 'patch', 'patches')}"
            ),
            *((f"the mailbox holds {versions} too; the newest version is measured",) if older else ()),
            *left_out,
        ),
    )


def _explain_left_out(others: Sequence[PatchMail], ordered: Sequence[PatchMail]) -> Sequence[str]:
    """Returns a note on mails with a diff that are not part of the series; empty if there are none.

    Copies of its patches are not mentioned.
    """
    taken = {(mail.title, diff_of(mail.inline)) for mail in ordered}
    subjects = [
        _printable(mail.subject) for mail in others if (mail.title, diff_of(mail.inline)) not in taken
    ]
    if not subjects:
        return ()
    more = f" and {len(subjects) - 3} more" if len(subjects) > 3 else ""
    return (
        f"mails with a diff that are no patch of the series are left out: {'; '.join(subjects[:3])}{more}",
    )


def _patches(file: Path, ordered: Iterable[PatchMail]) -> tuple[SeriesPatch, ...] | Failure:
    """Returns the patches of the mails in order. The attachments of a mail are taken all or not at all."""
    patches: list[SeriesPatch] = []
    for mail in ordered:
        inline = [mail.inline] if mail.index != 0 and has_diff(mail.inline) else []
        if mail.attached and (inline or (mail.index and len(mail.attached) > 1)):
            return wrong_usage(
                f"{file}: the mail '{_printable(mail.subject)}' has"
                f" {count_noun(len(inline) + len(mail.attached), 'diff', 'diffs')} and does not say which is"
                " its patch",
                "save the patches that you mean as files, and name a mailbox of them",
            )
        patches += [SeriesPatch(title=_printable(mail.title), text=text) for text in inline]
        patches += [
            SeriesPatch(title=_printable(each.title or mail.title), text=each.text)
            for each in mail.attached
            if not inline
        ]
    if len(patches) > _MOST_PATCHES:
        return wrong_usage(
            f"{file} holds {len(patches)} patches", f"name a series of at most {_MOST_PATCHES}"
        )
    return tuple(patches)


def _in_order(file: Path, patches: Sequence[PatchMail], version: int) -> list[PatchMail] | Failure:
    """Orders the patches by their places; without places, keeps the order of the mailbox."""
    placed = [mail for mail in patches if mail.index]
    if not placed:
        return list(patches)
    totals = {mail.total for mail in placed}
    places: dict[int, list[PatchMail]] = {}
    for mail in placed:
        places.setdefault(mail.index or 0, []).append(mail)
    twice = next((index for index, those in places.items() if len(those) > 1), None)
    if len(totals) > 1 or twice is not None:
        what = f"two patches {twice}" if twice is not None else "patches of series of different lengths"
        return wrong_usage(f"{file} holds {what} of v{version}", _ONE_SERIES)
    total = totals.pop() or 0
    missing = [str(index) for index in range(1, total + 1) if index not in places]
    if missing or len(places) != total:
        return wrong_usage(
            f"{file} lacks patches of v{version}:"
            f" {', '.join(missing[:20]) or 'its places are not those of a series'}",
            _WHOLE_THREAD,
        )
    return [places[index][0] for index in sorted(places)]


def _printable(text: str) -> str:
    return plain(text).encode(errors="replace").decode()
