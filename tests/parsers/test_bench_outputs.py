"""Where one run of bench ends and the next begins in a text, which of its readings are warm, and what is
wrong with it.
"""

import pytest

from cliffwatch.parsers.bench.parse import parse_bench
from cliffwatch.parsers.readings import Parsed


def hits(index: int, rate: float, jitter: str = "0.000") -> str:
    return f"Iter   {index} ({jitter}us): hits    {rate:.3f}M/s (  {rate:.3f}M/prod), drops    0.000M/s\n"


def summary(rate: float) -> str:
    return f"Summary: hits    {rate:.3f} ± 0.100M/s (  {rate:.3f}M/prod), drops    0.000 ± 0.000M/s\n"


MEDIAN = "nop: median 82.50 ns/op, stddev 0.40, p99 83.90 (200 samples)\n"
DOUBT = "WARNING: proportionality check failed (2N/N ratio=2.2)"


def named(parsed: Parsed, metric: str = "hits") -> list[tuple[str, float]]:
    return [(sample.case.benchmark, sample.value) for sample in parsed.samples if sample.metric == metric]


def problems(parsed: Parsed) -> list[tuple[int, str, str]]:
    return [(problem.line, problem.text, problem.reason) for problem in parsed.problems]


def test_readings_after_a_summary_are_another_run() -> None:
    parsed = parse_bench(
        hits(0, 1) + hits(1, 5) + summary(5) + hits(0, 1) + hits(1, 7) + summary(7), benchmark="x"
    )

    assert named(parsed) == [("x", 5.0), ("x", 7.0)]
    assert parsed.problems == ()


def test_a_result_of_another_kind_is_another_run() -> None:
    parsed = parse_bench(hits(0, 1) + hits(1, 5) + summary(5) + MEDIAN)

    assert named(parsed) == [("unknown", 5.0)]
    assert named(parsed, "latency") == [("unknown", 82.5)]


def test_a_doubt_belongs_to_the_run_before_it() -> None:
    assert problems(parse_bench(MEDIAN + DOUBT, benchmark="x")) == [
        (2, "x", "doubtful: proportionality check failed (2N/N ratio=2.2)")
    ]
    parsed = parse_bench(hits(0, 1) + hits(1, 5) + summary(5) + DOUBT, benchmark="x")
    assert named(parsed) == [("x", 5.0)]
    assert [line for line, _, _ in problems(parsed)] == [4]


def test_a_failure_belongs_to_the_run_before_it() -> None:
    parsed = parse_bench(
        hits(0, 1) + hits(1, 5) + summary(5) + "No timing samples collected.\n", benchmark="x"
    )

    assert named(parsed) == [("x", 5.0)]
    assert parsed.problems == ()


def test_a_failure_without_readings_is_named_with_its_line() -> None:
    assert problems(parse_bench(MEDIAN + "No timing samples collected.\n", benchmark="x")) == [
        (2, "x", "failed: No timing samples collected.")
    ]
    assert problems(parse_bench("\nNo timing samples collected.\n", benchmark="x")) == [
        (2, "Setting up benchmark 'x'...", "failed: No timing samples collected.")
    ]


def test_a_banner_without_a_result_is_a_failure() -> None:
    assert problems(parse_bench("Setting up benchmark 'y'...\n")) == [
        (1, "Setting up benchmark 'y'...", "failed: it ended without a result")
    ]


def test_standard_error_is_of_the_last_run() -> None:
    parsed = parse_bench(
        "Setting up benchmark 'y'...\nSetting up benchmark 'z'...\n", stderr="other words\nlibbpf: no BTF\n"
    )

    assert [reason for _, _, reason in problems(parsed)] == [
        "failed: it ended without a result",
        "failed: no BTF",
    ]


def test_a_cut_output_is_named_with_its_first_line() -> None:
    assert problems(parse_bench("\n" + hits(0, 1) + hits(1, 5), benchmark="x")) == [
        (2, "x", "the output ends before the Summary: it was cut off")
    ]


def test_a_summary_that_disagrees_is_named_with_its_line() -> None:
    assert problems(parse_bench(hits(0, 1) + hits(1, 5) + summary(6), benchmark="x", warmup=1)) == [
        (3, "x", "the Summary says 6, but the Iter lines average 5: readings are missing or were changed")
    ]


def test_a_line_that_a_busy_host_prints_after_the_last_measurement_is_dropped() -> None:
    text = (
        "Iter   0 (6365.066us): creates   32.505k/s ( 32.505k/prod), 2.00 kmallocs/create\n"
        "Iter   1 (401395.387us): creates   19.929k/s ( 19.929k/prod), 2.00 kmallocs/create\n"
        "Iter   2 (835625.611us): creates    9.274k/s (  9.274k/prod), 2.00 kmallocs/create\n"
        "Iter   3 (-240898.395us): creates   33.175k/s ( 33.175k/prod), 2.00 kmallocs/create\n"
        "Iter   4 (440931.106us): creates    0.033k/s (  0.033k/prod), 2.00 kmallocs/create\n"
        "Summary: creates   23.378 ± 5.672k/s ( 23.378k/prod), 2.00 kmallocs/create\n"
    )
    parsed = parse_bench(text, benchmark="local-storage-create", warmup=1)

    assert parsed.problems == ()
    (rate,) = (sample for sample in parsed.samples if sample.metric == "creates")
    assert rate.readings == (19.929, 9.274, 33.175)


@pytest.mark.parametrize(("rate", "agrees"), [(0.5099, True), (0.5105, False)])
def test_slow_rates_agree_within_ten_steps_of_their_digits(rate: float, agrees: bool) -> None:
    parsed = parse_bench(hits(0, 0.1) + hits(1, 0.5) + summary(0.5).replace("0.500", f"{rate:.4f}"), warmup=1)

    assert (parsed.problems == ()) == agrees


def test_memory_is_compared_as_it_is_and_rates_by_true_seconds() -> None:
    text = (
        "Iter   0 (0.000us): per-prod-op   10.00k/s, memory usage    1.00MiB\nIter   1 (500000.000us):"
        " per-prod-op   10.00k/s, memory usage    {memory}MiB\nSummary: per-prod-op   {rate} ±    0.13k/s,"
        " memory usage    2.00 ±    0.00MiB, peak memory usage    3.00MiB"
    )

    assert parse_bench(text.format(memory="2.00", rate="15.00"), warmup=1).problems == ()
    assert (
        "Summary says 10, but"
        in parse_bench(text.format(memory="2.00", rate="10.00"), warmup=1).problems[0].reason
    )
    assert (
        "Summary says 2, but"
        in parse_bench(text.format(memory="3.00", rate="15.00"), warmup=1).problems[0].reason
    )


@pytest.mark.parametrize(
    ("warmup", "samples"), [(0, (1.0, 5.0, 7.0)), (1, (5.0, 7.0)), (3, (7.0,)), (9, (7.0,))]
)
def test_the_warm_up_of_a_run_leaves_at_least_its_last_reading(
    warmup: int, samples: tuple[float, ...]
) -> None:
    parsed = parse_bench(hits(0, 1) + hits(1, 5) + hits(2, 7) + summary(6), warmup=warmup)

    assert parsed.samples[0].readings == samples


def test_readings_keep_one_warm_up_unless_another_fits_the_summary_better() -> None:
    four = [hits(0, 1), hits(1, 5), hits(2, 7), hits(3, 7)]

    assert parse_bench("".join(four) + summary(7)).samples[0].readings == (7.0, 7.0)
    assert parse_bench("".join(four) + summary(6.333)).samples[0].readings == (5.0, 7.0, 7.0)
    assert parse_bench("".join(four) + summary(5)).samples[0].readings == (5.0, 7.0, 7.0)
    assert parse_bench(hits(0, 6) + hits(1, 6) + hits(2, 6) + summary(6)).samples[0].readings == (6.0, 6.0)


def test_a_reading_that_is_no_number_does_not_choose_the_warm_up() -> None:
    infinite = hits(1, 5).replace("hits    5.000M/s", "hits      infM/s")
    parsed = parse_bench(hits(0, 1) + infinite + hits(2, 7) + hits(3, 7) + summary(7))

    assert parsed.samples[0].readings == (7.0, 7.0)


def test_the_suite_that_is_given_is_that_of_the_samples() -> None:
    assert {
        each.case.suite for each in parse_bench(hits(0, 1) + hits(1, 5) + summary(5), suite="s").samples
    } == {"s"}


def test_what_is_no_number_is_named_with_the_line_of_the_summary() -> None:
    nan = hits(1, 5).replace("(  5.000M/prod)", "(  nanM/prod)")

    assert problems(parse_bench("\n" + hits(0, 1) + nan + summary(5), benchmark="x", warmup=1)) == [
        (4, "x", "hits-per-producer is not a number")
    ]


def test_only_dropped_operations_are_a_result() -> None:
    text = "Summary: hits 0.000 ± 0.000M/s ( 0.000M/prod), drops 4.000 ± 0.000M/s\n"

    assert parse_bench(text).problems == ()
    assert named(parse_bench(text), "drops") == [("unknown", 4.0)]


def test_an_iteration_with_the_number_of_the_one_before_it_is_a_reading_of_its_own() -> None:
    assert parse_bench(hits(0, 1) + hits(1, 5) + hits(1, 5) + summary(5)).samples[0].readings == (5.0, 5.0)


@pytest.mark.parametrize(
    "line",
    [
        "Benchmark 'x' started.",
        "Spun up 10 procs (our pid 789)",
        "create socket fd c1:5 p1:6 c2:7 p2:8",
        "Available benchmarks:",
        "- trig-fentry",
        "Calibration: 1000 operations a batch",
        "  tcp scenarios: 4",
        "",
    ],
)
def test_what_bench_prints_beside_results_is_no_problem(line: str) -> None:
    assert parse_bench(f"{line}\n").problems == ()


def test_libbpf_before_any_run_is_a_failure_of_its_own() -> None:
    assert problems(parse_bench("\nlibbpf: no BTF\n")) == [(2, "libbpf: no BTF", "failed: no BTF")]
    assert problems(parse_bench("", stderr="libbpf: no BTF")) == [(0, "no BTF", "failed: no BTF")]
