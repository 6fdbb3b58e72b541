"""News as an Atom feed (RFC 4287). Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

from cliffwatch.reports.styles import visible
from cliffwatch_service.history.news.wording import headline, sentence
from cliffwatch_service.store.history.news.outbox import NewsRow

MEDIA_TYPE = "application/atom+xml"

_ATOM = "http://www.w3.org/2005/Atom"
_SINCE = "2026"
"""Year of the tag URIs (RFC 4151): the owner of the pages' host name owned it at that time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedAbout:
    """Identity and URLs of a feed."""

    name: str
    """Part of the feed's id; must never change."""
    title: str
    address: str
    """URL of the feed itself."""
    pages_url: str
    """URL of the pages."""
    began: datetime
    """When the feed began: its update time while it has no news."""


def atom_feed(news: Sequence[NewsRow], about: FeedAbout) -> bytes:
    """Returns the feed as XML. `news` must be sorted, newest first. The ids of entries never change."""
    ET.register_namespace("", _ATOM)
    feed = ET.Element(f"{{{_ATOM}}}feed")
    _text(feed, "id", _tag(about.pages_url, about.name))
    _text(feed, "title", about.title)
    _text(feed, "updated", _moment(last_update(news, about)))
    _link(feed, "self", about.address, MEDIA_TYPE)
    _link(feed, "alternate", f"{about.pages_url}/regressions", "text/html")
    _text(feed, "generator", "Cliffwatch")
    _text(_child(feed, "author"), "name", "Cliffwatch")
    for each in news:
        _entry(feed, each, about.pages_url)
    written: bytes = ET.tostring(feed, encoding="utf-8", xml_declaration=True)
    return written


def last_update(news: Sequence[NewsRow], about: FeedAbout) -> datetime:
    """Returns when the feed last changed: at its newest news; without news, when it began."""
    return max((each.at for each in news), default=about.began)


def _entry(feed: ET.Element, news: NewsRow, pages_url: str) -> None:
    entry = _child(feed, "entry")
    _text(entry, "id", _tag(pages_url, f"news/{news.digest}"))
    _text(entry, "title", f"{_KINDS.get(news.kind, news.kind)}: {headline(news)}")
    _text(entry, "updated", _moment(news.at))
    _text(entry, "published", _moment(news.at))
    _link(entry, "alternate", f"{pages_url}/regressions/{news.report}", "text/html")
    for name in (*news.suites, *news.platforms):
        _child(entry, "category").set("term", _clean(name))
    _text(
        entry,
        "summary",
        f"{sentence(news)} On {', '.join(news.platforms) or 'no platform'};"
        f" {news.base[:12]}..{news.head[:12]}.",
    )


_KINDS = {
    "new": "New",
    "more cases": "More cases",
    "culprit": "Culprit",
    "unanswered": "Unanswered",
    "fixed": "Fixed",
    "closed": "Closed",
    "reopened": "Open again",
}


def _child(of: ET.Element, name: str) -> ET.Element:
    return ET.SubElement(of, f"{{{_ATOM}}}{name}")


def _text(of: ET.Element, name: str, text: str) -> None:
    _child(of, name).text = _clean(text)


def _clean(text: str) -> str:
    """Removes characters that XML forbids or that change the reading direction."""
    return "".join(
        each
        for each in visible(text)
        if each in "\t\n" or ("\x20" <= each < "\ud800") or "\udfff" < each < "\ufffe" or each > "\uffff"
    )


def _link(of: ET.Element, rel: str, href: str, kind: str) -> None:
    link = _child(of, "link")
    for name, value in (("rel", rel), ("href", href), ("type", kind)):
        link.set(name, value)


def _tag(pages_url: str, name: str) -> str:
    return f"tag:{urlsplit(pages_url).hostname},{_SINCE}:{name}"


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
