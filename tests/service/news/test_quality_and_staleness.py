"""How good reports are, and which cases got no fresh point for too long."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from news_world import WORSE
from service_runs import commit_of

from cliffwatch_service.history.quality import quality_of
from cliffwatch_service.jobs.staleness import stale_of
from cliffwatch_service.store.history.freshness import LastMeasuredRow
from cliffwatch_service.store.history.news.planted import PlantedRow

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_what_nobody_judged_and_nobody_planted_is_not_known() -> None:
    known = quality_of({"new": 7}, [])
    assert (known.judged, known.precision, known.noise) == (0, None, None)
    assert (known.planted, known.recall, known.seconds_to_detection) == (0, None, None)


def test_precision_is_of_judged_reports_and_recall_of_planted_steps() -> None:
    hours = [1, 3, 50]
    steps = [PlantedRow(commit="a" * 40, planted=NOW, found=NOW + timedelta(hours=each)) for each in hours]
    known = quality_of(
        {"new": 9, "fixed": 2, "expected": 1, "noise": 1},
        [*steps, PlantedRow(commit="b" * 40, planted=NOW, found=None)],
    )
    assert (known.judged, known.precision, known.noise) == (4, 0.75, 0.25)
    assert (known.planted, known.found, known.recall) == (4, 3, 0.75)
    assert known.seconds_to_detection == 3 * 3600


def test_a_planted_step_is_found_when_a_report_names_it(world: Any) -> None:
    world.follow()
    with world.running.http("admin") as http:
        for name in ("r1", "r3"):
            http.post("/api/v1/planted-steps", json={"commit": commit_of(name)}).raise_for_status()
    world.running.clock.pass_(hours=2)
    world.measure("r0", "r1", WORSE)
    world.measure("r1", "r3", WORSE, seed=2)
    known = world.running.get("/reports/quality")
    assert (known["planted"], known["found"], known["recall"]) == (
        2,
        1,
        0.5,
    ), "of r1..r3 nobody knows which one"
    assert known["seconds_to_detection"] == pytest.approx(7200)
    with world.running.http(None) as http:
        assert "1 of 2 named by a report" in http.get("/regressions").text


def test_a_report_merged_into_its_culprits_is_not_counted(world: Any) -> None:
    world.follow()
    world.measure("r0", "r1", WORSE)
    world.measure("r1", "r3", WORSE, seed=2)
    assert world.running.get("/reports/quality")["reports"]["new"] == 2
    with world.running.service.transaction() as connection:
        connection.execute(
            "UPDATE regression_report SET merged_into = (SELECT max(id) FROM regression_report)"
            " WHERE id = (SELECT min(id) FROM regression_report)"
        )
    assert world.running.get("/reports/quality")["reports"]["new"] == 1


def row(
    days: float,
    *,
    gap: float | None = None,
    moved: bool = True,
    case: str = "one",
    platform: str = "amd-rome",
) -> Any:
    return LastMeasuredRow(
        follow_id=1,
        tree="t",
        branch="master",
        platform=platform,
        mode="walltime",
        suite="local-storage",
        case=case,
        at=NOW - timedelta(days=days),
        gap=None if gap is None else timedelta(days=gap),
        moved=moved,
    )


@pytest.mark.parametrize(
    ("known", "stale"),
    [
        (row(2.9, gap=1), False),
        (row(3.1, gap=1), True),
        (row(3.1, gap=1, moved=False), False),
        (row(0.9, gap=0.1), False),
        (row(1.1, gap=0.1), True),
        (row(20, gap=7), False),
        (row(22, gap=7), True),
        (row(2.9), False),
        (row(3.1), True),
    ],
)
def test_a_case_is_stale_after_three_times_its_cadence(known: LastMeasuredRow, *, stale: bool) -> None:
    assert bool(stale_of([known], NOW)) is stale


def test_stale_cases_of_a_platform_are_one_sentence() -> None:
    rows = [row(4 + index, gap=1, case=f"case-{index}") for index in range(5)]
    one, other = stale_of([*rows, row(5, gap=1, platform="intel-skylake")], NOW)
    assert (
        one.sentence(NOW)
        == "master on amd-rome (walltime): no fresh point for 8 days of 5 cases: local-storage/case-0,"
        " local-storage/case-1, local-storage/case-2 and 2 others"
    )
    assert "of 1 case: local-storage/one" in other.sentence(NOW)


def test_a_case_that_is_left_out_of_later_runs_is_an_alarm(world: Any) -> None:
    """Its platform is measured every day: only the case is stale."""
    world.follow(8)
    world.measure("r0", "r1", 0.0, cases=2, seed=1)
    for day in range(1, 6):
        world.running.clock.pass_(days=1)
        world.measure(f"r{day}", f"r{day + 1}", 0.0, cases=1, seed=day + 1)
    with world.running.http(None) as http:
        page, metrics = http.get("/").text, http.get("/metrics").text
    alarms = page.split('class="alarms"')[1].split("</div>")[0]
    assert "no fresh point for 5 days of 1 case" in alarms
    assert 'cliffwatch_stale_cases{branch="master",mode="walltime",platform="amd-rome"} 1.0' in metrics


def test_an_unchanged_build_owes_no_point(world: Any) -> None:
    """Nothing that the case executes differs from the revision before: not measuring it is an answer."""
    world.follow(8)
    world.measure("r0", "r1", 0.0, cases=2, seed=1)
    for day in range(1, 6):
        world.running.clock.pass_(days=1)
        world.leave_out(f"r{day}", f"r{day + 1}", "unchanged-build", cases=2, measured=1, seed=day + 1)

    with world.running.http(None) as http:
        assert "no fresh point" not in http.get("/").text


def test_a_case_that_could_not_run_is_stale_all_the_same(world: Any) -> None:
    world.follow(8)
    world.measure("r0", "r1", 0.0, cases=2, seed=1)
    for day in range(1, 6):
        world.running.clock.pass_(days=1)
        world.leave_out(f"r{day}", f"r{day + 1}", "not-run", cases=2, measured=1, seed=day + 1)

    with world.running.http(None) as http:
        assert "no fresh point for 5 days of 1 case" in http.get("/").text


def test_a_branch_that_rests_owes_no_point(world: Any) -> None:
    world.follow(2)
    world.measure("r0", "r1", 0.0, cases=2)
    world.running.clock.pass_(days=30)
    with world.running.http(None) as http:
        assert "no fresh point" not in http.get("/").text
