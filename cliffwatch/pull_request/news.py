"""What a pull request is shown of its comparisons: rows over all targets, and which of them are news."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cliffwatch.comparing.comparison import CHANGES, TROUBLED, ComparisonSet, size_of
from cliffwatch.comparing.ordering import CHANGED, ORDER
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.pull_request.state import Measured, PullRequestState, RowKey, TargetState
from cliffwatch.reports.json_report import comparison_row
from cliffwatch.reports.several.across import Across, Target, across, targets_named
from cliffwatch.samples import CaseKey


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """All primary rows over the measured targets, in the order of the first. `targets`, `measured` and the
    rows' cells are in one order.
    """

    targets: tuple[Target, ...]
    measured: tuple[Measured, ...]
    rows: tuple[Across, ...]

    def in_turns(self) -> bool:
        """Whether what changed can only be the kernel's on every target."""
        return all(is_in_turns(each.compared) for each in self.measured)

    def changed(self) -> list[Across]:
        """What the table shows: regressions first, the largest first; then what could not be compared."""
        shown = [
            row
            for row in self.rows
            if row.verdict in CHANGED or (row.verdict in TROUBLED and not self._of_failed_arm(row))
        ]
        return sorted(shown, key=lambda row: (ORDER.index(row.verdict), -row.size))

    def regressions(self) -> list[Across]:
        """Rows that have a regression on some target."""
        return [row for row in self.rows if _with(row, "regression")]

    def confirmed(self) -> list[Across]:
        """Rows of which fresh boots confirmed a regression on some target."""
        return [
            row
            for row in self.rows
            if any(row_key(row) in self.measured[index].confirmed for index in _with(row, "regression"))
        ]

    def largest(self) -> tuple[ComparisonRow, Target] | None:
        """The row of the largest regression, else of the largest improvement, and where it is."""
        for verdict in CHANGES:
            found = [
                (cell, self.targets[index])
                for row in self.rows
                for index in _with(row, verdict)
                if (cell := row.cells[index]) is not None
            ]
            if found:
                return max(found, key=lambda each: size_of(each[0]))
        return None

    def _of_failed_arm(self, row: Across) -> bool:
        """A side that could not be measured at all is told as such, not once more for each of its cases."""
        return row.verdict in ("failed", "missing") and any(
            self.measured[index].context.failures for index in row.where
        )


def is_in_turns(compared: ComparisonSet) -> bool:
    """Whether base and head took turns; counted values do not drift."""
    return compared.took_turns or compared.mode == "icount"


def _with(row: Across, verdict: str) -> list[int]:
    return [index for index, cell in enumerate(row.cells) if cell is not None and cell.verdict == verdict]


def row_key(row: Across) -> RowKey:
    return CaseKey(row.suite, row.benchmark, tuple(row.params.items())), row.metric


def count_cases(rows: Iterable[Across]) -> int:
    """How many cases these rows are of: a case has a row for each primary metric."""
    return len({row_key(row)[0] for row in rows})


def news_of(state: PullRequestState) -> News:
    measured = state.measured()
    named = zip(state.targets, _name_targets(state.targets), strict=True)
    rows = [[comparison_row(row) for row in each.compared.primary_rows()] for _, each in measured]
    return News(
        targets=tuple(name for each, name in named if isinstance(each.progress, Measured)),
        measured=tuple(each for _, each in measured),
        rows=tuple(across(rows)),
    )


def names_of(targets: Sequence[TargetState]) -> list[str]:
    """The names by which a reader tells the targets apart."""
    return [each.name for each in _name_targets(targets)]


def _name_targets(targets: Sequence[TargetState]) -> tuple[Target, ...]:
    return targets_named([(each.platform, each.mode) for each in targets])
