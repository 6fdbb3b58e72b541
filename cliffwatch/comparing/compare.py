"""Compares two arms, row by row and then as a family."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cliffwatch.comparing.absent import failed_everywhere, left_out, one_sided
from cliffwatch.comparing.comparison import Comparison, ComparisonSet, Control, Incomparable, SideFacts
from cliffwatch.comparing.exact import NOTABLE as NOTABLE_EXACT
from cliffwatch.comparing.exact import judge_exact
from cliffwatch.comparing.geomean import means_of
from cliffwatch.comparing.noisy import NOTABLE as NOTABLE_NOISY
from cliffwatch.comparing.noisy import judge_family
from cliffwatch.comparing.rows import Row, Traits, blank, rows_of
from cliffwatch.comparing.sweeps import sweeps_of
from cliffwatch.comparing.validity import different_surroundings, judge_drift, judge_layout, odd_values, too_many_failed
from cliffwatch.samples import Arm, Assume, CaseKey, Mode
from cliffwatch.stats.stages import Stages

ALPHA = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """How arms are compared. `notable` is the smallest change that is told, as a fraction; None is 0.2 % where values are
    exact and 1 % where they are noisy. `alpha` is the family-wise error; `stages` the plan where the run has two.
    `one_run` says that both arms come from one plan, whose blocks hold boots that belong together.
    """

    notable: float | None = None
    alpha: float = ALPHA
    stages: Stages | None = None
    one_run: bool = True

    def threshold(self, assume: Assume) -> float:
        """The smallest change that is reported for a row of such values."""
        if self.notable is not None:
            return self.notable
        return NOTABLE_EXACT if assume == "exact" else NOTABLE_NOISY

    def interval_level(self, assume: Assume) -> float | None:
        """None for counted values: theirs is the band within which they repeat."""
        return None if assume == "exact" else 1 - self.alpha


PLAIN = Method()


def compare(
    base: Arm, head: Arm, traits: Traits, method: Method = PLAIN, *, control: Arm | None = None
) -> ComparisonSet | Incomparable:
    """Every metric that either side measured; `control` is base under a second name, booted in the same plan."""
    for what, ours, theirs in (("modes", base.mode, head.mode), ("platforms", base.platform, head.platform)):
        if ours is not None and theirs is not None and ours != theirs:
            return Incomparable(
                reason=f"the two sides are of different {what}: {ours} and {theirs}",
                next_step="measure both sides on one platform in one mode",
            )
    mode = base.mode or head.mode
    rows = tuple(rows_of(base, head, traits, mode))
    judged, waiting = _judged(rows, base, head, mode, method)
    judged += failed_everywhere(base, head, {row.case for row in rows}, mode, method)
    told, seen = _held_against_control(judged, base, control, traits, method)
    return ComparisonSet(
        base=_side(base),
        head=_side(head),
        platform=base.platform or head.platform,
        mode=mode,
        notable=method.threshold("exact" if mode == "icount" else "nothing"),
        alpha=method.alpha,
        rows=tuple(told),
        left_out=left_out(base, head),
        means=tuple(means_of([row for row, each in zip(rows, told, strict=False) if each.change is not None])),
        control=seen,
        sweeps=tuple(sweeps_of(told)),
        waiting=waiting,
        next_look=_next_look(rows, waiting, method.stages),
    )


def _side(arm: Arm) -> SideFacts:
    return SideFacts(label=arm.label, facts=arm.facts, boots=sum(boot.stage == "screen" for boot in arm.boots))


def _judged(
    rows: Sequence[Row], base: Arm, head: Arm, mode: Mode | None, method: Method
) -> tuple[list[Comparison], tuple[CaseKey, ...]]:
    """Every row's comparison in order, and the cases that wait for a further look."""
    surroundings, selected = different_surroundings(base, head), too_many_failed(base, head)
    found = [_alone(row, base, head, mode, method, surroundings or selected.get(row.case)) for row in rows]
    waiting: list[CaseKey] = []
    for primary in (True, False):
        family = [
            index
            for index, each in enumerate(found)
            if each.verdict == "inconclusive" and each.primary == primary and not each.reason
        ]
        judged, open_rows = judge_family(
            [found[index] for index in family],
            [rows[index] for index in family],
            one_run=method.one_run,
            notable=method.threshold("nothing"),
            alpha=method.alpha,
            stages=method.stages if primary else None,
        )
        for index, each in zip(family, judged, strict=True):
            steady = judge_drift(each, rows[index], method.threshold("nothing")) if method.one_run else each
            found[index] = judge_layout(steady, rows[index])
        waiting += [found[family[index]].case for index in open_rows]
    return found, tuple(dict.fromkeys(waiting))


def _alone(row: Row, base: Arm, head: Arm, mode: Mode | None, method: Method, unfair: str | None) -> Comparison:
    """What can be said of a row without its family; noisy rows come back inconclusive without a reason.

    `unfair` says why its sides cannot be compared.
    """
    found = blank(row, base.platform or head.platform, mode, method)
    if not row.base or not row.head:
        return one_sided(found, base, head, row.other_unit)
    if unfair is not None:
        return replace(found, verdict="invalid", reason=unfair)
    odd = odd_values(found, row)
    if odd is not None:
        return odd
    if not all(any(each.boot.stage == "screen" for each in side) for side in (row.base, row.head)):
        return replace(found, verdict="inconclusive", reason="no boot of the screen has it on both sides")
    if row.traits.assume == "exact":
        return judge_exact(found, row, method.threshold("exact"))
    return replace(found, verdict="inconclusive")


def _held_against_control(
    judged: list[Comparison], base: Arm, control: Arm | None, traits: Traits, method: Method
) -> tuple[list[Comparison], Control | None]:
    """Rows in which base differs from itself are invalid: whatever moved them was not the patch."""
    if control is None:
        return judged, None
    itself = compare(base, control, traits, replace(method, stages=None))
    if isinstance(itself, Incomparable):
        return judged, None
    moved = {(row.case, row.metric) for row in itself.rows if row.verdict in ("regression", "improvement")}
    told = [
        replace(row, verdict="invalid", reason="base differs from itself by as much: the host is not quiet")
        if (row.case, row.metric) in moved and row.verdict in ("regression", "improvement")
        else row
        for row in judged
    ]
    primary = itself.primary_rows()
    return told, Control(
        rows=len(primary),
        published=sum(row.verdict in ("regression", "improvement") for row in primary),
        largest=max((abs(row.change) for row in primary if row.change is not None), default=0.0),
    )


def _next_look(rows: Sequence[Row], waiting: Sequence[CaseKey], stages: Stages | None) -> int:
    """Confirming boots an arm that the next look at the waiting cases needs; 0 where none waits."""
    if stages is None or not waiting:
        return 0
    cases = set(waiting)
    done = max((sum(each.boot.stage == "confirm" for each in row.base) for row in rows if row.case in cases), default=0)
    # One boot that gave nothing does not hold a look up, see cliffwatch.stats.deciding.
    return next((look.boots for look in stages.looks if look.boots > done + 1), 0)
