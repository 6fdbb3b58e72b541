"""Judges one step of a bisection: marks a commit good or bad by its verdicts against the good commit."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from cliffwatch.comparing.compare_run import Sides, compare_run, sides_of_run
from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, kernel_failed
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.result_directory import Run
from cliffwatch.stats.history.culprits.question import ChangeDirection, RowDirection


class Step(IntEnum):
    """A step's result as an exit code of `git bisect run`.

    128 and above abort the bisection and keep its state.
    """

    GOOD = 0
    BAD = 1
    SKIP = 125
    STOP = 128


@dataclass(frozen=True, slots=True)
class JudgedCommit:
    """How a commit is marked."""

    step: Step
    reason: str
    """One sentence."""

    rows: Sequence[ComparisonRow] = ()
    """The rows that decided."""


def compare_primary_rows(sides: Sides) -> tuple[ComparisonRow, ...] | Failure:
    """Returns the primary rows by which a commit is judged. Derived metrics are not counted a second time.

    Fails if the good commit has no boot, because there is nothing to compare with.
    """
    compared = compare_run(sides)
    if isinstance(compared, Failure):
        return compared
    if sides.base.failure is not None:
        return kernel_failed(
            f"the good commit cannot be measured: {sides.base.failure}",
            "name a good commit that builds and boots",
        )
    return compared.primary_rows()


def way_of(row: ComparisonRow) -> RowDirection:
    """Returns the direction of a row, from its verdict."""
    match row.verdict:
        case "regression" | "improvement":
            return row.verdict
        case "unchanged" | "changed":
            return "none"
        case _:
            return "open"


def judge_run(run: Run, sought: ChangeDirection) -> JudgedCommit:
    """Judges the head of a run whose base is the good commit.

    The commit is bad if any primary row shows the change. Without one it is good only if every row is
    decided; otherwise it is skipped, as git skips a commit that does not build.
    """
    rows = compare_primary_rows(sides_of_run(run))
    if isinstance(rows, Failure):
        return JudgedCommit(Step.STOP, str(rows))
    changed = [row for row in rows if way_of(row) == sought]
    if changed:
        return JudgedCommit(Step.BAD, f"{len(changed)} of {count_noun(len(rows), 'row')}: {sought}", rows)
    open_rows = [row for row in rows if way_of(row) == "open"]
    if open_rows or not rows:
        return JudgedCommit(Step.SKIP, why_open(open_rows), rows)
    return JudgedCommit(Step.GOOD, f"none of {count_noun(len(rows), 'row')}: {sought}", rows)


def why_open(rows: Sequence[ComparisonRow]) -> str:
    """Returns why a commit with these open rows is skipped."""
    return f"{rows[0].case}: {rows[0].verdict}: {rows[0].reason}" if rows else "nothing was measured"


def judge_failures(failures: Sequence[Failure]) -> JudgedCommit:
    """Judges a run that failed: skips the kernel's failures and stops at others, which every commit has."""
    first = failures[0]
    step = Step.SKIP if all(failure.whose == "kernel" for failure in failures) else Step.STOP
    return JudgedCommit(step, str(first))
