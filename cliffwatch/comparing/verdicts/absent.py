"""Rows and cases of which a side has nothing: missing or failed, with the reason."""

from collections.abc import Sequence
from dataclasses import replace

from cliffwatch.columns import bad_outcomes_of, columns_of
from cliffwatch.comparing.comparison import Comparison
from cliffwatch.comparing.rows import Row, Side, blank
from cliffwatch.comparing.thresholds import Method
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.samples import Arm, CaseKey, CaseOutcome, MetricTraits, Mode

_FAILED = ("failed", "panic", "timeout")
_REFUSED = "refused"
"""Of what only one side refuses: a program that neither takes may be there to be refused."""


def one_sided(draft: Comparison, base: Arm, head: Arm, other_unit: str | None) -> Comparison:
    """A metric that one side lacks: failed if that side's boots say so, else missing; invalid if it has it in another unit."""
    lacking, name = (base, "base") if draft.n_base == 0 else (head, "head")
    if other_unit is not None:
        return replace(
            draft, verdict="invalid", reason=f"the sides have different units: {draft.unit} and {other_unit}"
        )
    if lacking.failure is not None:
        return replace(draft, verdict="failed", reason=f"{name}: {lacking.failure}")
    verdict, reason = _why_missing(draft.case, lacking, name)
    return replace(draft, verdict=verdict, reason=reason)


def _why_missing(case: CaseKey, lacking: Arm, name: str) -> tuple[Verdict, str]:
    """The verdict on a case that the side of this name lacks, and the words for it."""
    outcome = _worst(lacking, case)
    if outcome is None and case.planned != case:
        return "missing", f"only in {'head' if name == 'base' else 'base'}"
    if outcome is None:
        return "missing", f"{name} did not measure it"
    if outcome.status == _REFUSED and name == "base":
        return "missing", f"fixed: head takes it, and base refused it: {outcome.reason}"
    if outcome.status == _REFUSED:
        return "failed", f"head refuses it: {outcome.reason}"
    return "failed" if outcome.status in _FAILED else "missing", f"{name}: {outcome.reason or outcome.status}"


def _worst(arm: Arm, case: CaseKey) -> CaseOutcome | None:
    """The first outcome of a case that is not ok; of an object's program also that of the object."""
    bad = (each for each in (*bad_outcomes_of(arm.boots), *arm.unchanged) if each.case in (case, case.planned))
    return next(bad, None)


def failed_everywhere(
    base: Arm, head: Arm, measured: set[CaseKey], mode: Mode | None, method: Method
) -> list[Comparison]:
    """Cases that failed on both sides have no sample at all, and are reported all the same."""
    failed: dict[CaseKey, str] = {}
    for arm in (base, head):
        for outcome in bad_outcomes_of(arm.boots):
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


def left_out(base: Arm, head: Arm, measured: set[CaseKey]) -> tuple[CaseOutcome, ...]:
    """What was not run, and what neither side takes, with the reason; each once."""
    outcomes = [outcome for arm in (base, head) for outcome in (*bad_outcomes_of(arm.boots), *arm.unchanged)]
    kept = [each for each in outcomes if each.status in ("unsupported", "not-run")]
    kept += [each for each in outcomes if each.status == "unchanged-build" and each.case not in measured]
    refused = {each.case: each for each in outcomes if each.status == _REFUSED and each.case not in measured}
    return (*dict.fromkeys(kept), *refused.values())


def lost_first(rows: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Rows of programs that one side alone has: one a program, and of their suite those first that head refuses and base took."""
    of_programs = [row for row in rows if row.case.planned != row.case and row.verdict in ("failed", "missing")]
    firsts: dict[CaseKey, Comparison] = {}
    for row in sorted(of_programs, key=lambda row: not row.primary):
        firsts.setdefault(row.case, row)
    kept = [row for row in rows if firsts.get(row.case, row) is row or row.verdict not in ("failed", "missing")]
    suites = {suite: place for place, suite in enumerate(dict.fromkeys(row.case.suite for row in rows))}

    def place(row: Comparison) -> tuple[int, bool]:
        return suites[row.case.suite], not (row.case in firsts and row.verdict == "failed")

    return tuple(sorted(kept, key=place)) if firsts else tuple(rows)
