"""Which way a unit is better, by what it is called; what nobody can know of a name stays unknown."""

import pytest

from cliffwatch.catalogue.directions import better_of, is_timed
from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.samples import CaseKey

HIGHER = """
ops/s ops/sec M ops/s req/s requests/sec requests/second requests-per-sec opsPerSecond queries-per-second MB/s MiB/s B/s Gbit/s Mbps
op/ms lookups/min QPS iops kpps GFLOPS throughput bandwidth tx-throughput IPC insn-per-cycle instructions/cycle hit-rate cache-hit-%
instructions/s allocs/s
"""
LOWER = """
ns ns/op us µs ms sec s sec/op s/op p99-ns p50-ns/op latency-ms user-ns/op B B/op bytes bytes/op KiB peak-RSS-bytes live-MB allocs/op
instructions insns insn/op cycles cycles/insn cycles-per-op cache-misses branch-misses page-faults miss-rate error-% %miss loss-ratio
drops errors context-switches J/op mJ ns/GC file-size build-time overhead
"""
UNKNOWN = """
score points ops iterations x ratio % cpu-% rate frame-rate misses/s drops/sec errors-per-second context-switches/s J/s ops/batch
hits depth level version-1.2 min max zonks/op
"""


def metrics(text: str) -> list[str]:
    return text.replace("M ops/s", "M_ops/s").split()


@pytest.mark.parametrize("unit", metrics(HIGHER))
def test_rates_and_throughput_are_better_higher(unit: str) -> None:
    assert better_of(unit, unit.replace("_", " ")) == "higher"


@pytest.mark.parametrize("unit", metrics(LOWER))
def test_costs_are_better_lower(unit: str) -> None:
    assert better_of(unit, unit) == "lower"


@pytest.mark.parametrize("unit", metrics(UNKNOWN))
def test_of_anything_else_nobody_knows(unit: str) -> None:
    assert better_of(unit, unit) is None


def test_times_and_rates_are_what_a_slower_host_moves() -> None:
    assert all(map(is_timed, ("ns/op", "M ops/s", "p99-ms", "requests/sec", "MB/s", "iops", "s")))
    assert not any(map(is_timed, ("allocs/op", "B/op", "insn-per-cycle", "score", "J/op", "MiB", "%", "")))


def test_the_metric_says_it_where_the_unit_does_not() -> None:
    assert better_of("throughput", "widgets") == "higher"
    assert better_of("p99-latency", "") == "lower"
    assert better_of("score", "points") is None


def test_a_rate_of_what_nobody_wants_may_rise_with_the_work() -> None:
    assert better_of("drops", "M ops/s") is None
    assert better_of("hits", "M ops/s") == "higher"


def test_the_catalogue_asks_for_what_it_does_not_know() -> None:
    unknown = CaseKey("mine", "Lookup")
    catalogue = load_catalogue()
    assert catalogue.traits(unknown, "ops/sec", "ops/sec", None).better == "higher"
    assert catalogue.traits(unknown, "score", "score", None).better is None
    assert (
        catalogue.traits(unknown, "drops", "M ops/s", None).better == "lower"
    )  # as the kinds of bench have it
