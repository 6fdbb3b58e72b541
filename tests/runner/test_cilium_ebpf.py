"""The suite `cilium-ebpf`: what a guest printed, and what two versions of the library came to on
linux 6.12.
"""

from pathlib import Path

from golden import assert_golden
from toy import TESTS

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.catalogue.suite import Suite
from cliffwatch.comparing.compare_run import Sides, compare_run
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.failure import Failure
from cliffwatch.importing import import_file
from cliffwatch.reports.context import NO_CONTEXT
from cliffwatch.reports.several.benchstat import benchstat_report
from cliffwatch_runner.plan.arm_words.modules import modules_of
from cliffwatch_runner.results.case_output import parse_case

OUTPUTS = TESTS / "data" / "suites" / "outputs"
MEASURED = OUTPUTS / "ebpf-0.18-0.19-6.12-tcg.bench"


def suite() -> Suite:
    return next(suite for suite in load_catalogue().suites if suite.name == "cilium-ebpf")


def compared(head: str) -> ComparisonSet:
    imported = import_file(Path(MEASURED))
    assert not isinstance(imported, Failure)
    sides = compare_run(Sides(base=imported.arms["old"], head=imported.arms[head], one_run=True))
    assert not isinstance(sides, Failure)
    return sides


def test_the_median_of_five_times_is_the_boots_value() -> None:
    case = next(case for case in suite().cases("smoke") if case.key.benchmark == "WalkNames")
    parsed = parse_case(case, (OUTPUTS / "ebpf-walk-names-6.12-tcg.out").read_text(), "")

    assert {sample.metric: sample.value for sample in parsed.samples} == {
        "ns/op": 156508654,
        "B/op": 17070984,
        "allocs/op": 68004,
    }
    assert parsed.problems == ()


def test_two_versions_of_the_library_in_benchstats_shape() -> None:
    assert_golden("cilium-ebpf.benchstat", benchstat_report(compared("new"), NO_CONTEXT))


def test_a_version_against_itself_allocates_the_same() -> None:
    rows = [row for row in compared("again").rows if row.metric in ("B/op", "allocs/op")]

    assert len(rows) == 38
    assert all(abs(row.change or 0.0) < 0.0001 for row in rows)
    assert not compared("again").changed_rows()


def test_every_version_is_asked_in_the_same_way() -> None:
    """A case is its name: nothing in the arguments says which library it is."""
    assert modules_of(suite()) == {"github.com/cilium/ebpf": "v0.21.0", "golang.org/x/sys": "v0.37.0"}
    for case in suite().cases("smoke"):
        assert case.argv[1] == f"-test.bench=^Benchmark{case.key.benchmark}$"
        assert case.argv[2].endswith("x")
