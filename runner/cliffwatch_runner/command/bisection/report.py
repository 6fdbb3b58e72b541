"""The text report of a bisection."""

from collections.abc import Sequence

from cliffwatch.comparing.validity import host_warning, rehearsal_warning
from cliffwatch.counting import count_noun
from cliffwatch.reports import figures
from cliffwatch.reports.styles import visible
from cliffwatch.samples import CaseKey
from cliffwatch_runner.run.bisection.document import (
    BisectionDocument,
    CommitRecord,
    CulpritRecord,
    EndsRow,
    SizeRecord,
)

_MOST_COMMITS = 20
"""Most candidates that the report lists when one of several commits is the culprit."""


def text_report(document: BisectionDocument) -> str:
    """Formats the report for a terminal or a mail, without colours."""
    good, bad = document.good, document.bad
    where = f"{document.mode}, {document.platform}" if document.platform else document.mode
    skipped = f", {count_noun(len(document.skipped), 'commit')} skipped" if document.skipped else ""
    lines = [
        *rehearsal_warning(document.platform),
        *host_warning(document.host_faults),
        f"{document.sought} between good {_commit_line(good)}",
        f"{'':{len(document.sought)}}     and bad  {_commit_line(bad)}",
        (
            f"{where}: {count_noun(document.measured, 'commit')} measured, "
            f"{count_noun(document.between, 'commit')} between the ends{skipped}"
        ),
        "",
    ]
    lines += _nothing_to_bisect(document) if document.outcome == "not-shown" else _culprits(document)
    lines += _error(document)
    lines += [f"skipped {each.commit[:12]}: {each.reason}" for each in document.skipped]
    lines += [f"{row}: not all changes were searched: bisect a part of the range" for row in document.cut]
    lines.append(f"git bisect replay {document.log}")
    return visible("\n".join(lines)) + "\n"


def _commit_line(commit: CommitRecord) -> str:
    return f"{commit.commit[:12]}  {commit.subject}"


def _culprits(document: BisectionDocument) -> list[str]:
    return [line for culprit in document.culprits for line in (*_culprit(culprit), "")]


def _culprit(culprit: CulpritRecord) -> list[str]:
    commits = culprit.commits
    if len(commits) == 1:
        (commit,) = commits
        lines = [_commit_line(commit), f"  {commit.author}, {commit.date[:10]}{_where(commit)}"]
    else:
        lines = [f"one of these {len(commits)} commits; none between them can be measured:"]
        lines += [f"  {_commit_line(commit)}" for commit in commits[:_MOST_COMMITS]]
        if len(commits) > _MOST_COMMITS:
            lines.append(f"  and {len(commits) - _MOST_COMMITS} more, see --format json")
    for title, sizes in (("worse", culprit.worse), ("better", culprit.better)):
        if sizes:
            lines += _table([(title, "metric", "before", "after", "", "change"), *map(_size, sizes)])
    return lines


def _where(commit: CommitRecord) -> str:
    if not commit.paths:
        return ", a merge that changes no file itself"
    more = f" and {count_noun(len(commit.paths) - 1, 'more file')}" if len(commit.paths) > 1 else ""
    return f", {commit.subsystem}: {commit.paths[0]}{more}"


def _size(size: SizeRecord) -> tuple[str, ...]:
    case = figures.case_name(size.case, size.metric)
    named = f"{case} (the merge itself)" if size.own else case
    return (
        named,
        size.metric,
        figures.value(size.base),
        figures.value(size.head),
        size.unit,
        figures.percent(size.change),
    )


def _nothing_to_bisect(document: BisectionDocument) -> list[str]:
    rows = [("case", "metric", "mode", "change", "could see", "verdict"), *map(_end, document.ends)]
    other_modes = "" if any(row.mode == "walltime" for row in document.ends) else "--mode both, "
    return [
        f"good and bad show no {document.sought} of any case, so there is nothing to bisect",
        *_table(rows),
        *dict.fromkeys(
            f"  {_case(row)}: {row.reason}" for row in document.ends if row.verdict == "inconclusive"
        ),
        f"try {other_modes}other cases, a longer --profile, a smaller --threshold, or a wider range",
        "",
    ]


def _end(row: EndsRow) -> tuple[str, ...]:
    detectable = "-" if row.mde is None else f"{row.mde:.2%}".replace("%", " %")
    return (_case(row), row.metric, row.mode, figures.percent(row.change), detectable, row.verdict)


def _case(row: EndsRow) -> str:
    key: CaseKey = row.case
    return str(key)


def _error(document: BisectionDocument) -> list[str]:
    error = document.error
    if error is None:
        return []
    steps = count_noun(error.steps, "step")
    boots = count_noun(error.boots, "boot")
    chance = f"the probability that any of {steps} went the wrong way is at most {error.error:.2g}"
    return [
        (
            f"walltime, {boots} per kernel and step: {chance} "
            "(assuming normal noise; not verified on real hardware)"
        )
    ]


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Aligns columns: text to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    numbers = {
        column for column, title in enumerate(rows[0]) if title in ("before", "after", "change", "could see")
    }
    return [
        "  "
        + "  ".join(
            f"{cell:>{width}}" if column in numbers else f"{cell:<{width}}"
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
