"""A run's samples in the formats that other tools read, boot by boot, so that no run is ever whole in memory."""

import csv
import io
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson
from psycopg import Connection

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.identities import digest_of
from cliffwatch.reports.go_bench import go_bench_report, run_settings
from cliffwatch.results import notable_of, stages_from_json
from cliffwatch_service.compare.analysis import load_arm
from cliffwatch_service.ingest.stored_records import stored_record
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import boots, run_arms, runs, series
from cliffwatch_service.store.runs import RunRow

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


Transaction = Callable[[], AbstractContextManager[Connection[Any]]]
Rows = list[tuple[Any, ...]]
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Exported:
    """`tag` is another one for another content; `pieces` can be read once."""

    tag: str
    pieces: Iterator[bytes]


def export_run(transaction: Transaction, folder: Path, digest: str, form: str) -> Exported:
    """The samples of a run in one of MEDIA_TYPES' formats. What has to be a file first lies in `folder`. Raises Refusal."""
    if form == "parquet" and find_spec("pyarrow") is None:
        detail = "this service was installed without Parquet: ask for csv or json (its operator: cliffwatch-service[parquet])"
        raise Refusal(501, "no Parquet here", detail)
    with transaction() as connection:
        run = runs.run_row(connection, digest)
        if run is None:
            raise not_found("run", digest)
        stored_boots = boots.boots_of(connection, run.id)
    tag = digest_of(["export", form, run.record_digest, [(boot.number, boot.digest) for boot in stored_boots]])
    if form == "go-bench":
        return Exported(tag, _go_bench(transaction, run))
    rows = _rows_by_boot(transaction, run, [boot.number for boot in stored_boots])
    return Exported(tag, _parquet(rows, folder) if form == "parquet" else _TEXTS[form](rows))


def _go_bench(transaction: Transaction, run: RunRow) -> Iterator[bytes]:
    """Its units stand before everything else, so that all samples are read before the first is written."""
    with transaction() as connection:
        arms = [load_arm(connection, run, row).arm for row in run_arms.arms_of(connection, run.id)]
    record = stored_record(run)
    settings = run_settings(notable_of(record), stages_from_json(record["plan"].get("stages")))
    text = go_bench_report(arms, load_catalogue().traits, settings=settings).encode()
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


def _rows_by_boot(transaction: Transaction, run: RunRow, numbers: Sequence[int]) -> Iterator[Rows]:
    """Each boot is read in a transaction of its own: a slow client holds none open."""
    known: dict[int, Rows] = {}
    for number in numbers:
        with transaction() as connection:
            boot = boots.samples_of_boot(connection, run.id, number)
            if boot.columns_id not in known:
                known = {boot.columns_id: _columns(connection, boot.columns_id)}  # as a rule all boots have the same
        where = (run.digest, run.platform, run.mode, boot.arm, boot.commit, number, boot.stage)
        columns = known[boot.columns_id]
        yield [(*where, *column, value) for column, value in zip(columns, boot.samples, strict=True)]


def _columns(connection: Connection[Any], identity: int) -> Rows:
    """What the samples of a boot are of: the columns from `suite` to `unit`."""
    ids = series.columns_rows(connection, [identity])[identity]
    known = series.series_rows(connection, sorted(set(ids)))
    return [
        (
            row.suite,
            row.benchmark,
            json.dumps(dict(row.params), separators=(",", ":")),
            row.metric,
            row.unit,
        )
        for row in (known[each] for each in ids)
    ]


def _json(boots_rows: Iterator[Rows]) -> Iterator[bytes]:
    yield b'{"format":"cliffwatch-samples","format_version":1,"samples":['
    between = b""
    for rows in boots_rows:
        objects = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
        for each in objects:
            each["params"] = orjson.loads(each["params"])
        if objects:
            yield between + orjson.dumps(objects)[1:-1]
            between = b","
    yield b"]}"


def _csv(boots_rows: Iterator[Rows]) -> Iterator[bytes]:
    yield _csv_lines([COLUMNS])
    for rows in boots_rows:
        yield _csv_lines([[_harmless(each) for each in row] for row in rows])


def _csv_lines(rows: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _harmless(value: Any) -> Any:
    """A name that a spreadsheet would take for a formula gets a quote before it."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _parquet(boots_rows: Iterator[Rows], folder: Path) -> Iterator[bytes]:
    """A row group a boot; the file is complete only with its last bytes, so that it lies on disk until then."""
    import pyarrow as pa  # noqa: PLC0415 - a second to load, and only for this
    from pyarrow import parquet  # noqa: PLC0415

    kinds = {"boot": pa.int32(), "value": pa.float64()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])
    with tempfile.TemporaryFile(dir=folder) as file:
        with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            for rows in boots_rows:
                columns = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
                arrays = [pa.array(column, schema.field(index).type) for index, column in enumerate(columns)]
                writer.write_table(pa.table(arrays, schema=schema))
        file.seek(0)
        while piece := file.read(_PIECE):
            yield piece


_TEXTS: Mapping[str, Callable[[Iterator[Rows]], Iterator[bytes]]] = {"json": _json, "csv": _csv}
