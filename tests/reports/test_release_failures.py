"""Why a suite was not measured is said once; of cases that were tried again, which bench lacks them."""

from types import SimpleNamespace
from typing import Any

import pytest

from cliffwatch.formats.releases_record import SuiteFailureRecord
from cliffwatch.reports.several.releases.failures import tell_failures
from cliffwatch.samples import Arm, Boot, CaseKey, CaseOutcome

TOO_OLD = "no case of the chosen suites can run on this tree: came with linux 7.2"


def failure(bench: str, message: str, evidence: str = "") -> SuiteFailureRecord:
    return SuiteFailureRecord(suite="hashmap", bench=bench, message=message, next_step="", evidence=evidence)


def shared_run(**failed: tuple[str, ...]) -> Any:
    """A run on all releases; by release the benchmarks that failed there."""
    return SimpleNamespace(arms={name: arm(name, benchmarks) for name, benchmarks in failed.items()})


def arm(name: str, benchmarks: tuple[str, ...]) -> Arm:
    outcomes = tuple(
        CaseOutcome(case=CaseKey("hashmap", each), status="failed", reason="no such map")
        for each in benchmarks
    )
    boot = Boot(index=1, block=0, stage="screen", layout=None, samples=(), outcomes=outcomes)
    return Arm(name=name, label=name, mode="icount", platform="emulated-x86-64", boots=(boot,), failure=None)


def test_a_suite_that_no_bench_has_is_told_once_with_the_benches_that_were_tried() -> None:
    failures = [failure(bench, TOO_OLD) for bench in ("7.3", "6.12", "6.1")]

    assert list(tell_failures(failures, None)) == [f"{TOO_OLD} (with the bench of 7.3, 6.12 and 6.1)"]


@pytest.mark.parametrize(
    ("benchmarks", "message", "told"),
    [
        (("lookup", "update"), TOO_OLD, "2 cases have no bench in 6.1: came with linux 7.2"),
        (("lookup",), "--case: no case of the plan matches 'lookup'", "lookup has no bench in 6.1"),
        (
            ("lookup", "update"),
            "bench does not build",
            "2 cases have no value with the bench of 6.1 either: bench does not build",
        ),
    ],
)
def test_cases_that_were_tried_again_are_not_told_as_if_the_suite_had_failed(
    benchmarks: tuple[str, ...], message: str, told: str
) -> None:
    run = shared_run(**{"6.1": benchmarks, "7.3": ()})

    assert list(tell_failures([failure("6.1", message)], run)) == [told]


def test_a_kernel_that_does_not_build_is_told_with_the_compilers_error() -> None:
    output = "  CC core.o\ncore.c:3: error: expected ';'\nmake[2]: *** [core.o] Error 1\nmake: *** all\n"
    errors = "core.c:3: error: expected ';' / make[2]: *** [core.o] Error 1"

    assert list(tell_failures([failure("7.3", "7.3: it does not build", output)], None)) == [
        f"7.3: it does not build: {errors} (with the bench of 7.3)"
    ]
