"""Selects the rows that a pull request shows, from the comparisons of all targets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cliffwatch.comparing.comparison import TROUBLED, ComparisonSet
from cliffwatch.comparing.ordering import CHANGED, ORDER
from cliffwatch.pull_request.state import Measured, PullRequestState, RowKey, TargetState
from cliffwatch.reports.answer import Answer, Circumstances, answer_across, causes_of_set
from cliffwatch.reports.json_report import comparison_row
from cliffwatch.reports.markdown import mark
from cliffwatch.reports.several.across import Across, Target, across, name_targets
from cliffwatch.samples import CaseKey, is_rehearsal


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """The comparisons of all measured targets.

    `targets`, `measured` and the cells of rows have the same order.
    """

    targets: tuple[Target, ...]
    measured: tuple[Measured, ...]
    rows: tuple[Across, ...]
    """All primary rows, in order of first occurrence."""

    def in_turns(self) -> bool:
        """True if, on every target, any change must come from the kernel."""
        return all(is_in_turns(each.compared) for each in self.measured)

    def changed(self) -> list[Across]:
        """Returns the rows of the table: changed or not comparable. Sorts them by verdict, then by size."""
        shown = [
            row
            for row in self.rows
            if row.verdict in CHANGED or (row.verdict in TROUBLED and not self._of_failed_arm(row))
        ]
        return sorted(shown, key=lambda row: (ORDER.index(row.verdict), -row.size))

    def regressions(self) -> list[Across]:
        """Returns the rows with a regression on any target."""
        return [row for row in self.rows if _with(row, "regression")]

    def confirmed(self) -> list[Across]:
        """Returns the rows with a regression on any target that fresh boots confirmed."""
        return [
            row
            for row in self.rows
            if any(row_key(row) in self.measured[index].confirmed for index in _with(row, "regression"))
        ]

    def answer(self) -> Answer:
        """Answers what changed, on all targets. Names and errors are formatted for Markdown."""
        causes = [
            cause
            for each in self.measured
            for cause in causes_of_set(each.compared, each.context.functions, mark)
        ]
        return answer_across(
            self.rows,
            self.targets,
            Circumstances(
                in_turns=self.in_turns(),
                unchanged_builds=len(
                    frozenset().union(*(each.compared.unchanged_builds() for each in self.measured))
                ),
                causes=tuple(dict.fromkeys(causes)),
                failures=[failure for each in self.measured for failure in each.context.failures],
                marked=mark,
            ),
        )

    def _of_failed_arm(self, row: Across) -> bool:
        """True if the row fails because its whole arm failed.

        The arm's failure is reported once, not per case.
        """
        return row.verdict in ("failed", "missing") and any(
            self.measured[index].context.failures for index in row.where
        )


def is_in_turns(compared: ComparisonSet) -> bool:
    """True if base and head took turns, or if values are counted and so cannot drift."""
    return compared.took_turns or compared.mode == "icount"


def _with(row: Across, verdict: str) -> list[int]:
    judged = {id(cell) for cell in row.judged if cell.verdict == verdict}
    return [index for index, cell in enumerate(row.cells) if id(cell) in judged]


def row_key(row: Across) -> RowKey:
    return CaseKey(row.suite, row.benchmark, tuple(row.params.items())), row.metric


def count_cases(rows: Iterable[Across]) -> int:
    """Counts the cases of rows. A case has one row per primary metric."""
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


def without_rehearsals(state: PullRequestState) -> PullRequestState:
    """Removes the targets whose times are an emulator's. They are shown, notify nobody, and fail no check."""
    targets = tuple(each for each in state.targets if not is_rehearsal(each.platform))
    return replace(state, targets=targets)


def names_of(targets: Sequence[TargetState]) -> list[str]:
    """Returns the shortest distinct names of targets."""
    return [each.name for each in _name_targets(targets)]


def _name_targets(targets: Sequence[TargetState]) -> tuple[Target, ...]:
    return name_targets([(each.platform, each.mode) for each in targets])
