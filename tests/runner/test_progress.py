"""Somebody who waits sees what is done and how long it takes."""

import io

import pytest

from cliffwatch.counting import format_duration
from cliffwatch_runner.run.progress import PlainLines, TimedPhases, time_left


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_plain_lines_tell_phases_and_every_half_minute_in_between() -> None:
    stream, clock = io.StringIO(), Clock()
    lines = PlainLines(stream, clock)
    lines.begin("build base", "abc")
    for second in range(1, 101):
        clock.now = float(second)
        lines.advance(second / 100, "mm/slub.o")
    lines.end("abc built")

    assert stream.getvalue() == (
        "[     0 s] build base: abc\n"
        "[    30 s] build base:  30%, mm/slub.o, about 1 min 10 s left\n"
        "[    60 s] build base:  60%, mm/slub.o, about 40 s left\n"
        "[    90 s] build base:  90%, mm/slub.o, about 10 s left\n"
        "[   100 s] build base: abc built (1 min 40 s)\n"
    )


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0 s"), (59, "59 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")]
)
def test_durations_are_read_at_a_glance(seconds: float, shown: str) -> None:
    assert format_duration(seconds) == shown


def test_nobody_is_promised_a_time_before_it_can_be_known() -> None:
    assert time_left(None, 100) == ""
    assert time_left(0.01, 100) == ""
    assert time_left(0.5, 60) == "about 1 min 00 s left"


def test_the_end_says_where_the_time_went() -> None:
    clock = Clock()
    phases = TimedPhases(PlainLines(io.StringIO(), clock), clock)
    assert phases.summary() == ""
    for phase, seconds in (
        ("tree", 15.0),
        ("build base", 510.0),
        ("build head", 0.1),
        ("measure", 90.0),
        ("measure", 30.0),
    ):
        phases.begin(phase)
        clock.now += seconds
        phases.end("done")

    assert phases.summary() == "10 min 45 s: tree 15 s, build base 8 min 30 s, measure 2 min 00 s"
