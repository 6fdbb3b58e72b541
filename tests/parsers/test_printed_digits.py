"""How fine a printed number is: what the digits of a file show, and what they do not."""

import pytest

from cliffwatch.parsers.go_bench import parse_go_bench
from cliffwatch.parsers.printed_digits import step_of


@pytest.mark.parametrize(
    ("text", "unit", "step"),
    [
        ("0.034", "MB/s", 0.001),
        ("123", "ns/op", 1.0),
        ("123.0", "ns/op", 0.1),
        ("1.25e-07", "s/op", 1e-9),
        ("3e+06", "ops/s", 1e6),
        ("12", "allocs/op", 0.0),
        ("640", "B/op", 1.0),
        ("71", "cache-misses", 0.0),
        ("12.50", "allocs/op", 0.01),
        ("12", "requests/sec", 1.0),
        ("+Inf", "ns/op", 0.0),
    ],
)
def test_a_number_steps_by_one_of_its_last_digit(text: str, unit: str, step: float) -> None:
    assert step_of(text, unit) == pytest.approx(step)


def test_a_row_is_as_fine_as_its_finest_number() -> None:
    parsed = parse_go_bench("BenchmarkA 1 0.5 s/op\nBenchmarkA 1 0.483 s/op\nBenchmarkB 1 7 s/op\n")
    assert [each.resolution for each in parsed.samples] == pytest.approx([0.001, 0.001, 1.0])


def test_an_export_of_ours_says_its_steps_itself() -> None:
    own = "BenchmarkBPF/bench=get-1 1 0.5 latency-ns/op\n"
    assert [each.resolution for each in parse_go_bench(own).samples] == [0.0]
    told = f"# boot 1 of block 0, screen\n{own}#   latency-ns/op step 0.25\n"
    assert [each.resolution for each in parse_go_bench(told).samples] == [0.25]
