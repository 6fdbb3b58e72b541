"""Groups of rows as text reports list them: what all rows of a group share stands once, above them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cliffwatch.comparing.ordering import COUNTED, FOLDED, ListedRows, list_rows
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports import figures
from cliffwatch.reports.answer import word_of

COLUMNS = ("n", "interval", "could see", "threshold")
"""Facts of a row that its group names where all rows share them."""

_VERDICTS = (
    *(verdict for verdict in COUNTED if verdict not in FOLDED),
    "likely",
    "inconclusive",
    "unchanged",
)
"""Of groups, in the order of the answer: what failed is on top."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """Rows of one verdict, suite and metric."""

    verdict: str
    """A verdict, or `likely`."""
    title: str
    """Sign and word of the verdict: `▲ slower`."""
    suite: str
    measure: str
    """Metric, unit and direction: `latency in ns/op, lower is better`."""
    shared: str
    """Facts that all rows share: `; n 12, could see 0.46 %`. Empty without any."""
    listed: ListedRows
    columns: tuple[str, ...]
    """Members of COLUMNS that differ between rows."""


def group_rows(rows: Sequence[ComparisonRow], *, all_metrics: bool, thresholds: bool) -> Iterator[RowGroup]:
    """Yields the groups: failures, then changes.

    `all_metrics` lists every row. `thresholds` is True if rows of the report have different thresholds.
    """
    groups: dict[tuple[str, str, str, str, str | None], list[ComparisonRow]] = {}
    for row in rows:
        key = (figures.verdict_word(row), row.suite, row.metric, row.unit, row.better)
        groups.setdefault(key, []).append(row)
    for (verdict, suite, metric, unit, better), same in sorted(
        groups.items(), key=lambda each: _VERDICTS.index(each[0][0])
    ):
        facts = {
            name: fact
            for name in COLUMNS
            if (thresholds or name != "threshold") and (fact := _fact(name, same))
        }
        shared = ", ".join(f"{name} {fact}" for name, fact in facts.items() if fact not in (_DIFFERS, "-"))
        yield RowGroup(
            verdict=verdict,
            title=f"{figures.SIGNS[same[0].verdict]} {word_of(same, verdict)}".strip(),
            suite=suite,
            measure=figures.measure(metric, unit, better),
            shared=f"; {shared}" if shared else "",
            listed=ListedRows(same, "") if all_metrics else list_rows(same),
            columns=tuple(name for name, fact in facts.items() if fact == _DIFFERS),
        )


_DIFFERS = "differs"


def _fact(name: str, rows: Sequence[ComparisonRow]) -> str:
    """Returns what all rows share, or `_DIFFERS`. Counted rows share the widest of their intervals."""
    if name == "interval" and len(rows) > 1 and all(row.interval_level is None for row in rows):
        widths = [
            (row.ci_high - row.ci_low) / 2
            for row in rows
            if row.ci_low is not None and row.ci_high is not None
        ]
        return f"±{figures.percent(max(widths)).lstrip('+')} at most" if widths else "-"
    facts = {cell_of(name, row) for row in rows}
    return facts.pop() if len(facts) == 1 else _DIFFERS


def cell_of(name: str, row: ComparisonRow) -> str:
    """Returns a row's text in one of COLUMNS."""
    match name:
        case "n":
            return figures.counts(row)
        case "interval":
            return figures.interval(row)
        case "could see":
            return figures.detectable(row)
        case _:
            return figures.size(row.threshold)
