"""What each kind makes of its lines to the last digit: values, readings, resolutions and parameters."""

import pytest

from cliffwatch.parsers.bench.parse import parse_bench
from cliffwatch.parsers.readings import Parsed


def rows(parsed: Parsed) -> dict[str, tuple[float, tuple[float, ...], float]]:
    return {each.metric: (each.value, each.readings, each.resolution) for each in parsed.samples}


def assert_rows(text: str, wanted: dict[str, tuple[float, tuple[float, ...], float]]) -> None:
    parsed = parse_bench(text, benchmark="x")

    assert parsed.problems == ()
    assert rows(parsed).keys() == wanted.keys()
    for metric, (value, samples, resolution) in wanted.items():
        assert rows(parsed)[metric] == (
            pytest.approx(value, rel=1e-9),
            pytest.approx(samples, rel=1e-9),
            pytest.approx(resolution, rel=1e-9),
        )


SUMMARIES = {
    "hits-drops": (
        (
            "Summary: hits    6.000 ± 0.141M/s (  3.000M/prod), drops    0.500 ± 0.000M/s, total operations  "
            "  6.500 ± 0.1M/s"
        ),
        {"hits": 6.0, "hits-per-producer": 3.0, "drops": 0.5, "total": 6.5},
        0.001,
    ),
    "false-hits": (
        "Summary: 2 false hits of 80 total operations. Percentage =  2.50 %",
        {"false-positive-rate": 2.5},
        0,
    ),
    "local-storage-create": (
        "Summary: creates  212.000 ± 1.310k/s (106.000k/prod), 3.12 kmallocs/create",
        {"creates": 212.0, "creates-per-producer": 106.0, "kmallocs": 3.12},
        {"creates": 0.001, "creates-per-producer": 0.001, "kmallocs": 0.01},
    ),
    "htab-mem": (
        (
            "Summary: per-prod-op   11.50 ±    0.13k/s, memory usage    2.00 ±    0.00MiB, peak memory usage "
            "   3.00MiB"
        ),
        {"per-producer-ops": 11.5, "memory": 2.0, "peak-memory": 3.0},
        0.01,
    ),
    "tasks-trace": (
        (
            "SUMMARY tasks_trace grace period latency\tavg 2000.000 us\tstddev 0.000 us\n"
            "SUMMARY ticks per tasks_trace grace period\tavg 4.000\tstddev 0.000"
        ),
        {"grace-period-latency": 2000.0, "ticks": 4.0},
        0.001,
    ),
}


@pytest.mark.parametrize("kind", SUMMARIES)
def test_a_summary_alone_gives_the_values_without_readings(kind: str) -> None:
    text, values, resolutions = SUMMARIES[kind]
    steps = resolutions if isinstance(resolutions, dict) else dict.fromkeys(values, resolutions)

    assert_rows(text, {metric: (value, (), steps[metric]) for metric, value in values.items()})


def test_a_summary_alone_of_operations_has_the_latency_of_one_producer() -> None:
    assert_rows(
        "Summary: throughput  100.000 ± 0.000 M ops/s ( 25.000M ops/prod), latency   40.000 ns/op",
        {"throughput": (100.0, (), 100 * 0.001 / 40), "latency": (40.0, (), 0.001)},
    )


def test_a_summary_alone_of_local_storage_has_its_important_hits() -> None:
    assert_rows(
        "Summary: hits throughput    5.000 ± 0.000 M ops/s, hits latency  200.000 ns/op, "
        "important_hits throughput    1.000 ± 0.000 M ops/s",
        {
            "hits-throughput": (5.0, (), 5 * 0.001 / 200),
            "hits-latency": (200.0, (), 0.001),
            "important-hits-throughput": (1.0, (), 0.001),
        },
    )


def test_readings_have_the_steps_of_their_digits() -> None:
    assert_rows(
        "Iter   0 (0.000us): per-prod-op   11.00k/s, memory usage    1.00MiB\nIter   1 (0.000us): per-prod-op"
        "   11.40k/s, memory usage    2.00MiB\nIter   2 (0.000us): per-prod-op   11.60k/s, memory usage   "
        " 4.00MiB\nSummary: per-prod-op   11.50 ±    0.13k/s, memory usage    3.00 ±    0.00MiB, peak memory"
        " usage    4.00MiB",
        {
            "per-producer-ops": (11.5, (11.4, 11.6), 0.01),
            "memory": (3.0, (2.0, 4.0), 0.01),
            "peak-memory": (4.0, (), 0.01),
        },
    )


def test_tasks_trace_counts_nanoseconds_in_its_iterations_and_microseconds_in_its_summary() -> None:
    lines = [
        f"Iter {index}\t avg tasks_trace grace period latency\t{latency}.000000 ns\n"
        f"Iter {index}\t avg ticks per tasks_trace grace period\t{ticks}.000000\n"
        for index, (latency, ticks) in enumerate(((9000000, 9), (2000000, 4), (4000000, 6)))
    ]
    assert_rows(
        "".join(lines) + SUMMARIES["tasks-trace"][0],
        {"grace-period-latency": (3000.0, (2000.0, 4000.0), 0.001), "ticks": (5.0, (4.0, 6.0), 0.001)},
    )


def test_sockmap_has_a_speed_for_each_part_of_the_way() -> None:
    line = "Send Speed {0} MB/s (1000 calls/s), BPF Speed {1} MB/s, Rcv Speed {2} MB/s (990 calls/s)"
    assert_rows(
        f"Iter   0 (0.000us): {line.format(1, 2, 3)}\n"
        f"Iter   1 (0.000us): {line.format(64.5, 63.5, 62.5)}\n"
        f"Iter   2 (0.000us): {line.format(65.5, 64.5, 63.5)}\n"
        "Summary: total trans     1234 MB ± 63.000 MB/s",
        {
            "send-speed": (65.0, (64.5, 65.5), 0.001),
            "bpf-speed": (64.0, (63.5, 64.5), 0.001),
            "receive-speed": (63.0, (62.5, 63.5), 0.001),
        },
    )


def test_thousands_and_milliseconds_keep_their_steps() -> None:
    assert_rows(
        "Iter   0 (0.000us): hits    0.500K/s (  0.250K/prod)\n"
        "Iter   1 (0.000us): hits    0.500K/s (  0.250K/prod)\n"
        "Summary: throughput    0.500 ± 0.000 K ops/s (  0.250K ops/prod), latency    4.000 ms/op",
        {
            "throughput": (0.0005, (0.0005,), 0.0005 * 1000 / 4e6),
            "latency": (4e6, (4e6,), 1000.0),
            "throughput-per-producer": (0.00025, (0.00025,), 1e-6),
        },
    )


def test_without_a_summary_latency_comes_from_the_rates_with_the_step_of_those() -> None:
    lines = "Iter   0 (0.000us): hits    9.000M/s (  4.500M/prod)\n" + "".join(
        f"Iter   {index} (0.000us): hits    {rate}.000M/s (  {rate / 2:.3f}M/prod)\n"
        for index, rate in ((1, 4), (2, 6))
    )
    parsed = parse_bench(lines, benchmark="x")

    # Two producers at five million operations a second: 400 ns each; one thousandth of 5 M/s is one of 5000
    # parts.
    assert rows(parsed)["latency"] == (
        pytest.approx(400.0),
        pytest.approx((500.0, 1000 / 3)),
        pytest.approx(400 / 5000),
    )
    assert rows(parsed)["throughput"] == (pytest.approx(5.0), (4.0, 6.0), pytest.approx(0.001))


def test_rates_in_thousands_have_a_step_a_thousand_times_finer() -> None:
    parsed = parse_bench("Iter   0 (0us): hits 8.0K/s (8.0K/prod)\nIter   1 (0us): hits 8.0K/s (8.0K/prod)\n")

    assert rows(parsed)["latency"] == (
        pytest.approx(125000.0),
        (pytest.approx(125000.0),),
        pytest.approx(125000 / 8000),
    )


def test_a_summary_that_the_rates_do_not_bear_out_gives_way_to_them() -> None:
    text = (
        "Iter   0 (0.000us): hits    5.000M/s (  5.000M/prod)\n"
        "Iter   1 (0.000us): hits    5.000M/s (  5.000M/prod)\n"
        "Summary: throughput    5.000 ± 0.000 M ops/s (  5.000M ops/prod), latency  {} ns/op"
    )

    assert rows(parse_bench(text.format("202.000")))["latency"][0] == pytest.approx(202.0)
    assert rows(parse_bench(text.format("202.200")))["latency"][0] == pytest.approx(200.0)
    assert rows(parse_bench(text.format("0.000")))["latency"][0] == pytest.approx(200.0)
    assert rows(parse_bench(text.format("nan")))["latency"][0] == pytest.approx(200.0)


def test_latencies_below_a_nanosecond_count() -> None:
    assert_rows(
        "Iter   0 (0.000us): hits 2000.000M/s (2000.000M/prod)\n"
        "Iter   1 (0.000us): hits 2000.000M/s (2000.000M/prod)\n"
        "Summary: throughput 2000.000 ± 0.000 M ops/s (2000.000M ops/prod), latency    0.501 ns/op",
        {
            "throughput": (1000 / 0.501, (2000.0,), 1000 / 0.501 * 0.001 / 0.501),
            "latency": (0.501, (0.5,), 0.001),
            "throughput-per-producer": (2000.0, (2000.0,), 0.001),
        },
    )


def test_slipped_intervals_count_for_the_rate_that_is_compared_with_the_summary() -> None:
    """Readings of 1.5 seconds at 10 M/s make 15 M operations, which bench takes for 15 M/s."""
    parsed = parse_bench(
        "Iter   0 (500000.000us): hits   10.000M/s ( 10.000M/prod)\n"
        "Iter   1 (500000.000us): hits   10.000M/s ( 10.000M/prod)\n"
        "Summary: throughput   15.000 ± 0.000 M ops/s ( 15.000M ops/prod), latency   66.667 ns/op"
    )

    assert rows(parsed)["latency"] == (pytest.approx(66.667 * 1.5), pytest.approx((100.0,)), 0.001)


def test_an_interval_without_operations_has_no_latency() -> None:
    parsed = parse_bench(
        "Iter   0 (0.000us): hits    5.000M/s (  5.000M/prod)\n"
        "Iter   1 (0.000us): hits    5.000M/s (  5.000M/prod)\n"
        "Iter   2 (0.000us): hits    0.000M/s (  0.000M/prod)\n"
        "Summary: throughput    2.500 ± 3.536 M ops/s (  2.500M ops/prod), latency  400.000 ns/op",
        warmup=1,
    )

    assert rows(parsed) == {"throughput-per-producer": (2.5, (5.0, 0.0), 0.001)}


def test_each_scenario_of_the_timing_library_is_a_case() -> None:
    line = "RESULT scenario={} samples=200 median={} stddev=0.40 cv=0.48 min=81.90 p99={} max=99.10\n"
    parsed = parse_bench(
        line.format("hit", "82.50", "83.90") + line.format("miss", "90.50", "91.25"), params={"a": "1"}
    )

    assert [
        (each.metric, dict(each.case.params), each.value, each.resolution) for each in parsed.samples
    ] == [
        ("latency", {"a": "1", "scenario": "hit"}, 82.5, 0.01),
        ("latency-p99", {"a": "1", "scenario": "hit"}, 83.9, 0.01),
        ("latency", {"a": "1", "scenario": "miss"}, 90.5, 0.01),
        ("latency-p99", {"a": "1", "scenario": "miss"}, 91.25, 0.01),
    ]


def test_medians_for_people_alone_are_read_too() -> None:
    parsed = parse_bench("nop: median 82.50 ns/op, stddev 0.40, p99 83.90 (200 samples)")

    assert [(each.metric, dict(each.case.params), each.value) for each in parsed.samples] == [
        ("latency", {}, 82.5),
        ("latency-p99", {}, 83.9),
    ]


@pytest.mark.parametrize("counts", ["errors 3 create_errs 0", "errors 0 create_errs 3"])
def test_errors_beside_a_result_make_it_doubtful(counts: str) -> None:
    parsed = parse_bench(f"{SUMMARIES['local-storage-create'][0]}\nsocket() {counts}\n", benchmark="x")

    assert [problem.reason for problem in parsed.problems] == [
        f"doubtful: errors while it ran: socket() {counts}"
    ]


def test_no_errors_beside_a_result_are_no_problem() -> None:
    parsed = parse_bench(
        f"{SUMMARIES['local-storage-create'][0]}\nsocket() errors 0 create_errs 0\n", benchmark="x"
    )

    assert parsed.problems == ()


def test_zero_operations_come_with_the_reason_that_standard_error_gives() -> None:
    zero = "Summary: hits 0.000 ± 0.000M/s ( 0.000M/prod), drops 0.000 ± 0.000M/s"

    assert [problem.reason for problem in parse_bench(zero).problems] == [
        "failed: zero operations, so nothing ran"
    ]
    assert [problem.reason for problem in parse_bench(zero, stderr="libbpf: no BTF\n").problems] == [
        "failed: zero operations, so nothing ran (no BTF)"
    ]


def test_a_failure_does_not_change_the_kind_of_a_run() -> None:
    lines = "nop: median 82.50 ns/op, stddev 0.40, p99 83.90 (200 samples)\nNo timing samples collected.\n"

    assert [problem.reason for problem in parse_bench(lines).problems] == [
        "failed: No timing samples collected."
    ]
    assert [problem.reason for problem in parse_bench("No timing samples collected.\n" * 2).problems] == [
        "failed: No timing samples collected."
    ]
