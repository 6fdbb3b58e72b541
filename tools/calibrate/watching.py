"""B10 and B14: what watching made-up histories of eight kinds of noise raises, what a fresh comparison leaves
of it, and where it puts steps.

Candidates come from `Watch`, point by point, as the service has them. A candidate's comparisons are of the
revision before its range and the last one in it, decided by `cliffwatch.stats.history.fresh`; a confirmed
one is right where a step of its direction lies in its range, each step once. Confirmed ones are bisected
as the service does.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from calibrate.confirming import Boots, asked, bisected
from calibrate.figures import Figure
from calibrate.histories import FIVE, HISTORY_KINDS, POINTS, History, HistoryKind, fresh, made_up
from calibrate.neighbours import other_steps
from cliffwatch.stats.history.steps import Step
from cliffwatch.stats.history.watch import Watch

_NEAR = 5
_APART = 15
"""A candidate so far from a step is not a candidate of that step, whatever its range says."""


@dataclass(frozen=True, slots=True)
class Raised:
    """A candidate: whether its comparisons confirmed it, with how many boots of each revision, and where
    bisection ended.
    """

    step: Step
    confirmed: bool
    boots: int
    culprit: int


@dataclass(frozen=True, slots=True)
class Watched:
    """A history, its candidates, and of how many of its steps a comparison right across the step would have
    been sure.
    """

    history: History
    raised: list[Raised]
    known_confirmed: int


def watched_history(seed: int, kind: HistoryKind, steps: int, between: bool) -> Watched:
    """`between`: sizes from anywhere between 1 and 10 %, else one of five."""
    generator = np.random.default_rng((14, seed, HISTORY_KINDS.index(kind), steps, between))
    history = made_up(generator, kind, steps, between=between)
    watch = Watch()
    raised = [
        _followed(generator, history, step, when)
        for when, value in enumerate(history.logs)
        for step in watch.append(float(value))
    ]
    known = sum(_known(generator, history, index, size) for index, size in history.steps)
    return Watched(history, raised, known)


def _followed(generator: np.random.Generator, history: History, step: Step, when: int) -> Raised:
    def at(index: int) -> Boots:
        return partial(fresh, generator, history, index)

    base, head = max(0, step.first - 1), min(when, step.last)
    answer = asked(step.size, at(base), at(head))
    culprit = bisected(answer.fresh, base, head, at) if answer.confirmed else step.index
    return Raised(step, answer.confirmed, answer.boots, culprit)


def _known(generator: np.random.Generator, history: History, index: int, size: float) -> bool:
    before, after = (partial(fresh, generator, history, place) for place in (index - 1, index))
    return asked(size, before, after).confirmed


@dataclass(frozen=True, slots=True)
class Tally:
    """Of histories with steps: `right` and `wrong` candidates, as far as they were confirmed, of `made`
    steps.
    """

    made: int
    right: int
    wrong: int
    exact: int

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.made)


Right = Callable[[Raised, tuple[int, float]], bool]
"""Whether a candidate is right about a step (its index and signed size)."""


def in_range(raised: Raised, made: tuple[int, float]) -> bool:
    return raised.step.first <= made[0] <= raised.step.last


def placed_near(raised: Raised, made: tuple[int, float]) -> bool:
    return abs(made[0] - raised.step.index) <= _NEAR


def named_near(raised: Raised, made: tuple[int, float]) -> bool:
    return abs(made[0] - raised.culprit) <= _NEAR


def tally(watched: Sequence[Watched], right_where: Right = in_range) -> Tally:
    """Of confirmed candidates, each step once."""
    right = wrong = exact = 0
    for each in watched:
        left = list(each.history.steps)
        for raised in each.raised:
            if not raised.confirmed:
                continue
            hit = next(
                (made for made in left if right_where(raised, made) and made[1] * raised.step.size > 0), None
            )
            if hit is None:
                wrong += 1
                continue
            left.remove(hit)
            right += 1
            exact += raised.culprit == hit[0]
    return Tally(sum(len(each.history.steps) for each in watched), right, wrong, exact)


def covered(watched: Sequence[Watched]) -> tuple[int, int]:
    """Of candidates within `_APART` points of a step in their direction: how many have it in their range, and
    how many there are.
    """
    held = of = 0
    for each in watched:
        for raised in each.raised:
            near = [
                index
                for index, size in each.history.steps
                if abs(index - raised.step.index) <= _APART and size * raised.step.size > 0
            ]
            of += bool(near)
            held += any(raised.step.first <= index <= raised.step.last for index in near)
    return held, of


def watching_figures(draws: range, pool: ProcessPoolExecutor, *, neighbours: bool) -> Iterator[Figure]:
    """Histories of 500 points, `draws` of each kind without a step and as many with four of each distribution
    of sizes.
    """

    def of(kinds: Sequence[HistoryKind], steps: int, *, between: bool = False) -> list[Watched]:
        return [
            each
            for kind in kinds
            for each in pool.map(
                partial(watched_history, kind=kind, steps=steps, between=between), draws, chunksize=2
            )
        ]

    quiet = {kind: of([kind], 0) for kind in HISTORY_KINDS}
    yield from _quiet_figures(quiet)
    five_sizes = {kind: of([kind], 4) for kind in HISTORY_KINDS}
    every = [each for watched in five_sizes.values() for each in watched]
    five = [each for kind in FIVE for each in five_sizes[kind]]
    for what, watched in (
        ("five kinds, sizes 1, 2, 3, 5, 10 %", five),
        ("eight kinds, sizes 1, 2, 3, 5, 10 %", every),
        ("five kinds, any size between 1 and 10 %", of(FIVE, 4, between=True)),
    ):
        yield from _step_figures(what, watched)
    yield from _range_figures(every)
    yield from _published_figures([each for kind in FIVE for each in quiet[kind]], five)
    if neighbours:
        yield from _neighbours_figures(quiet, five_sizes)


def _quiet_figures(quiet: dict[HistoryKind, list[Watched]]) -> Iterator[Figure]:
    rates = {
        kind: 1000 * sum(len(each.raised) for each in watched) / (POINTS * len(watched))
        for kind, watched in quiet.items()
    }
    mean = float(np.mean(list(rates.values())))
    points = POINTS * sum(map(len, quiet.values()))
    yield _figure(
        f"{points:,} points without a step, eight kinds: candidates in 1000",
        f"{mean:.2f}",
        "at most 2.5",
        mean <= 2.5,
    )
    for kind, rate in rates.items():
        yield _figure(f"without a step, {kind}: candidates in 1000 points", f"{rate:.2f}", "reported", None)
    raised = [every for watched in quiet.values() for each in watched for every in each.raised]
    boots = float(np.mean([each.boots for each in raised])) if raised else 0.0
    yield _figure(
        f"{points:,} points without a step: confirmed; boots of each revision a candidate",
        f"{sum(each.confirmed for each in raised)}; {boots:.0f}",
        "reported",
        None,
    )


def _step_figures(what: str, watched: Sequence[Watched]) -> Iterator[Figure]:
    by_range, near = tally(watched), tally(watched, placed_near)
    ceiling = sum(each.known_confirmed for each in watched) / by_range.made
    yield _figure(
        f"{by_range.made} steps, {what}, after fresh comparisons: precision; recall",
        f"{by_range.precision:.3f}; {by_range.recall:.3f}",
        "at least 0.99; at least 0.83",
        by_range.precision >= 0.99 and by_range.recall >= 0.83,
    )
    yield _figure(
        f"the same, {what}: precision where placed within five points; recall of a detector that knew every"
        " step",
        f"{near.precision:.3f}; {ceiling:.3f}",
        "reported",
        None,
    )
    exact = by_range.exact / max(1, by_range.right)
    yield _figure(f"the same, {what}: exact commit after bisection", f"{exact:.3f}", "reported", None)


def _published_figures(calm: Sequence[Watched], stepped: Sequence[Watched]) -> Iterator[Figure]:
    """What becomes of histories in the end: candidates are compared afresh, and the confirmed
    ones bisected.
    """
    named = tally(stepped, named_near)
    yield Figure(
        bar="B10",
        what=(
            f"{len(stepped)} histories, four steps, five kinds, after bisection: precision; recall of commits"
            " named within five"
        ),
        method="ours",
        measured=f"{named.precision:.3f}; {named.recall:.3f}",
        wanted="at least 0.99; at least 0.83",
        met=named.precision >= 0.99 and named.recall >= 0.83,
    )
    raised = [every for each in calm for every in each.raised]
    published = sum(each.confirmed for each in raised)
    yield Figure(
        bar="B10",
        what=f"of {POINTS * len(calm):,} points without a step, five kinds: published; of candidates",
        method="ours",
        measured=f"{published}; {len(raised)}",
        wanted="none",
        met=published == 0,
    )


def _range_figures(watched: Sequence[Watched]) -> Iterator[Figure]:
    held, of = covered(watched)
    widths = [raised.step.last - raised.step.first + 1 for each in watched for raised in each.raised]
    yield _figure(
        "candidates near a step, eight kinds: the range holds it; median width; nine in ten at most",
        f"{held / of:.3f} of {of}; {np.median(widths):.0f}; {np.quantile(widths, 0.9):.0f}",
        "at least 0.95",
        held / of >= 0.95,
    )


def _neighbours_figures(
    quiet: dict[HistoryKind, list[Watched]], stepped: dict[HistoryKind, list[Watched]]
) -> Iterator[Figure]:
    """The whole series at once, which is kinder than point by point; a step is placed right within five
    points.
    """
    calm = [each.history for watched in quiet.values() for each in watched]
    moved = [each.history for watched in stepped.values() for each in watched]
    for name, alarms in other_steps([each.logs for each in calm]).items():
        rate = 1000 * sum(map(len, alarms)) / (POINTS * len(calm))
        yield _figure("without a step, eight kinds: alarms in 1000 points", f"{rate:.2f}", "", None, name)
    for name, alarms in other_steps([each.logs for each in moved]).items():
        made = sum(len(each.steps) for each in moved)
        right = 0
        for each, indexes in zip(moved, alarms, strict=True):
            right += sum(any(abs(index - at) <= _NEAR for at in indexes) for index, _ in each.steps)
        precision = right / max(1, sum(map(len, alarms)))
        yield _figure(
            f"{made} steps, eight kinds, before any comparison: precision; recall",
            f"{precision:.3f}; {right / made:.3f}",
            "",
            None,
            name,
        )


def _figure(what: str, measured: str, wanted: str, met: bool | None, method: str = "ours") -> Figure:
    return Figure(bar="B14", what=what, method=method, measured=measured, wanted=wanted, met=met)
