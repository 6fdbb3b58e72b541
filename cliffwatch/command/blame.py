"""Whose fault it is that a run did not give what it was made for, and what the exit code of its report says
of it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cliffwatch.failure import Exit, Failure, kernel_failed, wrong_usage
from cliffwatch.samples import CaseKey, CaseOutcome

if TYPE_CHECKING:
    from cliffwatch.formats.result_directory import Run

_GAVE_NOTHING = ("failed", "timeout")


def blame(run: "Run", failures: tuple[Failure, ...]) -> Exit | None:
    """The exit code of a run's report where an arm or a suite's own program gave nothing: the host's fault
    first, then the kernel's.
    """
    whose = {arm.failure.whose for arm in run.record.arms if arm.failure is not None} | {
        each.whose for each in failures
    }
    if "host" in whose:
        return Exit.HOST_FAILED
    if any(arm.failure is not None and arm.failure.whose == "usage" for arm in run.record.arms):
        return Exit.USAGE
    own = _own_suites(run)
    died = any(
        outcome.status == "panic" or (outcome.status == "timeout" and outcome.case.suite not in own)
        for arm in run.arms.values()
        for boot in arm.boots
        for outcome in boot.outcomes
    )
    if "kernel" in whose or died:
        return Exit.KERNEL_FAILED
    return Exit.USAGE if failures else None


def failures_of_arms(run: "Run") -> tuple[Failure, ...]:
    """Arms that gave nothing, each with what to do about it: their evidence stands in the report."""
    return tuple(
        Failure(
            whose=arm.failure.whose or "kernel",
            message=f"{arm.name}: {arm.failure.message}",
            next_step=arm.failure.next_step,
        )
        for arm in run.record.arms
        if arm.failure is not None and arm.failure.next_step
    )


def failures_of_programs(run: "Run") -> tuple[Failure, ...]:
    """What programs of the user's own suites did not give: the suite's fault where no arm has it, the
    kernel's where it fails on some arms alone. Programs of the catalogue are judged as bench is.
    """
    own = _own_suites(run)
    cases = [case.key for case in run.record.plan.cases if case.suite in own]
    return tuple(
        failure for case in cases for failure in (*_failures_of_case(run, case), *_not_printed(run, case))
    )


def _own_suites(run: "Run") -> frozenset[str]:
    """Those that say themselves what is known of their metrics."""
    return frozenset(each.suite for each in run.record.declared)


def _failures_of_case(run: "Run", case: CaseKey) -> Iterator[Failure]:
    outcomes = {name: list(_outcomes(run, name, case)) for name in run.arms}
    measured = {name: found for name, found in outcomes.items() if found}
    failed = {
        name: found[0]
        for name, found in measured.items()
        if all(outcome.status in _GAVE_NOTHING for outcome in found)
    }
    if not failed:
        return
    reason = next(iter(failed.values())).reason
    if len(failed) == len(measured):
        yield wrong_usage(
            f"{case.suite}: {case}: {reason}",
            f"see what it printed in {run.path}/boots/*/*/cases, and fix the program or its suite.toml",
        )
    else:
        yield kernel_failed(
            f"{case.suite}: {case} fails on {' and '.join(failed)} alone: {reason}",
            f"see what it printed in {run.path}/boots/*/*/cases",
        )


def _outcomes(run: "Run", arm: str, case: CaseKey) -> Iterator[CaseOutcome]:
    for boot in run.arms[arm].boots:
        for outcome in boot.outcomes:
            if outcome.case == case and outcome.status not in (
                "not-run",
                "unchanged-build",
                "unsupported",
                "refused",
                "panic",
            ):
                yield outcome


def _not_printed(run: "Run", case: CaseKey) -> Iterator[Failure]:
    """A deciding metric that no boot of any arm has, although its case ran."""
    printed = {
        sample.metric
        for arm in run.arms.values()
        for boot in arm.boots
        for sample in boot.samples
        if sample.case == case
    }
    for each in run.record.declared if printed else ():
        if (
            (each.suite, each.benchmark) == (case.suite, case.benchmark)
            and each.primary
            and each.metric not in printed
        ):
            yield wrong_usage(
                f"{case.suite}: {case} printed no {each.metric} in {each.unit}, which its suite declares as"
                f" deciding; it printed {', '.join(sorted(printed))}",
                "fix the program or its suite.toml; what it printed is compared all the same",
            )
