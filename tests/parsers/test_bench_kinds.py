"""Every kind of line that bench prints is read, with its traps."""

import pytest

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.parsers.bench.parse import parse_bench
from cliffwatch.parsers.readings import Parsed


def values(parsed: Parsed) -> dict[str, float]:
    return {sample.metric: sample.value for sample in parsed.samples}


def run_of(name: str, *lines: str) -> str:
    return "\n".join([f"Setting up benchmark '{name}'...", f"Benchmark '{name}' started.", *lines, ""])


HITS = run_of(
    "trig-fentry",
    "Iter   0 (500.000us): hits    1.000M/s (  1.000M/prod), drops    0.000M/s, total operations    1.000M/s",
    "Iter   1 (  0.000us): hits    5.900M/s (  5.900M/prod), drops    0.000M/s, total operations    5.900M/s",
    "Iter   2 (  0.000us): hits    6.100M/s (  6.100M/prod), drops    0.000M/s, total operations    6.100M/s",
    "Summary: hits    6.000 ± 0.141M/s (  6.000M/prod), drops    0.000 ± 0.000M/s, total operations    6.000"
    " ± 0.141M/s",
)


def test_the_iter_lines_after_warm_up_are_the_samples() -> None:
    parsed = parse_bench(HITS)
    hits = parsed.samples[0]

    assert (hits.case.benchmark, hits.metric, hits.unit) == ("trig-fentry", "hits", "M ops/s")
    assert hits.readings == (5.9, 6.1)
    assert hits.value == pytest.approx(6.0)
    assert parsed.problems == ()


def test_a_line_of_its_own_says_what_a_map_of_a_branch_takes() -> None:
    parsed = parse_bench(HITS + "Slab: 158.094 MiB\n")
    memory = parsed.samples[-1]

    assert (memory.case.benchmark, memory.metric, memory.unit) == ("trig-fentry", "memory", "MiB")
    assert (memory.value, memory.resolution) == (158.094, 0.001)
    assert parsed.problems == ()
    assert load_catalogue().traits(memory.case, "memory", "MiB", "icount").better == "lower"


def test_such_a_line_without_a_benchmark_is_skipped_and_said() -> None:
    parsed = parse_bench("Slab: 158.094 MiB\n")

    assert parsed.samples == ()
    assert [problem.line for problem in parsed.problems] == [1]


def test_the_warm_up_of_a_pasted_output_is_the_one_that_makes_its_summary() -> None:
    text = HITS.replace(
        "Iter   1 (  0.000us): hits    5.900M/s", "Iter   1 (  0.000us): hits    9.000M/s"
    ).replace("hits    6.000 ± 0.141M/s", "hits    6.100 ± 0.000M/s")

    assert parse_bench(text).samples[0].readings == (6.1,)


def test_trees_before_5_16_print_no_total() -> None:
    text = HITS.replace(", total operations    1.000M/s", "").replace(", total operations    5.900M/s", "")
    text = text.replace(", total operations    6.100M/s", "").replace(
        ", total operations    6.000 ± 0.141M/s", ""
    )
    parsed = parse_bench(text)

    assert "total" not in values(parsed)
    assert values(parsed)["hits"] == pytest.approx(6.0)
    assert parsed.problems == ()


def test_drops_are_operations_but_zero_of_both_is_a_failure() -> None:
    zero = HITS
    for number in ("1.000", "5.900", "6.100", "6.000"):
        zero = zero.replace(number, "0.000")
    parsed = parse_bench(zero)

    assert parsed.samples == ()
    assert "zero operations" in parsed.problems[0].reason


def test_false_hits_have_a_rate_of_their_own() -> None:
    parsed = parse_bench(
        run_of(
            "bloom-false-positive",
            "Iter   0 (0.000us): 1 false hits of 100 total operations. Percentage = 1.00 %",
            "Iter   1 (0.000us): 2 false hits of 100 total operations. Percentage = 2.00 %",
            "Summary: 2 false hits of 100 total operations. Percentage =  2.00 %",
        )
    )

    assert values(parsed) == {"false-positive-rate": 2.0}


def test_latency_is_put_right_by_the_true_intervals() -> None:
    """Bench divides its Summary by nominal seconds: intervals of 1.01 s make it one per cent too fast."""
    parsed = parse_bench(
        run_of(
            "bpf-loop",
            "Iter   0 (    0.000us): hits   50.000M/s ( 50.000M/prod)",
            "Iter   1 (10000.000us): hits   50.000M/s ( 50.000M/prod)",
            "Summary: throughput   50.500 ± 0.000 M ops/s ( 50.500M ops/prod), latency   19.802 ns/op",
        )
    )

    assert values(parsed)["latency"] == pytest.approx(20.0, rel=1e-4)
    assert values(parsed)["throughput"] == pytest.approx(50.0, rel=1e-4)


def test_the_latency_of_several_producers_is_that_of_one() -> None:
    parsed = parse_bench(
        run_of(
            "bpf-loop",
            "Iter   0 (0.000us): hits  100.000M/s ( 25.000M/prod)",
            "Iter   1 (0.000us): hits  100.000M/s ( 25.000M/prod)",
            "Summary: throughput  100.000 ± 0.000 M ops/s ( 25.000M ops/prod), latency   40.000 ns/op",
        )
    )

    assert values(parsed)["latency"] == pytest.approx(40.0)


def test_thousands_and_milliseconds_come_in_the_same_units() -> None:
    parsed = parse_bench(
        run_of(
            "lpm-trie-free",
            "Iter   0 (0.000us): hits    0.500K/s (  0.500K/prod)",
            "Iter   1 (0.000us): hits    0.500K/s (  0.500K/prod)",
            "Summary: throughput    0.500 ± 0.000 K ops/s (  0.500K ops/prod), latency    2.000 ms/op",
        )
    )

    assert values(parsed)["latency"] == pytest.approx(2e6)
    assert values(parsed)["throughput"] == pytest.approx(0.0005)


def test_a_slow_case_keeps_the_digits_that_its_iter_lines_lack() -> None:
    parsed = parse_bench(
        run_of(
            "local-storage-cache-seq-get",
            "Iter   0 (0.000us): hits    0.063M/s important_hits    0.000M/s",
            "Iter   1 (0.000us): hits    0.063M/s important_hits    0.000M/s",
            "Summary: hits throughput    0.063 ± 0.000 M ops/s, hits latency 15789.474 ns/op, "
            "important_hits throughput    0.000 ± 0.000 M ops/s",
        )
    )
    latency = next(sample for sample in parsed.samples if sample.metric == "hits-latency")

    assert latency.value == pytest.approx(15789.474)
    assert latency.resolution == pytest.approx(0.001)


def test_a_line_after_the_summary_does_not_hide_it() -> None:
    parsed = parse_bench(
        run_of(
            "local-storage-create",
            "Iter   0 (0.000us): creates  200.000k/s (200.000k/prod), 3.12 kmallocs/create",
            "Iter   1 (0.000us): creates  212.000k/s (212.000k/prod), 3.12 kmallocs/create",
            "Summary: creates  212.000 ± 1.310k/s (212.000k/prod), 3.12 kmallocs/create",
            "socket() errors 3 create_errs 0",
        )
    )

    assert values(parsed) == {"creates": 212.0, "creates-per-producer": 212.0, "kmallocs": 3.12}
    assert "errors while it ran" in parsed.problems[0].reason


def test_creating_local_storage_is_read_as_linux_7_3_prints_it() -> None:
    """It counts no allocations any more."""
    parsed = parse_bench(
        run_of(
            "local-storage-create",
            "Iter   0 (561.195us): creates  134.327k/s (134.327k/prod)",
            "Iter   1 (-548.841us): creates  134.365k/s (134.365k/prod)",
            "Iter   2 ( -2.435us): creates  134.315k/s (134.315k/prod)",
            "Summary: creates  134.303 ± 0.017k/s (134.303k/prod), 268606 total",
        )
    )

    assert not parsed.problems
    assert values(parsed) == {"creates": pytest.approx(134.34), "creates-per-producer": pytest.approx(134.34)}


def test_htab_mem_tells_memory_too() -> None:
    parsed = parse_bench(
        run_of(
            "htab-mem",
            "Iter   0 (0.000us): per-prod-op   11.00k/s, memory usage    1.00MiB",
            "Iter   1 (0.000us): per-prod-op   11.50k/s, memory usage    2.00MiB",
            "Summary: per-prod-op   11.50 ±    0.13k/s, memory usage    2.00 ±    0.00MiB, peak memory usage "
            "   3.00MiB",
        )
    )

    assert values(parsed) == {"per-producer-ops": 11.5, "memory": 2.0, "peak-memory": 3.0}


def test_tasks_trace_prints_tabs_and_two_lines_an_iteration() -> None:
    parsed = parse_bench(
        run_of(
            "local-storage-tasks-trace",
            "Spun up 10 procs (our pid 789)",
            "Iter 0\t avg tasks_trace grace period latency\t9000000.000000 ns",
            "Iter 0\t avg ticks per tasks_trace grace period\t9.000000",
            "Iter 1\t avg tasks_trace grace period latency\t2000000.000000 ns",
            "Iter 1\t avg ticks per tasks_trace grace period\t4.000000",
            "SUMMARY tasks_trace grace period latency\tavg 2000.000 us\tstddev 0.000 us",
            "SUMMARY ticks per tasks_trace grace period\tavg 4.000\tstddev 0.000",
        )
    )

    assert values(parsed) == {"grace-period-latency": 2000.0, "ticks": 4.0}
    assert parsed.problems == ()


def test_hashmap_lookup_is_the_mean_over_its_cpus() -> None:
    parsed = parse_bench(
        run_of(
            "bpf-hashmap-lookup",
            "cpu00: lookup 50.000M ± 0.018M events/sec (approximated from 32 samples of ~19ms)",
            "cpu01: lookup 52.000M ± 0.018M events/sec (approximated from 32 samples of ~19ms)",
        )
    )

    assert parsed.samples[0].value == 51.0
    assert parsed.samples[0].readings == (50.0, 52.0)


def test_full_update_prints_a_line_a_cpu() -> None:
    parsed = parse_bench(run_of("bpf-hashmap-full-update", "0:hash_map_full_perf 3864360 events per sec"))

    assert values(parsed) == {"updates": 3864360.0}


def test_the_number_after_the_sign_of_sockmap_is_the_mean_rate() -> None:
    summary = "Summary: total trans     1234 MB ± 61.700 MB/s"
    parsed = parse_bench(run_of("sockmap", "create socket fd c1:5 p1:6 c2:7 p2:8", summary))

    assert values(parsed) == {"receive-speed": 61.7}


def test_the_timing_library_prints_medians() -> None:
    parsed = parse_bench(
        run_of(
            "xdp-lb",
            "tcp-v4-lru-hit: median 82.50 ns/op, stddev 0.40, p99 83.90 (200 samples)",
            "RESULT scenario=tcp-v4-lru-hit samples=200 median=82.50 stddev=0.40 cv=0.48 min=81.90 p99=83.90"
            " max=84.10",
            "WARNING: proportionality check failed (2N/N ratio=2.200, expected=2.000, error=10.0%)",
        )
    )

    assert values(parsed) == {"latency": 82.5, "latency-p99": 83.9}
    assert parsed.samples[0].case.params == (("scenario", "tcp-v4-lru-hit"),)
    assert "proportionality" in parsed.problems[0].reason


def test_no_timing_samples_is_a_failure_although_bench_ends_well() -> None:
    parsed = parse_bench(run_of("bpf-nop", "No timing samples collected."))

    assert parsed.samples == ()
    assert parsed.problems[0].reason == "failed: No timing samples collected."


@pytest.mark.parametrize("number", ["inf", "nan", "-nan"])
def test_what_is_no_number_is_no_value(number: str) -> None:
    text = HITS.replace("total operations    5.900M/s", f"total operations {number:>8}M/s")
    parsed = parse_bench(text)

    assert "total" not in values(parsed)
    assert any("total is not a number" in problem.reason for problem in parsed.problems)


def test_an_infinite_rate_is_no_number_of_producers() -> None:
    lines = [
        "Iter   0 (0.000us): hits      infM/s (  1.000M/prod)",
        "Iter   1 (0.000us): hits      infM/s (  1.000M/prod)",
    ]
    parsed = parse_bench(run_of("bpf-loop", *lines))

    assert [sample.metric for sample in parsed.samples] == ["throughput-per-producer"]
    assert any(problem.reason == "throughput is not a number" for problem in parsed.problems)


def test_a_summary_that_the_iter_lines_do_not_bear_out_is_doubted() -> None:
    parsed = parse_bench(HITS.replace("Summary: hits    6.000", "Summary: hits    7.000"), warmup=1)

    assert values(parsed)["hits"] == pytest.approx(6.0)
    assert "readings are missing or were changed" in parsed.problems[0].reason


def test_an_output_that_was_cut_off_keeps_its_readings() -> None:
    parsed = parse_bench(HITS[: HITS.index("Summary")])

    assert values(parsed)["hits"] == pytest.approx(6.0)
    assert "cut off" in parsed.problems[0].reason


def test_a_benchmark_that_nobody_knows_is_read_by_its_lines() -> None:
    parsed = parse_bench(HITS.replace("trig-fentry", "qp-trie-lookup"))

    assert parsed.samples[0].case.benchmark == "qp-trie-lookup"
    assert parsed.problems == ()


def test_several_runs_in_one_text_stay_apart() -> None:
    parsed = parse_bench(HITS + HITS.replace("trig-fentry", "trig-fexit"))

    assert [each.case.benchmark for each in parsed.samples if each.metric == "hits"] == [
        "trig-fentry",
        "trig-fexit",
    ]


def test_a_line_of_no_known_kind_is_reported_with_its_number() -> None:
    parsed = parse_bench(HITS + "Summary: something new 5 per fortnight\n")

    assert parsed.problems[-1].line == 7
    assert parsed.problems[-1].text == "Summary: something new 5 per fortnight"
