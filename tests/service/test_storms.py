"""Storms: series that step at once by a few culprits are as many reports, in whichever order they come."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from service_running import Running
from service_runs import commit_of
from storms import NAMES, PLATFORMS, Arrived, Levels, Reported, arrive, look_at, orders, reports

from cliffwatch_service.compare.analysis import analyse_run
from cliffwatch_service.history.changes import take_changes
from cliffwatch_service.history.news.writing import write_news
from cliffwatch_service.history.triage import triage

CULPRITS = (2, 4, 6, 8, 11)
CASES = 30
SHUFFLES = 2
WIDE = [(0, 12), (0, 4), (3, 6), (5, 12), (7, 9)]


def storm(cases: int) -> Levels:
    """A fifth of the cases steps at each culprit."""
    return {case: [(CULPRITS[case % 5], 0.02 + case / 50_000)] for case in range(cases)}


def test_a_storm_of_five_culprits_is_five_reports_in_any_order(running: Running) -> None:
    """Two platforms' series step together. Comparisons of neighbours and of wide ranges show them."""
    five_reports_in_any_order(running, CASES, SHUFFLES)


@pytest.mark.long
def test_a_storm_of_a_thousand_series_is_five_reports_in_any_order(running: Running) -> None:
    five_reports_in_any_order(running, 500, 0)


def five_reports_in_any_order(running: Running, cases: int, shuffles: int) -> None:
    arrived = arrive(running, storm(cases), WIDE)
    own = cases // 5 * len(PLATFORMS)
    five = sorted(Reported(commit_of(NAMES[culprit]), "new", own) for culprit in CULPRITS)
    for name, order in orders(arrived, shuffles).items():
        with running.service.transaction() as connection:
            for each in order:
                look_at(connection, each.digest, running.clock.now())
            assert reports(connection) == five, name
            connection.rollback()


def test_results_that_arrive_together_are_five_reports_and_five_pieces_of_news(running: Running) -> None:
    """Two processes of tasks take them, and neither waits for the other in vain."""
    arrived = arrive(running, storm(10), [])
    together = Barrier(2)

    def take(own: Sequence[Arrived]) -> None:
        for each in own:
            together.wait(60)
            with running.service.transaction() as connection:
                comparison = analyse_run(connection, each.digest, running.clock.now())
                take_changes(connection, comparison, running.clock.now())
                write_news(connection, running.clock.now())

    half = len(arrived) // len(PLATFORMS)
    with ThreadPoolExecutor(2) as both:
        list(both.map(take, [arrived[:half], arrived[: half - 1 : -1]]))
    assert [row["kind"] for row in running.rows("SELECT kind FROM news ORDER BY id")].count("new") == 5
    with running.service.transaction() as connection:
        assert [each.worse for each in reports(connection)] == [4] * 5


FIXES = {2: 7, 4: 10, 6: 7, 8: 12, 11: 12}
"""By culprit: the revision that fixes it."""


def test_a_storm_that_is_fixed_closes_its_reports_and_names_the_fixes_in_any_order(running: Running) -> None:
    """A fix that comes before its regression, or across several revisions, is known with the others."""
    levels: Levels = {
        case: [(start, size), (FIXES[start], 1 / (1 + size) - 1)]
        for case, [(start, size)] in storm(10).items()
    }
    wide = [(6, 9), (8, 12), (2, 7), (0, 3), (11, 12), (4, 11)]
    arrived = arrive(running, levels, wide)
    own = 2 * len(PLATFORMS)
    fixed = sorted(
        Reported(commit_of(NAMES[culprit]), "fixed", own, commit_of(NAMES[fix]))
        for culprit, fix in FIXES.items()
    )
    for name, order in orders(arrived, SHUFFLES).items():
        with running.service.transaction() as connection:
            for each in order:
                look_at(connection, each.digest, running.clock.now())
            assert reports(connection) == fixed, name
            connection.rollback()


def test_a_fix_that_is_known_as_a_range_is_named_as_one_until_its_commit_is_known(running: Running) -> None:
    levels: Levels = {0: [(2, 0.05), (7, 1 / 1.05 - 1)]}
    arrived = {(each.base, each.head): each for each in arrive(running, levels, [(5, 9)], PLATFORMS[:1])}
    culprit, base, head, fix = (commit_of(NAMES[place]) for place in (2, 5, 9, 7))
    with running.service.transaction() as connection:
        for pair in ((1, 2), (5, 9)):
            look_at(connection, arrived[pair].digest, running.clock.now())
        assert reports(connection) == [Reported(culprit, "fixed", 1, head, base)]
        (note,) = connection.execute("SELECT note FROM triage ORDER BY id DESC LIMIT 1").fetchone()
        assert note.endswith(f"since a commit of {base[:12]}..{head[:12]}")

        look_at(connection, arrived[6, 7].digest, running.clock.now())
        assert reports(connection) == [Reported(culprit, "fixed", 1, fix)]


def test_a_range_that_a_person_does_not_take_for_the_fix_does_not_close_the_report_by_its_commit(
    running: Running,
) -> None:
    levels: Levels = {0: [(2, 0.05), (7, 1 / 1.05 - 1)]}
    arrived = {(each.base, each.head): each for each in arrive(running, levels, [(5, 9)], PLATFORMS[:1])}
    now = running.clock.now()
    with running.service.transaction() as connection:
        for pair in ((1, 2), (5, 9)):
            look_at(connection, arrived[pair].digest, now)
        (digest,) = connection.execute("SELECT digest FROM regression_report").fetchone()
        triage(connection, digest, state="new", owner=None, note="still slow", by="ada", now=now)
        look_at(connection, arrived[6, 7].digest, now)
        assert [each.state for each in reports(connection)] == ["new"]
