"""Decides what is news of a regression report, and which subscriptions it is for. Pure."""

import re
from collections.abc import Sequence
from datetime import datetime

from cliffwatch_service.store.history.news.outbox import NewsFacts, NewsKind
from cliffwatch_service.store.history.news.subscriptions import SubscriptionRow
from cliffwatch_service.store.history.reports import ReportState

UNANSWERED_WEEKS = 6
"""Weeks after the last news of a report that nobody triaged until its one reminder."""

_OPEN: tuple[ReportState, ...] = ("new", "acknowledged")
_TAGS = re.compile(r"^\s*(?:\[[^\]]*\]\s*)*(?:Revert\s+[\"“])?", re.IGNORECASE)
_AUTHOR = re.compile(r"(?P<name>[^<]*+)<(?P<address>[^>]*+)>\s*+")


def kind_of_news(
    last: NewsFacts | None, *, state: ReportState, cases: int, named: bool, verified: bool, unanswered: bool
) -> NewsKind | None:
    """Returns the kind of a report's news since its `last` news; None if there is none.

    - `cases`: number of cases that got worse.
    - `named`: whether its culprit is one commit.
    - `verified`: whether measurements show that it is fixed.
    - `unanswered`: whether its one reminder is due.
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
    if cases > last.cases:
        return "more cases"
    return "unanswered" if unanswered and cases else None


def subsystems_of(subject: str | None) -> list[str]:
    """Returns the names before the first colon of a commit's subject: `bpf, x86: Fix …` gives bpf and x86."""
    before, colon, _ = _TAGS.sub("", subject or "").partition(":")
    return [part.strip().lower() for part in before.split(",") if part.strip()] if colon else []


def is_for(subscription: SubscriptionRow, news: NewsFacts, now: datetime) -> bool:
    """Whether the news matches a subscription.

    While the culprit is a range of commits, its author and subsystem are unknown. Subscriptions to an author
    or a subsystem match only once the culprit is one commit.
    """
    if subscription.muted_until is not None and now < subscription.muted_until:
        return False
    return (
        (not subscription.suites or bool(set(subscription.suites) & set(news.suites)))
        and (not subscription.authors or (news.named and _is_by(news.author, subscription.authors)))
        and (not subscription.subsystems or (news.named and _is_of(news.subject, subscription.subsystems)))
    )


def _is_by(author: str | None, wanted: Sequence[str]) -> bool:
    """Whether a wanted author matches: by name, by address, or by both as git writes them."""
    if author is None:
        return False
    match = _AUTHOR.fullmatch(author)
    known = {
        author.strip().lower(),
        *([] if match is None else [match["name"].strip().lower(), match["address"].lower()]),
    }
    return any(each.strip().lower() in known for each in wanted)


def _is_of(subject: str | None, wanted: Sequence[str]) -> bool:
    """Whether a wanted subsystem matches. `mm` also matches `mm/slub`."""
    own = subsystems_of(subject)
    return any(part == each or part.startswith(f"{each}/") for each in map(str.lower, wanted) for part in own)
