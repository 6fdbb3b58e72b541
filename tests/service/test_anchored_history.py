"""Histories with an anchor: what the host does cancels, what the branch does stays, and a host whose anchor
steps is said to have stepped.
"""

import random
from dataclasses import replace

import numpy as np
import pytest
from anchored_nights import Nights, digests, drifting, measured_nights, nights_of, watch
from series_without_points import SERIES
from service_running import Running
from service_runs import commit_of

from cliffwatch_service.history.watching.relative import FEWEST
from cliffwatch_service.history.watching.trends import look_for_trends

NIGHTS = 60


def host_alone() -> Nights:
    """A host that drifts by 10 % over 60 nights and steps by 4 % in one."""
    return nights_of(NIGHTS, host=drifting(NIGHTS, by=0.10, step=0.04, at=35))


def without_anchors(nights: Nights) -> Nights:
    return replace(nights, anchors=(None,) * len(nights.anchors))


def test_what_a_host_does_is_no_candidate_where_nights_have_an_anchor(running: Running) -> None:
    branch = measured_nights(running, host_alone())

    assert watch(running, branch) == 0
    assert running.get("/changes")["items"] == []


def bad_night_beside_a_storm() -> Nights:
    """A host that steps in one night, and five nights later a commit that slows five of eight series."""
    storm = np.zeros((NIGHTS, SERIES))
    storm[40:, :5] += np.log1p(0.03)
    return nights_of(NIGHTS, host=drifting(NIGHTS, by=0.0, step=0.04, at=35), branch=storm)


@pytest.mark.parametrize("order", ["oldest first", "newest first", "shuffled"])
def test_a_hosts_bad_night_beside_a_storm_is_one_event_and_the_storm_is_none(
    running: Running, order: str
) -> None:
    """The host cancels in what is relative to its anchor, so a storm there is a commit's doing."""
    nights = list(range(NIGHTS))
    if order == "newest first":
        nights.reverse()
    if order == "shuffled":
        random.Random(1).shuffle(nights)
    branch = measured_nights(running, bad_night_beside_a_storm(), order=nights, watch_every=6)

    events = running.rows(
        "SELECT reason, cardinality(series) AS stepped, commit FROM host_event"
        " JOIN revision ON revision.id = head_revision_id"
    )
    assert [(each["reason"], each["commit"]) for each in events] == [("control", commit_of("r35"))]
    assert events[0]["stepped"] >= SERIES - 2
    candidates = running.get("/changes", limit=200)["items"]
    assert sorted(each["series"] for each in candidates) == sorted(digests(running)[:5])
    assert running.get("/reports")["items"] == []
    assert watch(running, branch) == 0


def test_without_an_anchor_the_same_host_makes_candidates(running: Running) -> None:
    branch = measured_nights(running, without_anchors(host_alone()))

    assert watch(running, branch) >= SERIES // 2


def test_a_step_of_the_branch_is_a_candidate_at_its_commit_whatever_the_host_does(running: Running) -> None:
    branch_alone = np.zeros((NIGHTS, SERIES))
    branch_alone[40:, 2] += np.log1p(0.03)
    nights = nights_of(NIGHTS, host=drifting(NIGHTS, by=0.10, step=0.04, at=35), branch=branch_alone)
    branch = measured_nights(running, nights)

    assert watch(running, branch) == 1
    (change,) = running.get("/changes")["items"]
    assert change["series"] == digests(running)[2]
    assert (change["base"], change["head"]) == (commit_of("r39"), commit_of("r40"))
    assert change["size"] == pytest.approx(0.03, abs=0.005)
    assert watch(running, branch) == 0


def test_a_host_whose_anchor_steps_is_an_event_of_that_host_and_blames_no_commit(running: Running) -> None:
    branch = measured_nights(running, host_alone())
    watch(running, branch)
    stepped = [
        (digest, each)
        for digest in digests(running)
        for each in running.get(f"/series/{digest}/history")["host_events"]
    ]

    digest, event = stepped[0]
    assert event["reason"] == "control"
    assert event["stepped"] == len(stepped) >= SERIES - 2
    assert event["measured"] == SERIES
    assert (event["base"], event["head"]) == (commit_of("r34"), commit_of("r35"))
    with running.http(None) as http:
        shown = http.get(f"/series/{digest}").raise_for_status().text
    assert "it was the host, and no commit is blamed" in shown
    watch(running, branch)
    assert len(running.rows("SELECT id FROM host_event")) == 1


def test_what_steps_with_the_anchor_and_has_none_itself_blames_no_commit_either(running: Running) -> None:
    branch = measured_nights(running, nights_of(NIGHTS, host=drifting(NIGHTS, by=0.0, step=0.04, at=35)))
    with running.service.transaction() as connection:
        connection.execute(
            "DELETE FROM anchor_point WHERE series_id = (SELECT max(series_id) FROM anchor_point)"
        )

    assert watch(running, branch) == 0
    assert {row["reason"] for row in running.rows("SELECT reason FROM host_event")} == {"control"}
    assert watch(running, branch) == 0


def test_two_series_of_an_anchor_that_step_are_no_event(running: Running) -> None:
    nights = nights_of(NIGHTS, host=np.zeros(NIGHTS))
    nights.anchor[35:, :2] += 0.04
    branch = measured_nights(running, nights)
    watch(running, branch)

    assert running.rows("SELECT id FROM host_event WHERE reason = 'control'") == []


def test_until_an_anchor_was_measured_often_enough_points_are_watched_as_they_are(running: Running) -> None:
    """Else nobody would see anything for the first nights that have one."""
    steps = np.zeros((NIGHTS, SERIES))
    steps[30:, 2] += np.log1p(0.05)
    nights = nights_of(NIGHTS, host=np.zeros(NIGHTS), branch=steps)
    late = NIGHTS - FEWEST + 2
    branch = measured_nights(running, replace(nights, anchors=(None,) * late + ("tagged",) * (NIGHTS - late)))

    assert watch(running, branch) == 1


def test_a_changed_anchor_begins_a_history_of_its_own(running: Running) -> None:
    """The new one reads 5 % more than the old one: nothing stepped."""
    nights = nights_of(NIGHTS, host=drifting(NIGHTS, by=0.02, step=0.0, at=0))
    nights.anchor[30:] += 0.05
    branch = measured_nights(running, replace(nights, anchors=("tagged",) * 30 + ("other",) * 30))

    assert watch(running, branch) == 0
    assert running.rows("SELECT id FROM host_event") == []
    with running.http(None) as http:
        shown = http.get(f"/series/{digests(running)[0]}").raise_for_status().text
    assert commit_of("tagged")[:12] in shown
    assert commit_of("other")[:12] in shown


def test_an_anchor_that_is_gone_leaves_the_points_watched_as_they_are(running: Running) -> None:
    steps = np.zeros((NIGHTS, SERIES))
    steps[45:, 2] += np.log1p(0.05)
    nights = nights_of(NIGHTS, host=np.zeros(NIGHTS), branch=steps)
    branch = measured_nights(running, replace(nights, anchors=("tagged",) * 40 + (None,) * 20))

    assert watch(running, branch) == 1
    (change,) = running.get("/changes")["items"]
    assert change["head"] == commit_of("r45")


def test_a_host_that_drifts_makes_no_trend_of_what_has_an_anchor(running: Running) -> None:
    nights = nights_of(110, host=drifting(110, by=0.06, step=0.0, at=0))
    measured_nights(running, nights)
    with running.service.transaction() as connection:
        assert look_for_trends(connection, running.clock.now()) == 0
        connection.execute("DELETE FROM anchor_point")
        assert look_for_trends(connection, running.clock.now()) >= SERIES


def test_the_history_says_what_the_anchor_read_and_is_drawn_relative_to_it(running: Running) -> None:
    nights = nights_of(20, host=np.zeros(20))
    measured_nights(running, nights)
    address = f"/series/{digests(running)[0]}"
    points = running.get(f"{address}/history")["points"]

    assert points[0]["anchor"] == pytest.approx(float(np.exp(nights.anchor[19, 0])))
    assert len({point["commit"] for point in points}) == len(points) == 20
    with running.http(None) as http:
        shown = http.get(address, params={"scale": "anchor"}).raise_for_status().text
        plain = http.get(address).raise_for_status().text
    assert '"unit":"%"' in shown
    assert 'data-label="reference kernel"' in plain
