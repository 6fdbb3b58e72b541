"""Finds who is responsible for the failures of a run, and the exit code of its report."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cliffwatch.failure import Exit, Failure, kernel_failed, wrong_usage
from cliffwatch.samples import CaseKey, CaseOutcome

if TYPE_CHECKING:
    from cliffwatch.formats.result_directory import Run

_GAVE_NOTHING = ("failed", "timeout")


def blame(run: "Run", failures: tuple[Failure, ...]) -> Exit | None:
    """Returns the exit code for the failures of a run; None if there are none.

    `failures` are the failures of programs. Order of precedence: host, usage failures of arms, kernel,
    programs.
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
    """Returns the failures of arms that have a next step, without the evidence, which is in the report."""
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
    """Returns the failures of programs of the user's own suites.

    A program that fails on all arms is the suite's fault. A program that fails on some arms only is the
    kernel's fault. Programs of the catalogue are not considered.
    """
    own = _own_suites(run)
    cases = [case.case for case in run.record.plan.cases if case.suite in own]
    return tuple(
        failure for case in cases for failure in (*_failures_of_case(run, case), *_not_printed(run, case))
    )


def _own_suites(run: "Run") -> frozenset[str]:
    """Returns the suites that declare their metrics: only the user's own suites do."""
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
    """Yields a failure for each declared primary metric that a case ran without printing, on any arm."""
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
