"""Merges comparisons of the same two kernels on several targets: one row per case and metric."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cliffwatch.comparing.comparison import CHANGES, size_of
from cliffwatch.comparing.ordering import ORDER, is_likely
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.parsers.per_operation import INSTRUCTIONS, nanoseconds
from cliffwatch.reports.several.row_addresses import row_path
from cliffwatch.samples import CaseKey, Mode, is_rehearsal


@dataclass(frozen=True, slots=True)
class Target:
    """A target with its name for people."""

    platform: str
    mode: Mode
    name: str


@dataclass(slots=True)
class Across:
    """A metric of a case on every target."""

    row: ComparisonRow
    """The cell that names it: of a time or rate, beside which icount's instructions stand."""
    cells: tuple[ComparisonRow | None, ...]
    """One row per target; None if the target did not measure the metric."""
    verdict: str
    """A member of ORDER."""
    where: tuple[int, ...]
    """Indexes of the targets with this verdict; for `disagree`, of all targets that report a change."""

    @property
    def suite(self) -> str:
        return self.row.suite

    @property
    def benchmark(self) -> str:
        return self.row.benchmark

    @property
    def params(self) -> Mapping[str, str]:
        return self.row.params

    @property
    def metric(self) -> str:
        return self.row.metric

    @property
    def unit(self) -> str:
        return self.row.unit

    @property
    def measures(self) -> tuple[tuple[str, str], ...]:
        """Metric and unit of the cells without duplicates, the row's own first."""
        return tuple(
            dict.fromkeys(
                [(self.metric, self.unit), *((each.metric, each.unit) for each in self.cells if each)]
            )
        )

    @property
    def judged(self) -> tuple[ComparisonRow, ...]:
        """The cells that make the verdict: all, but no rehearsal beside hardware."""
        return tuple(cell for cell in _judged(self.cells) if cell)

    @property
    def path(self) -> str:
        """The URL path of its page, below that of the comparison's cases."""
        return row_path(self.suite, self.benchmark, self.params, self.metric)

    @property
    def group(self) -> str:
        """The verdict, or `likely` if it is inconclusive and any target's row is likely."""
        decided = self.verdict != "inconclusive"
        return self.verdict if decided or not any(map(is_likely, self.judged)) else "likely"

    @property
    def size(self) -> float:
        """Size of the largest reported change; without any, of the largest difference."""
        changed = [size_of(cell) for cell in self.judged if cell.verdict in CHANGES]
        return max(changed or map(size_of, self.judged), default=0.0)

    @property
    def sure(self) -> float:
        """Lower bound of the change's size: the interval bound nearest to zero, maximum over targets."""
        return max(map(_lower_bound, self.judged), default=0.0)


def _judged(cells: Sequence[ComparisonRow | None]) -> Sequence[ComparisonRow | None]:
    """Returns the cells without rehearsals, unless there is nothing else."""
    hardware = [None if cell is None or is_rehearsal(cell.platform) else cell for cell in cells]
    return hardware if any(hardware) else cells


def _lower_bound(row: ComparisonRow) -> float:
    low, high = row.ci_low, row.ci_high
    if low is None or high is None or low <= 0 <= high:
        return 0.0
    return float(min(abs(low), abs(high)))


def name_targets(pairs: Sequence[tuple[str, Mode]]) -> tuple[Target, ...]:
    """Names targets as briefly as possible: by platform, with the mode if there are several modes."""
    platforms = Counter(platform for platform, _ in pairs)
    modes = {mode for _, mode in pairs}
    return tuple(
        Target(
            platform, mode, platform if platforms[platform] == 1 and len(modes) == 1 else f"{platform} {mode}"
        )
        for platform, mode in pairs
    )


def across(rows: Sequence[Iterable[ComparisonRow]], *, all_metrics: bool = False) -> list[Across]:
    """Merges the primary rows, or all rows, of each target. Keeps the order of first occurrence."""
    of_targets = [list(of_target) for of_target in rows]
    times = _times_beside_counts(of_targets)
    by_key: dict[tuple[CaseKey, tuple[str, str]], list[ComparisonRow | None]] = {}
    for index, of_target in enumerate(of_targets):
        for row in of_target:
            if row.primary or all_metrics:
                case, own = row.case, (row.metric, row.unit)
                key = case, times.get(case, own) if row.metric == INSTRUCTIONS else own
                cells = by_key.get(key)
                if cells is None:
                    cells = by_key[key] = [None] * len(rows)
                cells[index] = row
    return [_over_targets(cells) for cells in by_key.values()]


def _over_targets(cells: Sequence[ComparisonRow | None]) -> Across:
    measured = [cell for cell in cells if cell]
    named = next((cell for cell in measured if cell.metric != INSTRUCTIONS), measured[0])
    return Across(named, tuple(cells), *_verdict(_judged(cells)))


def _times_beside_counts(rows: Sequence[Sequence[ComparisonRow]]) -> Mapping[CaseKey, tuple[str, str]]:
    """Returns metric and unit of each case's first primary time or rate.

    Leaves out cases for which a target measures both instructions and a time or rate.
    """
    found: dict[CaseKey, tuple[str, str]] = {}
    both: set[CaseKey] = set()
    for of_target in rows if len(rows) > 1 else ():
        counted = {row.case for row in of_target if row.metric == INSTRUCTIONS}
        for row in of_target:
            if row.primary and row.metric != INSTRUCTIONS and nanoseconds(1.0, row.unit) is not None:
                found.setdefault(row.case, (row.metric, row.unit))
                both |= {row.case} & counted
    return {case: named for case, named in found.items() if case not in both}


def _verdict(cells: Sequence[ComparisonRow | None]) -> tuple[str, tuple[int, ...]]:
    verdicts = [cell.verdict if cell else None for cell in cells]
    if {"regression", "improvement"} <= set(verdicts) or ("changed" in verdicts and _opposite(cells)):
        return "disagree", tuple(index for index, verdict in enumerate(verdicts) if verdict in CHANGES)
    if verdicts[0] and verdicts.count(verdicts[0]) == len(verdicts):
        return verdicts[0], tuple(range(len(verdicts)))
    worst = next(verdict for verdict in ORDER if verdict in verdicts)
    return worst, tuple(index for index, verdict in enumerate(verdicts) if verdict == worst)


def _opposite(cells: Sequence[ComparisonRow | None]) -> bool:
    """True if targets report changes in opposite directions."""
    changes = [_difference(cell) for cell in cells if cell and cell.verdict in CHANGES]
    return min(changes, default=0.0) < 0 < max(changes, default=0.0)


def _difference(cell: ComparisonRow) -> float:
    """Returns the change; head minus base if it has no percentage."""
    return (cell.head or 0.0) - (cell.base or 0.0) if cell.change is None else cell.change


def describe_targets(row: Across, targets: Sequence[Target]) -> str:
    """Names the targets that report a change.

    - `both` or `all 3`: every target.
    - `amd-rome only`: all other targets are unchanged.
    - `amd-rome at least`: another target is inconclusive or did not run.
    - Empty: no target reports a change, or there is only one target.
    """
    if len(targets) < 2 or row.verdict not in CHANGES:
        return "disagree" if row.verdict == "disagree" else ""
    if len(row.where) == len(targets):
        return "both" if len(targets) == 2 else f"all {len(targets)}"
    names = " and ".join(targets[index].name for index in row.where)
    return f"{names} only" if others_unchanged(row) else f"{names} at least"


def others_unchanged(row: Across) -> bool:
    """True if all targets without the row's verdict are unchanged."""
    others = [cell for index, cell in enumerate(row.cells) if index not in row.where]
    return all(cell is not None and cell.verdict == "unchanged" for cell in others)
