"""The breakpoint of a sweep, compared with a published one (linux commit 73087489250d)."""

import csv
from pathlib import Path

import numpy as np
import pytest

from cliffwatch.stats.breakpoints import Breakpoint, NoBreakpoint, find_breakpoint
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


def test_the_cache_of_sixteen_maps_is_a_breakpoint(data: Path) -> None:
    for benchmark in ("seq-get", "int-get"):
        answer = find_breakpoint(*curve(data, "measured", benchmark))

        assert isinstance(answer, Breakpoint)
        assert (answer.low, answer.high) == (16, 24)
        assert answer.slope_before == pytest.approx(0, abs=0.1)
        assert answer.slope_after == pytest.approx(1, abs=0.15)


def test_a_flat_stretch_and_an_even_climb_have_no_breakpoint(data: Path) -> None:
    assert isinstance(find_breakpoint(*curve(data, "overhead", "seq-get")), NoBreakpoint)
    assert isinstance(find_breakpoint(*curve(data, "measured", "hashmap-control")), NoBreakpoint)


def test_a_breakpoint_moves_with_its_cause() -> None:
    parameters = np.array([1.0, 2, 4, 8, 16, 32, 64, 128, 256])
    for edge in (8, 32):
        answer = find_breakpoint(parameters, np.maximum(20, 20 * parameters / edge))

        assert isinstance(answer, Breakpoint)
        assert answer.low == edge


def test_too_few_points_have_no_breakpoint() -> None:
    answer = find_breakpoint(np.array([1.0, 10, 100]), np.array([20.0, 20, 200]))

    assert isinstance(answer, NoBreakpoint)
    assert "too few" in answer.reason
