"""Every query of every dashboard runs on the demonstration as Grafana would send it, and shows what the HTTP
API answers.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from dashboards_read import (
    ALWAYS,
    Answer,
    answer,
    chosen,
    dashboards,
    offered,
    panel_named,
    panels,
    queries,
    variables,
)
from grafana_sql import TimeRange, interpolated

DASHBOARDS = {dashboard["uid"]: dashboard for dashboard in dashboards()}
EXPLORER = DASHBOARDS["cliffwatch-series"]
SHOWN_TYPES = {
    "text",
    "name",
    "varchar",
    "bool",
    "int2",
    "int4",
    "int8",
    "float8",
    "numeric",
    "timestamptz",
    "date",
}
"""Types of columns that the data source makes fields of."""

EMPTY_IN_THE_DEMONSTRATION = {
    "Cliffwatch: fleet: Wait": "one job was begun and none ended",
    "Cliffwatch: fleet: Duration": "no job ended",
    "Cliffwatch: fleet: Failed leases by host": "no lease ended",
    "Cliffwatch: trust: Controls that reported something": "no control did",
    "Cliffwatch: service health: Background tasks": "no process of tasks ran",
    "Cliffwatch: service health: Runs that are not complete": "all are",
    "Cliffwatch: service health: Uploaded a day": "nothing was uploaded",
    "Cliffwatch: service health: Backups": "there was none",
    "Cliffwatch: series explorer: Changes": "the first series has none",
    "Cliffwatch: series explorer: annotation Changes": "the first series has none",
}


def run_all(
    connection: Any, dashboard: Mapping[str, Any], wanted: Mapping[str, str] | None = None
) -> dict[str, Answer]:
    values = chosen(connection, dashboard, wanted)
    answers = {}
    for query in queries(dashboard):
        answers[query.where] = given = answer(connection, interpolated(query.text, values))
        assert set(given.columns.values()) <= SHOWN_TYPES, query.where
        if query.form == "time_series":
            assert_series(given, query.where)
    return answers


def assert_series(given: Answer, where: str) -> None:
    """As the data source makes series of: a time, at most one text, which is `metric`, numbers; in order of
    time.
    """
    assert "time" in given.columns, where
    others = {name: kind for name, kind in given.columns.items() if name != "time"}
    assert {name for name, kind in others.items() if kind in ("text", "name", "varchar")} <= {"metric"}, where
    assert set(others.values()) - {"text", "varchar", "name"} <= {
        "int2",
        "int4",
        "int8",
        "float8",
        "numeric",
    }, where
    times = [row["time"] for row in given.rows]
    assert times == sorted(times), where
    assert len({(row["time"], row.get("metric")) for row in given.rows}) == len(times), where


@pytest.mark.parametrize("uid", DASHBOARDS)
def test_every_query_runs_and_shows_something(reading: Any, uid: str) -> None:
    answers = run_all(reading, DASHBOARDS[uid])
    empty = {where for where, given in answers.items() if not given.rows}
    assert empty <= set(EMPTY_IN_THE_DEMONSTRATION)


@pytest.mark.parametrize("uid", DASHBOARDS)
def test_nothing_is_shown_of_another_time(reading: Any, uid: str) -> None:
    """Every query that is about a time is held to the one that was chosen."""
    values = chosen(reading, DASHBOARDS[uid])
    before = TimeRange(datetime(1971, 1, 1, tzinfo=UTC), datetime(1971, 1, 2, tzinfo=UTC))
    for query in queries(DASHBOARDS[uid]):
        if query.form == "time_series" or "$__timeFilter" in query.text:
            rows = answer(reading, interpolated(query.text, values), before).rows
            assert (
                all(value in (None, 0) for row in rows for value in row.values()) or "Hosts" in query.where
            ), query.where


@pytest.mark.parametrize("uid", DASHBOARDS)
def test_every_choice_of_a_variable_can_be_shown(reading: Any, uid: str) -> None:
    dashboard = DASHBOARDS[uid]
    values = chosen(reading, dashboard)
    for variable in variables(dashboard):
        if variable["name"] != "site" and not variable.get("hide"):
            for value in offered(reading, variable, values)[:6]:
                run_all(reading, dashboard, {variable["name"]: value})


@pytest.mark.parametrize("uid", DASHBOARDS)
def test_choosing_nothing_is_no_error(reading: Any, uid: str) -> None:
    """Where several values can be chosen, none can."""
    dashboard = DASHBOARDS[uid]
    many = [variable["name"] for variable in variables(dashboard) if variable.get("multi")]
    values = {**chosen(reading, dashboard), **{name: [] for name in many}}
    for query in queries(dashboard):
        answer(reading, interpolated(query.text, values))


def all_series(demonstration: Any) -> list[dict[str, Any]]:
    found, cursor = [], None
    while True:
        answered = demonstration.get("/series", limit=100, **({"cursor": cursor} if cursor else {}))
        found += answered["items"]
        cursor = answered["next"]
        if cursor is None:
            return found


def branches(reading: Any) -> dict[str, tuple[str, str] | None]:
    rows = answer(reading, "SELECT branch_id, tree, branch FROM dashboard.branch").rows
    return {str(row["branch_id"]): (row["tree"], row["branch"]) if row["tree"] else None for row in rows}


def test_the_series_explorer_shows_what_the_api_answers(reading: Any, demonstration: Any) -> None:
    """For every series, on every branch that is offered for it, and over all revisions."""
    by_date, by_place, listed = (panel_named(EXPLORER, part) for part in (
        "$benchmark $parameters: $metric by date", "$benchmark $parameters: $metric by place", "Points"
    ))  # fmt: skip
    branch_variable = variables(EXPLORER)[-1]
    names, compared = branches(reading), 0
    for series in all_series(demonstration):
        parameters = "/".join(f"{name}={value}" for name, value in series["params"].items()) or "none"
        wanted = {
            **{name: series[name] for name in ("suite", "benchmark", "platform", "mode", "series")},
            "parameters": parameters,
            "metric": f"{series['metric']} in {series['unit']}",
        }
        values = chosen(reading, EXPLORER, wanted)
        assert values["series"] == series["series"]
        offers = offered(reading, branch_variable, values)
        assert offers[-1] == "0"
        for branch in offers:
            named = names[branch]
            place = {} if named is None else {"tree": named[0], "branch": named[1]}
            points = demonstration.get(f"/series/{series['series']}/history", **place)["points"]
            here = {**values, "branch": branch}
            drawn = answer(reading, interpolated(by_date["targets"][0]["rawSql"], here)).rows
            assert_same_points(drawn, points)
            table = answer(reading, interpolated(listed["targets"][0]["rawSql"], here)).rows
            assert [(row["commit"], row["n"], row["run"]) for row in table] == [
                (point["commit"], point["n"], point["run"]) for point in points
            ] or branch == "0"
            assert {row["commit"] for row in table} == {point["commit"] for point in points}
            line = answer(reading, interpolated(by_place["targets"][0]["rawSql"], here)).rows
            assert [(row["ordinal"], row["centre"]) for row in line] == [
                (point["ordinal"], point["centre"])
                for point in reversed(points)
                if point["ordinal"] is not None
            ]
            compared += len(points)
    assert compared > 2000


def assert_same_points(drawn: Sequence[Mapping[str, Any]], points: Sequence[Mapping[str, Any]]) -> None:
    """Drawn is the oldest first; revisions of one moment stand a millisecond apart."""
    ordered = sorted(points, key=lambda point: (point["at"], point["ordinal"] or 0))
    assert sorted((*row_of(row), row["metric"].removeprefix("environment ")) for row in drawn) == sorted(
        (*row_of(point), point["epoch"][:8]) for point in points
    )
    for row, point in zip(drawn, ordered, strict=True):
        assert timedelta(0) <= row["time"] - datetime.fromisoformat(point["at"]) < timedelta(seconds=10)


def row_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (row["centre"], row["low"] is None, row["low"] or 0, row["high"] or 0)


def test_annotations_are_the_changes_of_the_series(reading: Any, demonstration: Any) -> None:
    (annotation,) = EXPLORER["annotations"]["list"]
    marked = 0
    for series in all_series(demonstration):
        known = demonstration.get("/changes", series=series["series"])["items"]
        query = interpolated(annotation["target"]["rawSql"], {"series": series["series"]})
        rows = answer(reading, query).rows
        assert len(rows) == len([change for change in known if change["state"] != "refuted"])
        for row in rows:
            assert f'href="{demonstration.url}/series/{series["series"]}"' in row["text"]
        marked += len(rows)
    assert marked > 50


def test_the_cliff_explorer_shows_what_the_api_answers(reading: Any, demonstration: Any) -> None:
    dashboard = DASHBOARDS["cliffwatch-cliffs"]
    values = chosen(reading, dashboard, {"suite": "local-storage", "last": "8"})
    rows = answer(
        reading, interpolated(panel_named(dashboard, "Values")["targets"][0]["rawSql"], values)
    ).rows
    assert len({row["value"] for row in rows}) > 2
    assert len({row["commit"] for row in rows}) > 1
    named = branches(reading)[str(values["branch"])]
    for row in rows:
        place = {"tree": named[0], "branch": named[1]} if named else {}
        points = demonstration.get(f"/series/{row['series']}/history", **place)["points"]
        (point,) = [point for point in points if point["commit"].startswith(row["commit"])]
        assert (row["centre"], row["low"], row["high"], row["run"]) == (
            point["centre"], point["low"], point["high"], point["run"],
        )  # fmt: skip


def test_the_overview_counts_what_comparisons_say(reading: Any, demonstration: Any) -> None:
    dashboard = DASHBOARDS["cliffwatch-overview"]
    values = chosen(reading, dashboard)
    rows = answer(
        reading, interpolated(panel_named(dashboard, "Newest verdict")["targets"][0]["rawSql"], values)
    ).rows
    assert rows
    for row in rows:
        said = demonstration.get(
            f"/comparisons/{row['base']}...{row['head']}", platform=row["platform"], mode=row["mode"]
        )
        (target,) = said["targets"]
        counts = target["counts"]
        assert (row["regressions"], row["improvements"], row["unchanged"], row["inconclusive"], row["changed"]) == (
            counts["regression"], counts["improvement"], counts["unchanged"], counts["inconclusive"], counts.get("changed", 0),
        )  # fmt: skip
    reports = demonstration.get("/reports")["items"]
    shown = answer(reading, panel_named(dashboard, "Reports to judge")["targets"][0]["rawSql"]).rows
    assert {row["report"] for row in shown} == {
        report["report"] for report in reports if report["state"] == "new"
    }


_PLACEHOLDER = re.compile(r"\$\{(?:__data\.fields\.)?([\w.]+)\}")


@pytest.mark.parametrize("uid", DASHBOARDS)
def test_links_lead_to_pages(reading: Any, demonstration: Any, uid: str) -> None:
    """Each link of a column, for the first rows that the demonstration has, opened at the service."""
    dashboard = DASHBOARDS[uid]
    values = chosen(reading, dashboard)
    with demonstration.http(None) as http:
        for panel in panels(dashboard):
            for override in panel["fieldConfig"]["overrides"]:
                links = [p["value"] for p in override["properties"] if p["id"] == "links"]
                rows = (
                    answer(reading, interpolated(panel["targets"][0]["rawSql"], values), ALWAYS).rows
                    if links
                    else []
                )
                for row in rows[:2]:
                    column = override["matcher"]["options"]
                    known = {
                        **values,
                        **{name: str(value) for name, value in row.items()},
                        "__value.raw": str(row[column]),
                    }
                    for link in links[0]:
                        address = _PLACEHOLDER.sub(lambda match: str(known[match[1]]), link["url"])  # noqa: B023
                        assert address.startswith(demonstration.url)
                        opened = http.get(address, headers={"Accept": "text/html"}, follow_redirects=True)
                        assert opened.status_code == 200, (panel["title"], address)
