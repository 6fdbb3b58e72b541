"""Formats numbers for all reports."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from cliffwatch.comparing import ordering
from cliffwatch.comparing.comparison import CHANGES, DECIDED, LESS_LOOP
from cliffwatch.comparing.ordering import is_beyond_noise, is_likely
from cliffwatch.counting import count_noun
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.verdicts import Control, Mean, Verdict
from cliffwatch.parsers.per_operation import nanoseconds, rate_of
from cliffwatch.samples import CaseKey, Mode

NOT_SIGNIFICANT = "~"

_MOST_NAMED = 4
"""Maximum number of cases that are named per reason. The others are only counted."""

_SMALL = 0.0001
"""Smaller numbers are written with a power of ten."""

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
"""Shapes for worse and better, because not everybody sees colours."""


def case_name(case: CaseKey, metric: str) -> str:
    """Names a case, with `, less loop` if the metric has the empty loop subtracted."""
    return f"{case}, less loop" if metric.endswith(LESS_LOOP) else str(case)


def parameters(case: CaseKey, metric: str) -> str:
    """Names a case below its benchmark: only its parameters."""
    params = " ".join(f"{name}={value}" for name, value in case.params) or "(defaults)"
    return f"{params}, less loop" if metric.endswith(LESS_LOOP) else params


def value(number: float | None) -> str:
    """Formats a value: three decimals, none from 100,000 on, and four significant digits below 1.

    Below 0.0001, uses a power of ten. Returns `-` for None.
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
    """Formats a fraction with sign and two decimals: `+4.91 %`.

    Uses three decimals if two would show zero.
    """
    if fraction is None:
        return "-"
    digits = 2 if abs(fraction) >= 0.00005 or fraction == 0 else 3
    return f"{fraction:+.{digits}%}".replace("%", " %")


def change(row: ComparisonRow) -> str:
    """Returns the change of a row; `~` within the noise; both values if the change has no percentage."""
    if row.change is None:
        return step(row) if row.verdict in CHANGES else "-"
    return percent(row.change) if is_beyond_noise(row) else NOT_SIGNIFICANT


def signed_change(row: ComparisonRow) -> str:
    """Returns the change, after the sign of a verdict that leaves it undecided: `? +1.09 %`."""
    return change(row) if row.verdict in DECIDED else f"{SIGNS[row.verdict]} {change(row)}"


def step(row: ComparisonRow) -> str:
    """Formats a change from or to zero, which has no percentage: `0 -> 2`."""
    return " -> ".join("-" if number is None else f"{number:.4g}" for number in (row.base, row.head))


def step_words(base: float | None, head: float | None, unit: str) -> str:
    """Says a change from or to zero in a sentence: `0 to 2 B/op`."""
    return f"{' to '.join('-' if number is None else f'{number:.4g}' for number in (base, head))} {unit}"


def marked_change(row: ComparisonRow) -> str:
    """Returns the change of a decided row, else the sign of its verdict.

    For formats without a verdict column.
    """
    return change(row) if row.verdict in DECIDED else SIGNS[row.verdict]


def mark_verdict(verdict: Verdict) -> str:
    """Returns a verdict with its sign: `▲ regression`, `? inconclusive`. `unchanged` has no sign."""
    return f"{SIGNS[verdict]} {verdict}".strip()


_TIMES = {"regression": "slower", "improvement": "faster"}
_OTHERS = {"regression": "worse", "improvement": "better", "disagree": "with opposite changes"}


def verdict_in_words(verdict: str, units: Iterable[str]) -> str:
    """Names a verdict: `slower` if all units are of times, rates or instructions, else `worse`."""
    timed = verdict in _TIMES and all(nanoseconds(1.0, unit) is not None for unit in units)
    return (_TIMES if timed else _OTHERS).get(verdict, verdict)


def mark_row(row: ComparisonRow) -> str:
    """Returns a row's verdict in words, with its sign: `▲ slower`."""
    return f"{SIGNS[row.verdict]} {verdict_in_words(row.verdict, [row.unit])}".strip()


def verdict_word(row: ComparisonRow) -> str:
    """Returns `likely` for a likely row (see `ordering.is_likely`), else its verdict."""
    return "likely" if is_likely(row) else row.verdict


def explain_inconclusive(row: ComparisonRow) -> str:
    """Says why a row is undecided: `? inconclusive: about 40 boots per kernel would decide (22 to 73)`."""
    return f"{mark_verdict(row.verdict)}: {row.reason}" if row.reason else mark_verdict(row.verdict)


def undecided_cases(rows: Sequence[ComparisonRow]) -> Iterator[tuple[str, ComparisonRow]]:
    """Yields the undecided rows, grouped by case and reason: the case and the first row of the group.

    The case's name includes the metrics unless all of its rows are in the group.
    """
    alike: dict[tuple[CaseKey, str, str], list[ComparisonRow]] = {}
    of_case = Counter(row.case for row in rows)
    for row in rows:
        if row.verdict not in DECIDED:
            alike.setdefault((row.case, row.verdict, row.reason), []).append(row)
    for (case, _, _), group in alike.items():
        alone = len(group) == of_case[case]
        yield str(case) if alone else f"{case} {', '.join(row.metric for row in group)}", group[0]


def shared_reasons(rows: Sequence[ComparisonRow]) -> list[tuple[list[str], ComparisonRow]]:
    """Groups the undecided cases by reason: their names and the first row."""
    alike: dict[tuple[str, str], tuple[list[str], ComparisonRow]] = {}
    for name, row in undecided_cases(rows):
        alike.setdefault((row.verdict, row.reason), ([], row))[0].append(name)
    return list(alike.values())


def shared_notes(rows: Sequence[ComparisonRow]) -> list[tuple[list[str], str]]:
    """Groups the cases by note: their names and the note.

    A case's name includes the metric if it has other rows without the note.
    """
    alike: dict[str, list[ComparisonRow]] = {}
    of_case = Counter(row.case for row in rows)
    for row in rows:
        for note in row.notes:
            alike.setdefault(note, []).append(row)
    return [(list(_names(group, of_case)), note) for note, group in alike.items()]


def _names(group: Sequence[ComparisonRow], of_case: Mapping[CaseKey, int]) -> Iterator[str]:
    """Yields the name of each case of a group of rows, with its metrics if not all of its rows are in it."""
    metrics: dict[CaseKey, list[str]] = {}
    for row in group:
        metrics.setdefault(row.case, []).append(row.metric)
    for case, named in metrics.items():
        yield str(case) if len(named) == of_case[case] else f"{case} {', '.join(named)}"


def shorten_names(cases: Sequence[str], marked: Callable[[str], str] = str) -> str:
    """Joins the first four names, each formatted by `marked`, and counts the others."""
    more = len(cases) - _MOST_NAMED
    return ", ".join(map(marked, cases[:_MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


def name_rows(rows: Sequence[ComparisonRow]) -> Mapping[tuple[CaseKey, str], str]:
    """Names each row by its case, with the metric if the case has several rows."""
    of_case = Counter(row.case for row in rows)
    return {
        (row.case, row.metric): str(row.case) if of_case[row.case] == 1 else f"{row.case} {row.metric}"
        for row in rows
    }


def size(fraction: float) -> str:
    """Formats a change without sign and without trailing zeros: `0.2 %`, `1 %`."""
    return f"{100 * fraction:.4g} %"


def brief_size(fraction: float) -> str:
    """Formats the size of a change for a sentence: `5.2 %`, and `0.04 %` where a decimal would show zero."""
    share = 100 * abs(fraction)
    return f"{share:.1f} %" if share >= 0.1 or share == 0 else f"{share:.1g} %"


def size_words(change: float, unit: str, mode: Mode | None) -> str:
    """Says a change so that its direction is plain: `6.2 % fewer operations a second`, `4.8 % more time`.

    The guest's clock advances with its instructions under icount: its times are instructions.
    """
    size, more = brief_size(change), change > 0
    thing = rate_of(unit)
    if nanoseconds(1.0, unit) is None or (thing is not None and mode == "icount"):
        return f"{size} {'more' if more else 'less'}"
    if thing is not None:
        return f"{size} {'more' if more else 'fewer'} {thing} a second"
    if mode == "icount" or unit.startswith("insns/"):
        return f"{size} {'more' if more else 'fewer'} instructions"
    return f"{size} {'more' if more else 'less'} time"


def measure(metric: str, unit: str, better: str | None = None) -> str:
    """Returns `latency in ns/op, lower is better`. The metric alone if it has no unit or is named like it."""
    named = metric if not unit or metric == unit else f"{metric} in {unit}"
    return f"{named}, {better} is better" if better else named


def interval(row: ComparisonRow) -> str:
    if row.ci_low is None or row.ci_high is None:
        return "-"
    return f"{percent(row.ci_low)} .. {percent(row.ci_high)}"


def detectable(row: ComparisonRow) -> str:
    """Formats the smallest change that a row could see."""
    return "-" if row.mde is None else f"{row.mde:.2%}".replace("%", " %")


def reach_words(rows: Sequence[ComparisonRow]) -> str:
    """Says which change unchanged rows would have shown. Empty if there are none."""
    shown = ordering.detectable(rows)
    if shown is None:
        return ""
    median, largest = brief_size(shown.median), brief_size(shown.largest)
    worst = "" if median == largest else f" (median; the worst {largest})"
    return f"unchanged cases would have shown a change of {median}{worst}"


def counts(row: ComparisonRow) -> str:
    """Formats how many values each side has: `21`, `8 layouts`, or `20/21`."""
    n = str(row.n_base) if row.n_base == row.n_head else f"{row.n_base}/{row.n_head}"
    return f"{n} layouts" if row.observed == "layout" else n


def mean(one: Mean) -> str:
    """Formats a mean: `-7.56 % (-8.10 % .. -7.02 %)`. Without bounds if there are too few boots."""
    if one.ci_low is None or one.ci_high is None:
        return percent(one.change)
    return f"{percent(one.change)} ({percent(one.ci_low)} .. {percent(one.ci_high)})"


def control(seen: Control) -> str:
    """Formats the check of base against itself: `base vs base check: 0 of 20 false positives, …`."""
    where = " in other layouts" if seen.layouts > 1 else ""
    return f"base vs base check{where}: {_found(seen)}"


def control_words(seen: Control) -> str:
    """Formats the result of the check, for a place that names it."""
    return f"{_found(seen)}{', in other layouts' if seen.layouts > 1 else ''}"


def _found(seen: Control) -> str:
    share = f"{seen.published} of {count_noun(seen.rows, 'false positive')}"
    return f"{share}, largest difference {percent(seen.largest)}"
