"""The text of news about a regression report, shared by mail, issues, feeds and webhooks. Pure."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cliffwatch.comparing.attribution.blocks import TITLE, FunctionBlock
from cliffwatch.comparing.comparison import BETWEEN_MEASUREMENTS
from cliffwatch.counting import count_noun
from cliffwatch.reports import figures
from cliffwatch.reports.styles import plain
from cliffwatch.shell_lines import WIDTH
from cliffwatch_service.history.change_words import change_words, fix_words
from cliffwatch_service.history.news.events import UNANSWERED_WEEKS
from cliffwatch_service.store.history.changes import ChangeRow
from cliffwatch_service.store.history.news.outbox import NewsKind, NewsRow

BETWEEN = f" {BETWEEN_MEASUREMENTS}"
"""Follows a difference between sides that were measured separately, not in turns."""

_MOST_SHOWN = 10
_BEGINNINGS = ("new", "more cases", "culprit")
_WHAT: Mapping[NewsKind, str] = {
    "new": "a regression was measured",
    "more cases": "a regression is measured in more cases",
    "culprit": "the culprit is known",
    "unanswered": (
        f"nobody has answered for {UNANSWERED_WEEKS} weeks, and this is the only reminder: acknowledge the"
        " report, or close it as fixed, expected or noise"
    ),
    "fixed": "the regression is fixed, and measurements show it",
    "closed": "the report was closed",
    "reopened": "the report is open again",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsContent:
    """News with its content."""

    news: NewsRow
    changes: Sequence[ChangeRow]
    """Confirmed regressions of the report, largest first."""
    tree: str | None
    """Tree of its commits; None if unknown."""
    page: str
    """URL of the report's page."""
    picture: str | None = None
    """URL of its step as SVG; None without a history, or if only signed-in readers may fetch it."""
    causes: Sequence[FunctionBlock] = ()
    """Functions behind the changes; empty if functions were not counted."""


def headline(news: NewsRow) -> str:
    """Returns the culprit's subject, or the ends of a range of commits, and what got worse and better.

    `bpf: Take the lookup out of line: 5 slower (up to 5.2 % more instructions)`.
    """
    what = plain(news.subject)[:200] if news.subject else _range(news)
    return f"{what}: {plain(news.summary)}"


def sentence(news: NewsRow) -> str:
    """Returns what happened, in one sentence."""
    if news.kind == "fixed" and news.fix:
        return f"{_WHAT['fixed']}: {fix_words(news.fix, news.fix_base)}."
    if news.kind == "closed":
        by = f" by {fix_words(news.fix, news.fix_base)}" if news.fix else ""
        return f"{_WHAT['closed']} as {news.state}{by}."
    may_be_host = "; the host may have made it" if news.apart and news.kind in _BEGINNINGS else ""
    return f"{_WHAT[news.kind]}{may_be_host}."


def _range(news: NewsRow) -> str:
    return f"{news.base[:12]}..{news.head[:12]}"


def mail_subject(first: NewsRow, *, reply: bool) -> str:
    """Returns the subject of a thread: the headline of the report's first news, for all its mails."""
    subject = f"[cliffwatch] {headline(first)}"
    return f"Re: {subject}" if reply else subject


def mail_text(whole: NewsContent) -> str:
    """Returns plain text of at most 72 columns, which can be quoted in a reply.

    URLs and commands are not wrapped, even if they are longer.
    """
    return "\n".join(_mail(whole)).rstrip() + "\n"


def _mail(whole: NewsContent) -> Iterator[str]:
    news = whole.news
    yield "Hello,"
    yield ""
    yield from _wrap_lines(f"cliffwatch: {sentence(news)}")
    yield ""
    if news.named:
        yield from _wrap_lines(f'commit: {news.head[:12]} ("{plain(news.subject or "")}")')
        yield from _wrap_lines(f"author: {plain(news.author or 'unknown')}")
        yield f"parent: {news.base[:12]}"
    else:
        yield f"between: {news.base[:12]} (good)"
        yield f"    and: {news.head[:12]} (bad)"
    if news.fix:
        yield f"fixed by: {fix_words(news.fix, news.fix_base).removeprefix('commit ')}"
    yield from _wrap_lines(f"what: {plain(news.summary)}")
    yield from _wrap_lines(f"measured on: {', '.join(news.platforms) or 'no platform'}")
    yield ""
    yield from _cases(whole)
    yield from _causes(whole.causes)
    yield "The report, with every case and its interval:"
    yield f"  {whole.page}"
    if whole.picture is not None:
        yield "Its step, as a picture:"
        yield f"  {whole.picture}"
    if whole.tree is not None and whole.changes:
        first = whole.changes[0]
        yield ""
        yield "To measure it again:"
        yield f"  cliffwatch run --mode {first.mode} --suite {first.suite} \\"
        yield f"    --base {news.base[:12]} --head {news.head[:12]} \\"
        yield f"    --tree {plain(whole.tree)}"
    if news.kind in ("new", "more cases", "culprit", "unanswered", "reopened"):
        yield ""
        yield "If you fix it, these lines tell where it was measured:"
        yield f"Closes: {whole.page}"
        if news.named:
            yield from _wrap_lines(f'Fixes: {news.head[:12]} ("{plain(news.subject or "")}")')


def _cases(whole: NewsContent) -> Iterator[str]:
    shown = whole.changes[:_MOST_SHOWN]
    for change in shown:
        yield from textwrap.wrap(
            f"{plain(change_words(change)):>10}  {case_name(change)}",
            WIDTH,
            subsequent_indent=" " * 12,
            break_on_hyphens=False,
        )
        bounds = (
            ""
            if change.ci_low is None
            else f" ({figures.percent(change.ci_low)} .. {figures.percent(change.ci_high)})"
        )
        yield from textwrap.wrap(
            f"{plain(change.metric)} in {plain(change.unit)}, {change.platform}"
            f" {change.mode}{bounds}{BETWEEN if change.apart else ''}",
            WIDTH,
            initial_indent=" " * 12,
            subsequent_indent=" " * 12,
        )
    if len(whole.changes) > len(shown):
        yield f"{'':12}and {count_noun(len(whole.changes) - len(shown), 'more series', 'more series')}"
    if shown:
        yield ""


def _causes(causes: Sequence[FunctionBlock]) -> Iterator[str]:
    if not causes:
        return
    yield f"{TITLE}:"
    for block in causes:
        yield from _wrap_lines(plain(f"{block.case}: {block.sentence}"))
        for row in block.rows:
            yield f"  {plain(row.name)[:36]:<36} {row.base:>9} {row.head:>9} {row.change:>9}"
        if block.also:
            yield from _wrap_lines(plain(f"  {block.also}"))
    yield ""


def case_name(change: ChangeRow) -> str:
    """Returns the case as text: `local-storage/hashmap-get map_size=10`."""
    return plain(
        " ".join(
            [f"{change.suite}/{change.benchmark}", *(f"{name}={value}" for name, value in change.params)]
        )
    )


def _wrap_lines(line: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, break_long_words=True, break_on_hyphens=False) or [""]


def issue_title(first: NewsRow) -> str:
    """Returns the title of an issue. GitHub accepts 256 characters."""
    return headline(first)[:250]


def issue_text(whole: NewsContent) -> str:
    """Returns the text of an issue as Markdown.

    The text of the mail is in a code block, so that names from commits and cases are not read as Markdown.
    """
    fence = "~" * 4
    text = mail_text(whole).removeprefix("Hello,\n\n").replace("~~~", "~ ~ ~")
    picture = (
        "" if whole.picture is None else f"[![The step in its history]({whole.picture})]({whole.page})\n\n"
    )
    return f"{fence}\n{text}{fence}\n\n{picture}[The report]({whole.page})\n"
