"""What the table of a suite leaves open: empty cells, and rows that report no change."""

import re
from collections.abc import Iterator, Sequence

from cliffwatch.comparing.comparison import DECIDED
from cliffwatch.counting import count_noun, join_words
from cliffwatch.reports import figures
from cliffwatch.reports.several.releases.audit import Release, Step, SuiteAudit
from cliffwatch.reports.several.releases.words import row_name
from cliffwatch.samples import CaseKey

_SIDES = re.compile(r"(^|\b(?:in|of) )(base|head)\b")
_MOST_NAMED = 3
_LARGE = 0.02
"""A difference that readers see in the table, and ask about."""


def name_sides(text: str, step: Step) -> str:
    """A sentence on base and head, with the names of the releases that they are."""
    names = {"base": step.earlier, "head": step.later}
    return _SIDES.sub(lambda found: found[1] + names[found[2]], text)


def unmeasured(suite: SuiteAudit, releases: Sequence[Release]) -> Iterator[str]:
    """Why cells are empty: a line for each reason, with the releases and the cases that have it."""
    found: dict[str, dict[str, dict[CaseKey, None]]] = {}
    for case, cells in (*((row.case, row.cells) for row in suite.rows), *suite.empty_cases):
        for release, cell in zip(releases, cells, strict=True):
            if cell.value is None and cell.reason:
                found.setdefault(cell.reason, {}).setdefault(release.name, {})[case] = None
    for reason, by_release in found.items():
        by_cases: dict[tuple[CaseKey, ...], list[str]] = {}
        for name, cases in by_release.items():
            by_cases.setdefault(tuple(cases), []).append(name)
        for same, names in by_cases.items():
            where = "no release" if len(names) == len(releases) else join_words(names)
            yield f"{where}: {_name_cases(same)}: {reason}"


def _name_cases(cases: Sequence[CaseKey]) -> str:
    if len(cases) == 1:
        return str(cases[0])
    return f"{count_noun(len(cases), 'case')}, such as {min(map(str, cases))}"


def unjudged(suite: SuiteAudit) -> Iterator[str]:
    """Why rows with a value in both releases were not judged: a line for each step and reason."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in suite.rows:
        for step in row.steps:
            if step is not None and step.has_both_values and step.row.verdict not in DECIDED:
                reason = name_sides(step.row.reason or step.row.verdict, step)
                found.setdefault((step.earlier, step.later, reason), []).append(row_name(row))
    for (earlier, later, reason), names in found.items():
        more = len(names) - _MOST_NAMED
        named = ", ".join(names[:_MOST_NAMED]) + (f" and {count_noun(more, 'more row')}" if more > 0 else "")
        yield f"{earlier} to {later}, not judged: {named}: {reason}"


def unreported(suite: SuiteAudit) -> Iterator[str]:
    """Why differences of 2 % and more are not reported as changes: a line for each row and step."""
    for row in suite.rows:
        for step in row.steps:
            if step is not None and step.row.verdict == "unchanged" and abs(step.row.change or 0.0) >= _LARGE:
                size = figures.percent(step.row.change)
                reason = name_sides(step.row.reason or "within the noise", step)
                yield f"{step.earlier} to {step.later}, not reported: {row_name(row)} {size}: {reason}"
