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
        before = 0.0
        for size in SIZES:
            took = seconds(pattern, way, text_of(pattern, *recipe, size))
            if took > SHORT and (took > TIMES * before > 0 or size == SIZES[0]):
                took = min(seconds(pattern, way, text_of(pattern, *recipe, size)) for _ in range(3))
            if took > SHORT and (took > TIMES * before > 0 or size == SIZES[0]):
                return f"{size} characters of {recipe} take {took:.4f} s, a quarter of it {before:.4f} s"
            before = took
            if size == SIZES[1] and took < SHORT / 25:
                break
        slowest.append((before, recipe))
    for _, recipe in sorted(slowest)[-2:]:
        small, large = (
            min(seconds(pattern, way, text_of(pattern, *recipe, size)) for _ in range(2)) for size in LARGE
        )
        if large > MOST_SECONDS or (large > 0.05 and large > 3 * small):
            return f"{LARGE[1]} characters of {recipe} take {large:.3f} s, half of it {small:.3f} s"
    return None


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
