"""Rows and cases of which a side has nothing: missing or failed, with the reason."""

from dataclasses import replace

from cliffwatch.columns import columns_of, outcomes_of
from cliffwatch.comparing.comparison import Comparison
from cliffwatch.comparing.rows import Row, Side, blank
from cliffwatch.comparing.thresholds import Method
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.samples import Arm, CaseKey, CaseOutcome, MetricTraits, Mode

_FAILED = ("failed", "panic", "timeout")


def one_sided(draft: Comparison, base: Arm, head: Arm, other_unit: str | None) -> Comparison:
    """A metric that one side lacks: failed if that side's boots say so, else missing; invalid if it has it in another unit."""
    lacking, name = (base, "base") if draft.n_base == 0 else (head, "head")
    if other_unit is not None:
        return replace(
            draft, verdict="invalid", reason=f"the sides have different units: {draft.unit} and {other_unit}"
        )
    if lacking.failure is not None:
        return replace(draft, verdict="failed", reason=f"{name}: {lacking.failure}")
    outcome = _worst(lacking, draft.case)
    if outcome is None:
        return replace(draft, verdict="missing", reason=f"{name} did not measure it")
    verdict: Verdict = "failed" if outcome.status in _FAILED else "missing"
    return replace(draft, verdict=verdict, reason=f"{name}: {outcome.reason or outcome.status}")


def _worst(arm: Arm, case: CaseKey) -> CaseOutcome | None:
    """The first outcome of a case that is not ok."""
    return next(
        (outcome for outcome in outcomes_of(arm.boots) if outcome.case == case and outcome.status != "ok"), None
    )


def failed_everywhere(
    base: Arm, head: Arm, measured: set[CaseKey], mode: Mode | None, method: Method
) -> list[Comparison]:
    """Cases that failed on both sides have no sample at all, and are reported all the same."""
    failed: dict[CaseKey, str] = {}
    for arm in (base, head):
        for outcome in outcomes_of(arm.boots):
            if outcome.status in _FAILED and outcome.case not in measured:
                failed.setdefault(outcome.case, f"{arm.name}: {outcome.reason}")
    traits, nothing = MetricTraits(better=None, assume="nothing"), Side(columns_of(()), 0, 0)
    platform = base.platform or head.platform
    return [
        replace(
            blank(Row(case, "", "", traits, nothing, nothing), platform, mode, method), verdict="failed", reason=reason
        )
        for case, reason in failed.items()
    ]


def left_out(base: Arm, head: Arm) -> tuple[CaseOutcome, ...]:
    """What was not run, with the reason; each once."""
    outcomes = (outcome for arm in (base, head) for outcome in outcomes_of(arm.boots))
    return tuple(dict.fromkeys(outcome for outcome in outcomes if outcome.status in ("unsupported", "not-run")))
