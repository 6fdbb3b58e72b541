"""Under icount a value is instructions for an operation, both counted where the suite says what an operation
calls.
"""

from dataclasses import replace

import pytest

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.formats.code.function_counts import CaseCounts, CodeObject
from cliffwatch.samples import Sample
from cliffwatch_runner.results.operations import (
    instruction_samples,
    operations_in_window,
    operations_of_whole,
)


def planned(benchmark: str) -> PlannedCase:
    suites = load_catalogue().suites
    return next(case for suite in suites for case in suite.cases("smoke") if case.key.benchmark == benchmark)


RINGBUF = planned("rb-custom")


def printed(case: PlannedCase, **values: tuple[float, str]) -> tuple[Sample, ...]:
    return tuple(
        Sample(case.key, metric.replace("_", "-"), unit, value, (value, value), resolution=0.001)
        for metric, (value, unit) in values.items()
    )


RATE = printed(
    RINGBUF, hits=(6.227, "M ops/s"), hits_per_producer=(6.227, "M ops/s"), drops=(0.006227, "M ops/s")
)


def counted(case: PlannedCase, operations: float | None, operation: str | None) -> CaseCounts:
    return CaseCounts(
        suite=case.key.suite,
        benchmark=case.key.benchmark,
        params=dict(case.key.params),
        seconds=1.0,
        counts=((1, 800_000_000), (0, 110_000_000), (2, 80_000_000), (3, 10_000_000)),
        executed=(0, 1, 2, 3),
        operations=operations,
        operation=operation,
    )


def by_metric(samples: tuple[Sample, ...]) -> dict[str, tuple[float, str]]:
    return {each.metric: (each.value, each.unit) for each in samples}


@pytest.mark.parametrize(
    ("calls", "operations", "operation"),
    [
        ({("bpf", "bench_ringbuf"): 12454}, 6_227_000.0, "bpf:bench_ringbuf"),  # 500 of each call
        ({("bpf", "bench_ringbuf"): 12430}, 6_215_000.0, "bpf:bench_ringbuf"),  # bench read late, by 0.2 %
        ({("bpf", "bench_ringbuf"): 6_081}, 6_226_944.0, "bpf:bench_ringbuf"),  # 1024 of each call
        (
            {("bpf", "bench_ringbuf"): 12452},
            6_226_000.0,
            "bpf:bench_ringbuf",
        ),  # the window ends within a call
        ({("bpf", "bench_ringbuf"): 12454 * 1500}, 6_227_000.0, "bpf:bench_ringbuf"),  # 3 calls of each
        ({("bpf", "bench_ringbuf"): 4_000_000}, 6_227_000.0, None),  # near no whole number: as printed
        ({("kernel", "bench_ringbuf"): 12454}, 6_227_000.0, None),  # somebody else's
        ({}, 6_227_000.0, None),
    ],
)
def test_operations_are_the_calls_of_what_the_suite_names(
    calls: dict[tuple[CodeObject, str], int], operations: float, operation: str | None
) -> None:
    found = operations_in_window(RINGBUF, RATE, calls, 1_000_000_000)

    assert found is not None
    assert found.number == pytest.approx(operations, rel=1e-6)
    assert found.operation == operation


def test_a_window_that_lasted_longer_than_planned_does_not_say_how_many_operations_it_had() -> None:
    """bpf-for with 100,000 loops, linux 7.3: a call of 1.8 s delayed each reading, and the printed rate times the
    planned second made 27.08 instructions of 18.05.
    """
    found = operations_in_window(RINGBUF, RATE, {}, 1_500_000_000)
    by_calls = operations_in_window(RINGBUF, RATE, {("bpf", "bench_ringbuf"): 12454}, 1_500_000_000)

    assert found is None
    assert by_calls is not None


def test_of_bytes_a_second_operations_are_known_where_they_are_counted() -> None:
    case = planned("sockmap")
    samples = printed(case, receive_speed=(500.0, "MB/s"))

    assert operations_in_window(case, samples, {}, 1_000_000_000) is None
    named = replace(case, operation="tcp_bpf_recvmsg_parser")
    found = operations_in_window(
        named, samples, {("kernel", "tcp_bpf_recvmsg_parser"): 40_000}, 1_000_000_000
    )
    assert found is not None
    assert found.number == 40_000


def test_instructions_and_operations_are_both_counted() -> None:
    samples = instruction_samples(RINGBUF, RATE, counted(RINGBUF, 6_250_000.0, "bpf:bench_ringbuf"))

    assert by_metric(samples) == {
        "insns/op": (160.0, "insns/op"),
        "drops": (pytest.approx(0.001), "drops/op"),
    }
    assert {each.resolution for each in samples if each.metric != "drops"} == {0.0}


def test_digits_of_a_printed_rate_stay_with_the_value() -> None:
    (first, _) = instruction_samples(RINGBUF, RATE, counted(RINGBUF, 6_227_000.0, None))
    assert first.resolution == pytest.approx(first.value * 0.001 / 6.227)

    (alone, drops) = instruction_samples(RINGBUF, RATE, None)
    assert (alone.metric, alone.value) == ("insns/op", pytest.approx(1000 / 6.227))
    assert alone.resolution == pytest.approx(alone.value * 0.001 / 6.227)
    assert drops.unit == "drops/op"


def test_where_bench_times_a_part_the_window_s_calls_are_the_operations() -> None:
    """lpm-trie-free: a worker frees while the next trie is filled, so what bench prints is who waited for whom:
    5.4 and 11.7 million instructions of 19.6 and 21.1.
    """
    case = replace(RINGBUF, operation="trie_free", timed_in_part=True)
    found = operations_in_window(case, RATE, {("kernel", "trie_free"): 95}, 2_000_000_000)
    assert found == (95.0, "trie_free")
    assert operations_in_window(case, RATE, {}, 2_000_000_000) is None

    (value, _) = instruction_samples(case, RATE, counted(case, 100.0, "trie_free"))
    assert (value.value, value.resolution) == (10_000_000.0, 100_000.0)
    for unknown in (None, counted(case, None, None)):
        assert "insns/op" not in by_metric(instruction_samples(case, RATE, unknown))


def test_where_bench_times_a_part_and_nothing_counts_its_value_stands() -> None:
    case = replace(RINGBUF, operation="", timed_in_part=True)
    assert operations_in_window(case, RATE, {("bpf", "bench_ringbuf"): 12454}, 1_000_000_000) is None
    (value, _) = instruction_samples(case, RATE, counted(case, None, None))
    assert value.value == pytest.approx(1000 / 6.227)


def test_of_a_program_the_calls_that_its_suite_names_are_the_operations() -> None:
    case = planned("verify")
    calls: dict[tuple[CodeObject, str], int] = {("kernel", "bpf_check"): 88, ("kernel", "do_check"): 90}
    assert operations_of_whole(case, calls) == (88.0, "bpf_check")
    assert operations_of_whole(case, {}) is None
    assert operations_of_whole(replace(case, operation=""), calls) is None


def test_a_suites_own_program_has_its_times_in_instructions() -> None:
    case = planned("MapFromPin")
    samples = (
        Sample(case.key, "ns/op", "ns/op", 19624.0, (19624.0,), 1.0),
        Sample(case.key, "B/op", "B/op", 137.0),
        Sample(case.key, "per-dump", "us/dump", 2.5, (2.5,), 0.1),
    )

    found = instruction_samples(case, samples, None)

    assert by_metric(found) == {
        "insns/op": (19624.0, "insns/op"),
        "B/op": (137.0, "B/op"),
        "per-dump": (2500.0, "insns/dump"),
    }
    assert found[2].readings == (2500.0,)
