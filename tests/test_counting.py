"""One thing is never several, in no message, report or page."""

import re
from pathlib import Path

import pytest

from cliffwatch.counting import count_noun

ROOT = Path(__file__).parents[1]
SOURCES = [
    ROOT / "cliffwatch",
    ROOT / "runner" / "cliffwatch_runner",
    ROOT / "service" / "cliffwatch_service",
]
NOUNS = "boots|jobs|cases|rows|hosts|runs|suites|errors|points|revisions|benchmarks|looks|kernels|benches|entries|builds|worktrees"
BARE = re.compile(rf"\}} (?:more |open )?(?:{NOUNS})\b")
NEVER_ONE = ("{stages.screen} boots at", "{mode} runs")
"""A screen has several boots; a mode is no number."""


def bare_counts(text: str) -> list[str]:
    """Lines in which a number stands before a noun without `counted`."""
    lines = [line.strip() for line in text.splitlines() if BARE.search(line)]
    return [line for line in lines if not any(known in line for known in NEVER_ONE)]


def test_no_number_stands_before_a_noun_that_is_always_plural() -> None:
    paths = [path for folder in SOURCES for kind in ("*.py", "*.html") for path in folder.rglob(kind)]
    found = {str(path.relative_to(ROOT)): bare for path in paths if (bare := bare_counts(path.read_text()))}

    assert len(paths) > 200
    assert found == {}


def test_the_check_finds_what_it_looks_for() -> None:
    assert bare_counts('f"{len(jobs)} jobs"') == ['f"{len(jobs)} jobs"']
    assert bare_counts("<p>{{ run.boots }} boots, {{ run.status }}</p>") != []


@pytest.mark.parametrize(
    ("count", "words", "text"),
    [
        (0, ("boot",), "0 boots"),
        (1, ("boot",), "1 boot"),
        (12_000, ("boot",), "12,000 boots"),
        ("1", ("boot",), "1 boot"),
        ("auto", ("boot",), "auto boots"),
        (1, ("row is", "rows are"), "1 row is"),
        (2, ("row is", "rows are"), "2 rows are"),
    ],
)
def test_things_are_counted(count: int | str, words: tuple[str, ...], text: str) -> None:
    assert count_noun(count, *words) == text
