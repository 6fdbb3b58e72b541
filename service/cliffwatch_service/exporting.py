"""A run's samples in the formats that other tools read."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson
from psycopg import Connection

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.reports.go_bench import go_bench_report, run_settings
from cliffwatch.results import notable_of, stages_from_json
from cliffwatch_service.boot_document import unpacked
from cliffwatch_service.comparing import load_arm
from cliffwatch_service.refusal import not_found
from cliffwatch_service.store import boots, runs, series

COLUMNS = (
    "run",
    "platform",
    "mode",
    "arm",
    "commit",
    "boot",
    "stage",
    "suite",
    "benchmark",
    "params",
    "metric",
    "unit",
    "value",
)

MEDIA_TYPES = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "go-bench": "text/plain; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}


def export_run(connection: Connection[Any], digest: str, form: str) -> bytes:
    """The samples of a run in one of MEDIA_TYPES' formats. Raises Refusal."""
    run = runs.run_row(connection, digest)
    if run is None:
        raise not_found("run", digest)
    if form == "go-bench":
        arms = [load_arm(connection, run, row).arm for row in runs.arms_of(connection, run["id"])]
        record = orjson.loads(unpacked(bytes(run["record"])))
        settings = run_settings(notable_of(record), stages_from_json(record["plan"].get("stages")))
        return go_bench_report(arms, load_catalogue().traits, settings=settings).encode()
    return _WRITERS[form](list(_rows(connection, run)))


def _rows(connection: Connection[Any], run: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    rows = boots.samples_of_run(connection, run["id"])
    columns = series.columns_rows(connection, sorted({boot["columns_id"] for boot in rows}))
    known = series.series_rows(connection, sorted({each for held in columns.values() for each in held}))
    for boot in rows:
        for identity, value in zip(columns[boot["columns_id"]], boot["samples"], strict=True):
            row = known[identity]
            params = json.dumps(dict(row["params"]), separators=(",", ":"))
            where = (
                run["digest"],
                run["platform"],
                run["mode"],
                boot["arm"],
                boot["commit"],
                boot["number"],
                boot["stage"],
            )
            yield (*where, row["suite"], row["benchmark"], params, row["metric"], row["unit"], value)


def _json(rows: Sequence[tuple[Any, ...]]) -> bytes:
    objects = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    for each in objects:
        each["params"] = orjson.loads(each["params"])
    return orjson.dumps({"format": "cliffwatch-samples", "format_version": 1, "samples": objects})


def _csv(rows: Sequence[tuple[Any, ...]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows([_harmless(each) for each in row] for row in rows)
    return text.getvalue().encode()


def _harmless(value: Any) -> Any:
    """A name that a spreadsheet would take for a formula gets a quote before it."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _parquet(rows: Sequence[tuple[Any, ...]]) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 - a second to load, and only for this
    from pyarrow import parquet  # noqa: PLC0415

    kinds = {"boot": pa.int32(), "value": pa.float64()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])
    held = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
    table = pa.table([pa.array(column, schema.field(place).type) for place, column in enumerate(held)], schema=schema)
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


_WRITERS: Mapping[str, Callable[[Sequence[tuple[Any, ...]]], bytes]] = {"json": _json, "csv": _csv, "parquet": _parquet}
