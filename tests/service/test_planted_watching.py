"""tools/planted_watching reads a service's reports and improvements as its API tells them."""

from datetime import timedelta

from planted_watching.judging import Planted, judge
from planted_watching.reading import largest_change, read_named
from service_running import Running
from service_runs import commit_of
from storms import NAMES, PLATFORMS, Levels, arrive, look_at


def test_a_report_that_was_fixed_and_an_improvement_name_their_commits(running: Running) -> None:
    """Case 0 is slower at 2 and fixed at 7, case 1 faster at 5; 9 was planted and does nothing."""
    levels: Levels = {0: [(2, 0.05), (7, 1 / 1.05 - 1)], 1: [(5, -0.02)]}
    arrived = arrive(running, levels, [], PLATFORMS[:1])
    now = running.clock.now()
    with running.service.transaction() as connection:
        for each in arrived:
            look_at(connection, each.digest, now)
    planted = [
        Planted(
            patch=str(place),
            commit=commit_of(NAMES[place]),
            parent=commit_of(NAMES[place - 1]),
            pushed=now - timedelta(minutes=8),
        )
        for place in (2, 5, 9)
    ]

    with running.http() as http:
        judgement = judge(planted, read_named(http))
        slower, faster, nothing = (largest_change(http, each) for each in planted)

    assert [[named.kind for named in each.named] for each in judgement.found] == [
        ["regression"],
        ["improvement"],
        [],
    ]
    assert [each.minutes for each in judgement.found] == [8.0, 8.0, None]
    assert [each.head for each in judgement.wrong] == [commit_of(NAMES[7])]
    assert judgement.faults == ()
    assert (slower[:6], faster[:6], nothing[:6]) == ("+5.00%", "-2.00%", "+0.00%")
