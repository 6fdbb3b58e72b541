"""Verdicts on noisy values: the boot is the unit, ranks are the test, the family shares the error."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cliffwatch.comparing.comparison import Comparison, Verdict
from cliffwatch.comparing.exact import direction
from cliffwatch.comparing.rows import Measurement, Row
from cliffwatch.samples import Better, Stage
from cliffwatch.stats.components import components
from cliffwatch.stats.deciding import Decision, Staged, decide_fixed, decide_staged
from cliffwatch.stats.measured import Blocks, Measured
from cliffwatch.stats.power import boots_needed, detectable, detectable_staged, least_boots, rank_spread
from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.shapes import two_modes
from cliffwatch.stats.stages import Stages

NOTABLE = 0.01
_SEED = 20121
"""Of the permutations for broad changes: any fixed one, so that a verdict comes out the same when it is made again."""


def judge_family(
    found: Sequence[Comparison], rows: Sequence[Row], *, notable: float, alpha: float, stages: Stages | None
) -> tuple[list[Comparison], list[int]]:
    """Comparisons of one family of noisy rows, decided together; and the indexes of those that wait for a further look."""
    screened = [_measured(row, "screen") for row in rows]
    if stages is None:
        decisions = decide_fixed(screened, margin=notable, alpha=alpha)
    else:
        family = [
            Staged(screened=first, confirming=_measured(row, "confirm"))
            for row, first in zip(rows, screened, strict=True)
        ]
        decisions = decide_staged(family, stages, margin=notable, entropy=lambda: np.random.default_rng(_SEED))
    judged = [
        _told(each, row, decision, notable, alpha, len(rows), stages)
        for each, row, decision in zip(found, rows, decisions, strict=True)
    ]
    return judged, [index for index, decision in enumerate(decisions) if decision.waiting]


def _measured(row: Row, stage: Stage) -> Measured:
    ours, theirs = ([each for each in side if each.boot.stage == stage] for side in (row.base, row.head))
    return Measured(base=_logs(ours), head=_logs(theirs), base_blocks=_blocks(ours), head_blocks=_blocks(theirs))


def _logs(measurements: Sequence[Measurement]) -> Values:
    return np.asarray(np.log([each.sample.value for each in measurements]), dtype=float)


def _blocks(measurements: Sequence[Measurement]) -> Blocks:
    return np.array([each.boot.block for each in measurements], dtype=int)


def _told(
    found: Comparison, row: Row, decision: Decision, notable: float, alpha: float, family: int, stages: Stages | None
) -> Comparison:
    used = decision.used
    ranked = used.ranked(in_pairs=decision.in_pairs)
    change = math.expm1(float(ranked.shift))
    low, high = (_bound(bound) for bound in ranked.interval(1 - alpha))
    spread = rank_spread(used.base, used.head, math.log1p(notable))
    sees = _sees(spread, used, alpha, family, stages)
    verdict, reason, needs = _verdict(decision, change, spread, row.traits.better, notable, alpha, family, stages)
    judged = replace(
        found,
        n_base=len(used.base),
        n_head=len(used.head),
        base=math.exp(float(np.median(used.base))),
        head=math.exp(float(np.median(used.head))),
        change=change,
        ci_low=low,
        ci_high=high,
        p=decision.p,
        q=decision.q,
        mde=sees,
        verdict=verdict,
        reason=reason,
        needs=needs,
        notes=_notes(used),
    )
    return replace(judged, steps=tuple(_steps(judged, row, decision, spread, notable, alpha, family, stages)))


def _bound(log: Values) -> float | None:
    return math.expm1(float(log)) if math.isfinite(float(log)) else None


def _sees(spread: float, used: Measured, alpha: float, family: int, stages: Stages | None) -> float | None:
    n, m = len(used.base), len(used.head)
    if stages is None:
        shift = detectable(spread, n, m, alpha / family)
    else:
        shift = detectable_staged(
            spread, stages.screen, stages.screen_alpha, stages.looks[-1].boots, stages.looks[-1].alpha
        )
    return None if shift is None else math.expm1(shift)


def _verdict(
    decision: Decision,
    change: float,
    spread: float,
    better: Better,
    notable: float,
    alpha: float,
    family: int,
    stages: Stages | None,
) -> tuple[Verdict, str, int | None]:
    if decision.outcome == "changed":
        return direction(change, better), f"q = {decision.q:.2g}", None
    if decision.outcome == "changed-small":
        return "unchanged", f"real, but below the notable {notable:.2%}", None
    if decision.outcome == "equivalent":
        return "unchanged", f"a change of {notable:.1%} is ruled out", None
    boots = min(len(decision.used.base), len(decision.used.head))
    least = least_boots(alpha / family if stages is None else alpha)
    if boots < 2:
        return "inconclusive", f"{boots} boot is too few to tell; {least} an arm are the least", None
    needs = max(least, boots_needed(math.log1p(notable), spread, alpha / family if stages is None else 0.1))
    if needs <= boots:
        return "inconclusive", "near the notable: more boots may tell", None
    return "inconclusive", f"{needs} boots an arm would tell, {needs - boots} more", needs


def _notes(used: Measured) -> tuple[str, ...]:
    modes = two_modes(used.base, used.head)
    if modes is None:
        return ()
    apart = math.expm1(modes.slow - modes.fast)
    shares = f"{modes.base_share:.0%} of base's boots are slow, {modes.head_share:.0%} of head's"
    return (f"two modes, {apart:.1%} apart: {shares} (p = {modes.p:.2g})",)


def _steps(
    found: Comparison,
    row: Row,
    decision: Decision,
    spread: float,
    notable: float,
    alpha: float,
    family: int,
    stages: Stages | None,
) -> Sequence[str]:
    steps = [f"noisy values, one a boot: {found.n_base} boots of base, {found.n_head} of head; spread {spread:.2%}"]
    parts = components([each.sample.readings for each in row.base])
    if parts is not None:
        steps.append(
            f"of which between boots {parts.boot:.2%}, within a boot {parts.within:.2%} a reading (intraclass correlation "
            f"{parts.correlation:.2f}); more than {parts.worth} readings a boot add next to nothing"
        )
    if stages is not None:
        way = {1: "a candidate, upward", -1: "a candidate, downward", 0: "no candidate"}[decision.direction]
        steps.append(
            f"screen of {stages.screen} boots at {stages.screen_alpha:.0%} a row: {way}; {decision.looks} looks made"
        )
    how = "in pairs of a block (signed ranks)" if decision.in_pairs else "as two samples (rank sums)"
    steps.append(f"compared {how}: change {found.change:+.3%}, {1 - alpha:.0%} interval {_interval(found)}")
    steps.append(f"p = {found.p:.3g}; of {family} rows together q = {found.q:.3g} against {alpha:.0%}")
    steps.append(f"notable from {notable:.1%} on: {found.verdict}, {found.reason}")
    return steps


def _interval(found: Comparison) -> str:
    if found.ci_low is None or found.ci_high is None:
        return "not to be had from so few boots"
    return f"{found.ci_low:+.3%} .. {found.ci_high:+.3%}"
