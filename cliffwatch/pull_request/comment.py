"""Writes the comments and the check run of a pull request from its state."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from cliffwatch.comparing.comparison import BETWEEN_MEASUREMENTS
from cliffwatch.counting import count_noun
from cliffwatch.pull_request import folds
from cliffwatch.pull_request.changed_curves import changed_curves
from cliffwatch.pull_request.marker import Marker
from cliffwatch.pull_request.news import News, names_of, news_of, without_rehearsals
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
from cliffwatch.pull_request.table import (
    describe_left_out,
    news_table,
    remark_lines,
    table_legend,
)
from cliffwatch.pull_request.verdict import (
    PENDING,
    SHORT,
    chosen_lines,
    pending_lines,
    progress_words,
    summary_sentences,
    verdict,
)
from cliffwatch.reports import figures
from cliffwatch.reports.answer import name_failure
from cliffwatch.reports.context import in_layouts
from cliffwatch.reports.markdown import (
    LONGEST,
    block,
    code,
    escape_markdown,
    inert,
    length,
    mark,
    one_line,
    word,
)
from cliffwatch.reports.several.unit_tables import UNIT_LEGEND, unit_tables
from cliffwatch.shell_lines import break_commands

Conclusion = Literal["neutral", "success", "failure", "cancelled", "action_required"]
Status = Literal["queued", "in_progress", "completed"]
FailOn = Literal["never", "regression", "confirmed"]
"""When a check run fails: never, on any regression, or on a regression that fresh boots confirmed."""

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
    news = news_of(without_rehearsals(state))
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
        one_line(table_legend(rows)),
        "",
        *remark_lines(rows),
        one_line(
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
        conclusion = _conclusion(state, news_of(without_rehearsals(state)), fail_on)
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
        lines += [*table.lines, "", one_line(table_legend(rows)), ""]
    lines += remark_lines(rows)
    lines += changed_curves(news)
    beside = folds.compare_with_earlier(state, news)
    if beside is not None:
        lines += [beside[0], ""]
    lines += [one_line(code(note, 300)) for note in state.notes]
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
        compared, control = measured.compared, measured.compared.control
        spread = in_layouts(compared.base, compared.head)
        boots = f"{count_noun(compared.base.boots, 'boot')} of each side{spread}"
        lines += [f"On {word(target.name)}, {boots}:", "", *unit_tables(compared, most=_CASES)]
        lines += [one_line(f"{figures.control(control)}."), ""] if control is not None else []
    return [*lines, one_line(UNIT_LEGEND), ""] if lines else []


def _top(state: PullRequestState, news: News) -> list[str]:
    lines = [_commits(state), "", *chosen_lines(news), *_warnings(news)]
    sentences = summary_sentences(news) if news.measured else ()
    if sentences:
        lines += [one_line(" ".join(sentences)), ""]
    pending: dict[str, list[str]] = {}
    for name, progress in pending_lines(state):
        pending.setdefault(_progress(progress), []).append(word(name))
    if len(pending) == 1 and not news.measured and _all_failed(state):
        lines += [*pending, ""]
    elif pending:
        lines += [*(f"- {', '.join(names)}: {text}" for text, names in pending.items()), ""]
    if any(isinstance(each.progress, Waiting) for each in state.targets):
        lines += [
            one_line(
                "The author is not known here: nothing is built until somebody with write access says"
                " `/bench`."
            ),
            "",
        ]
    return lines


def _all_failed(state: PullRequestState) -> bool:
    return all(isinstance(each.progress, Failed) for each in state.targets)


def _warnings(news: News) -> Iterator[str]:
    """Yields the warnings of each target. They apply to all of its rows."""
    for target, measured in zip(news.targets, news.measured, strict=True):
        for warning in measured.compared.warnings:
            yield from (one_line(f"**{word(target.name)}: {escape_markdown(warning)}**"), "")


def _progress(progress: object) -> str:
    match progress:
        case Superseded(by=commit):
            return f"superseded by {code(_short(commit))}"
        case Cancelled(by=str(login)):
            return f"cancelled by {code(login)}"
        case Failed(failure=failure):
            return name_failure(failure.message, failure.evidence, mark)
    return progress_words(progress)  # type: ignore[arg-type]


def _commits(state: PullRequestState) -> str:
    """Writes the line below the heading: the links and the commits."""
    series = (
        f", series {code(state.series.identity)} v{state.series.version}" if state.series is not None else ""
    )
    commits = f"{code(_short(state.base))} → {code(_short(state.head))}{series}"
    return " · ".join([*map(_link, state.links), commits])


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
    if not state.repeat.strip():
        return []
    return ["Reproduce:", *block(break_commands(state.repeat), lines=60, columns=2000, language="sh")]


def _link(link: Link) -> str:
    name = word(link.name)
    return f"[{name}](<{link.url}>)" if _URL.fullmatch(link.url) else f"{name}: {code(link.url)}"
