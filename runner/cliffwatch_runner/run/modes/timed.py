"""Fills the time of a plan with boots, once its first stage has shown what more boots are worth."""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from cliffwatch.columns import RowKey
from cliffwatch.comparing.compare_run import sides_of_run
from cliffwatch.comparing.variances import RunNoise, measure_noise
from cliffwatch.counting import count_noun, format_duration
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.boot_record import BootRecord
from cliffwatch.formats.reading import read_as
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.samples import CONTROL, Arm, select_compared_arms
from cliffwatch.stats.power.budget import Budget, Costs, Repetitions, most_further
from cliffwatch_runner.build.kernel import link_seconds
from cliffwatch_runner.plan.costs import planned_link_seconds, planned_seconds
from cliffwatch_runner.plan.plan import Plan, PlannedBoot, plan_in_time
from cliffwatch_runner.plan.run_plan import PlannedRun
from cliffwatch_runner.run.built_run import BuiltRun

_AT_ONCE = 0.75
"""Share of the rest that is planned at once. What then fits is known from how long these boots took."""
_LEAST = 0.001
"""Smallest change that is said to be seen, a fraction."""
_FEW = 3
"""Layouts that are planned at once anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledTime:
    """A plan with further boots."""

    plan: Plan
    notes: tuple[str, ...]
    """What the first stage showed, and what will be detectable; empty if the plan only goes on."""


def too_little_time(planned: PlannedRun) -> Failure | None:
    """Returns a failure if the first stage alone takes longer than the time of the plan."""
    plan, budget = planned.plan, planned.plan.budget
    least = planned_seconds(plan, planned.mode) + planned_link_seconds(plan)
    if budget is None or least <= budget.seconds:
        return None
    first = f"the first {count_noun(budget.blocks, 'boot')} of each kernel, with links, take"
    return wrong_usage(
        f"--time: {format_duration(budget.seconds)} is too short: {first} about {format_duration(least)}",
        f"use --time {math.ceil(2 * least / 60)}m, or fewer cases (--case)",
    )


def boots_in_time(run: BuiltRun, folder: Path) -> FilledTime | None:
    """Returns the plan with boots for the time that is left; None if no more fit, or nothing is noisy."""
    plan, budget = run.plan, run.plan.budget
    if budget is None:
        return None
    times = ((boot.index, _boot_seconds(folder, boot)) for boot in plan.boots)
    took = {index: seconds for index, seconds in times if seconds is not None}
    first = [took[boot.index] for boot in plan.first_boots if boot.index in took]
    if not first:
        return None
    link = _link_seconds(run)
    left = budget.seconds - sum(took.values()) - _seconds_of_links(run, link)
    if budget.rest is not None:
        return _go_on(plan, budget.rest, took, link, left)
    noise = _noise_of_first_stage(run, folder)
    if noise is None:
        return None
    known = _budget(run, noise, statistics.fmean(first), link)
    rest = known.spend(left)
    now = rest._replace(layouts=math.ceil(_AT_ONCE * rest.layouts)) if rest.layouts > _FEW else rest
    decided = replace(plan, budget=replace(budget, rest=rest))
    spread = _spread_words(plan, noise, statistics.fmean(first), link)
    seen = _detectable_words(plan, noise, known, rest, left)
    return FilledTime(plan=plan_in_time(decided, now), notes=(f"--time: {spread}", f"--time: {seen}"))


def _go_on(
    plan: Plan, rest: Repetitions, took: Mapping[int, float], link: float, left: float
) -> FilledTime | None:
    """Returns the plan with what fits by the time that the boots of the rest took."""
    begun = {boot.index for boot in plan.first_boots}
    later = [seconds for index, seconds in took.items() if index not in begun]
    if not later:
        return None
    each = len(plan.arms) * (link + rest.boots * statistics.fmean(later))
    done = len({boot.block for boot in plan.boots} - {boot.block for boot in plan.first_boots}) // rest.boots
    layouts = min(most_further(plan.layouts > 1) - done, int(left // each))
    if layouts < 1:
        return None
    return FilledTime(plan=plan_in_time(plan, rest._replace(layouts=layouts)), notes=())


def _boot_seconds(folder: Path, boot: PlannedBoot) -> float | None:
    """Returns how long a finished boot took; None if it is not done."""
    path = folder / "boots" / boot.folder / "boot.json"
    record = read_as(path.read_bytes(), BootRecord) if path.exists() else None
    if not isinstance(record, BootRecord):
        return None
    return (datetime.fromisoformat(record.ended) - datetime.fromisoformat(record.began)).total_seconds()


def _seconds_of_links(run: BuiltRun, link: float) -> float:
    """Returns how long the run's links took, `link` on average.

    Those of the first stage that were in the cache took no time. Later ones take longer if their trees have
    to be checked out and built again.
    """
    images = len(run.plan.layouts_of(run.plan.arms))
    first = len({boot.layout for boot in run.plan.first_boots} - {None})
    return link * len(run.links) + max(link * (images - first), run.linking_seconds)


def _link_seconds(run: BuiltRun) -> float:
    """Returns the average time of a link: of this run's, else of those in the cache, which may have been made
    beside other work. 0 if every kernel has one layout.
    """
    if run.links:
        return statistics.fmean(run.links)
    found = [link_seconds(kernel, run.tools.settings) for kernel in run.kernels.values()]
    known = [seconds for seconds in found if seconds is not None]
    return statistics.fmean(known) if known else 0.0


def _noise_of_first_stage(run: BuiltRun, folder: Path) -> RunNoise | None:
    """Returns the noise of the rows that may change; None if none is noisy."""
    read = read_run(folder)
    if not isinstance(read, Run):
        return None
    first = {boot.index for boot in run.plan.first_boots}
    named = [*select_compared_arms(read.arms), *({CONTROL} & set(read.arms))]
    arms = [_only(read.arms[name], first) for name in named]
    noise = measure_noise(arms, len(select_compared_arms(read.arms)) - 1, sides_of_run(read).traits())
    return noise if noise.rows else None


def _only(arm: Arm, indexes: set[int]) -> Arm:
    return replace(arm, boots=tuple(boot for boot in arm.boots if boot.index in indexes))


def _budget(run: BuiltRun, noise: RunNoise, boot: float, link: float) -> Budget:
    """Returns what is known after the first stage, in which a boot took `boot` seconds on average."""
    plan, arms = run.plan, len(run.plan.arms)
    lengths = [case.duration for case in plan.cases if case.program is None]
    duration = statistics.median_low(lengths) if lengths else 1
    blocks = len({each.block for each in plan.first_boots})
    done = Repetitions(layouts=plan.layouts, boots=blocks // plan.layouts, duration=duration)
    return Budget(
        rows=tuple(noise.rows.values()),
        alpha=noise.alpha,
        done=done if plan.layouts > 1 else Repetitions(layouts=blocks, boots=1, duration=duration),
        rate=noise.readings / duration,
        costs=Costs(
            link=arms * link,
            boot=arms * max(0.0, boot - sum(lengths)),
            second=float(arms * len(lengths)),
        ),
        in_layouts=plan.layouts > 1,
    )


def _spread_words(plan: Plan, noise: RunNoise, boot: float, link: float) -> str:
    parts = zip(("layouts", "boots", "readings"), zip(*noise.rows.values(), strict=True), strict=True)
    spreads = [
        f"{math.sqrt(max(0.0, statistics.median(values))):.2%} between {name}" for name, values in parts
    ]
    linked = f"a link takes {format_duration(link)}, " if link else ""
    return (
        f"{count_noun(len({each.block for each in plan.first_boots}), 'boot')} of each kernel spread by"
        f" {', '.join(spreads if plan.layouts > 1 else spreads[1:])} (median of"
        f" {count_noun(len(noise.rows), 'row')}); {linked}a boot {format_duration(boot)}"
    )


def _detectable_words(plan: Plan, noise: RunNoise, known: Budget, rest: Repetitions, left: float) -> str:
    shifts = dict(zip(noise.rows, known.detectable(rest), strict=True))
    seen = {row: math.expm1(shift) for row, shift in shifts.items() if shift is not None}
    words = _seen_words(seen, known.doubt(len(plan.arms))) if seen else _too_little(known, left)
    return f"{_rest_words(plan, rest, left)}: {words}"


def _rest_words(plan: Plan, rest: Repetitions, left: float) -> str:
    if not rest.layouts:
        return "no time is left for more"
    length = f"{rest.duration} s per case of bench"
    time = f"the remaining {format_duration(max(0.0, left))}"
    if plan.layouts == 1:
        return f"{time} go to {count_noun(rest.layouts, 'more boot')} of each kernel, {length}"
    boots = count_noun(rest.boots, "boot")
    return f"{time} go to {count_noun(rest.layouts, 'more layout')} of each kernel, {boots} each, {length}"


def _seen_words(seen: Mapping[RowKey, float], doubt: tuple[float, float]) -> str:
    """`doubt`: multiples of a single row's change between which the true one should lie.

    No share of runs is promised: it holds in fewer where a few layouts lie far off (calibration-time.md).
    """
    worst = max(seen, key=lambda row: seen[row])
    if len(seen) == 1:
        low, high = (_share(part * seen[worst]) for part in doubt)
        return f"a change of {_share(seen[worst])} will be seen (estimated from few layouts: {low} to {high})"
    typical = _share(statistics.median(seen.values()))
    return f"changes of {typical} will be seen in the median row, of {_share(seen[worst])} in {worst.case}"


def _share(change: float) -> str:
    """The change in per cent. Boots that do not differ at all show no smaller one than a tenth."""
    return f"{change:.1%}" if change >= _LEAST else f"less than {_LEAST:.1%}"


def _too_little(known: Budget, left: float) -> str:
    """Says how much more time is the least in which any change can be seen."""
    least = next(
        layouts
        for layouts in range(1, 1000)
        if any(shift is not None for shift in known.detectable(known.done._replace(layouts=layouts)))
    )
    missing = least * known.costs.of_layout(1, known.done.duration) - left
    return (
        "no change can be seen, however large: give it at least"
        f" {format_duration(60 * math.ceil(missing / 60))} more"
    )
