"""The breakpoints of a sweep, compared with published ones (linux commit 73087489250d; bpf list, February
2024).
"""

import csv
from pathlib import Path

import numpy as np
import pytest

from cliffwatch.stats.curves.breakpoints import Breakpoint, NoBreakpoint, find_breakpoint
from cliffwatch.stats.rank_tables import Values

Curve = tuple[Values, Values, Values | None]


def rows(data: Path, name: str, benchmark: str) -> list[dict[str, str]]:
    with (data / "published" / name).open() as file:
        return [row for row in csv.DictReader(file) if row["benchmark"].endswith(benchmark)]


def measured(data: Path, run: str, benchmark: str) -> tuple[Values, Values, Values]:
    """Parameters, latencies and their spreads, of 2022."""
    points = [
        (float(row["value"]), float(row["latency_ns"]), float(row["hits_stddev"]) / float(row["hits_mops"]))
        for row in rows(data, "local-storage-2022-skylake.csv", benchmark)
        if row["run"] == run
    ]
    parameters, costs, spreads = (np.array(column) for column in zip(*points, strict=True))
    return parameters, costs, spreads


def published(data: Path, benchmark: str) -> list[Curve]:
    """The same sweep as published twice: in 2022, with spreads and without, and in 2024 before and after a
    change.
    """
    before = measured(data, "measured", benchmark)
    later = [
        row
        for row in rows(data, "local-storage-2024-inline-lookup.csv", benchmark)
        if row["metric"] == "hits latency"
    ]
    parameters = np.array([float(row["value"]) for row in later])
    return [
        before,
        (*before[:2], None),
        *((parameters, np.array([float(row[side]) for row in later]), None) for side in ("before", "after")),
    ]


def breakpoint_of(parameters: Values, costs: Values, spreads: Values | None = None) -> Breakpoint:
    answer = find_breakpoint(parameters, costs, spreads)
    assert isinstance(answer, Breakpoint)
    return answer


def none_of(parameters: Values, costs: Values, spreads: Values | None = None) -> NoBreakpoint:
    answer = find_breakpoint(parameters, costs, spreads)
    assert isinstance(answer, NoBreakpoint)
    return answer


def noisy(logs: Values, noise: float = 0.02, seed: int = 3) -> Values:
    return np.asarray(np.exp(logs + np.random.default_rng(seed).normal(0, noise, len(logs))))


def test_the_cache_of_sixteen_maps_is_a_breakpoint_wherever_it_was_published(data: Path) -> None:
    for curve in published(data, "seq-get"):
        answer = breakpoint_of(*curve)

        assert (answer.low, answer.high) == (16, 17)
        assert answer.slope_before == pytest.approx(0, abs=0.1)
        assert answer.slope_after == pytest.approx(1, abs=0.15)


def test_interleaved_lookups_leave_their_course_there_too(data: Path) -> None:
    for curve in published(data, "int-get"):
        answer = breakpoint_of(*curve)

        assert answer.low <= 16
        assert 17 <= answer.high <= 24


def test_a_hash_map_that_climbs_all_the_way_is_said_to_climb(data: Path) -> None:
    for curve in published(data, "hashmap-control"):
        answer = none_of(*curve)

        assert answer.course == "climbs"
        assert answer.slope == pytest.approx(0.15, abs=0.03)
        assert answer.change > 3


def test_an_empty_loop_has_no_breakpoint(data: Path) -> None:
    for benchmark in ("seq-get", "int-get", "hashmap-control"):
        assert none_of(*measured(data, "overhead", benchmark)).course in ("flat", "uneven")


def test_a_breakpoint_moves_with_its_cause() -> None:
    parameters = np.array([1.0, 2, 4, 8, 16, 32, 64, 128, 256])
    for edge in (8, 32):
        answer = breakpoint_of(parameters, np.maximum(20, 20 * parameters / edge))

        assert (answer.low, answer.high) == (edge, 2 * edge)
        assert answer.kind == "bend"
        assert answer.step == pytest.approx(1)


def test_a_jump_by_a_quarter_is_placed_between_its_points() -> None:
    """Noise of 2 %: of the means of eight boots each, and of single values, where it is found mostly and
    placed wrong never.
    """
    parameters, jump = 2.0 ** np.arange(10), np.log(1.25) * (np.arange(10) >= 5)
    booted = [breakpoint_of(parameters, noisy(jump, 0.007, seed), np.full(10, 0.007)) for seed in range(5)]
    single = [find_breakpoint(parameters, noisy(jump, 0.02, seed)) for seed in range(5)]
    found = [each for each in single if isinstance(each, Breakpoint)]

    assert len(found) >= 4
    for each in booted + found:
        assert (each.low, each.high, each.kind, each.further) == (16, 32, "jump", ())
        assert each.step == pytest.approx(0.25, abs=0.06)


def test_two_cliffs_are_both_named() -> None:
    parameters = 2.0 ** np.arange(10)
    costs = noisy(np.log(2) * (parameters >= 8) + np.log(1.5) * (parameters >= 64), noise=0.01)
    answer = breakpoint_of(parameters, costs)

    assert [(each.low, each.high) for each in (answer, *answer.further)] == [(4, 8), (32, 64)]


def test_a_plateau_goes_up_and_returns() -> None:
    parameters = 2.0 ** np.arange(10)
    answer = breakpoint_of(
        parameters, noisy(np.log(1.5) * ((parameters >= 8) & (parameters < 64)), noise=0.01)
    )
    up, down = sorted((answer, *answer.further), key=lambda each: each.low)

    assert (up.low, up.high, down.low, down.high) == (4, 8, 32, 64)
    assert up.step == pytest.approx(0.5, abs=0.1)
    assert down.step == pytest.approx(-1 / 3, abs=0.1)


@pytest.mark.parametrize("end", [0, -1])
def test_one_odd_point_at_an_end_is_no_breakpoint_and_is_said(end: int) -> None:
    parameters = 2.0 ** np.arange(9)
    logs = np.zeros(9)
    logs[end] = np.log(1.4)
    answer = none_of(parameters, noisy(logs, noise=0.005))

    assert answer.course == "flat"
    assert answer.stray is not None
    assert answer.stray[0] == parameters[end]
    assert answer.stray[1] == pytest.approx(0.4, abs=0.05)


def test_points_that_repeat_badly_make_no_breakpoint() -> None:
    """The same costs, of boots that agree and of boots that do not."""
    parameters = 2.0 ** np.arange(9)
    costs = noisy(np.log(1.4) * (parameters >= 16))

    assert isinstance(find_breakpoint(parameters, costs, np.full(9, 0.005)), Breakpoint)
    assert isinstance(find_breakpoint(parameters, costs, np.full(9, 0.3)), NoBreakpoint)


def test_falling_and_flat_courses_are_told_apart() -> None:
    parameters = 2.0 ** np.arange(8)

    assert none_of(parameters, noisy(-0.2 * np.log(parameters))).course == "falls"
    assert none_of(parameters, noisy(np.zeros(8), noise=0.005)).course == "flat"


def test_a_sweep_of_hundreds_of_points_is_judged_by_some_of_them() -> None:
    parameters = np.arange(1.0, 401.0)
    answer = breakpoint_of(parameters, np.where(parameters > 100, 2.0, 1.0))

    assert answer.low <= 100 < answer.high
    assert answer.high - answer.low < 20


def test_too_few_points_have_no_breakpoint() -> None:
    assert "too few" in none_of(np.array([1.0, 10, 100]), np.array([20.0, 20, 200])).reason
