"""Compares two arms, row by row and then as a family."""

from collections.abc import Sequence
from dataclasses import replace

from cliffwatch.comparing.absent import failed_everywhere, left_out, one_sided
from cliffwatch.comparing.comparison import CHANGES, Comparison, ComparisonSet, SideFacts
from cliffwatch.comparing.digits import judge_digits
from cliffwatch.comparing.exact import judge_exact
from cliffwatch.comparing.geomean import means_of
from cliffwatch.comparing.noisy import FamilyError, judge_family
from cliffwatch.comparing.rows import Row, Traits, blank, rows_of
from cliffwatch.comparing.sweeps import sweeps_of
from cliffwatch.comparing.thresholds import PLAIN, SECONDARY_SHARE, Method
from cliffwatch.comparing.validity import (
    different_environments,
    judge_drift,
    judge_layout,
    odd_values,
    too_many_failed,
    warnings_of_order,
    without_failed_boots,
)
from cliffwatch.failure import Failure
from cliffwatch.formats.comparison import Control
from cliffwatch.samples import Arm, CaseKey, Mode
from cliffwatch.stats.stages import Stages


def compare(
    base: Arm, head: Arm, traits: Traits, method: Method = PLAIN, *, control: Arm | None = None
) -> ComparisonSet | Failure:
    """Every metric that either side measured; `control` is base under a second name, booted in the same plan."""
    for what, ours, theirs in (("modes", base.mode, head.mode), ("platforms", base.platform, head.platform)):
        if ours is not None and theirs is not None and ours != theirs:
            return Failure(
                whose="usage",
                message=f"the two sides are of different {what}: {ours} and {theirs}",
                next_step="measure both sides on one platform in one mode",
            )
    mode = base.mode or head.mode
    rows = without_failed_boots(rows_of(base, head, traits, mode), base, head)
    judged, waiting = _judged(rows, base, head, mode, method)
    judged += failed_everywhere(base, head, {row.case for row in rows}, mode, method)
    reported, itself = _checked_by_control(judged, base, control, traits, method)
    return ComparisonSet(
        base=_side(base),
        head=_side(head),
        platform=base.platform or head.platform,
        mode=mode,
        notable=method.threshold("exact" if mode == "icount" else "nothing"),
        alpha=method.alpha,
        rows=tuple(reported),
        left_out=left_out(base, head),
        means=tuple(means_of([row for row, each in zip(rows, reported, strict=False) if each.change is not None])),
        control=itself,
        sweeps=tuple(sweeps_of(reported)),
        waiting=waiting,
        next_look=_next_look(rows, waiting, method.stages),
        warnings=tuple(warnings_of_order(list(zip(rows, reported, strict=False)), one_run=method.one_run)),
    )


def _side(arm: Arm) -> SideFacts:
    return SideFacts(label=arm.label, facts=arm.facts, boots=sum(boot.stage == "screen" for boot in arm.boots))


def _judged(
    rows: Sequence[Row], base: Arm, head: Arm, mode: Mode | None, method: Method
) -> tuple[list[Comparison], tuple[CaseKey, ...]]:
    """Every row's comparison in order, and the cases that wait for a further look."""
    differing, selected = different_environments(base, head), too_many_failed(base, head)
    drafts = [_alone(row, base, head, mode, method, differing or selected.get(row.case)) for row in rows]
    waiting: list[CaseKey] = []
    families = {
        primary: [
            index
            for index, each in enumerate(drafts)
            if each.verdict == "inconclusive" and each.primary == primary and not each.reason
        ]
        for primary in (True, False)
    }
    for primary, family in families.items():
        share = SECONDARY_SHARE if not primary else 1 - SECONDARY_SHARE
        judged, open_rows = judge_family(
            [drafts[index] for index in family],
            [rows[index] for index in family],
            one_run=method.one_run,
            threshold=method.threshold("nothing"),
            error=FamilyError(of_report=method.alpha, share=share if all(families.values()) else 1.0),
            stages=method.stages if primary else None,
        )
        for index, decided in zip(family, judged, strict=True):
            each = judge_digits(decided, rows[index])
            steady = judge_drift(each, rows[index], method.threshold("nothing")) if method.one_run else each
            drafts[index] = judge_layout(steady, rows[index])
        waiting += [drafts[family[index]].case for index in open_rows]
    return drafts, tuple(dict.fromkeys(waiting))


def _alone(row: Row, base: Arm, head: Arm, mode: Mode | None, method: Method, unfair: str | None) -> Comparison:
    """What can be said of a row without its family; noisy rows come back inconclusive without a reason.

    `unfair` says why its sides cannot be compared.
    """
    draft = blank(row, base.platform or head.platform, mode, method)
    if not row.base or not row.head:
        return one_sided(draft, base, head, row.other_unit)
    if unfair is not None:
        return replace(draft, verdict="invalid", reason=unfair)
    odd = odd_values(draft, row)
    if odd is not None:
        return odd
    if not all(any(each.boot.stage == "screen" for each in side) for side in (row.base, row.head)):
        return replace(draft, verdict="inconclusive", reason="no boot of the screen has it on both sides")
    if row.traits.assume == "exact":
        return judge_exact(draft, row, draft.threshold)
    return replace(draft, verdict="inconclusive")


def _checked_by_control(
    judged: list[Comparison], base: Arm, control: Arm | None, traits: Traits, method: Method
) -> tuple[list[Comparison], Control | None]:
    """Rows in which base differs from itself are invalid: whatever moved them was not the patch."""
    if control is None:
        return judged, None
    itself = compare(base, control, traits, replace(method, stages=None))
    if isinstance(itself, Failure):
        return judged, None
    moved = {(row.case, row.metric) for row in itself.rows if row.verdict in CHANGES}
    checked = [
        replace(row, verdict="invalid", reason="base differs from itself by as much: the host is not quiet")
        if (row.case, row.metric) in moved and row.verdict in CHANGES
        else row
        for row in judged
    ]
    primary = itself.primary_rows()
    return checked, Control(
        rows=len(primary),
        published=sum(row.verdict in CHANGES for row in primary),
        largest=max((abs(row.change) for row in primary if row.change is not None), default=0.0),
    )


def _next_look(rows: Sequence[Row], waiting: Sequence[CaseKey], stages: Stages | None) -> int:
    """Confirming boots per arm that the next look at the waiting cases needs; 0 where none waits."""
    if stages is None or not waiting:
        return 0
    cases = set(waiting)
    done = max((sum(each.boot.stage == "confirm" for each in row.base) for row in rows if row.case in cases), default=0)
    # One boot that gave nothing does not delay a look, see cliffwatch.stats.deciding.
    return next((look.boots for look in stages.looks if look.boots > done + 1), 0)
