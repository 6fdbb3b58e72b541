"""Storms: series that step at once by a few culprits are as many reports, in whichever order they come."""

from service_running import Running
from service_runs import commit_of
from storms import NAMES, PLATFORMS, Levels, Reported, arrive, look_at, orders, reports

CULPRITS = (2, 4, 6, 8, 11)
CASES = 30
SHUFFLES = 4
WIDE = [(0, 12), (0, 4), (3, 6), (5, 12), (7, 9)]
STORM: Levels = {case: [(CULPRITS[case % 5], 0.02 + case / 5000)] for case in range(CASES)}
"""A fifth of the cases steps at each culprit."""


def test_a_storm_of_five_culprits_is_five_reports_in_any_order(running: Running) -> None:
    """Two platforms' series step together. Comparisons of neighbours and of wide ranges show them."""
    arrived = arrive(running, STORM, WIDE)
    own = CASES // 5 * len(PLATFORMS)
    five = sorted(Reported(commit_of(NAMES[culprit]), "new", own) for culprit in CULPRITS)
    for name, order in orders(arrived, SHUFFLES).items():
        with running.service.transaction() as connection:
            for each in order:
                look_at(connection, each.digest, running.clock.now())
            assert reports(connection) == five, name
            connection.rollback()
