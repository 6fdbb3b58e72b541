"""What comparisons say to a bisection: how each row of a pair of revisions goes, and how many boots the next
pair needs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

from cliffwatch.comparing.comparison import CHANGES, DECIDED, TROUBLED
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.stats.history.culprits.boots import boots_per_step
from cliffwatch.stats.history.culprits.question import Judged, Pair, RowStep, Way
from cliffwatch_service.history.watching.confirming import Rows

ERROR = 0.01
"""The probability, at most, that noise leads a bisection astray: of all its comparisons together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Answers pairs from the rows of `measured` pairs; `skipped` ones say nothing. `sizes` are the changes of
    the series that are searched over the whole range, as fractions, all of them exact or none: a noisy row
    counts as changed from half of that on. `differences` are those of the changes that have no percentage,
    whose size is None, in their unit. `unchanged` are series of measured pairs whose case executes nothing
    that differs, so that it was not measured.
    """

    exact: bool
    sizes: Mapping[str, float | None]
    measured: Mapping[Pair, Rows]
    differences: Mapping[str, float] = field(default_factory=dict)
    skipped: frozenset[Pair] = field(default_factory=frozenset)
    unchanged: Mapping[Pair, frozenset[str]] = field(default_factory=dict)

    def judged(self, pair: Pair) -> Judged | None:
        """What came of a pair; None where it has to be measured. Of counted values any two revisions that
        were measured are a pair.
        """
        if pair in self.skipped:
            return Judged()
        rows = self.measured.get(pair)
        if rows is not None:
            read = {series: self._step(series, rows[series]) for series in self.sizes if series in rows}
            same = self.unchanged.get(pair, frozenset()) & self.sizes.keys()
            return Judged(read | dict.fromkeys(same, RowStep("none")))
        return self._from_values(pair) if self.exact else None

    def _step(self, series: str, row: ComparisonRow) -> RowStep:
        if row.base is None or row.head is None or row.verdict in TROUBLED:
            return RowStep("open")
        way = self._way(series, row, row.head - row.base)
        return RowStep(way, row.base, row.head, row.threshold * abs(row.base))

    def _way(self, series: str, row: ComparisonRow, difference: float) -> Way:
        change = difference if row.change is None else row.change
        share = None if self.exact else self._share(series, row, difference)
        if share is not None:
            return direction(row, change) if share >= 0.5 else "none"
        if row.verdict not in DECIDED:
            return "open"
        return direction(row, change) if row.verdict in CHANGES else "none"

    def _share(self, series: str, row: ComparisonRow, difference: float) -> float | None:
        """How much of the whole range's change a row shows; None where both cannot be set
        against each other.
        """
        size = self.sizes[series]
        if size is None:
            return difference / self.differences[series]
        return None if row.change is None else row.change / size

    def _from_values(self, pair: Pair) -> Judged | None:
        before, after = self._values(pair.base), self._values(pair.head)
        if not before or not after:
            return None
        return Judged(
            {series: _between(*before[series], after[series][1]) for series in before.keys() & after.keys()}
        )

    def _values(self, commit: str) -> dict[str, tuple[ComparisonRow, float]]:
        """What the series read at a revision, with a row that says which way is better."""
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
        """The commits between which nothing that a series' case executes differs."""
        pairs = [pair for pair, unchanged in self.unchanged.items() if series in unchanged]
        alike = {commit}
        while more := {each for pair in pairs if alike & set(pair) for each in pair} - alike:
            alike |= more
        return alike


def _between(row: ComparisonRow, before: float, after: float) -> RowStep:
    smallest = row.threshold * abs(before)
    difference = after - before
    way: Way = direction(row, difference) if difference and abs(difference) >= smallest else "none"
    return RowStep(way, before, after, smallest)


def direction(row: ComparisonRow, change: float) -> Way:
    """Where nobody said which way is better, more is called a regression: the search only tells
    ways apart.
    """
    worse = change < 0 if row.better == "higher" else change > 0
    return "regression" if worse else "improvement"


def boots_of(ends: Sequence[ComparisonRow], exact: bool, comparisons: int) -> str:
    """What the next comparison is asked for: boots for which noise misleads any of all `comparisons` at most
    with probability `ERROR`.
    """
    if exact:
        return "auto"
    needed = [
        boots_per_step(row.change, _spread(row), ERROR, comparisons) for row in ends if row.change is not None
    ]
    return str(max(needed, default=boots_per_step(0, 0, ERROR, 1)))


def _spread(row: ComparisonRow) -> float:
    """The standard deviation over boots as a fraction of base, from the interval of the change: half of it is
    z sqrt(1/n + 1/m) deviations.
    """
    if row.ci_low is None or row.ci_high is None or not row.n_base or not row.n_head:
        return abs(row.change or 0.0)
    z = NormalDist().inv_cdf(0.5 + (row.interval_level or 0.95) / 2)
    return float((row.ci_high - row.ci_low) / 2 / z / (1 / row.n_base + 1 / row.n_head) ** 0.5)
