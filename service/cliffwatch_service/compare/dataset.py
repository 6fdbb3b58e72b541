"""Writes the public dataset: every sample of the runs that the service vouches for, as files in a folder.

Public runs are the runs of history: enrolled hosts made them for followed branches (docs/threat-model.md).
Names of hosts, people and tokens are left out. Memory holds at most one boot, one row group and the lists of
runs.
"""

import gzip
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import orjson

import cliffwatch
from cliffwatch.parsers.table.columns import TableRow, table_schema
from cliffwatch.parsers.table.comma_separated import csv_lines, csv_table
from cliffwatch.parsers.table.parquet import has_parquet, write_parquet
from cliffwatch_service.compare.dataset_package import (
    FILE,
    REVISION_FIELDS,
    RUN_FIELDS,
    SCHEMA_FILE,
    VERDICT_FIELDS,
    Contents,
    Part,
    hash_of,
    package,
    parts_of,
)
from cliffwatch_service.compare.export import Transaction, run_table
from cliffwatch_service.ingest.ingest import is_fully_uploaded
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import comparisons, database, run_arms, runs, trees
from cliffwatch_service.store.runs import HistoryRunRow

MOST_RUNS = 200
MOST_SAMPLES = 1_000_000
"""Most samples of a part. A larger run gets a part of its own."""

_NOT_PUBLIC = frozenset({"author"})
_WRITING = ".writing"

Row = Mapping[str, object]
"""A row of a table: values by field name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How to write a dataset."""

    form: str
    """`parquet` or `csv`."""
    licence: str
    """SPDX identifier; chosen by the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Summary of a written dataset."""

    kept: int
    """Parts left as they were."""
    written: int
    """Parts written by this update."""
    runs: int
    """Runs in all parts."""
    rows: int
    """Rows in all parts."""


def write_dataset(transaction: Transaction, folder: Path, wanted: Wanted, now: datetime) -> Written:
    """Updates the dataset of a folder to the runs that are public now.

    An interrupted update leaves the previous dataset intact. Raises Refusal or OSError.
    """
    if wanted.form == "parquet" and not has_parquet():
        raise Refusal(
            422,
            "no Parquet here",
            "this service was installed without Parquet: --format csv, or install"
            " cliffwatch-service[parquet]",
        )
    before = parts_of(folder, wanted.form)
    folder.mkdir(parents=True, exist_ok=True)
    public = _public_runs(transaction, {run for part in before if part.finished for run in part.runs})
    kept = [part for part in before if _stays(folder, part, public)]
    done = {run for part in kept for run in part.runs}
    waiting = [row for digest, row in public.items() if digest not in done]
    fresh = [
        _write_part(transaction, folder, wanted.form, len(kept) + number, group, finished=finished)
        for number, (group, finished) in enumerate(_groups(waiting), start=1)
    ]
    parts = [*kept, *fresh]
    _write_tables(transaction, folder, public, parts)
    _put(
        folder / SCHEMA_FILE,
        orjson.dumps(table_schema(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
    )
    with transaction() as connection:
        demonstration = database.is_demonstration(connection)
    contents = Contents(
        form=wanted.form,
        licence=wanted.licence,
        demonstration=demonstration,
        created=now.isoformat(),
        version=cliffwatch.__version__,
        parts=parts,
        tables={"runs.csv": RUN_FIELDS, "revisions.csv": REVISION_FIELDS, "verdicts.csv": VERDICT_FIELDS},
    )
    _put(folder / FILE, package(folder, contents))
    for gone in {part.path for part in before} - {part.path for part in parts}:
        with suppress(FileNotFoundError):
            (folder / gone).unlink()
    return Written(
        kept=len(kept),
        written=len(fresh),
        runs=sum(len(each.runs) for each in parts),
        rows=sum(each.rows for each in parts),
    )


def _public_runs(transaction: Transaction, known: set[str]) -> dict[str, HistoryRunRow]:
    """Returns the fully uploaded runs of history by digest, in the order in which they were stored.

    `known` runs are not checked again: a fully uploaded run stays so.
    """
    with transaction() as connection:
        listed = runs.history_runs(connection)
    public = {}
    for row in listed:
        if row.digest in known or _is_whole(transaction, row.id):
            public[row.digest] = row
    return public


def _is_whole(transaction: Transaction, run_id: int) -> bool:
    with transaction() as connection:
        run = runs.run_by_id(connection, run_id)
        return run is not None and is_fully_uploaded(connection, run)


def _stays(folder: Path, part: Part, public: Mapping[str, HistoryRunRow]) -> bool:
    """True if a part is full, its file has the recorded size and all of its runs are still public."""
    path = folder / part.path
    there = part.finished and path.is_file() and path.stat().st_size == part.bytes
    return there and all(run in public for run in part.runs)


def _groups(waiting: Sequence[HistoryRunRow]) -> Iterator[tuple[list[HistoryRunRow], bool]]:
    """Splits runs into parts. Yields the runs of each part and whether the part is full."""
    group: list[HistoryRunRow] = []
    samples = 0
    for row in waiting:
        if group and (len(group) >= MOST_RUNS or samples + row.samples > MOST_SAMPLES):
            yield group, True
            group, samples = [], 0
        group.append(row)
        samples += row.samples
    if group:
        yield group, len(group) >= MOST_RUNS


def _write_part(
    transaction: Transaction,
    folder: Path,
    form: str,
    number: int,
    group: Sequence[HistoryRunRow],
    *,
    finished: bool,
) -> Part:
    """Writes one part. Its file name contains a piece of its digest, so a published file never changes."""
    writing = folder / _WRITING
    pieces = _pieces(transaction, group)
    count = write_parquet(writing, pieces) if form == "parquet" else _write_csv(writing, pieces)
    digest, ending = hash_of(writing), "parquet" if form == "parquet" else "csv.gz"
    path = folder / f"samples-{number:04d}-{digest.removeprefix('sha256:')[:8]}.{ending}"
    size = writing.stat().st_size
    writing.replace(path)
    names = tuple(row.digest for row in group)
    return Part(path=path.name, bytes=size, hash=digest, rows=count, runs=names, finished=finished)


def _pieces(transaction: Transaction, group: Sequence[HistoryRunRow]) -> Iterator[list[TableRow]]:
    for row in group:
        with transaction() as connection:
            run = runs.run_by_id(connection, row.id)
            assert run is not None
            arms = [arm.name for arm in run_arms.arms_of(connection, row.id)]
        yield from run_table(transaction, run, arms, leave_out=_NOT_PUBLIC)


def _write_csv(path: Path, pieces: Iterator[list[TableRow]]) -> int:
    """Writes gzipped CSV and returns the number of rows.

    Equal rows give equal files: the gzip header holds neither a name nor a time.
    """
    count = 0

    def counted() -> Iterator[list[TableRow]]:
        nonlocal count
        for rows in pieces:
            count += len(rows)
            yield rows

    with path.open("wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        packed.writelines(csv_lines(counted()))
    return count


def _write_tables(
    transaction: Transaction, folder: Path, public: Mapping[str, HistoryRunRow], parts: Sequence[Part]
) -> None:
    """Writes the tables of runs, revisions and verdicts. They are small, so each update writes them whole."""
    of_run = {run: part.name for part in parts for run in part.runs}
    listed = [{"run": digest, **asdict(row), "part": of_run[digest]} for digest, row in public.items()]
    _put_pages(folder / "runs.csv", RUN_FIELDS, iter([listed]))
    _put_pages(folder / "revisions.csv", REVISION_FIELDS, _revisions(transaction, list(public)))
    _put_pages(folder / "verdicts.csv", VERDICT_FIELDS, _verdicts(transaction, list(public)))


def _revisions(transaction: Transaction, digests: Sequence[str]) -> Iterator[list[Row]]:
    after = 0
    while True:
        with transaction() as connection:
            rows = trees.revisions_of_runs(connection, digests, after)
        if not rows:
            return
        yield [{**asdict(row), "tree": row.tree_hash, "parents": " ".join(row.parents)} for row in rows]
        after = rows[-1].id


def _verdicts(transaction: Transaction, digests: Sequence[str]) -> Iterator[list[Row]]:
    after = (0, 0)
    while True:
        with transaction() as connection:
            rows = comparisons.verdicts_of_runs(connection, digests, after)
        if not rows:
            return
        yield [{**row._asdict(), "params": orjson.dumps(dict(row.params)).decode()} for row in rows]
        after = (rows[-1].comparison_id, rows[-1].series_id)


def _put_pages(path: Path, fields: Iterable[str], pages: Iterator[Sequence[Row]]) -> None:
    writing = path.with_name(_WRITING)
    with writing.open("wb") as file:
        file.write(csv_table([list(fields)]))
        for rows in pages:
            file.write(csv_table([[_plain(row[name]) for name in fields] for row in rows]))
    writing.replace(path)


def _plain(content: object) -> object:
    return content.isoformat() if isinstance(content, datetime) else content


def _put(path: Path, content: bytes) -> None:
    writing = path.with_name(_WRITING)
    writing.write_bytes(content)
    writing.replace(path)
