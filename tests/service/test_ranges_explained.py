"""A change across several revisions is told once: by itself, or by the narrower changes that explain it."""

from collections.abc import Sequence
from typing import Any

import pytest
from service_running import Running
from service_runs import commit_of
from storms import NAMES, Levels, arrive, look_at, reports

from cliffwatch_service.history.ranges.explaining import is_explained, settle_series
from cliffwatch_service.history.ranges.reporting import report_changes
from cliffwatch_service.store.history import changes
from cliffwatch_service.store.history.changes import ChangeState
from cliffwatch_service.store.history.ranges import RangeChangeRow

COUNTED = 0.002


def change(
    after: int, until: int, size: float, *, state: ChangeState = "confirmed", half: float = 0.0
) -> RangeChangeRow:
    return RangeChangeRow(
        id=100 * after + until,
        series_id=1,
        state=state,
        kind="regression" if size > 0 else "improvement",
        size=size,
        ci_low=size - half,
        ci_high=size + half,
        base_value=None,
        head_value=None,
        report_id=None,
        base_revision_id=after,
        head_revision_id=until,
        branch_id=1,
        after=after,
        until=until,
    )


def from_zero(after: int, until: int, base: float, head: float) -> RangeChangeRow:
    row: dict[str, Any] = {
        name: getattr(change(after, until, 1.0), name) for name in RangeChangeRow.__dataclass_fields__
    }
    return RangeChangeRow(
        **{**row, "size": None, "ci_low": None, "ci_high": None, "base_value": base, "head_value": head}
    )


@pytest.mark.parametrize(
    ("narrow", "band", "explained"),
    [
        pytest.param([0.05], COUNTED, True, id="the same change"),
        pytest.param([0.03, 1.05 / 1.03 - 1], COUNTED, True, id="two that add up"),
        pytest.param([0.03], COUNTED, False, id="a part of a counted change"),
        pytest.param([0.0485], COUNTED, True, id="within the band of counted values"),
        pytest.param([0.03], None, True, id="more than half of a time"),
        pytest.param([0.02], None, False, id="less than half of a time"),
        pytest.param([-0.05], None, False, id="the opposite"),
        pytest.param([], COUNTED, False, id="nothing"),
    ],
)
def test_a_wide_change_is_explained_if_narrower_ones_add_up_to_it(
    narrow: Sequence[float], band: float | None, *, explained: bool
) -> None:
    rows = [change(place, place + 1, size) for place, size in enumerate(narrow)]

    assert is_explained(change(0, 8, 0.05), rows, band) is explained


def test_values_explain_a_change_from_zero() -> None:
    assert is_explained(from_zero(0, 8, 0.0, 2.0), [from_zero(1, 2, 0.0, 2.0)], None)
    assert not is_explained(from_zero(0, 8, 0.0, 2.0), [from_zero(1, 2, 0.0, 1.0)], None)
    assert not is_explained(from_zero(0, 8, 0.0, 2.0), [change(1, 2, 0.5)], None)
    assert not is_explained(change(0, 8, 0.5), [from_zero(1, 2, 0.0, 2.0)], None)


def test_the_narrowest_ranges_explain_all_around_them_and_overlapping_ones_count_once() -> None:
    around = [change(0, 12, 0.05), change(2, 6, 0.05), change(3, 7, 0.05)]
    found = settle_series([*around, change(4, 5, 0.05)], COUNTED)
    assert {each.wide.id for each in found.explained} == {each.id for each in around}

    overlapping = settle_series(around, COUNTED)
    assert [each.wide.id for each in overlapping.explained] == [around[0].id]
    assert settle_series([change(0, 4, 0.05), change(6, 7, 0.05)], COUNTED).explained == []


def test_what_explained_a_change_and_is_refuted_brings_it_back() -> None:
    wide, narrow = change(0, 8, 0.05, state="superseded"), change(3, 4, 0.05, state="refuted")
    beside = change(9, 12, 0.05, state="superseded")
    assert settle_series([wide, narrow, beside], COUNTED).restored == []
    assert settle_series([wide, narrow, beside], COUNTED, [narrow.id]).restored == [wide]
    again = settle_series([wide, narrow, change(5, 6, 0.05)], COUNTED, [narrow.id])
    assert again.restored == []


def test_a_report_of_a_range_becomes_its_culprits_and_returns_if_that_is_refuted(running: Running) -> None:
    """People who follow the report of the range keep it."""
    levels: Levels = {0: [(5, 0.05)]}
    arrived = arrive(running, levels, [(2, 9)], ["emulated-x86-64"])
    now = running.clock.now()
    (wide,) = [each for each in arrived if each.head - each.base > 1]
    with running.service.transaction() as connection:
        look_at(connection, wide.digest, now)
        (first,) = connection.execute("SELECT id FROM regression_report").fetchall()
        for each in arrived:
            look_at(connection, each.digest, now)
        assert [each.culprit for each in reports(connection)] == [commit_of(NAMES[5])]
        assert connection.execute("SELECT id FROM regression_report").fetchall() == [first]
        kinds = connection.execute("SELECT kind FROM news ORDER BY id").fetchall()
        assert [kind for (kind,) in kinds] == ["new", "culprit"]

        narrow, series = connection.execute(
            "SELECT id, series_id FROM change WHERE state = 'confirmed'"
        ).fetchone()
        changes.refute_changes(connection, [narrow])
        report_changes(connection, [series], now, [narrow])
        assert [(each.culprit, each.worse) for each in reports(connection) if each.worse] == [
            (commit_of(NAMES[9]), 1)
        ]
