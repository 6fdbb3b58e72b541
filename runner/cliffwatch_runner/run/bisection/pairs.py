"""Compares pairs of commits.

Each pair is measured once, into the bisection's folder, and read from there afterwards.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from cliffwatch.comparing.compare_run import Sides, sides_of_run
from cliffwatch.failure import Failure, kernel_failed
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.samples import Arm
from cliffwatch.stats.history.culprits.question import Pair
from cliffwatch.stats.stages import Stages
from cliffwatch_runner.build.cache.entries import Stopped
from cliffwatch_runner.plan.arms import ArmRequest
from cliffwatch_runner.plan.layouts import layouts_of_step
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.run.bisection.record import BisectionRecord
from cliffwatch_runner.run.bisection.step import compare_primary_rows
from cliffwatch_runner.run.bisection.unchanged import MeasuredCommit, complete_commit, mark_unchanged
from cliffwatch_runner.run.progress import Progress
from cliffwatch_runner.run.run import run as carry_out

Rows = tuple[ComparisonRow, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A commit that cannot be measured, and why."""

    commit: str
    reason: str


@dataclass(frozen=True, slots=True)
class Halted:
    """The bisection cannot continue here. No failures: it was interrupted."""

    failures: tuple[Failure, ...] = ()


class Pairs(Protocol):
    """Compares a head with a base: returns the primary rows of the cases."""

    def compare(self, pair: Pair) -> Rows | Skipped | Halted: ...


@dataclass(frozen=True, slots=True)
class PairRuns:
    """Runs pairs of commits for a bisection."""

    request: RunRequest
    """The request of each run, except for its commits."""

    good: str
    """The good commit, which also supplies bench."""

    record: BisectionRecord
    progress: Progress
    stop: threading.Event
    host_faults: dict[str, None] = field(default_factory=dict)
    """Collected from every run."""

    def run(
        self, pair: Pair, boots: int | Stages | None, *, only_affected: bool = False
    ) -> Run | Skipped | Halted:
        """Returns the run of a pair: read from the folder if it is complete there, otherwise measured now.

        `only_affected` leaves out cases that are known to execute only code that is equal in both commits.
        """
        folder = self.record.folder / "runs" / f"{pair.base[:12]}-{pair.head[:12]}-{self.request.mode}"
        done = read_run(folder) if (folder / "run.json").exists() else None
        if isinstance(done, Run) and done.complete:
            return self._unless_failed(done, pair)
        skipped = next((each for each in pair if each in self.record.skipped), None)
        if skipped is not None:
            return Skipped(skipped, self.record.skipped[skipped])
        wanted = replace(
            self.request,
            base=None,
            head=None,
            arms=(ArmRequest(name="base", rev=pair.base), ArmRequest(name="head", rev=pair.head)),
            bench_from=self.good,
            boots=boots,
            layouts=layouts_of_step(self.request, boots),
            out=folder,
            only_affected="kept" if only_affected else None,
        )
        try:
            ended = carry_out(wanted, self.progress, self.stop, needed="head")
        except Stopped:
            return Halted()
        if isinstance(ended, tuple):
            return self._failed(pair, ended)
        if ended.interrupted:
            return Halted()
        run = read_run(ended.folder)
        return Halted((run,)) if isinstance(run, Failure) else self._unless_failed(run, pair)

    def _unless_failed(self, run: Run, pair: Pair) -> Run | Skipped | Halted:
        self.host_faults.update(dict.fromkeys(run.record.host_faults))
        base, head = run.arms["base"], run.arms["head"]
        if base.failure is not None and pair.base == self.good:
            return Halted((_unfit_end("good", base.failure),))
        failed = next(
            ((commit, arm.failure) for commit, arm in zip(pair, (base, head), strict=True) if arm.failure),
            None,
        )
        return run if failed is None else Skipped(failed[0], str(failed[1]))

    def _failed(self, pair: Pair, failures: tuple[Failure, ...]) -> Skipped | Halted:
        """A failure of the kernel skips the head, as git skips a commit that does not build.

        Other failures would hit every commit.
        """
        if any(failure.whose != "kernel" for failure in failures):
            return Halted(failures)
        self.record.skip(pair.head, failures[0].message)
        return Skipped(pair.head, failures[0].message)


class CountedPairs:
    """Compares commits by values that repeat exactly.

    Each commit is measured once, beside the good one, and can then be compared with any other measured
    commit. After the first pair only the cases that can differ from the good commit are measured.
    """

    def __init__(self, runs: PairRuns) -> None:
        self._runs = runs
        self._measured: dict[str, MeasuredCommit] = {}

    def compare(self, pair: Pair) -> Rows | Skipped | Halted:
        good = self._runs.good
        for commit in pair:
            if commit == good or commit in self._measured:
                continue
            first = not self._measured
            run = self._runs.run(Pair(good, commit), self._runs.request.boots, only_affected=not first)
            if not isinstance(run, Run):
                return run
            self._measured[commit] = complete_commit(run, None if first else self._any_good())
        if pair.base != good:
            head = self._measured[pair.head].arm if pair.head != good else self._any_good()
            return _rows(
                Sides(base=self._measured[pair.base].arm, head=head, notable=self._runs.request.notable)
            )
        of_head = self._measured[pair.head]
        sides = sides_of_run(of_head.run)
        if of_head.unchanged:
            sides = replace(sides, base=self._any_good(), head=of_head.arm)
        rows = _rows(sides)
        return rows if isinstance(rows, Halted) else mark_unchanged(rows, of_head.unchanged)

    def _any_good(self) -> Arm:
        """Returns the good commit as the first run measured it, with all cases."""
        return next(iter(self._measured.values())).run.arms["base"]


class TimedPairs:
    """Compares commits by noisy values: both commits of a pair are booted in one plan.

    `boots` sets the boots per kernel of single pairs (the ends); all other pairs use `per_step`.
    """

    def __init__(self, runs: PairRuns, boots: Mapping[Pair, int | Stages | None]) -> None:
        self._runs = runs
        self._boots = dict(boots)
        self.per_step: int | None = None

    def compare(self, pair: Pair) -> Rows | Skipped | Halted:
        run = self._runs.run(pair, self._boots.get(pair, self.per_step))
        return _rows(sides_of_run(run)) if isinstance(run, Run) else run


def _rows(sides: Sides) -> Rows | Halted:
    rows = compare_primary_rows(sides)
    return Halted((rows,)) if isinstance(rows, Failure) else rows


def _unfit_end(name: str, reason: str) -> Failure:
    return kernel_failed(
        f"the {name} commit cannot be measured: {reason}", f"name another {name} commit that builds and boots"
    )
