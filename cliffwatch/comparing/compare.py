"""Compares two arms, row by row and then as a family."""

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from cliffwatch.comparing.comparison import Comparison, ComparisonSet, Incomparable, SideFacts, Verdict
from cliffwatch.samples import Arm, Better, CaseKey, CaseOutcome, MetricTraits, Mode, Sample
from cliffwatch.stats.families import holm
from cliffwatch.stats.ranks import boots_needed, compare_ranks

Traits = Callable[[CaseKey, str, str, Mode | None], MetricTraits]
"""Answers for a case, metric, unit and mode."""

NOTABLE_EXACT = 0.002
NOTABLE_NOISY = 0.01
ALPHA = 0.01


@dataclass(frozen=True, slots=True)
class _Row:
    """A metric of a case, with what each side measured, one sample a boot."""

    case: CaseKey
    metric: str
    unit: str
    traits: MetricTraits
    base: tuple[Sample, ...]
    head: tuple[Sample, ...]


def compare(
    base: Arm, head: Arm, traits: Traits, *, notable: float | None = None, alpha: float = ALPHA
) -> ComparisonSet | Incomparable:
    """Every metric that either side measured. `notable` is the smallest change that is told, as a fraction.

    None means 0.2 % where values are exact and 1 % where they are noisy. `alpha` is the family-wise error.
    """
    for what, ours, theirs in (("modes", base.mode, head.mode), ("platforms", base.platform, head.platform)):
        if ours is not None and theirs is not None and ours != theirs:
            return Incomparable(
                reason=f"the two sides are of different {what}: {ours} and {theirs}",
                next_step="measure both sides on one platform in one mode",
            )
    mode = base.mode or head.mode
    rows = [_compared(row, base, head, notable, alpha) for row in _rows(base, head, traits, mode)]
    rows += _without_samples(base, head, {row.case for row in rows}, mode)
    return ComparisonSet(
        base=_side(base),
        head=_side(head),
        platform=base.platform or head.platform,
        mode=mode,
        notable=notable if notable is not None else (NOTABLE_EXACT if mode == "icount" else NOTABLE_NOISY),
        alpha=alpha,
        rows=tuple(_controlled(rows, notable, alpha)),
        left_out=_left_out(base, head),
    )


def _side(arm: Arm) -> SideFacts:
    return SideFacts(label=arm.label, facts=arm.facts, boots=len(arm.boots))


def _rows(base: Arm, head: Arm, traits: Traits, mode: Mode | None) -> Iterable[_Row]:
    ours, theirs = _by_metric(base), _by_metric(head)
    for key in dict.fromkeys([*ours, *theirs]):
        case, metric, unit = key
        yield _Row(case, metric, unit, traits(case, metric, unit, mode), ours.get(key, ()), theirs.get(key, ()))


def _by_metric(arm: Arm) -> dict[tuple[CaseKey, str, str], tuple[Sample, ...]]:
    found: dict[tuple[CaseKey, str, str], list[Sample]] = {}
    for boot in arm.boots:
        for sample in boot.samples:
            found.setdefault((sample.case, sample.metric, sample.unit), []).append(sample)
    return {key: tuple(samples) for key, samples in found.items()}


def _compared(row: _Row, base: Arm, head: Arm, notable: float | None, alpha: float) -> Comparison:
    blank = Comparison(
        case=row.case,
        metric=row.metric,
        unit=row.unit,
        better=row.traits.better,
        assume=row.traits.assume,
        primary=row.traits.primary,
        platform=base.platform or head.platform,
        mode=base.mode or head.mode,
        n_base=len(row.base),
        n_head=len(row.head),
        base=_centre(row.base),
        head=_centre(row.head),
        change=None,
        ci_low=None,
        ci_high=None,
        p=None,
        q=None,
        mde=None,
        verdict="missing",
        reason="",
    )
    if not row.base or not row.head:
        return _one_sided(blank, base, head)
    if blank.base == 0 and blank.head == 0:
        return replace(blank, change=0.0, ci_low=0.0, ci_high=0.0, verdict="unchanged", reason="zero on both sides")
    if min(sample.value for sample in (*row.base, *row.head)) <= 0:
        return replace(blank, verdict="inconclusive", reason="a zero or negative value has no relative change")
    if row.traits.assume == "exact":
        return _exact(blank, row, NOTABLE_EXACT if notable is None else notable)
    return _noisy(blank, row, NOTABLE_NOISY if notable is None else notable, alpha)


def _centre(samples: tuple[Sample, ...]) -> float | None:
    return statistics.median(sample.value for sample in samples) if samples else None


def _one_sided(blank: Comparison, base: Arm, head: Arm) -> Comparison:
    """A metric that one side lacks: failed if that side's boots say so, else missing."""
    lacking, name = (base, "base") if blank.n_base == 0 else (head, "head")
    if lacking.failure is not None:
        return replace(blank, verdict="failed", reason=f"{name}: {lacking.failure}")
    outcome = _worst(lacking, blank.case)
    if outcome is None:
        return replace(blank, verdict="missing", reason=f"{name} did not measure it")
    verdict: Verdict = "failed" if outcome.status in ("failed", "panic", "timeout") else "missing"
    return replace(blank, verdict=verdict, reason=f"{name}: {outcome.reason or outcome.status}")


def _worst(arm: Arm, case: CaseKey) -> CaseOutcome | None:
    """The first outcome of a case that is not ok."""
    outcomes = (outcome for boot in arm.boots for outcome in boot.outcomes)
    return next((outcome for outcome in outcomes if outcome.case == case and outcome.status != "ok"), None)


def _exact(blank: Comparison, row: _Row, notable: float) -> Comparison:
    """Equal kernels give equal values, up to what is known and seen of their repeatability and the digits printed."""
    assert blank.base is not None
    assert blank.head is not None
    change = blank.head / blank.base - 1
    blur = max(row.traits.repeatability, _spread(row.base), _spread(row.head), _resolution(row))
    found = replace(blank, change=change, ci_low=change - blur, ci_high=change + blur, mde=max(blur, notable))
    if abs(change) <= blur:
        return replace(found, verdict="unchanged", reason=f"within the repeatability of {blur:.3%}")
    if abs(change) < notable:
        return replace(found, verdict="unchanged", reason=f"real, but below the notable {notable:.2%}")
    if abs(change) - blur < notable and blur > notable:
        return replace(
            found, verdict="inconclusive", reason=f"one step of the printed digits is {blur:.2%}: measure longer"
        )
    return replace(
        found, verdict=_direction(change, row.traits.better), reason=f"beyond the repeatability of {blur:.3%}"
    )


def _spread(samples: tuple[Sample, ...]) -> float:
    values = [sample.value for sample in samples]
    return max(values) / min(values) - 1


def _resolution(row: _Row) -> float:
    return max(sample.resolution / sample.value for sample in (*row.base, *row.head))


def _noisy(blank: Comparison, row: _Row, notable: float, alpha: float) -> Comparison:
    ours, theirs = ([sample.value for sample in samples] for samples in (row.base, row.head))
    found = compare_ranks(ours, theirs, level=1 - alpha)
    compared = replace(
        blank, change=found.change, ci_low=found.low, ci_high=found.high, p=found.p, q=found.p, mde=found.mde
    )
    # The verdict comes with the family: q is not known before all rows are.
    needed = boots_needed(ours, theirs, margin=notable, level=1 - alpha)
    return replace(
        compared,
        verdict="inconclusive",
        reason="" if needed is None else f"about {max(needed, 5)} boots an arm would tell",
    )


def _controlled(rows: list[Comparison], notable: float | None, alpha: float) -> Iterable[Comparison]:
    """Holm's control over the primary rows; the others follow with the factor that their number asks for."""
    for primary in (True, False):
        family = [row for row in rows if row.p is not None and row.primary == primary]
        adjusted = dict(zip(map(id, family), holm([row.p for row in family if row.p is not None]), strict=True))
        margin = NOTABLE_NOISY if notable is None else notable
        for index, row in enumerate(rows):
            if id(row) in adjusted:
                rows[index] = _judged(replace(row, q=adjusted[id(row)]), margin, alpha)
    return rows


def _judged(row: Comparison, notable: float, alpha: float) -> Comparison:
    assert row.change is not None
    if row.ci_low is None or row.ci_high is None:
        reason = f"{row.n_base} and {row.n_head} boots are too few to tell; 5 an arm are the least"
        return replace(row, verdict="inconclusive", reason=reason)
    if row.q is not None and row.q <= alpha and abs(row.change) >= notable:
        return replace(row, verdict=_direction(row.change, row.better), reason=f"q = {row.q:.2g}")
    if -notable < row.ci_low and row.ci_high < notable:
        return replace(row, verdict="unchanged", reason=f"a change of {notable:.1%} is ruled out")
    return row


def _direction(change: float, better: Better) -> Verdict:
    return "improvement" if (change > 0) == (better == "higher") else "regression"


def _without_samples(base: Arm, head: Arm, seen: set[CaseKey], mode: Mode | None) -> list[Comparison]:
    """Cases that failed on both sides have no sample at all, and are told all the same."""
    failed: dict[CaseKey, str] = {}
    for arm in (base, head):
        for boot in arm.boots:
            for outcome in boot.outcomes:
                if outcome.status in ("failed", "panic", "timeout") and outcome.case not in seen:
                    failed.setdefault(outcome.case, f"{arm.name}: {outcome.reason}")
    return [_failed_row(case, reason, base.platform or head.platform, mode) for case, reason in failed.items()]


def _failed_row(case: CaseKey, reason: str, platform: str | None, mode: Mode | None) -> Comparison:
    return Comparison(
        case=case,
        metric="",
        unit="",
        better="higher",
        assume="nothing",
        primary=True,
        platform=platform,
        mode=mode,
        n_base=0,
        n_head=0,
        base=None,
        head=None,
        change=None,
        ci_low=None,
        ci_high=None,
        p=None,
        q=None,
        mde=None,
        verdict="failed",
        reason=reason,
    )


def _left_out(base: Arm, head: Arm) -> tuple[CaseOutcome, ...]:
    outcomes = (outcome for arm in (base, head) for boot in arm.boots for outcome in boot.outcomes)
    return tuple(dict.fromkeys(outcome for outcome in outcomes if outcome.status in ("unsupported", "not-run")))
