"""Every panel of every dashboard is drawn by Grafana's own components, with something in it."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from browsing import launch
from dashboards_read import Answer, dashboards
from demonstration_kept import NOW
from grafana_panels.built import built_page
from grafana_panels.drawing import Page, faults_of, read_dashboard
from grafana_panels.frames import NoSeriesError, make_frame
from grafana_panels.lived_in import SITE, live_in, open_as_grafana
from npm_packages import NotFetchedError
from playwright.sync_api import sync_playwright

DASHBOARDS = {dashboard["uid"]: dashboard for dashboard in dashboards()}


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    try:
        built = built_page()
    except NotFetchedError as reason:
        pytest.skip(str(reason))
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield Page(browser, built)
        browser.close()


@pytest.fixture(scope="module")
def lived_in(kept_demonstration: Any) -> Iterator[Any]:
    """The demonstration with a week of work, read as Grafana does."""
    for url in kept_demonstration.copied():
        with psycopg.connect(url) as connection:
            live_in(connection, NOW)
        with open_as_grafana(url, SITE) as reading:
            yield reading


@pytest.mark.parametrize("uid", DASHBOARDS)
def test_every_panel_is_drawn_with_something_in_it(page: Page, lived_in: Any, uid: str) -> None:
    drawing = page.draw(read_dashboard(lived_in, DASHBOARDS[uid], NOW), "light")
    assert len(drawing.panels) > 2
    assert faults_of(drawing) == []
    assert {panel.kind for panel in drawing.panels if panel.ours} <= {"xychart"}


def test_what_cannot_be_drawn_is_named(page: Page, lived_in: Any) -> None:
    """A kind without a component, a transformation or an option that is not of Grafana's packages, and an
    answer without rows.
    """
    read = read_dashboard(lived_in, DASHBOARDS["cliffwatch-fleet"], NOW)
    kind, step, option, empty, *_ = panels = [{**panel} for panel in read["panels"]]
    kind["type"] = "geomap"
    step["transformations"] = [{"id": "partitionByValues", "options": {}}]
    option["fieldConfig"] = {"defaults": {"custom": {"sparkle": True}}, "overrides": []}
    empty["frames"] = [{"refId": "A", "fields": [{"name": "jobs", "type": "number", "values": []}]}]
    drawing = page.draw({**read, "panels": panels}, "dark")
    said = [panel.problem or "" for panel in drawing.panels]
    assert said[0] == "no component draws the kind geomap"
    assert said[1] == "no transformation partitionByValues in @grafana/data"
    assert "custom.sparkle" in said[2]
    assert faults_of(drawing)[-1] == f"{empty['title']}: is empty"
    assert said[4:] == [""] * len(said[4:])


def test_series_are_made_as_the_data_source_makes_them() -> None:
    """A field for each label; the label alone names it where there is one column of numbers."""
    rows = [
        {"time": 1700000000.0, "metric": "a", "n": 1},
        {"time": 1700000000.0, "metric": "b", "n": 2},
        {"time": 1700003600.0, "metric": "a", "n": 3},
    ]
    columns = {"time": "float8", "metric": "text", "n": "int8"}
    frame = make_frame(Answer(columns, rows), "time_series", "A")
    assert [(field["name"], field["values"]) for field in frame["fields"]] == [
        ("Time", [1700000000000, 1700003600000]), ("a", [1, 3]), ("b", [2, None]),
    ]  # fmt: skip
    two = make_frame(Answer({**columns, "m": "int8"}, [{**row, "m": 0} for row in rows]), "time_series", "A")
    assert [(field["name"], field.get("labels")) for field in two["fields"][1:3]] == [
        ("n", {"metric": "a"}), ("m", {"metric": "a"}),
    ]  # fmt: skip
    with pytest.raises(NoSeriesError):
        make_frame(Answer(columns, rows[::-1]), "time_series", "A")
    with pytest.raises(NoSeriesError):
        make_frame(Answer({"n": "int8"}, [{"n": 1}]), "time_series", "A")
