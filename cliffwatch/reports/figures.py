"""How numbers are written in every report."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from cliffwatch.comparing.comparison import CHANGES, DECIDED, LESS_LOOP, Comparison
from cliffwatch.comparing.ordering import beyond_noise, likely
from cliffwatch.counting import count_noun
from cliffwatch.formats.verdicts import Control, Mean, Verdict
from cliffwatch.samples import CaseKey

NOT_SIGNIFICANT = "~"

_MOST_NAMED = 4
"""Cases of one reason; the others are counted."""

_SMALL = 0.0001
"""Below it a number is written with a power of ten."""

SIGNS: Mapping[Verdict, str] = {
    "regression": "▲",
    "improvement": "▼",
    "changed": "≠",
    "unchanged": " ",
    "inconclusive": "?",
    "missing": "-",
    "failed": "!",
    "invalid": "x",
}
"""Worse and better by shape as well: colours alone do not reach everybody."""


class Valued(Protocol):
    """A row with the values of both sides: a comparison, or a row of a document."""

    @property
    def base(self) -> float | None: ...
    @property
    def head(self) -> float | None: ...


def case_name(case: CaseKey, metric: str) -> str:
    """The case, and that its empty loop is subtracted where a row is of that."""
    return f"{case}, less loop" if metric.endswith(LESS_LOOP) else str(case)


def parameters(case: CaseKey, metric: str) -> str:
    """The same of a row that stands below its benchmark."""
    params = " ".join(f"{name}={value}" for name, value in case.params) or "(defaults)"
    return f"{params}, less loop" if metric.endswith(LESS_LOOP) else params


def value(number: float | None) -> str:
    """Three decimals, fewer where the number is large and more where it is small: four digits that count,
    from 0.0001 on in powers of ten. `-` for what does not exist.
    """
    if number is None:
        return "-"
    size = abs(number)
    if size >= 100_000:
        return f"{number:,.0f}"
    if size == 0 or size >= 1:
        return f"{number:.3f}"
    if size < _SMALL:
        return f"{number:.3e}"
    whole, _, decimals = f"{number:.{3 - math.floor(math.log10(size))}f}".partition(".")
    return f"{whole}.{decimals.rstrip('0'):0<3}"


def percent(fraction: float | None) -> str:
    """With sign and two decimals: `+4.91 %`; three where two would show zero."""
    if fraction is None:
        return "-"
    digits = 2 if abs(fraction) >= 0.00005 or fraction == 0 else 3
    return f"{fraction:+.{digits}%}".replace("%", " %")


def change(row: Comparison) -> str:
    """The change, or `~` where it lies within the noise; both values of one that has no percentage."""
    if row.change is None:
        return step(row) if row.verdict in CHANGES else "-"
    return percent(row.change) if beyond_noise(row) else NOT_SIGNIFICANT


def step(row: Valued) -> str:
    """`0 -> 2`: a change from or to zero, which has no percentage."""
    return " -> ".join("-" if number is None else f"{number:.4g}" for number in (row.base, row.head))


def marked_change(row: Comparison) -> str:
    """The change of a row that is decided, else the sign of its verdict: for formats without a column of
    verdicts.
    """
    return change(row) if row.verdict in DECIDED else SIGNS[row.verdict]


def mark_verdict(verdict: Verdict) -> str:
    """`▲ regression`, `? inconclusive`; an unchanged row has no sign."""
    return f"{SIGNS[verdict]} {verdict}".strip()


def verdict_word(row: Comparison) -> str:
    """`likely` where a row is inconclusive and shows more than chance makes, else its verdict."""
    return "likely" if likely(row) else row.verdict


def explain_inconclusive(row: Comparison) -> str:
    """Why a row has no change to be read: `? inconclusive: about 40 boots per kernel would decide (22 to
    73)`.
    """
    return f"{mark_verdict(row.verdict)}: {row.reason}" if row.reason else mark_verdict(row.verdict)


def undecided_cases(rows: Sequence[Comparison]) -> Iterator[tuple[str, Comparison]]:
    """Rows whose change may not be read as it is, those of one case and reason together: the case, with
    metrics where it has several rows, and the first of the rows.
    """
    alike: dict[tuple[CaseKey, str, str], list[Comparison]] = {}
    of_case = Counter(row.case for row in rows)
    for row in rows:
        if row.verdict not in DECIDED:
            alike.setdefault((row.case, row.verdict, row.reason), []).append(row)
    for (case, _, _), group in alike.items():
        alone = len(group) == of_case[case]
        yield str(case) if alone else f"{case} {', '.join(row.metric for row in group)}", group[0]


def shared_reasons(rows: Sequence[Comparison]) -> list[tuple[list[str], Comparison]]:
    """The undecided cases of each reason together, and the first of their rows."""
    alike: dict[tuple[str, str], tuple[list[str], Comparison]] = {}
    for name, row in undecided_cases(rows):
        alike.setdefault((row.verdict, row.reason), ([], row))[0].append(name)
    return list(alike.values())


def shorten_names(cases: Sequence[str], marked: Callable[[str], str] = str) -> str:
    """The first four names, each as `marked` writes it, and how many more there are."""
    more = len(cases) - _MOST_NAMED
    return ", ".join(map(marked, cases[:_MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


def rows_named(rows: Sequence[Comparison]) -> Mapping[tuple[CaseKey, str], str]:
    """Each row's case, with its metric where the case has several rows."""
    of_case = Counter(row.case for row in rows)
    return {
        (row.case, row.metric): str(row.case) if of_case[row.case] == 1 else f"{row.case} {row.metric}"
        for row in rows
    }


def size(fraction: float) -> str:
    """A change without its direction, with the digits that it has: `0.2 %`, `1 %`."""
    return f"{100 * fraction:.4g} %"


def interval(row: Comparison) -> str:
    if row.ci_low is None or row.ci_high is None:
        return "-"
    return f"{percent(row.ci_low)} .. {percent(row.ci_high)}"


def detectable(row: Comparison) -> str:
    """The smallest change that this row's boots would have shown (MDE)."""
    return "-" if row.mde is None else f"{row.mde:.2%}".replace("%", " %")


def counts(row: Comparison) -> str:
    return str(row.n_base) if row.n_base == row.n_head else f"{row.n_base}/{row.n_head}"


def mean(one: Mean) -> str:
    """`-7.56 % (-8.10 % .. -7.02 %)`; without bounds where there are too few boots."""
    if one.ci_low is None or one.ci_high is None:
        return percent(one.change)
    return f"{percent(one.change)} ({percent(one.ci_low)} .. {percent(one.ci_high)})"


def control(seen: Control) -> str:
    """`A/A control: 0 of 20 false positives, …`: base against itself, below which no difference means
    anything.
    """
    share = f"{seen.published} of {count_noun(seen.rows, 'false positive')}"
    return f"A/A control: {share}, largest difference {percent(seen.largest)}"
