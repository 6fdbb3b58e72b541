"""One step of a bisection: how a commit stands to the good one, by the verdicts on some cases."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from cliffwatch.comparing.compare_run import Sides, compare_run, sides_of_run
from cliffwatch.comparing.comparison import Comparison
from cliffwatch.counting import counted
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import Run
from cliffwatch.stats.history.culprits.question import Sought, Way


class Step(IntEnum):
    """What git makes of a step, as exit codes: from 128 on it ends the bisection and leaves it where it is."""

    GOOD = 0
    BAD = 1
    SKIP = 125
    STOP = 128


@dataclass(frozen=True, slots=True)
class JudgedCommit:
    """How a commit is marked, and why, in one sentence; `rows` are those that it was judged by."""

    step: Step
    reason: str
    rows: Sequence[Comparison] = ()


def compared_rows(sides: Sides) -> tuple[Comparison, ...] | Failure:
    """The primary rows by which a commit is judged: what is derived from them is not counted a second time. A reference without any
    boot is a failure, for nothing can be compared with it.
    """
    compared = compare_run(sides)
    if isinstance(compared, Failure):
        return compared
    if sides.base.failure is not None:
        return Failure(
            whose="kernel",
            message=f"the good commit cannot be measured: {sides.base.failure}",
            next_step="name a good commit that builds and boots",
        )
    return compared.primary_rows()


def way_of(row: Comparison) -> Way:
    """Which way a row goes, by its verdict."""
    match row.verdict:
        case "regression" | "improvement":
            return row.verdict
        case "unchanged" | "changed":
            return "none"
        case _:
            return "open"


def judge_run(run: Run, sought: Sought) -> JudgedCommit:
    """Judges head of a run whose base is the good commit, by all primary rows: one that shows the change is enough, and without one all
    must be decided. What cannot be measured is skipped, as git does with what does not build.
    """
    rows = compared_rows(sides_of_run(run))
    if isinstance(rows, Failure):
        return JudgedCommit(Step.STOP, f"{rows.message}: {rows.next_step}")
    changed = [row for row in rows if way_of(row) == sought]
    if changed:
        return JudgedCommit(Step.BAD, f"{len(changed)} of {counted(len(rows), 'row')}: {sought}", rows)
    open_rows = [row for row in rows if way_of(row) == "open"]
    if open_rows or not rows:
        return JudgedCommit(Step.SKIP, why_open(open_rows), rows)
    return JudgedCommit(Step.GOOD, f"none of {counted(len(rows), 'row')}: {sought}", rows)


def why_open(rows: Sequence[Comparison]) -> str:
    """Why a commit is skipped whose open rows these are."""
    return f"{rows[0].case}: {rows[0].verdict}: {rows[0].reason}" if rows else "nothing was measured"


def judge_failures(failures: Sequence[Failure]) -> JudgedCommit:
    """Of a run that came to nothing: a kernel's fault is skipped, anything else would be so of every commit."""
    first = failures[0]
    step = Step.SKIP if all(failure.whose == "kernel" for failure in failures) else Step.STOP
    return JudgedCommit(step, f"{first.message}: {first.next_step}")
