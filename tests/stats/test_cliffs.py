"""Where a sweep bends, held against a published one (linux commit 73087489250d)."""

import csv
from pathlib import Path

import numpy as np
import pytest

from cliffwatch.stats.cliffs import Bend, NoBend, bend, less_overhead
from cliffwatch.stats.rank_tables import Values


def curve(data: Path, run: str, benchmark: str) -> tuple[Values, Values, Values]:
    """Parameters, latencies and their spreads."""
    with (data / "published" / "local-storage-2022-skylake.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["run"] == run and row["benchmark"].endswith(benchmark)]
    columns = [
        (float(row["value"]), float(row["latency_ns"]), float(row["hits_stddev"]) / float(row["hits_mops"]))
        for row in rows
    ]
    parameters, costs, spreads = (np.array(column) for column in zip(*columns, strict=True))
    return parameters, costs, spreads


def test_the_cache_of_sixteen_maps_is_found(data: Path) -> None:
    for benchmark in ("seq-get", "int-get"):
        found = bend(*curve(data, "measured", benchmark))

        assert isinstance(found, Bend)
        assert (found.low, found.high) == (16, 24)
        assert found.slope_before == pytest.approx(0, abs=0.1)
        assert found.slope_after == pytest.approx(1, abs=0.15)


def test_a_flat_stretch_and_an_even_climb_have_no_bend(data: Path) -> None:
    assert isinstance(bend(*curve(data, "overhead", "seq-get")), NoBend)
    assert isinstance(bend(*curve(data, "measured", "hashmap-control")), NoBend)


def test_a_bend_moves_with_its_cause() -> None:
    parameters = np.array([1.0, 2, 4, 8, 16, 32, 64, 128, 256])
    for edge in (8, 32):
        found = bend(parameters, np.maximum(20, 20 * parameters / edge))

        assert isinstance(found, Bend)
        assert found.low == edge


def test_too_few_points_are_said_to_be_too_few() -> None:
    found = bend(np.array([1.0, 10, 100]), np.array([20.0, 20, 200]))

    assert isinstance(found, NoBend)
    assert "too few" in found.reason


def test_the_empty_loop_is_subtracted_with_its_error(data: Path) -> None:
    """The figures that the author derived, who cut digits off rather than round."""
    with (data / "published" / "local-storage-2022-skylake-adjusted.csv").open() as file:
        wanted = {row["case"]: float(row["latency_ns_minus_overhead"]) for row in csv.DictReader(file)}
    parameters, costs, spreads = curve(data, "measured", "seq-get")
    _, overheads, overhead_spreads = curve(data, "overhead", "seq-get")
    rest, errors = less_overhead(costs, overheads, costs * spreads, overheads * overhead_spreads)

    for parameter, value in zip(parameters, rest, strict=True):
        assert value == pytest.approx(wanted[f"sequential_get_{parameter:.0f}"], rel=0.001, abs=0.1)
    assert (errors >= costs * spreads).all()
