"""Data frames as Grafana's PostgreSQL data source makes them of a query's answer.

After pkg/tsdb/grafana-postgresql-datasource/sqleng of Grafana 13 and `LongToWide` of its SDK.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from dashboards_read import Answer

Frame = Mapping[str, Any]
"""`refId`, and `fields` with `name`, `type`, `values` and, in a series, `labels`."""

_TYPES = {
    "bool": "boolean",
    "date": "time",
    "float8": "number",
    "int2": "number",
    "int4": "number",
    "int8": "number",
    "numeric": "number",
    "timestamptz": "time",
}
"""Types of fields by those of columns; any other column is text."""

TIME = "Time"


class NoSeriesError(ValueError):
    """An answer that no series can be made of: it has no column `time`, or is not in its order."""


def make_frame(given: Answer, form: str, ref_id: str) -> Frame:
    """`form` is table or time_series. Raises NoSeriesError."""
    fields = [
        {
            "name": name,
            "type": _TYPES.get(kind, "string"),
            "values": [_written(row[name]) for row in given.rows],
        }
        for name, kind in given.columns.items()
    ]
    return {"refId": ref_id, "fields": _series(fields) if form == "time_series" else fields}


def _series(fields: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fields with a time for each moment and a field for each label and column of numbers."""
    times = [field for field in fields if field["name"] == "time" and field["type"] in ("time", "number")]
    if not times:
        raise NoSeriesError("the answer has no column `time`")
    read = [_milliseconds(each) for each in times[0]["values"]]
    time = {"name": TIME, "type": "time", "values": read}
    if read != sorted(read):
        raise NoSeriesError("the answer is not in order of time")
    labels = [field for field in fields if field["type"] == "string"]
    numbers = [field for field in fields if field["type"] == "number" and field is not times[0]]
    if not labels:
        return [time, *numbers]
    moments = sorted(set(read))
    place = {moment: number for number, moment in enumerate(moments)}
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row, moment in enumerate(read):
        key = tuple(field["values"][row] or "" for field in labels)
        wide = found.setdefault(key, [_empty(field, labels, key, len(moments)) for field in numbers])
        for into, field in zip(wide, numbers, strict=True):
            into["values"][place[moment]] = field["values"][row]
    made = [field for key in sorted(found) for field in found[key]]
    if len(fields) == 3 and [field["name"] for field in labels] == ["metric"]:
        for field in made:  # named by its label alone, as before Grafana 8
            field["name"] = field.pop("labels")["metric"]
    return [{**time, "values": moments}, *made]


def _empty(
    field: Mapping[str, Any], labels: Sequence[Mapping[str, Any]], key: Sequence[str], length: int
) -> dict[str, Any]:
    named = {label["name"]: value for label, value in zip(labels, key, strict=True)}
    return {"name": field["name"], "type": "number", "labels": named, "values": [None] * length}


def _milliseconds(moment: float) -> float:
    """Of a time; seconds have ten digits."""
    return moment * 1000 if len(str(int(moment))) == 10 else moment


def _written(value: Any) -> Any:
    """As JSON has it: times in milliseconds."""
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    if isinstance(value, date):
        return round((value - date(1970, 1, 1)).total_seconds() * 1000)
    if isinstance(value, Decimal):
        return float(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)
