"""Calibrates a host: how much boots of equal kernels differ, and how many boots show a change of 1 %."""

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

import cliffwatch
from cliffwatch.comparing.compare_run import Sides, compare_run, sides_of_run
from cliffwatch.comparing.comparison import CHANGES, ComparisonSet
from cliffwatch.comparing.thresholds import ALPHA, NOISY
from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.calibration import FORMAT, FORMAT_VERSION, CalibratedRow, CalibrationDocument
from cliffwatch.formats.result_directory import Run
from cliffwatch.formats.setup import MOST_ASKED_LAYOUTS
from cliffwatch.samples import CONTROL, MATCHED, MOST_ASKED_BOOTS, Arm, CaseKey, is_rehearsal
from cliffwatch.stats.noise.layouts import LayoutSpread, layout_spread
from cliffwatch.stats.power.detectable import boots_needed, detectable

_LEAST_SPREAD = 1e-9
Key = tuple[CaseKey, str, str]
"""A case, a metric and its unit."""


def calibrate(runs: Sequence[Run], asked: Sequence[str]) -> CalibrationDocument | Failure:
    """Calibrates from runs of one kernel against itself, on one platform in one mode. `asked` are suites."""
    if not runs:
        return wrong_usage(
            "no suite was measured", "see above what its run said, or give the command more time"
        )
    kernels = {arm.facts.get("kernel") for run in runs for arm in run.arms.values()}
    targets = {(run.record.platform, run.record.mode) for run in runs}
    if len(kernels) > 1 or len(targets) > 1:
        return wrong_usage(
            "these runs are of several kernels, platforms or modes", "calibrate with one of each"
        )
    rows: list[CalibratedRow] = []
    changes: list[str] = []
    for run in runs:
        compared = [each for each in _compared_pairs(run) if not isinstance(each, Failure)]
        if not compared:
            return wrong_usage(f"{run.path} has no arms to compare", "measure it again")
        rows += _rows(run, compared)
        changes += [change for each in compared for change in _changes(each)]
    machines = [run.record.host_facts.machine() for run in runs]
    changed = [
        name
        for name, value in machines[0].items()
        if any(each.get(name, value) != value for each in machines)
    ]
    if changed:
        return wrong_usage(
            f"{', '.join(changed)} of this host changed between these runs",
            "measure all suites again, in another folder (--out)",
        )
    oldest = min(runs, key=lambda run: run.record.created)
    base = next(iter(oldest.arms.values()))
    measured = tuple(dict.fromkeys(suite for run in runs for suite in run.record.suites))
    missing = tuple(suite for suite in asked if suite not in measured)
    document = CalibrationDocument(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        cliffwatch_version=cliffwatch.__version__,
        created=oldest.record.created,
        platform=oldest.record.platform,
        mode=oldest.record.mode,
        profile=oldest.record.profile,
        boots=max(len(run.arms[name].boots) for run in runs for name in run.arms),
        kernel=" ".join(base.facts[name] for name in ("release", "commit") if name in base.facts),
        machine=machines[0],
        suites=measured,
        missing=missing,
        false_changes=tuple(changes),
        passed=False,
        rows=tuple(rows),
    )
    return replace(document, passed=not document.shortfalls())


def _compared_pairs(run: Run) -> Iterator[ComparisonSet | Failure]:
    """Compares base with head, and with the control if there is one."""
    sides = sides_of_run(run)
    # Without the control: what differs from it must count here, not excuse the rest.
    yield compare_run(_plain(sides, sides.head))
    if CONTROL in run.arms:
        yield compare_run(_plain(sides, run.arms[CONTROL]))


def _plain(sides: Sides, head: Arm) -> Sides:
    return Sides(base=sides.base, head=head, notable=sides.notable, one_run=True)


def _changes(compared: ComparisonSet) -> Iterator[str]:
    for row in compared.primary_rows():
        if row.verdict in CHANGES and row.change is not None:
            sides = f"{compared.base.name} and {compared.head.name}"
            yield f"{row.case} {row.metric}: {row.change:+.2%} between {sides}"


def _rows(run: Run, compared: Sequence[ComparisonSet]) -> Iterator[CalibratedRow]:
    primary = {(row.case, row.metric, row.unit): None for each in compared for row in each.primary_rows()}
    # Matched boots are of head in base's layouts.
    arms = [_values(arm) for arm in run.arms.values() if arm.name != MATCHED]
    alpha = ALPHA / max(1, len(primary))
    for key in primary:
        yield _row(key, [arm[key] for arm in arms if key in arm], alpha)


Layouts = Mapping[str | int, list[float]]
"""The values of an arm by layout; a boot without one is its own."""


def _values(arm: Arm) -> Mapping[Key, Layouts]:
    several = len({boot.layout for boot in arm.boots} - {None}) > 1
    values: dict[Key, dict[str | int, list[float]]] = {}
    for boot in arm.boots:
        layout = boot.index if boot.layout is None or not several else boot.layout
        for sample in boot.samples:
            of_row = values.setdefault((sample.case, sample.metric, sample.unit), {})
            of_row.setdefault(layout, []).append(sample.value)
    return values


def _row(key: Key, arms: Sequence[Layouts], alpha: float) -> CalibratedRow:
    """Calibrates a row whose observations are layouts, the means of their boots, as in a verdict."""
    case, metric, unit = key
    values = [value for arm in arms for boots in arm.values() for value in boots]
    known = sum(map(len, arms)) > 1 and min(values) > 0
    logs = [[[math.log(value) for value in boots] for boots in arm.values()] for arm in arms] if known else []
    parts = layout_spread([boots for arm in logs for boots in arm])
    observed = [[statistics.mean(boots) for boots in arm] for arm in logs]
    medians = [statistics.median(arm) for arm in observed]
    spread = statistics.stdev(chain(*observed)) if known else None
    return CalibratedRow(
        suite=case.suite,
        benchmark=case.benchmark,
        params=dict(case.params),
        metric=metric,
        unit=unit,
        boots=len(values),
        spread=spread,
        difference=math.expm1(max(medians) - min(medians)) if known else None,
        detectable=None if spread is None else _detectable(spread, observed, alpha),
        suggested_boots=None if spread is None else _suggested(spread, parts, alpha),
        layout_floor=None if parts is None else parts.layout,
    )


def _detectable(spread: float, observed: Sequence[Sequence[float]], alpha: float) -> float | None:
    fewest = min(map(len, observed))
    shift = detectable(spread, fewest, fewest, alpha) if len(observed) > 1 else None
    return None if shift is None else math.expm1(shift)


def _suggested(spread: float, parts: LayoutSpread | None, alpha: float) -> int | None:
    """Boots for a change of 1 %, each in its own layout if these were known; None if no run has as many."""
    alone = spread if parts is None else math.hypot(parts.layout, parts.boot)
    needed = boots_needed(math.log1p(NOISY), max(alone, _LEAST_SPREAD), alpha)
    return needed if needed <= (MOST_ASKED_BOOTS if parts is None else MOST_ASKED_LAYOUTS) else None


_HEADINGS = (
    "case",
    "metric",
    "boots",
    "spread",
    "largest difference",
    "could see",
    "boots for 1 %",
    "layout floor",
)


def calibration_lines(document: CalibrationDocument) -> Iterator[str]:
    """Yields an aligned table, the noisiest case first, and what it amounts to."""
    if is_rehearsal(document.platform):
        yield "A rehearsal: these are the times of an emulator, and say nothing about hardware."
    ordered = sorted(document.rows, key=lambda row: -row.spread_or_zero)
    table = [_HEADINGS, *(_cells(row) for row in ordered)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        named = [cell.ljust(width) for cell, width in zip(cells[:2], widths[:2], strict=True)]
        numbers = [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:], strict=True)]
        yield "  ".join([*named, *numbers]).rstrip()
    yield ""
    yield from _verdict(document)


def _cells(row: CalibratedRow) -> tuple[str, ...]:
    return (
        str(row.case),
        f"{row.metric} ({row.unit})",
        str(row.boots),
        _percent(row.spread),
        _percent(row.difference),
        _percent(row.detectable),
        row.boots_for_one_percent if row.spread is not None else "-",
        "not measured" if row.layout_floor is None else _percent(row.layout_floor),
    )


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}".replace("%", " %")


def _verdict(document: CalibrationDocument) -> Iterable[str]:
    boots = count_noun(document.boots, "boot")
    yield f"{document.platform}, {document.mode}, {boots} per arm of {document.kernel}"
    for change in document.false_changes:
        yield f"a false change: {change}"
    yield from (f"not passed: {reason}" for reason in document.shortfalls())
    if document.passed:
        yield "passed: no difference of equal kernels would have been published"
