"""Rows and cases that one side lacks: missing or failed, with the reason."""

from collections.abc import Sequence

from msgspec.structs import replace

from cliffwatch.columns import bad_outcomes_of, columns_of
from cliffwatch.comparing.comparison import Comparison
from cliffwatch.comparing.rows import Row, Side, blank
from cliffwatch.comparing.thresholds import Method
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.samples import REFUSED_BY_VERIFIER, Arm, CaseKey, CaseOutcome, MetricTraits, Mode

_FAILED = ("failed", "panic", "timeout")
_REFUSED = "refused"
"""Counts only if one side refuses: a program that neither kernel takes may be there to be refused."""


def one_sided(draft: Comparison, base: Arm, head: Arm, other_unit: str | None) -> Comparison:
    """Judges a metric that one side lacks.

    Failed if that side's boots say so, else missing. Invalid if the units differ.
    """
    lacking, name = (base, "base") if draft.n_base == 0 else (head, "head")
    if other_unit is not None:
        return replace(
            draft, verdict="invalid", reason=f"the sides have different units: {draft.unit} and {other_unit}"
        )
    if lacking.failure is not None:
        return replace(draft, verdict="failed", reason=f"{name}: {lacking.failure}")
    unread = lacking.lost.get((draft.case, draft.metric))
    if unread is not None:
        return replace(draft, verdict="failed", reason=f"{name}: {unread[0]}")
    verdict, reason = _why_missing(draft.case, lacking, name)
    return replace(draft, verdict=verdict, reason=reason)


def _why_missing(case: CaseKey, lacking: Arm, name: str) -> tuple[Verdict, str]:
    """Verdict and reason for a case that the side `name` lacks."""
    outcome = _worst(lacking, case)
    if outcome is None and case.planned != case:
        return "missing", f"only in {'head' if name == 'base' else 'base'}"
    if outcome is None:
        return "missing", f"{name} did not measure it"
    if outcome.status == _REFUSED and name == "base":
        return "missing", f"fixed: head takes it, and base refused it{_because(outcome)}"
    if outcome.status == _REFUSED:
        return "failed", f"head refuses it{_because(outcome)}" if _because(
            outcome
        ) else f"head: {REFUSED_BY_VERIFIER}"
    return "failed" if outcome.status in _FAILED else "missing", f"{name}: {outcome.reason or outcome.status}"


def _because(outcome: CaseOutcome) -> str:
    """The kernel's own message, if there is one."""
    return f": {outcome.reason}" if outcome.reason not in ("", REFUSED_BY_VERIFIER) else ""


def _worst(arm: Arm, case: CaseKey) -> CaseOutcome | None:
    """The first outcome of a case that is not ok; None without one.

    For a program of an object, also the object's outcome.
    """
    outcomes = [*bad_outcomes_of(arm.boots), *arm.unchanged]
    bad = (each for each in outcomes if each.case in (case, case.planned))
    return next(bad, None) or next((each for each in outcomes if _covers(each.case, case)), None)


def _covers(whole: CaseKey, case: CaseKey) -> bool:
    """True if `whole` is another name of the case.

    A file may name it without the number of processors, by the benchmark that runs it, or by its package.
    """
    if whole.suite != case.suite:
        return False
    if whole.benchmark == whole.suite:
        return True
    return not whole.params and (
        case.benchmark == whole.benchmark or case.benchmark.startswith(f"{whole.benchmark}/")
    )


def failed_rows(
    base: Arm, head: Arm, rows: Sequence[Row], mode: Mode | None, method: Method
) -> list[Comparison]:
    """Failed rows for cases and metrics that have no value on either side. `rows` are those with one."""
    measured = {case for row in rows for case in (row.case, row.case.planned)}
    failed = {(case, ""): reason for case, reason in _failed_cases(base, head, measured).items()}
    known = {(row.case, row.metric) for row in rows}
    for arm, name in ((base, "base"), (head, "head")):
        for of_metric, why in arm.lost.items():
            if of_metric not in known:
                failed.setdefault(of_metric, f"{name}: {why[0]}")
    traits, nothing = MetricTraits(better=None, assume="nothing"), Side(columns_of(()), 0, 0)
    platform = base.platform or head.platform
    return [
        replace(
            blank(Row(case, metric, "", traits, nothing, nothing), platform, mode, method),
            verdict="failed",
            reason=reason,
        )
        for (case, metric), reason in failed.items()
    ]


def _failed_cases(base: Arm, head: Arm, measured: set[CaseKey]) -> dict[CaseKey, str]:
    """Returns the reason of each case that failed and has no value on either side."""
    failed: dict[CaseKey, str] = {}
    for arm, name in ((base, "base"), (head, "head")):
        own = {key.case for key in columns_of(arm.boots).keys}
        for outcome in bad_outcomes_of(arm.boots):
            if outcome.status not in _FAILED or outcome.case in measured:
                continue
            if not any(_covers(outcome.case, case) for case in measured - own):
                failed.setdefault(outcome.case, f"{name}: {outcome.reason}")
    return failed


def left_outcomes(base: Arm, head: Arm, measured: set[CaseKey]) -> tuple[CaseOutcome, ...]:
    """Cases that were not run, and those that neither side takes, with the reason; each once."""
    outcomes = [outcome for arm in (base, head) for outcome in (*bad_outcomes_of(arm.boots), *arm.unchanged)]
    kept = [each for each in outcomes if each.status in ("unsupported", "not-run")]
    kept += [each for each in outcomes if each.status == "unchanged-build" and each.case not in measured]
    refused = {each.case: each for each in outcomes if each.status == _REFUSED and each.case not in measured}
    return (*dict.fromkeys(kept), *refused.values())


def lost_first(rows: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Rows sorted so that failed cases come first in each suite.

    A case that only one side has, for one reason, keeps a single row.
    """
    lost: dict[CaseKey, list[Comparison]] = {}
    for row in rows:
        lost.setdefault(row.case, []).append(row)
    firsts = {case: _first(of_case) for case, of_case in lost.items() if _is_lost_whole(of_case)}
    kept = [row for row in rows if firsts.get(row.case, row) is row]
    suites = {suite: place for place, suite in enumerate(dict.fromkeys(row.case.suite for row in rows))}
    failed = {row.case for row in kept if row.verdict == "failed" and row.primary}
    return tuple(sorted(kept, key=lambda row: (suites[row.case.suite], row.case not in failed)))


def _is_lost_whole(rows: Sequence[Comparison]) -> bool:
    return rows[0].verdict in ("failed", "missing") and len({(row.verdict, row.reason) for row in rows}) == 1


def _first(rows: Sequence[Comparison]) -> Comparison:
    return min(rows, key=lambda row: not row.primary)
