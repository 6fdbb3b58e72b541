"""What is news of a regression report, and whom it is for. Pure."""

import re
from collections.abc import Sequence
from datetime import datetime

from cliffwatch_service.store.history.news.outbox import NewsFacts, NewsKind
from cliffwatch_service.store.history.news.subscriptions import SubscriptionRow
from cliffwatch_service.store.history.reports import ReportState

_OPEN: tuple[ReportState, ...] = ("new", "acknowledged")
_TAGS = re.compile(r"^\s*(?:\[[^\]]*\]\s*)*(?:Revert\s+[\"“])?", re.IGNORECASE)
_AUTHOR = re.compile(r"(?P<name>[^<]*+)<(?P<address>[^>]*+)>\s*+")


def kind_of_news(
    last: NewsFacts | None, *, state: ReportState, cases: int, named: bool, verified: bool
) -> NewsKind | None:
    """What of a report is news since its `last` news, None where nothing is. `cases` of it got worse, `named`
    whether its culprit is one commit, `verified` whether measurements show that it is fixed.
    """
    if last is None:
        return "new" if state in _OPEN and cases else None
    is_open, was_open = state in _OPEN, last.state in _OPEN
    if not is_open:
        return None if not was_open else "fixed" if state == "fixed" and verified else "closed"
    if not was_open:
        return "reopened"
    if named and not last.named:
        return "culprit"
    return "more cases" if cases > last.cases else None


def subsystems_of(subject: str | None) -> list[str]:
    """What stands before the first colon of a commit's subject: `bpf, x86: Fix …` is of bpf and of x86."""
    before, colon, _ = _TAGS.sub("", subject or "").partition(":")
    return [part.strip().lower() for part in before.split(",") if part.strip()] if colon else []


def is_for(subscription: SubscriptionRow, news: NewsFacts, now: datetime) -> bool:
    """Whether somebody subscribed to these news. Of a culprit that is not yet one commit nobody knows author
    and subsystem: who asks for one of them hears of it when it is.
    """
    if subscription.muted_until is not None and now < subscription.muted_until:
        return False
    return (
        (not subscription.suites or bool(set(subscription.suites) & set(news.suites)))
        and (not subscription.authors or (news.named and _is_by(news.author, subscription.authors)))
        and (not subscription.subsystems or (news.named and _is_of(news.subject, subscription.subsystems)))
    )


def _is_by(author: str | None, wanted: Sequence[str]) -> bool:
    """By name, by address, or both as git writes them."""
    if author is None:
        return False
    match = _AUTHOR.fullmatch(author)
    known = {
        author.strip().lower(),
        *([] if match is None else [match["name"].strip().lower(), match["address"].lower()]),
    }
    return any(each.strip().lower() in known for each in wanted)


def _is_of(subject: str | None, wanted: Sequence[str]) -> bool:
    """`mm` is of `mm/slub`, too."""
    own = subsystems_of(subject)
    return any(part == each or part.startswith(f"{each}/") for each in map(str.lower, wanted) for part in own)
