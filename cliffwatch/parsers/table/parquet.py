"""Reads and writes the table as Parquet. pyarrow, the extra `parquet`, is loaded only on use.

A small untrusted Parquet file may expand to a huge table. Its metadata is checked against the limits before
it is read, and its content while it is read.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.parsers.table.columns import COLUMNS, FORMAT, FORMAT_VERSION, NAMES, NEEDED, TableRow
from cliffwatch.parsers.table.comma_separated import MOST_COLUMNS
from cliffwatch.parsers.table.reading import Table, TableReader

MOST_ROWS = 2_000_000
MOST_BYTES = 1 << 29
"""The largest size of all columns together, unpacked."""

MOST_READINGS = 20_000_000
_GROUP = 1 << 16
"""The usual number of rows in a row group.

Boots are collected until they have this many rows, or the readings below.
"""

_GROUP_READINGS = 1 << 18

_BATCH = 1 << 14


def has_parquet() -> bool:
    return find_spec("pyarrow") is not None


def no_parquet() -> Failure:
    return wrong_usage(
        "this Cliffwatch was installed without Parquet",
        "pip install 'cliffwatch[parquet]', or use --format csv",
    )


def write_parquet(file: IO[bytes] | Path, pieces: Iterable[list[TableRow]]) -> int:
    """Writes the rows and returns their number. Needs pyarrow.

    Holds at most about 65,000 rows (260,000 readings) in memory, plus those of one boot.
    """
    import pyarrow as pa  # noqa: PLC0415 - takes a second to load
    from pyarrow import parquet  # noqa: PLC0415

    schema, count = _schema(pa), 0
    dictionaries = [column.name for column in COLUMNS if column.kind in ("string", "object")]
    with parquet.ParquetWriter(file, schema, compression="zstd", use_dictionary=dictionaries) as writer:
        for rows in _gather_rows(pieces):
            columns = list(zip(*rows, strict=True))
            arrays = [_array(pa, column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(pa.table(arrays, schema=schema))
            count += len(rows)
    return count


def _array(pa: Any, column: Iterable[Any], type_: Any) -> Any:
    """Creates an array.

    Replaces lone surrogates, which a tree's text may contain but Parquet may not, with `?`.
    """
    try:
        return pa.array(column, type_)
    except UnicodeEncodeError:
        clean = (each if each is None else each.encode(errors="replace").decode() for each in column)
        return pa.array(list(clean), type_)


def _gather_rows(pieces: Iterable[list[TableRow]]) -> Iterator[list[TableRow]]:
    waiting: list[TableRow] = []
    readings = 0
    for rows in pieces:
        waiting += rows
        readings += sum(len(row.readings or ()) for row in rows)
        if len(waiting) >= _GROUP or readings >= _GROUP_READINGS:
            yield waiting
            waiting, readings = [], 0
    if waiting:
        yield waiting


def _schema(pa: Any) -> Any:
    kinds = {"number": pa.float64(), "integer": pa.int32(), "array": pa.list_(pa.float64())}
    about = {"format": FORMAT, "format_version": str(FORMAT_VERSION)}
    return pa.schema([(each.name, kinds.get(each.kind, pa.string())) for each in COLUMNS], metadata=about)


def read_parquet_table(content: bytes, name: str) -> Table | Failure:
    """Reads every row. Returns a Failure if the file is in another format, damaged or too large."""
    if not has_parquet():
        return no_parquet()
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    with _damage_as_failure(name) as failed:
        source = pa.BufferReader(content)
        about = parquet.read_metadata(source)
        source.seek(0)
        names = set(about.schema.to_arrow_schema().names)
        texts = [each.name for each in COLUMNS if each.kind in ("string", "object") and each.name in names]
        with parquet.ParquetFile(source, metadata=about, read_dictionary=texts, pre_buffer=False) as file:
            return _refuse_metadata(pa, name, file) or _read(name, file)
    return failed[0]


@contextmanager
def _damage_as_failure(name: str) -> Iterator[list[Failure]]:
    """Catches pyarrow's exceptions for a damaged file and appends a Failure to the list."""
    import pyarrow as pa  # noqa: PLC0415

    failed: list[Failure] = []
    try:
        yield failed
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        failed.append(_refuse_file(name, f"it is damaged: {str(error)[:200] or type(error).__name__}"))


def _refuse_file(name: str, reason: str) -> Failure:
    return wrong_usage(
        f"{name} cannot be read as Parquet: {reason}", "export the run again, a part of it (--arm), or as CSV"
    )


def _refuse_metadata(pa: Any, name: str, file: Any) -> Failure | None:
    """Refuses a file whose columns or sizes, by its metadata, cannot be read."""
    names = list(file.schema_arrow.names)
    if file.metadata.num_columns > MOST_COLUMNS:
        return _refuse_file(name, f"{file.metadata.num_columns} columns, at most {MOST_COLUMNS} are read")
    lacking = NEEDED - set(names)
    if lacking:
        return _refuse_file(name, f"it has no column {min(lacking)!r}")
    if any(names.count(each) > 1 for each in NAMES):
        return _refuse_file(name, "a column appears twice")
    version = (file.schema_arrow.metadata or {}).get(b"format_version", b"1").decode(errors="replace")
    if not version.isdecimal() or len(version) > 4 or int(version) > FORMAT_VERSION:
        return _refuse_file(
            name, f"it has format {version[:40]}; this Cliffwatch reads up to {FORMAT_VERSION}"
        )
    fields = [(field.name, field.type) for field in file.schema_arrow]
    kinds = {each.name: each.kind for each in COLUMNS}
    odd = [column for column, type_ in fields if column in kinds and not _fits(pa, type_, kinds[column])]
    if odd:
        return _refuse_file(name, f"column {odd[0]!r} has the wrong type")
    return _refuse_too_large(name, file.metadata)


def _refuse_too_large(name: str, about: Any) -> Failure | None:
    groups = [about.row_group(index) for index in range(about.num_row_groups)]
    cells = [group.column(place) for group in groups for place in range(group.num_columns)]
    rows = max(about.num_rows, sum(group.num_rows for group in groups))
    unpacked = sum(abs(each.total_uncompressed_size) for each in cells)
    if rows > MOST_ROWS:
        return _refuse_file(name, f"{count_noun(rows, 'row')}, at most {MOST_ROWS} are read")
    if unpacked > MOST_BYTES:
        return _refuse_file(name, f"it unpacks to {unpacked >> 20} MiB, at most {MOST_BYTES >> 20} are read")
    if any(each.num_values > MOST_READINGS for each in cells):
        return _refuse_file(name, f"a column of more than {MOST_READINGS} values")
    return None


def _fits(pa: Any, type_: Any, kind: str) -> bool:
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    if kind == "array":
        return bool(pa.types.is_list(type_) and pa.types.is_floating(type_.value_type))
    numeric = pa.types.is_floating(type_) or pa.types.is_integer(type_)
    return bool(
        numeric
        if kind in ("number", "integer")
        else pa.types.is_string(type_) or pa.types.is_large_string(type_)
    )


def _read(name: str, file: Any) -> Table | Failure:
    reader, line, size = TableReader(), 0, 0
    names = [name for name in NAMES if name in file.schema_arrow.names]
    for batch in file.iter_batches(batch_size=_BATCH, columns=names):
        size += batch.nbytes
        if line + batch.num_rows > MOST_ROWS or size > 4 * MOST_BYTES:
            return _refuse_file(name, "it holds more than its metadata says")
        columns = {name: _cells(batch.column(place)) for place, name in enumerate(batch.schema.names)}
        for cells in zip(*columns.values(), strict=True):
            line += 1
            reader.add(dict(zip(columns, cells, strict=True)), line)
    return reader.table()


def _cells(column: Any) -> list[Any]:
    """Returns a column's values. Repeated values of a dictionary column share one object."""
    dictionary = getattr(column, "dictionary", None)
    if dictionary is None:
        return list(column.to_pylist())
    known = dictionary.to_pylist()
    return [None if place is None else known[place] for place in column.indices.to_pylist()]
