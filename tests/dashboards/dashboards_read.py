"""The generated dashboards and alert rules, and their queries with the variables that a reader would see."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import yaml
from grafana_sql import TimeRange, Value, expanded, interpolated

ROOT = Path(__file__).parents[2] / "dashboards"
FILES = sorted((ROOT / "generated").glob("*.json"))
ROLE = "cliffwatch_dashboards"
ALWAYS = TimeRange(datetime(1970, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class Query:
    """A query of a dashboard; `where` is what it belongs to, for people. `form` is table or time_series."""

    where: str
    text: str
    form: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of a query, and its columns with the names of their types."""

    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]


def dashboards() -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in FILES]


def panels(dashboard: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def panel_named(dashboard: Mapping[str, Any], beginning: str) -> dict[str, Any]:
    (found,) = [panel for panel in panels(dashboard) if panel["title"].startswith(beginning)]
    return found


def queries(dashboard: Mapping[str, Any]) -> Iterator[Query]:
    """Of panels and annotations; variables have queries of their own."""
    for panel in panels(dashboard):
        for target in panel["targets"]:
            yield Query(f"{dashboard['title']}: {panel['title']}", target["rawSql"], target["format"])
    for each in dashboard.get("annotations", {}).get("list", []):
        yield Query(
            f"{dashboard['title']}: annotation {each['name']}",
            each["target"]["rawSql"],
            each["target"]["format"],
        )


def variables(dashboard: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = dashboard["templating"]["list"]
    return found


def alert_rules() -> list[dict[str, Any]]:
    content = yaml.safe_load((ROOT / "provisioning/alerting/cliffwatch.yaml").read_text())
    return [rule for group in content["groups"] for rule in group["rules"]]


def answer(
    connection: psycopg.Connection[Any], query: str, span: TimeRange = ALWAYS, interval: str = "1h"
) -> Answer:
    """What the data source answers to a query whose variables have their values."""
    cursor = connection.execute(expanded(query, span, interval))  # type: ignore[arg-type]
    assert cursor.description is not None
    columns = {each.name: each.type_display for each in cursor.description}
    return Answer(columns, [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()])


def offered(
    connection: psycopg.Connection[Any], variable: Mapping[str, Any], values: Mapping[str, Value]
) -> list[str]:
    """What a variable offers while the ones before it have these values."""
    if variable["type"] == "custom":
        return [each["value"] for each in variable["options"]]
    rows = answer(connection, interpolated(variable["query"], values)).rows
    return [str(row["__value"] if "__value" in row else next(iter(row.values()))) for row in rows]


def chosen(
    connection: psycopg.Connection[Any], dashboard: Mapping[str, Any], wanted: Mapping[str, str] | None = None
) -> dict[str, Value]:
    """The values of a dashboard's variables: those wanted, else what a reader sees who chooses nothing."""
    values: dict[str, Value] = {}
    for variable in variables(dashboard):
        options, name = offered(connection, variable, values), variable["name"]
        current = variable.get("current", {}).get("value")
        if wanted and name in wanted:
            assert wanted[name] in options, f"{name} does not offer {wanted[name]}, but {options[:10]}"
            first = wanted[name]
        else:
            first = current if current in options else (options or [""])[0]
        many = variable.get("multi") or variable.get("includeAll")
        values[name] = (
            (options if current == "$__all" and first == (options or [""])[0] else [first]) if many else first
        )
    return values
