"""No pattern takes longer than in proportion to its text, whoever wrote that."""

import re
import time
from typing import Any

import pytest
from patterns_found import compiled_in_functions, patterns
from pumps import recipes_for, text_of

SIZES = (256, 1024, 4096)
LARGE = (64 << 10, 128 << 10)
SHORT = 0.002
"""Seconds that no clock is asked about."""
MOST_SECONDS = 2.0
"""For 128 KiB; a quadratic pattern takes a minute and more."""
TIMES = 7.0
"""How many times as long four times the text may take: in proportion it is 4, and 16 where it is quadratic.
"""
TURNS = 5
"""How often a long text must be slow, each time beside its half: a clock of a busy machine is wrong once."""


def seconds(pattern: re.Pattern[Any], way: str, text: Any) -> float:
    """Of this thread alone: what else the machine does is no matter."""
    began = time.thread_time()
    if way == "finditer":
        for _ in pattern.finditer(text):
            pass
    else:
        getattr(pattern, way)(text)
    return time.thread_time() - began


def slow_text(pattern: re.Pattern[Any], way: str) -> str | None:
    """A text for which the pattern takes more than in proportion; None where there is none."""
    slowest: list[tuple[float, tuple[str, str, str]]] = []
    for recipe in recipes_for(pattern):
        before, text_before = 0.0, text_of(pattern, *recipe, SIZES[0] // 4)
        for size in SIZES:
            text = text_of(pattern, *recipe, size)
            took = seconds(pattern, way, text)
            if took > SHORT and (slow := always_slow(pattern, way, text_before, text, SHORT, TIMES)):
                return f"{size} characters of {recipe} take {slow}"
            before, text_before = took, text
            if size == SIZES[1] and took < SHORT / 25:
                break
        slowest.append((before, recipe))
    for _, recipe in sorted(slowest)[-2:]:
        half, whole = (text_of(pattern, *recipe, size) for size in LARGE)
        if slow := always_slow(pattern, way, half, whole, 0.05, 3):
            return f"{LARGE[1]} characters of {recipe} take {slow}"
    return None


def always_slow(pattern: re.Pattern[Any], way: str, part: Any, whole: Any, least: float, times: float) -> str:
    """How slow `whole` is in each of TURNS, beside its part; empty where one turn was quick enough."""
    for _ in range(TURNS):
        of_part, of_whole = seconds(pattern, way, part), seconds(pattern, way, whole)
        if of_whole <= MOST_SECONDS and (of_whole <= least or of_whole <= times * of_part):
            return ""
    return f"{of_whole:.4f} s, {len(part)} of them {of_part:.4f} s"


@pytest.mark.parametrize("name", patterns())
def test_a_pattern_takes_as_long_as_its_text(name: str) -> None:
    pattern, ways = patterns()[name]
    assert {way: slow for way in ways if (slow := slow_text(pattern, way))} == {}


def test_patterns_stand_in_modules_where_the_test_above_finds_them() -> None:
    assert list(compiled_in_functions()) == []
    assert len(patterns()) > 300


@pytest.mark.parametrize(
    ("text", "way"),
    [
        (r"\[\s*(?P<a>[^\]]+?)\s*\]", "match"),
        (r"\s+$", "search"),
        (r"^\s*:", "finditer"),
        (r"x .*y$", "finditer"),
        (r"a*a*b", "match"),
        (r"Error: .*Kconfig", "finditer"),
    ],
)
def test_a_slow_pattern_is_found(text: str, way: str) -> None:
    assert slow_text(re.compile(text, re.MULTILINE), "finditer" if way == "search" else way)
