"""Bisects: compares the two ends first, then the pairs of commits that the search asks for."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cliffwatch.failure import Failure, kernel_failed
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.samples import Mode
from cliffwatch.stats.history.culprits.boots import boots_per_step, error_of, steps_of
from cliffwatch.stats.history.culprits.question import (
    ChangeDirection,
    Mark,
    Pair,
    PairResult,
    Question,
    RowDirection,
    RowStep,
    SearchResult,
)
from cliffwatch.stats.history.culprits.search import Search
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.run.bisection.commits import History
from cliffwatch_runner.run.bisection.pairs import (
    CountedPairs,
    Halted,
    PairRuns,
    Pairs,
    Rows,
    Skipped,
    TimedPairs,
)
from cliffwatch_runner.run.bisection.record import BisectionRecord
from cliffwatch_runner.run.bisection.step import way_of, why_open
from cliffwatch_runner.run.modes.walltime_host import examine_host
from cliffwatch_runner.run.progress import Progress

ERROR = 0.05
"""Error budget of a bisection in walltime: the maximum probability that any step goes the wrong way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Input of a bisection."""

    request: RunRequest
    """The request of every run, except for its commits and mode."""

    modes: tuple[Mode, ...]
    """Tried in this order."""

    history: History
    sought: ChangeDirection
    record: BisectionRecord
    report_step: Callable[[Pair, Rows | Skipped], None]
    """Called with each pair after it was compared."""

    report_marks: Callable[[tuple[Mark, ...]], None]
    """Called with the marks that `git bisect` has so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedError:
    """Error bound of a bisection in walltime."""

    boots: int
    """Boots per kernel in each step."""

    steps: int
    """Number of steps that the bound covers."""

    error: float
    """Maximum probability that any of these steps is wrong."""


@dataclass(slots=True, kw_only=True)
class Bisected:
    """A completed bisection."""

    mode: Mode
    ends: Rows
    """Rows of bad against good in `mode`."""

    found: SearchResult | None = None
    """None if no row of the ends shows the change that is sought."""

    compared: dict[Pair, Rows] = field(default_factory=dict)
    """Rows of each pair that could be compared."""

    skipped: dict[str, str] = field(default_factory=dict)
    """Commits that could not be measured, with the reason."""

    stated: StatedError | None = None
    """Error bound; None in icount, and if the ends do not show the change."""

    tried: Mapping[Mode, Rows] = field(default_factory=dict)
    """Rows of the ends in every mode that was tried without finding the change."""

    host_faults: tuple[str, ...] = ()
    """Why the host is not a bench host."""


def bisect(order: Order, progress: Progress, stop: threading.Event) -> Bisected | Halted:
    """Tries the modes of the order one after another until the ends differ in one of them.

    If there are several modes, a host that cannot run walltime is refused before the first. Raises OSError as
    runs do.
    """
    host = examine_host(order.request) if order.modes[1:] else ()
    if isinstance(host, Failure):
        return Halted((host,))
    tried: dict[Mode, Rows] = {}
    ended: Bisected | Halted = Halted()
    for mode in order.modes:
        request = order.request.one_of_modes(mode) if order.modes[1:] else order.request
        runs = PairRuns(request, order.history.good, order.record, progress, stop)
        ended = _Bisection(order, runs, mode).carried_out()
        if isinstance(ended, Halted):
            return ended
        ended.host_faults = tuple(runs.host_faults)
        if ended.found is not None:
            return ended
        tried[mode] = ended.ends
        ended.tried = dict(tried)
    return ended


def row_name(row: ComparisonRow) -> str:
    """Returns the name of a row in the search."""
    return f"{row.case} {row.metric}"


def _least_size(row: ComparisonRow) -> float:
    """Returns the bound of the confidence interval that is closer to zero, as a signed fraction of base.

    Returns the change itself if there is no interval or it includes zero.
    """
    change = row.change or 0.0
    bound = row.ci_low if change > 0 else row.ci_high
    return change if bound is None or bound * change <= 0 else bound


class _Bisection:
    def __init__(self, order: Order, runs: PairRuns, mode: Mode) -> None:
        self._order = order
        history = order.history
        self._ends = Pair(history.good, history.bad)
        self._timed = TimedPairs(runs, {self._ends: order.request.boots}) if mode == "walltime" else None
        self._pairs: Pairs = self._timed or CountedPairs(runs)
        self._result = Bisected(mode=mode, ends=())
        self._sizes: dict[str, float] = {}
        self._search = Search(
            Question(
                graph=history.graph,
                good=history.good,
                bad=history.bad,
                sought=order.sought,
                exact=mode == "icount",
            )
        )

    def carried_out(self) -> Bisected | Halted:
        asked, result = self._search.pairs(), self._result
        pair = next(asked)
        while True:
            rows = self._pairs.compare(pair)
            if isinstance(rows, Halted):
                return rows
            if pair == self._ends and (unfit := self._unfit(rows)) is not None:
                return Halted((unfit,))
            self._keep(pair, rows)
            try:
                pair = asked.send(self._judged(rows))
            except StopIteration as end:
                found: SearchResult = end.value
                result.found = found if found.rows else None
                self._order.report_marks(self._search.marks)
                return self._with_sizes(result)
            self._order.report_marks(self._search.marks)

    def _unfit(self, rows: Rows | Skipped) -> Failure | None:
        """Returns why the ends cannot be compared at all; None if they can."""
        if not isinstance(rows, Skipped) and any(way_of(row) != "open" for row in rows):
            return None
        reason = rows.reason if isinstance(rows, Skipped) else why_open(rows)
        if not isinstance(rows, Skipped) and any(row.verdict == "inconclusive" for row in rows):
            return None
        return kernel_failed(
            f"bad cannot be compared with good: {reason}",
            "name good and bad commits that build, boot and run the case",
        )

    def _keep(self, pair: Pair, rows: Rows | Skipped) -> None:
        self._order.report_step(pair, rows)
        if isinstance(rows, Skipped):
            self._result.skipped[rows.commit] = rows.reason
            return
        self._result.compared[pair] = rows
        if rows and all(way_of(row) == "open" for row in rows) and self._timed is None:
            self._result.skipped[pair.head] = why_open(rows)
        if pair == self._ends:
            self._result.ends = rows
            self._state_error(rows)

    def _state_error(self, rows: Rows) -> None:
        """Chooses boots per step that meet the error budget, by the size and noise of the ends' change."""
        shown = [row for row in rows if way_of(row) == self._order.sought and row.change]
        self._sizes = {row_name(row): _least_size(row) for row in shown}
        if self._timed is None or not shown:
            return
        steps = steps_of(len(self._order.history.between))
        asked = self._order.request.boots
        facts = [(_least_size(row), max(row.base_spread or 0.0, row.head_spread or 0.0)) for row in shown]
        needed = max(boots_per_step(change, spread, ERROR, steps) for change, spread in facts)
        boots = asked if isinstance(asked, int) else needed
        self._timed.per_step = boots
        error = max(error_of(change, spread, boots, steps) for change, spread in facts)
        self._result.stated = StatedError(boots=boots, steps=steps, error=error)

    def _judged(self, rows: Rows | Skipped) -> PairResult:
        if isinstance(rows, Skipped):
            return PairResult()
        at_ends = len(self._result.compared) == 1
        return PairResult({row_name(row): self._row(row, at_ends=at_ends) for row in rows})

    def _row(self, row: ComparisonRow, *, at_ends: bool) -> RowStep:
        size = self._sizes.get(row_name(row))
        way = way_of(row) if self._timed is None or at_ends or size is None else self._by_half(row, size)
        return RowStep(way, row.base, row.head, row.threshold * abs(row.base or 0.0))

    def _by_half(self, row: ComparisonRow, size: float) -> RowDirection:
        """Judges a commit in walltime: it has the change if it shows at least half of it.

        A verdict could stay inconclusive. This rule always decides, with an error that can be stated. The
        reference is the smallest change that the ends' interval allows, because the ends are noisy, too.
        """
        if row.change is None or row.verdict in ("missing", "failed", "invalid"):
            return "open"
        share = row.change / size
        if share >= 0.5:
            return self._order.sought
        if share <= -0.5:
            return "improvement" if self._order.sought == "regression" else "regression"
        return "none"

    def _with_sizes(self, result: Bisected) -> Bisected | Halted:
        """Measures each step whose culprit is one of several commits.

        Only in icount, where this costs no extra boots.
        """
        for step in result.found.steps if result.found is not None and self._timed is None else ():
            if step.pair in result.compared:
                continue
            rows = self._pairs.compare(step.pair)
            if isinstance(rows, Halted):
                return rows
            if not isinstance(rows, Skipped):
                result.compared[step.pair] = rows
        return result
