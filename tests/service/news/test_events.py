"""What is news, whom it is for, and when a report closes by itself: the decisions, without a service."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cliffwatch_service.history.news.closing import Fix, fix_of
from cliffwatch_service.history.news.events import is_for, kind_of_news, subsystems_of
from cliffwatch_service.history.news.sending import MOST_TRIES, NotSent, next_try
from cliffwatch_service.store.history.news.fixes import LaterChangeRow
from cliffwatch_service.store.history.news.outbox import NewsFacts
from cliffwatch_service.store.history.news.subscriptions import SubscriptionRow

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)

TOLD = NewsFacts(
    digest="d",
    report_id=1,
    kind="new",
    at=NOW,
    written=NOW,
    state="new",
    cases=3,
    worst=0.1,
    summary="1 slower (10.0 % more time)",
    apart=False,
    base="a" * 40,
    head="b" * 40,
    named=True,
    subject="bpf, x86: Take the lookup out of line",
    author="Ada Example <ada@example.org>",
    platforms=["amd-rome"],
    suites=["local-storage"],
    fix=None,
    fix_base=None,
)

EVERYTHING = SubscriptionRow(
    id=1,
    token_id=1,
    owner="triage",
    channel="mail",
    address="bpf@lists.example.org",
    authors=[],
    subsystems=[],
    suites=[],
    muted_until=None,
    created=NOW,
    delivered=0,
    waiting=0,
    given_up=0,
    reason=None,
)


@pytest.mark.parametrize(
    ("last", "now", "kind"),
    [
        (None, {"state": "new", "cases": 1}, "new"),
        (None, {"state": "new", "cases": 0}, None),
        (None, {"state": "noise", "cases": 4}, None),
        ({}, {"state": "new", "cases": 3}, None),
        ({}, {"state": "acknowledged", "cases": 3}, None),
        ({}, {"state": "new", "cases": 4}, "more cases"),
        ({}, {"state": "new", "cases": 2}, None),
        ({"named": False}, {"state": "new", "cases": 4}, "culprit"),
        ({}, {"state": "new", "cases": 3, "unanswered": True}, "unanswered"),
        ({}, {"state": "new", "cases": 4, "unanswered": True}, "more cases"),
        ({}, {"state": "new", "cases": 0, "unanswered": True}, None),
        ({}, {"state": "fixed", "cases": 3, "verified": True}, "fixed"),
        ({}, {"state": "fixed", "cases": 3}, "closed"),
        ({}, {"state": "noise", "cases": 3, "verified": True}, "closed"),
        ({"state": "fixed"}, {"state": "fixed", "cases": 9}, None),
        ({"state": "fixed"}, {"state": "new", "cases": 3}, "reopened"),
        ({"state": "noise"}, {"state": "fixed", "cases": 3}, None),
    ],
)
def test_what_is_news(last: dict[str, object] | None, now: dict[str, object], kind: str | None) -> None:
    before = None if last is None else replace(TOLD, **last)  # type: ignore[arg-type]
    given = {"named": True, "verified": False, "unanswered": False, **now}
    assert kind_of_news(before, **given) == kind  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("subject", "subsystems"),
    [
        ("bpf: Fix it", ["bpf"]),
        ("[PATCH v2 3/7] bpf, x86: Fix it", ["bpf", "x86"]),
        ('Revert "mm/slub: speed up"', ["mm/slub"]),
        ("Merge branch master", []),
        (None, []),
    ],
)
def test_the_subsystem_is_what_stands_before_the_colon(subject: str | None, subsystems: list[str]) -> None:
    assert subsystems_of(subject) == subsystems


@pytest.mark.parametrize(
    ("wanted", "heard"),
    [
        ({}, True),
        ({"suites": ["local-storage", "other"]}, True),
        ({"suites": ["other"]}, False),
        ({"authors": ["ada@example.org"]}, True),
        ({"authors": ["ada example"]}, True),
        ({"authors": ["da@example.org"]}, False),
        ({"subsystems": ["BPF"]}, True),
        ({"subsystems": ["bp"]}, False),
        ({"subsystems": ["mm", "x86"]}, True),
        ({"subsystems": ["bpf"], "suites": ["other"]}, False),
        ({"muted_until": NOW + timedelta(days=1)}, False),
        ({"muted_until": NOW}, True),
    ],
)
def test_news_are_for_who_asked_for_them(wanted: dict[str, object], *, heard: bool) -> None:
    assert is_for(replace(EVERYTHING, **wanted), TOLD, NOW) is heard  # type: ignore[arg-type]


def test_whose_commit_it_is_is_known_with_the_culprit() -> None:
    ada = replace(EVERYTHING, authors=["ada@example.org"])
    assert not is_for(ada, replace(TOLD, named=False), NOW)
    assert is_for(replace(EVERYTHING, suites=["local-storage"]), replace(TOLD, named=False), NOW)


def later(
    worse: float, better: float | None, *, series: int = 1, at: int = 20, half: float = 0.001
) -> LaterChangeRow:
    """A regression whose culprit is revision 10, and a change from revision `at - 1` to `at`."""
    return LaterChangeRow(
        report_id=1,
        report="r",
        state="new",
        owner=None,
        fix=None,
        fix_base=None,
        declined_id=None,
        declined_base_id=None,
        series_id=series,
        worse=worse,
        worse_low=worse - half,
        worse_high=worse + half,
        worse_base=None,
        worse_head=None,
        culprit_id=10,
        later_base_id=None if better is None else at - 1,
        later_head_id=None if better is None else at,
        later_base=None if better is None else f"{at - 1:040d}",
        later_head=None if better is None else f"{at:040d}",
        later_named=None if better is None else True,
        later_after=None if better is None else at - 1,
        later_until=None if better is None else at,
        later=better,
        later_low=None if better is None else better - half,
        later_high=None if better is None else better + half,
        later_base_value=None,
        later_head_value=None,
    )


def from_zero(worse: float, *ends: float | None) -> list[LaterChangeRow]:
    """A regression from 0 to `worse`, and changes after it: what they end at, None of one that has a
    percentage.
    """
    own = replace(
        later(1.0, -0.5), worse=None, worse_low=None, worse_high=None, worse_base=0.0, worse_head=worse
    )
    return [
        own
        if end is None
        else replace(
            own, later=None, later_low=None, later_high=None, later_base_value=worse, later_head_value=end
        )
        for end in ends
    ]


def to_zero(worse: float, base: float) -> list[LaterChangeRow]:
    """A regression with a percentage, and a change from `base` to zero."""
    return [replace(later(worse, -1.0), later=None, later_base_value=base, later_head_value=0.0)]


FOLLOWS: Callable[[int, int], bool] = lambda culprit, base: base >= culprit  # noqa: E731


@pytest.mark.parametrize(
    ("rows", "fix"),
    [
        ([later(0.1, 1 / 1.1 - 1)], 20),
        ([later(0.1, -0.085)], 20),
        ([later(0.1, -0.04)], None),
        ([later(0.1, -0.04, half=0.5)], None),
        ([later(0.1, None)], None),
        ([later(0.1, 1 / 1.1 - 1, at=9)], None),
        ([later(0.1, -0.2)], 20),
        ([later(0.1, -0.05, at=20), later(0.1, -0.045, at=30)], 30),
        ([later(0.1, 1 / 1.1 - 1, at=20), later(0.1, 0.1, at=30)], None),
        ([later(0.1, 1 / 1.1 - 1), later(0.1, None, series=2)], None),
        ([later(0.1, 1 / 1.1 - 1), later(0.05, 1 / 1.05 - 1, series=2)], 20),
        ([later(-0.1, 1 / 0.9 - 1)], 20),
        (from_zero(2.0, 0.0), 20),
        (from_zero(2.0, 1.0), None),
        (from_zero(2.0, None), None),
        (from_zero(2.0, 0.0, 2.5), None),
        (to_zero(0.1, 5.5), 20),
        (to_zero(-0.1, 5.5), None),
    ],
)
def test_a_report_is_fixed_when_every_series_is_back(rows: list[LaterChangeRow], fix: int | None) -> None:
    found = fix_of(rows, FOLLOWS)
    assert found == (None if fix is None else Fix(f"{fix:040d}", None, fix, fix - 1))


def test_a_fix_of_a_range_is_no_fix_by_its_last_commit() -> None:
    found = fix_of([across(14, 20, 1 / 1.1 - 1)], FOLLOWS)
    assert found is not None
    assert (found.commit, found.base) == (f"{20:040d}", f"{14:040d}")
    assert found.words() == "a commit of 000000000000..000000000000"


def test_of_changes_that_hold_one_another_the_wider_counts_and_the_narrower_is_named() -> None:
    """Half a fix that two comparisons show is half a fix."""
    half = 1 / 1.05 - 1
    assert fix_of([later(0.1, half, at=18), across(14, 20, half)], FOLLOWS) is None
    back = fix_of([across(14, 20, 1 / 1.1 - 1), later(0.1, 1 / 1.1 - 1, at=20)], FOLLOWS)
    assert back is not None
    assert (back.commit, back.base) == (f"{20:040d}", None)


def across(base: int, head: int, better: float) -> LaterChangeRow:
    """A change from revision `base` to `head`, of a series whose culprit is revision 10."""
    return replace(
        later(0.1, better, at=head),
        later_base_id=base,
        later_base=f"{base:040d}",
        later_after=base,
        later_named=False,
    )


def test_what_fails_is_tried_ever_more_rarely_and_then_given_up() -> None:
    waits = []
    for attempts in range(1, MOST_TRIES):
        again = next_try(attempts, NOW, NotSent(reason="x"))
        assert again is not None
        waits.append(again - NOW)
    assert waits[:3] == [timedelta(minutes=1), timedelta(minutes=2), timedelta(minutes=4)]
    assert waits == sorted(waits)
    assert timedelta(hours=30) < sum(waits, timedelta()) < timedelta(hours=48)
    assert next_try(MOST_TRIES, NOW, NotSent(reason="x")) is None
    assert next_try(1, NOW, NotSent(reason="x", for_good=True)) is None
    assert next_try(1, NOW, NotSent(reason="x", wait=900)) == NOW + timedelta(minutes=15)
