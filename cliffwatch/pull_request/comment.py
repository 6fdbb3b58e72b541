"""Writes the comments and the check run of a pull request from its state."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from cliffwatch.comparing.comparison import BETWEEN_MEASUREMENTS
from cliffwatch.counting import count_noun
from cliffwatch.pull_request import folds
from cliffwatch.pull_request.changed_curves import changed_curves
from cliffwatch.pull_request.marker import Marker
from cliffwatch.pull_request.news import News, names_of, news_of
from cliffwatch.pull_request.state import (
    Cancelled,
    Failed,
    Link,
    Measured,
    PullRequestState,
    Queued,
    Superseded,
    Waiting,
)
from cliffwatch.pull_request.table import describe_left_out, news_table, table_legend
from cliffwatch.pull_request.verdict import (
    PENDING,
    SHORT,
    chosen_lines,
    pending_lines,
    progress_words,
    summary_sentences,
    verdict,
)
from cliffwatch.reports.markdown import WIDTH, block, code, escape_markdown, inert, length, word, wrap
from cliffwatch.reports.several.unit_tables import UNIT_LEGEND, unit_tables

Conclusion = Literal["neutral", "success", "failure", "cancelled", "action_required"]
Status = Literal["queued", "in_progress", "completed"]
FailOn = Literal["never", "regression", "confirmed"]
"""When a check run fails: never, on any regression, or on a regression that fresh boots confirmed."""

LONGEST = 60_000
"""Maximum number of characters. GitHub allows 65,536 in a comment and 65,535 in a check run's summary."""

_TABLE_LINES = 60
_MORE_LINES = 300
_CASES = 50
"""Maximum number of cases in a table of a library."""

_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_URL = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~%/?=&+,:;-]*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """A check run of GitHub."""

    sequence: int
    """Sequence of the state. GitHub stores it as `external_id`, so an earlier state never replaces a later
    one."""
    title: str
    """Plain text. `summary` is Markdown."""
    summary: str
    """Markdown."""
    status: Status
    conclusion: Conclusion | None
    """None unless `status` is `completed`."""
    details_url: str | None = None


def sticky_comment(state: PullRequestState) -> str:
    """Writes the comment that is edited in place: at most `LONGEST` characters, as GitHub counts them."""
    news = news_of(state)
    marker = Marker(kind="sticky", sequence=state.sequence)
    return f"{marker}\n### Cliffwatch: {verdict(state, news)}\n\n{_body(state, news)}"


def regression_comment(state: PullRequestState) -> str | None:
    """Writes the notification on regressions confirmed by fresh boots, one per head; None without any."""
    news = news_of(state)
    rows = sorted(news.confirmed(), key=lambda row: -row.size)
    if not rows:
        return None
    table = news_table(news, rows, most=_TABLE_LINES)
    count = f"{len(rows):,} {'regression' if len(rows) == 1 else 'regressions'}"
    if not news.in_turns():
        count += f" {BETWEEN_MEASUREMENTS}"
    parts = [
        f"{Marker(kind=f'regression:{_short(state.head)}', sequence=state.sequence)}",
        f"### Cliffwatch: {count} confirmed on fresh boots",
        "",
        _commits(state),
        "",
        *_warnings(news),
        *table.lines,
        *(["", describe_left_out(table.left)] if table.left else []),
        "",
        wrap(table_legend(rows)),
        "",
        wrap(
            "It was measured again on boots that had no part in finding it. The comment that is edited in"
            " place has everything else."
        ),
        "",
        *_ending(state),
    ]
    return inert("\n".join(parts)) + "\n"


def check_run(state: PullRequestState, *, fail_on: FailOn = "never") -> CheckRun:
    """Writes the check run. Its title is the verdict; its conclusion is `neutral` unless `fail_on` is met."""
    news = news_of(state)
    status, conclusion = _status(state), None
    if status == "completed":
        conclusion = _conclusion(state, news, fail_on)
    url = next((link.url for link in state.links if _URL.fullmatch(link.url)), None)
    title = verdict(state, news)
    return CheckRun(
        sequence=state.sequence,
        title=f"{title[0].upper()}{title[1:]}",
        summary=_body(state, news),
        status=status,
        conclusion=conclusion,
        details_url=url,
    )


def _status(state: PullRequestState) -> Status:
    pending = [each.progress for each in state.targets if isinstance(each.progress, PENDING)]
    if not pending:
        return "completed"
    begun = len(pending) < len(state.targets) or not all(
        isinstance(each, Waiting | Queued) for each in pending
    )
    return "in_progress" if begun else "queued"


def _conclusion(state: PullRequestState, news: News, fail_on: FailOn) -> Conclusion:
    failed = any(
        isinstance(each.progress, Failed) and each.progress.failure.whose == "kernel"
        for each in state.targets
    )
    if state.targets and all(isinstance(each.progress, Cancelled | Superseded) for each in state.targets):
        return "cancelled"
    if fail_on == "never":
        return "neutral"
    regressions = news.regressions() if fail_on == "regression" else news.confirmed()
    return "failure" if regressions or failed else "neutral"


def _body(state: PullRequestState, news: News) -> str:
    """Writes everything below the first line. Without room for all, folds are left out or cut."""
    lines = [*_top(state, news)]
    rows = news.changed()
    table = news_table(news, rows, most=_TABLE_LINES) if rows and not state.by_unit else None
    if state.by_unit:
        lines += _by_unit(news)
    if table is not None:
        lines += [*table.lines, "", wrap(table_legend(rows)), ""]
    lines += changed_curves(news)
    beside = folds.compare_with_earlier(state, news)
    if beside is not None:
        lines += [beside[0], ""]
    lines += [wrap(code(note, 300)) for note in state.notes]
    ending = _ending(state)
    room = LONGEST - length("\n".join([*lines, *ending])) - 1000
    parts = []
    for fold in _folds(
        state, news, more=table is not None and table.left > 0, beside=beside[1] if beside else None
    ):
        text = fold.text()
        if length(text) <= room:
            parts += [text, ""]
            room -= length(text) + 2
    parts += _full_reports(state, room)
    return inert("\n".join([*lines, *parts, *ending]).strip("\n")) + "\n"


def _by_unit(news: News) -> list[str]:
    """Returns one table per target and unit with all cases: a library has few."""
    lines: list[str] = []
    for target, measured in zip(news.targets, news.measured, strict=True):
        boots = count_noun(measured.compared.base.boots, "boot")
        lines += [
            f"On {word(target.name)}, {boots} of each side:",
            "",
            *unit_tables(measured.compared, most=_CASES),
        ]
    return [*lines, wrap(UNIT_LEGEND), ""] if lines else []


def _top(state: PullRequestState, news: News) -> list[str]:
    lines = [_commits(state), "", *chosen_lines(news), *_warnings(news)]
    sentences = summary_sentences(news) if news.measured else ()
    if sentences:
        lines += [wrap(" ".join(sentences)), ""]
    pending = [f"- {word(name)}: {_progress(progress)}" for name, progress in pending_lines(state)]
    if len(state.targets) > len(pending) or len(pending) > 1 or not news.measured:
        lines += [*pending, ""] if pending else []
    if any(isinstance(each.progress, Waiting) for each in state.targets):
        lines += [
            wrap(
                "The author is not known here: nothing is built until somebody with write access says"
                " `/bench`."
            ),
            "",
        ]
    return lines


def _warnings(news: News) -> Iterator[str]:
    """Yields the warnings of each target. They apply to all of its rows."""
    for target, measured in zip(news.targets, news.measured, strict=True):
        for warning in measured.compared.warnings:
            yield from (wrap(f"**{word(target.name)}: {escape_markdown(warning)}**"), "")


def _progress(progress: object) -> str:
    match progress:
        case Superseded(by=commit):
            return f"superseded by {code(_short(commit))}"
        case Cancelled(by=str(login)):
            return f"cancelled by {code(login)}"
        case Failed(failure=failure):
            return f"{code(failure.message)}"
    return progress_words(progress)  # type: ignore[arg-type]


def _commits(state: PullRequestState) -> str:
    series = (
        f", series {code(state.series.identity)} v{state.series.version}" if state.series is not None else ""
    )
    return wrap(f"{code(_short(state.base))} → {code(_short(state.head))}{series}")


def _short(commit: str) -> str:
    return commit[:SHORT] if _COMMIT.fullmatch(commit) else "unknown"


def _folds(state: PullRequestState, news: News, *, more: bool, beside: folds.Fold | None) -> list[folds.Fold]:
    changes = None
    if more:
        rest = news_table(news, news.changed(), most=_MORE_LINES, skip=_TABLE_LINES)
        left = ["", describe_left_out(rest.left)] if rest.left else []
        changes = folds.Fold(title="More changes", lines=(*rest.lines, *left))
    return folds.drop_empty(
        [
            folds.failures(state),
            changes,
            folds.functions(state),
            beside,
            folds.limitations(state),
            folds.environments(state),
        ]
    )


def _full_reports(state: PullRequestState, room: int) -> list[str]:
    parts: list[str] = []
    measured = [
        (each.progress, name)
        for each, name in zip(state.targets, names_of(state.targets), strict=True)
        if isinstance(each.progress, Measured)
    ]
    for index, (progress, said) in enumerate(measured):
        name = said if word(said) == said else f"target {index + 1}"
        fold = folds.everything(progress, name, room // (len(measured) - index))
        if fold is not None:
            text = fold.text()
            parts += [text, ""]
            room -= length(text) + 2
        else:
            cases = len(progress.compared.primary_rows())
            parts += (
                [f"{count_noun(cases, 'case')} of {name} {'does' if cases == 1 else 'do'} not fit here.", ""]
                if cases
                else []
            )
    return parts


def _ending(state: PullRequestState) -> list[str]:
    lines = []
    if state.repeat.strip():
        lines += ["Reproduce:", *block(command(state.repeat), lines=60, columns=2000, language="sh"), ""]
    return [*lines, *(_link(link) for link in state.links)]


def command(repeat: str) -> str:
    """Breaks shell commands into short lines without changing any word."""
    return "\n".join(_break_command(line) for line in repeat.splitlines())


def _break_command(line: str) -> str:
    try:
        words = [shlex.quote(each) for each in shlex.split(line)]
    except ValueError:
        return line
    lines, current = [], ""
    for each in _join_values(words):
        if current and len(current) + len(each) + 3 > WIDTH:
            lines.append(current)
            current = f"    {each}"
        else:
            current = f"{current} {each}" if current else each
    return " \\\n".join([*lines, current])


def _join_values(words: Sequence[str]) -> list[str]:
    """Joins each option with its value."""
    grouped: list[str] = []
    for index, each in enumerate(words):
        before = words[index - 1] if index else ""
        if before.startswith("--") and not each.startswith("-"):
            grouped[-1] += f" {each}"
        else:
            grouped.append(each)
    return grouped


def _link(link: Link) -> str:
    return (
        f"- {word(link.name)}: <{link.url}>"
        if _URL.fullmatch(link.url)
        else f"- {word(link.name)}: {code(link.url)}"
    )
