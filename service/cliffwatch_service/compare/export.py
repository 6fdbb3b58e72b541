"""Exports a run's samples in formats that other tools read, one boot in memory at a time."""

import errno
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, overload

import orjson
from psycopg import Connection

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.counting import size_text
from cliffwatch.formats.result_directory import arm_of_record, plan_order
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.values import FreeJson
from cliffwatch.identities import digest_of
from cliffwatch.parsers.table.columns import FORMAT, FORMAT_VERSION, NAMES, TableRow
from cliffwatch.parsers.table.comma_separated import csv_lines
from cliffwatch.parsers.table.parquet import has_parquet, write_parquet
from cliffwatch.parsers.table.rows import rows_of_arm
from cliffwatch.reports.exports.bencher import bencher_pieces
from cliffwatch.reports.exports.go_bench import go_bench_pieces, run_settings
from cliffwatch.reports.exports.kcidb import build_report, kcidb_pieces
from cliffwatch.samples import AUXILIARY_ARMS, Arm, Boot, CaseKey, Mode
from cliffwatch.trees.addresses import without_credentials
from cliffwatch_service.ingest.boot_document import Columns, boot_of, columns_of
from cliffwatch_service.ingest.columns import keys_of
from cliffwatch_service.ingest.stored_records import stored_record
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import boots, run_arms, runs
from cliffwatch_service.store.runs import RunRow

MEDIA_TYPES = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "go-bench": "text/plain; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "bmf": "application/json",
    "kcidb": "application/json",
}


Transaction = Callable[[], AbstractContextManager[Connection[Any]]]
LARGEST_FILE = 512 << 20
_BYTES_A_SAMPLE = 200
"""Approximate size of a sample in JSON."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to export."""

    form: str
    """A key of MEDIA_TYPES."""
    arm: str | None = None
    """The only arm to export; None for all arms, and in bmf for head or the only arm."""
    origin: str = "cliffwatch"
    """Origin of a KCIDB report."""


@dataclass(frozen=True, slots=True)
class ExportDescription:
    """An export that can be made."""

    tag: str
    """Digest that changes with the content."""
    size: int
    """Approximate size in bytes."""


def describe_export(transaction: Transaction, digest: str, wanted: Wanted) -> ExportDescription:
    """Checks that an export is possible and returns its tag and size. Raises Refusal."""
    if wanted.form == "parquet" and not has_parquet():
        detail = (
            "this service was installed without Parquet: ask for csv or json (its operator:"
            " cliffwatch-service[parquet])"
        )
        raise Refusal(501, "no Parquet here", detail)
    with transaction() as connection:
        run = _run(connection, digest)
        stored_boots = boots.boots_of(connection, run.id)
        chosen = _arms_for(wanted, [row.name for row in run_arms.arms_of(connection, run.id)])
    known = [(boot.number, boot.digest) for boot in stored_boots]
    samples = sum(boot.samples for boot in stored_boots if boot.arm in chosen)
    tag = digest_of(["export", NAMES, wanted.form, wanted.arm, wanted.origin, run.record_digest, known])
    return ExportDescription(tag, samples * _BYTES_A_SAMPLE)


def write_export(transaction: Transaction, file: IO[bytes], digest: str, wanted: Wanted) -> None:
    """Writes an export, one boot in memory at a time. Raises Refusal."""
    with transaction() as connection:
        run = _run(connection, digest)
        chosen = _arms_for(wanted, [row.name for row in run_arms.arms_of(connection, run.id)])
        numbers = [(boot.number, boot.arm) for boot in boots.boots_of(connection, run.id)]
    if wanted.form == "parquet":
        write_parquet(file, run_table(transaction, run, chosen))
        _refuse_large(file.tell())
        return
    pieces: Iterator[bytes]
    if wanted.form in _WHOLE_RUN_FORMATS:
        texts = _write_whole_run(transaction, run, chosen, numbers, wanted)
        pieces = (without_credentials(text).encode(errors="replace") for text in texts)
    else:
        pieces = _TABLES[wanted.form](run_table(transaction, run, chosen))
    written = 0
    for piece in pieces:
        written += file.write(piece)
        _refuse_large(written)


def _refuse_large(size: int) -> None:
    if size > LARGEST_FILE:
        raise Refusal(
            413,
            "export too large",
            f"the export has more than {size_text(LARGEST_FILE)}: ask for one arm (`arm`)",
        )


def _run(connection: Connection[Any], digest: str) -> RunRow:
    run = runs.run_row(connection, digest)
    if run is None:
        raise not_found("run", digest)
    return run


def _arms_for(wanted: Wanted, names: Sequence[str]) -> list[str]:
    """Selects the arms to export. Raises Refusal if the format holds one arm and none is named."""
    if wanted.arm is not None and wanted.arm not in names:
        raise Refusal(
            422, "no such arm", f"the run has no arm {wanted.arm!r}: choose among {', '.join(names)}"
        )
    if wanted.arm is not None:
        return [wanted.arm]
    if wanted.form == "bmf":
        one = ["head"] if "head" in names else list(names)
        if len(one) != 1:
            detail = f"Bencher Metric Format has room for one arm: name one of {', '.join(names)} (`arm`)"
            raise Refusal(422, "several arms", detail)
        return one
    return [name for name in names if wanted.form != "kcidb" or name not in AUXILIARY_ARMS]


def _write_whole_run(
    transaction: Transaction,
    run: RunRow,
    names: Sequence[str],
    numbers: Sequence[tuple[int, str]],
    wanted: Wanted,
) -> Iterator[str]:
    """Writes a format whose first lines depend on all samples. Each pass over the samples reads the boots."""
    record = stored_record(run)
    read = _Boots(transaction, run, record)
    arms = [
        arm_of_record(
            record, record.arm_by_name[name], _ReadWhenNeeded(read, [n for n, arm in numbers if arm == name])
        )
        for name in names
    ]
    return _WHOLE_RUN_FORMATS[wanted.form](arms, run, wanted)


class _ReadWhenNeeded(Sequence[Boot]):
    """The boots of an arm, read on each access and never cached."""

    def __init__(self, read: Callable[[int], Boot], numbers: Sequence[int]) -> None:
        self._read, self._numbers = read, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> Boot: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Boot]: ...
    def __getitem__(self, index: int | slice) -> Boot | Sequence[Boot]:
        chosen = self._numbers[index]
        return self._read(chosen) if isinstance(chosen, int) else _ReadWhenNeeded(self._read, chosen)


def _go_bench(arms: Sequence[Arm], run: RunRow, _: Wanted) -> Iterator[str]:
    return go_bench_pieces(arms, load_catalogue().traits, _settings(stored_record(run)))


def _bencher(arms: Sequence[Arm], _: RunRow, __: Wanted) -> Iterator[str]:
    return bencher_pieces(arms[0])


def _kcidb(arms: Sequence[Arm], run: RunRow, wanted: Wanted) -> Iterator[str]:
    return kcidb_pieces(arms, build_report(stored_record(run), run.digest, wanted.origin), _decides)


def _decides(case: CaseKey, metric: str, unit: str, mode: Mode | None) -> bool:
    return load_catalogue().traits(case, metric, unit, mode).primary


def _settings(record: RunRecord) -> dict[str, str]:
    arms = [arm_of_record(record, arm, ()) for arm in record.arms]
    return run_settings(record.plan.notable, record.stages, arms=arms, layouts=record.layouts)


def run_table(
    transaction: Transaction, run: RunRow, arms: Sequence[str], *, leave_out: frozenset[str] = frozenset()
) -> Iterator[list[TableRow]]:
    """Yields the rows of a run, arm by arm and boot by boot, without the arms' facts named in `leave_out`.

    Each boot is read in its own transaction, so a slow client does not hold one open.
    """
    record = stored_record(run)
    settings, read = _settings(record), _Boots(transaction, run, record)
    with transaction() as connection:
        stored = boots.boots_of(connection, run.id)
    for name in arms:
        of_arm = (read(boot.number) for boot in stored if boot.arm == name)
        about = arm_of_record(record, record.arm_by_name[name], ())
        yield from rows_of_arm(run.digest, _public(about, leave_out), of_arm, settings)


def _public(arm: Arm, leave_out: frozenset[str]) -> Arm:
    facts = {fact: without_credentials(text) for fact, text in arm.facts.items() if fact not in leave_out}
    failure = None if arm.failure is None else without_credentials(arm.failure)
    return replace(arm, label=without_credentials(arm.label), facts=facts, failure=failure)


class _Boots:
    """Reads boots of a run by number. Boots usually share their columns, so the last columns are cached."""

    def __init__(self, transaction: Transaction, run: RunRow, record: RunRecord) -> None:
        self._transaction, self._run, self._order = transaction, run, plan_order(record)
        self._columns: dict[int, Columns] = {}

    def __call__(self, number: int) -> Boot:
        with self._transaction() as connection:
            stored = boots.whole_boot(connection, self._run.id, number)
            assert stored is not None
            identity = stored.columns_id
            if identity not in self._columns:
                keys = keys_of(connection, [identity])[identity]
                self._columns = {identity: columns_of(keys, self._order)}
        return boot_of(bytes(stored.content), self._columns[identity], stored.samples)


def _json(pieces: Iterator[list[TableRow]]) -> Iterator[bytes]:
    yield b'{"format":"%s","format_version":%d,"samples":[' % (FORMAT.encode(), FORMAT_VERSION)
    between = b""
    for rows in pieces:
        params: dict[str | None, Any] = {}
        yield between + orjson.dumps([_object(row, params) for row in rows])[1:-1]
        between = b","
    yield b"]}"


def _object(row: TableRow, params: dict[str | None, Any]) -> FreeJson:
    """Converts a row to an object and parses its JSON columns. `params` caches parsed params by text."""
    known: FreeJson = dict(zip(NAMES, row, strict=True))
    if row.params not in params:
        params[row.params] = None if row.params is None else orjson.loads(row.params)
    known["params"] = params[row.params]
    if row.about is not None:
        known["about"] = orjson.loads(row.about)
    return known


_TABLES: Mapping[str, Callable[[Iterator[list[TableRow]]], Iterator[bytes]]] = {
    "json": _json,
    "csv": csv_lines,
}
_WHOLE_RUN_FORMATS: Mapping[str, Callable[[Sequence[Arm], RunRow, Wanted], Iterator[str]]] = {
    "go-bench": _go_bench,
    "bmf": _bencher,
    "kcidb": _kcidb,
}


def export_file(transaction: Transaction, folder: Path, digest: str, wanted: Wanted) -> Path:
    """Writes an export to a new file in `folder`, which the caller removes. Raises Refusal."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix="export-", delete=False) as file:
        path = Path(file.name)
        try:
            write_export(transaction, file, digest, wanted)
        except BaseException as error:
            path.unlink()
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise Refusal(
                    507, "no room", "the service has no room for an export: ask again later"
                ) from None
            raise
    return path
