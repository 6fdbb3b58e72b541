"""What the output of a suite's own program says: which of its lines are a case's, and how its metrics are
called.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from toy import TESTS

from cliffwatch.catalogue.read import read_suite
from cliffwatch.catalogue.suite import MetricSpec, PlannedCase, Suite
from cliffwatch.formats.boot_record import SamplesRecord, sample_record
from cliffwatch.formats.reading import document_text, read_as
from cliffwatch.parsers.readings import Parsed
from cliffwatch.samples import CaseKey
from cliffwatch_runner.results.case_output import parse_case, program_failure

RECORDED = TESTS / "data" / "suites" / "outputs" / "pipe-6.12-tcg.out"


def case_of(folder: Path) -> PlannedCase:
    suite = read_suite(folder / "suite.toml")
    assert isinstance(suite, Suite), suite
    return suite.cases("smoke")[0]


PIPE = case_of(TESTS.parent / "examples" / "my-go-suite")


def values(case: PlannedCase, text: str) -> dict[str, float]:
    return {f"{value.metric} ({value.unit})": value.value for value in parse_case(case, text, "").samples}


def problems(parsed: Parsed) -> list[str]:
    return [problem.reason for problem in parsed.problems]


def test_lines_of_one_benchmark_are_readings_and_their_median_is_the_value() -> None:
    parsed = parse_case(PIPE, RECORDED.read_text(), "")

    found = {sample.metric: sample for sample in parsed.samples}
    assert found.keys() == {"ns/op", "syscalls/op", "B/op", "allocs/op"}
    assert len(found["ns/op"].readings) == 5
    assert found["ns/op"].value == sorted(found["ns/op"].readings)[2]
    assert found["syscalls/op"].value == 2
    assert problems(parsed) == []


def test_whatever_its_name_the_only_line_is_the_cases() -> None:
    assert values(PIPE, "BenchmarkSomethingElse/of=7-8 100 5 ns/op\n") == {"ns/op (ns/op)": 5}


def test_of_several_names_the_cases_own_is_taken_with_its_parameters_or_without() -> None:
    lines = "BenchmarkPipe-4 100 5 ns/op\nBenchmarkGetppid-4 100 7 ns/op\n"
    with_params = "BenchmarkPipe/count=4 100 5 ns/op\nBenchmarkPipe/count=5 100 6 ns/op\n"

    assert values(PIPE, lines) == {"ns/op (ns/op)": 5}
    assert values(PIPE, with_params) == {"ns/op (ns/op)": 6}


def test_where_no_name_is_the_cases_nothing_is_guessed() -> None:
    case = replace(PIPE, key=CaseKey("my-go-suite", "Socket"))
    parsed = parse_case(case, "BenchmarkPipe 100 5 ns/op\nBenchmarkGetppid 100 7 ns/op\n", "")

    assert parsed.samples == ()
    reason = program_failure(0, case, parsed, ("BenchmarkPipe 100 5 ns/op\n", ""))
    assert reason is not None
    assert reason.startswith("pipes.test printed lines named Pipe, Getppid, but none named 'Socket'")


def test_a_unit_is_called_as_the_suite_calls_its_metric() -> None:
    declared = {
        "hit latency": MetricSpec(unit="ns/op", better="lower"),
        "rate": MetricSpec(unit="M ops/s", better="higher"),
        "misses": MetricSpec(unit="misses/op", better="lower"),
    }
    case = replace(PIPE, metrics=declared)

    found = values(case, "BenchmarkX 1 5 ns/op 3 rate-Mops/s 1 misses/op 2 insns\n")
    assert found == {
        "hit latency (ns/op)": 5,
        "rate (M ops/s)": 3,
        "misses (misses/op)": 1,
        "insns (insns)": 2,
    }


def test_two_metrics_of_one_unit_are_told_apart_by_their_names_alone() -> None:
    declared = {name: MetricSpec(unit="ns/op", better="lower") for name in ("hit", "miss")}
    case = replace(PIPE, metrics=declared)

    assert values(case, "BenchmarkX 1 5 hit-ns/op 3 miss-ns/op\n") == {"hit (ns/op)": 5, "miss (ns/op)": 3}
    parsed = parse_case(case, "BenchmarkX 1 5 ns/op\n", "")
    assert problems(parsed) == [
        "pipes.test printed no 'hit' in 'ns/op', which its suite declares; it printed ns/op",
        "pipes.test printed no 'miss' in 'ns/op', which its suite declares; it printed ns/op",
    ]


@pytest.mark.parametrize(
    ("status", "stdout", "stderr", "reason"),
    [
        (0, "", "", "pipes.test printed nothing"),
        (0, "hello\n", "", "pipes.test printed no line of the Go benchmark format; its last line: hello"),
        (1, "", "", "pipes.test ended with status 1 and printed nothing"),
        (
            2,
            "BenchmarkPipe 1 5 ns/op\n",
            "panic: no pipe\n",
            "pipes.test ended with status 2: panic: no pipe",
        ),
        (
            1,
            "--- FAIL: BenchmarkPipe\n    x_test.go:9: no pipe\nFAIL\n",
            "",
            "pipes.test ended with status 1: x_test.go:9: no pipe",
        ),
        (
            0,
            "BenchmarkPipe 1 5 us/op\n",
            "",
            "pipes.test printed no 'ns/op', which its suite declares; it printed us/op",
        ),
        (0, "BenchmarkPipe 1 5 ns/op\n", "", None),
    ],
)
def test_an_output_that_cannot_be_believed_says_why(
    status: int, stdout: str, stderr: str, reason: str | None
) -> None:
    assert program_failure(status, PIPE, parse_case(PIPE, stdout, stderr), (stdout, stderr)) == reason


def test_a_program_may_print_what_it_likes_beside_its_results() -> None:
    parsed = parse_case(PIPE, "chatter of mine\n" * 1000 + "BenchmarkPipe 1 5 ns/op\n", "")

    assert [sample.value for sample in parsed.samples] == [5]
    assert len(parsed.problems) < 200


def test_no_output_makes_a_record_that_cannot_be_read_again() -> None:
    units = "".join(f" {number} unit-{number}" for number in range(1000))
    text = (
        f"BenchmarkPipe 1 5 ns/op 1 {'x' * 300} 1 \x85\x1b[31mred{units}\n"
        + "BenchmarkPipe 1 7 ns/op\n" * 20_000
    )
    samples = tuple(sample._replace(case=PIPE.key) for sample in parse_case(PIPE, text, "").samples)
    record = SamplesRecord(samples=tuple(map(sample_record, samples)), outcomes=())

    assert read_as(document_text(record), SamplesRecord) == record
    assert samples[0].metric == "ns/op"
    assert len(samples) == 101


def test_lines_of_bench_are_read_by_their_kind() -> None:
    program = replace(PIPE.program, output="bench")
    case = replace(PIPE, program=program, metrics={"latency": MetricSpec(unit="ns/op", better="lower")})
    text = "Summary: throughput    5.000 ± 0.001 M ops/s (  5.000M ops/prod), latency  200.000 ns/op\n"

    assert values(case, text)["latency (ns/op)"] == 200
