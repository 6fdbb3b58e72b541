"""Subtracts an empty loop measured elsewhere. Its uncertainty is carried into the intervals."""

from collections.abc import Callable
from dataclasses import replace

from msgspec import structs

from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.failure import Failure
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.samples import Arm, Boot, Sample

Compare = Callable[[Arm, Arm], ComparisonSet | Failure]

_Key = tuple[object, str, str]


def compare_less(base: Arm, head: Arm, loop: Arm, compare: Compare) -> ComparisonSet | Failure:
    """Compares both arms less the loop's median of the same case, metric and unit. Other rows are dropped.

    The comparison is repeated with the loop at its smallest and its largest boot. The intervals cover all
    three, because the loop is the same for both arms and moves them together. Rates are left out, because
    they do not add up.
    """
    values = _by_row(loop)
    compared = [
        compare(_less(base, values, which), _less(head, values, which))
        for which in (lambda boots: boots[len(boots) // 2], lambda boots: boots[0], lambda boots: boots[-1])
    ]
    middle, *ends = compared
    if isinstance(middle, Failure):
        return middle
    others = [
        {(row.case, row.metric): row for row in each.rows} for each in ends if isinstance(each, ComparisonSet)
    ]
    rows = tuple(_widen_by_loops(row, [each[row.case, row.metric] for each in others]) for row in middle.rows)
    return replace(middle, rows=rows)


def _by_row(loop: Arm) -> dict[_Key, list[float]]:
    values: dict[_Key, list[float]] = {}
    for boot in loop.boots:
        for sample in boot.samples:
            if "/s" not in sample.unit:
                values.setdefault(_key(sample), []).append(sample.value)
    return {key: sorted(values) for key, values in values.items()}


def _key(sample: Sample) -> _Key:
    return (sample.case, sample.metric, sample.unit)


def _less(arm: Arm, loop: dict[_Key, list[float]], which: Callable[[list[float]], float]) -> Arm:
    def boot_less(boot: Boot) -> Boot:
        kept = [sample for sample in boot.samples if _key(sample) in loop]
        return replace(
            boot,
            samples=tuple(
                each._replace(value=each.value - which(loop[_key(each)]), readings=()) for each in kept
            ),
        )

    return replace(arm, boots=tuple(map(boot_less, arm.boots)))


def _widen_by_loops(row: ComparisonRow, others: list[ComparisonRow]) -> ComparisonRow:
    lows = [each.ci_low for each in (row, *others)]
    highs = [each.ci_high for each in (row, *others)]
    note = (*row.notes, "less the empty loop")
    if any(bound is None for bound in (*lows, *highs)):
        return structs.replace(row, ci_low=None, ci_high=None, notes=note)
    known_lows, known_highs = (
        [low for low in lows if low is not None],
        [high for high in highs if high is not None],
    )
    return structs.replace(row, ci_low=min(known_lows), ci_high=max(known_highs), notes=note)
