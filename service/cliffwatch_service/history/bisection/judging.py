"""Judges pairs of revisions for a bisection: the direction of each row, and the boots of the next pair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

from cliffwatch.comparing.comparison import CHANGES, DECIDED, TROUBLED
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.stats.history.culprits.boots import boots_per_step
from cliffwatch.stats.history.culprits.question import Pair, PairResult, RowDirection, RowStep
from cliffwatch_service.history.watching.confirming import Rows

ERROR = 0.01
"""Upper bound on the probability that noise misleads a bisection, over all its comparisons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Judges pairs from the comparisons that a bisection has. Series are named by digest."""

    exact: bool
    """Whether the values of all series are counted; otherwise all are noisy."""
    sizes: Mapping[str, float | None]
    """Change of each searched series over the whole range, a fraction; None without a percentage.

    A noisy row counts as changed if it shows at least half of its series' change.
    """
    measured: Mapping[Pair, Rows]
    """Rows of the pairs that were compared."""
    differences: Mapping[str, float] = field(default_factory=dict)
    """Change over the whole range of each series without a percentage, in its unit."""
    skipped: frozenset[Pair] = field(default_factory=frozenset)
    """Pairs that could not be compared."""
    unchanged: Mapping[Pair, frozenset[str]] = field(default_factory=dict)
    """Series of measured pairs whose case executes identical code on both sides, so it was not measured."""

    def judged(self, pair: Pair) -> PairResult | None:
        """Returns the result of a pair; None if the pair has to be measured.

        For counted values, any two measured revisions can be compared without a new run.
        """
        if pair in self.skipped:
            return PairResult()
        rows = self.measured.get(pair)
        if rows is not None:
            read = {series: self._step(series, rows[series]) for series in self.sizes if series in rows}
            same = self.unchanged.get(pair, frozenset()) & self.sizes.keys()
            return PairResult(read | dict.fromkeys(same, RowStep("none")))
        return self._from_values(pair) if self.exact else None

    def _step(self, series: str, row: ComparisonRow) -> RowStep:
        if row.base is None or row.head is None or row.verdict in TROUBLED:
            return RowStep("open")
        way = self._way(series, row, row.head - row.base)
        return RowStep(way, row.base, row.head, row.threshold * abs(row.base))

    def _way(self, series: str, row: ComparisonRow, difference: float) -> RowDirection:
        change = difference if row.change is None else row.change
        share = None if self.exact else self._share(series, row, difference)
        if share is not None:
            return direction(row, change) if share >= 0.5 else "none"
        if row.verdict not in DECIDED:
            return "open"
        return direction(row, change) if row.verdict in CHANGES else "none"

    def _share(self, series: str, row: ComparisonRow, difference: float) -> float | None:
        """Returns the share of the whole range's change that a row shows; None if they are not comparable."""
        size = self.sizes[series]
        if size is None:
            return difference / self.differences[series]
        return None if row.change is None else row.change / size

    def _from_values(self, pair: Pair) -> PairResult | None:
        before, after = self._values(pair.base), self._values(pair.head)
        if not before or not after:
            return None
        return PairResult(
            {series: _between(*before[series], after[series][1]) for series in before.keys() & after.keys()}
        )

    def _values(self, commit: str) -> dict[str, tuple[ComparisonRow, float]]:
        """Returns the value of each series at a revision, with a row that has its better direction.

        Uses the values of other commits whose code is identical for the series' case.
        """
        read: dict[str, tuple[ComparisonRow, float]] = {}
        for series in self.sizes:
            alike = self._alike(series, commit)
            for pair, rows in self.measured.items():
                row = rows.get(series)
                if row is None or row.verdict in TROUBLED:
                    continue
                value = row.base if pair.base in alike else row.head if pair.head in alike else None
                if value is not None:
                    read.setdefault(series, (row, value))
        return read

    def _alike(self, series: str, commit: str) -> set[str]:
        """Returns `commit` and the commits whose code is identical to it for a series' case."""
        pairs = [pair for pair, unchanged in self.unchanged.items() if series in unchanged]
        alike = {commit}
        while more := {each for pair in pairs if alike & set(pair) for each in pair} - alike:
            alike |= more
        return alike


def _between(row: ComparisonRow, before: float, after: float) -> RowStep:
    smallest = row.threshold * abs(before)
    difference = after - before
    way: RowDirection = direction(row, difference) if difference and abs(difference) >= smallest else "none"
    return RowStep(way, before, after, smallest)


def direction(row: ComparisonRow, change: float) -> RowDirection:
    """Returns the direction of a change.

    If the better direction is unknown, an increase is called a regression: the search only needs to
    distinguish directions.
    """
    worse = change < 0 if row.better == "higher" else change > 0
    return "regression" if worse else "improvement"


def boots_of(ends: Sequence[ComparisonRow], exact: bool, comparisons: int) -> str:
    """Returns the boots per arm of the next comparison, or `auto` for counted values.

    With this many boots, the probability that noise misleads any of `comparisons` comparisons is at most
    `ERROR`. `ends` are the rows of the whole range.
    """
    if exact:
        return "auto"
    needed = [
        boots_per_step(row.change, _spread(row), ERROR, comparisons) for row in ends if row.change is not None
    ]
    return str(max(needed, default=boots_per_step(0, 0, ERROR, 1)))


def _spread(row: ComparisonRow) -> float:
    """Returns the standard deviation over boots, or layouts, as a fraction of base.

    Half the width of the change's interval is z sqrt(1/n + 1/m) standard deviations.
    """
    if row.ci_low is None or row.ci_high is None or not row.n_base or not row.n_head:
        return abs(row.change or 0.0)
    z = NormalDist().inv_cdf(0.5 + (row.interval_level or 0.95) / 2)
    return float((row.ci_high - row.ci_low) / 2 / z / (1 / row.n_base + 1 / row.n_head) ** 0.5)
