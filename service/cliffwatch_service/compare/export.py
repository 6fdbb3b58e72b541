"""A run's samples in the formats that other tools read, boot by boot, so that no run is ever whole in memory."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from psycopg import Connection

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.formats.result_directory import arm_of_record, plan_order
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.values import FreeJson
from cliffwatch.identities import digest_of
from cliffwatch.parsers.table.columns import FORMAT, FORMAT_VERSION, NAMES, TableRow
from cliffwatch.parsers.table.comma_separated import csv_lines
from cliffwatch.parsers.table.parquet import has_parquet, write_parquet
from cliffwatch.parsers.table.rows import rows_of_arm
from cliffwatch.reports.exports.bencher import format_bencher
from cliffwatch.reports.exports.go_bench import go_bench_report, run_settings
from cliffwatch.reports.exports.kcidb import format_kcidb, reported_of_record
from cliffwatch.samples import CONTROL, Arm, Boot, CaseKey, Mode
from cliffwatch.tree_addresses import without_credentials
from cliffwatch_service.compare.analysis import load_arms
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
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Wanted:
    """One of MEDIA_TYPES' formats; of bmf which arm, None for the head or the only one; of kcidb who reports."""

    form: str
    arm: str | None = None
    origin: str = "cliffwatch"


@dataclass(frozen=True, slots=True)
class Exported:
    """`tag` is another one for another content; `pieces` can be read once."""

    tag: str
    pieces: Iterator[bytes]


def export_run(transaction: Transaction, folder: Path, digest: str, wanted: Wanted) -> Exported:
    """The samples of a run. What has to be a file first lies in `folder`. Raises Refusal."""
    if wanted.form == "parquet" and not has_parquet():
        detail = "this service was installed without Parquet: ask for csv or json (its operator: cliffwatch-service[parquet])"
        raise Refusal(501, "no Parquet here", detail)
    with transaction() as connection:
        run = runs.run_row(connection, digest)
        if run is None:
            raise not_found("run", digest)
        stored_boots = boots.boots_of(connection, run.id)
        names = [row.name for row in run_arms.arms_of(connection, run.id)]
    known = [(boot.number, boot.digest) for boot in stored_boots]
    tag = digest_of(["export", NAMES, wanted.form, wanted.arm, wanted.origin, run.record_digest, known])
    chosen = _arms_for(wanted, names)
    if wanted.form in _WHOLE:
        return Exported(tag, _whole(transaction, run, chosen, wanted))
    pieces = run_table(transaction, run, chosen)
    return Exported(tag, _parquet(pieces, folder) if wanted.form == "parquet" else _TEXTS[wanted.form](pieces))


def _arms_for(wanted: Wanted, names: Sequence[str]) -> list[str]:
    """Raises Refusal where the format has room for one arm and none is named."""
    if wanted.arm is not None and wanted.arm not in names:
        raise Refusal(422, "no such arm", f"the run has no arm {wanted.arm!r}: choose among {', '.join(names)}")
    if wanted.arm is not None:
        return [wanted.arm]
    if wanted.form == "bmf":
        one = ["head"] if "head" in names else list(names)
        if len(one) != 1:
            detail = f"Bencher Metric Format has room for one arm: name one of {', '.join(names)} (`arm`)"
            raise Refusal(422, "several arms", detail)
        return one
    return [name for name in names if wanted.form != "kcidb" or name != CONTROL]


def _whole(transaction: Transaction, run: RunRow, names: Sequence[str], wanted: Wanted) -> Iterator[bytes]:
    """Formats in which what is said first rests on all samples, so that all are read before the first is written."""
    with transaction() as connection:
        rows = [row for row in run_arms.arms_of(connection, run.id) if row.name in names]
        arms = [stored.arm for stored in load_arms(connection, [(run, row) for row in rows])]
    text = without_credentials(_WHOLE[wanted.form](arms, run, wanted)).encode(errors="replace")
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


def _go_bench(arms: Sequence[Arm], run: RunRow, _: Wanted) -> str:
    return go_bench_report(arms, load_catalogue().traits, settings=_settings(stored_record(run)))


def _bencher(arms: Sequence[Arm], _: RunRow, __: Wanted) -> str:
    return format_bencher(arms[0])


def _kcidb(arms: Sequence[Arm], run: RunRow, wanted: Wanted) -> str:
    return format_kcidb(arms, reported_of_record(stored_record(run), run.digest, wanted.origin), _decides)


def _decides(case: CaseKey, metric: str, unit: str, mode: Mode | None) -> bool:
    return load_catalogue().traits(case, metric, unit, mode).primary


def _settings(record: RunRecord) -> dict[str, str]:
    return run_settings(record.plan.notable, record.stages)


def run_table(
    transaction: Transaction, run: RunRow, arms: Sequence[str], *, leave_out: frozenset[str] = frozenset()
) -> Iterator[list[TableRow]]:
    """The rows of a run, arm by arm and boot by boot. Each boot is read in a transaction of its own: a slow client holds none
    open. Facts named in `leave_out` are not among what is known of an arm.
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
    """Reads boots of a run by their number; as a rule all have the same columns, which are read once."""

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
    """Without text that holds JSON; `params` are those that were read already, by their text."""
    known: FreeJson = dict(zip(NAMES, row, strict=True))
    if row.params not in params:
        params[row.params] = None if row.params is None else orjson.loads(row.params)
    known["params"] = params[row.params]
    if row.about is not None:
        known["about"] = orjson.loads(row.about)
    return known


def _parquet(pieces: Iterator[list[TableRow]], folder: Path) -> Iterator[bytes]:
    """The file is complete only with its last bytes, so that it lies on disk until then."""
    with tempfile.TemporaryFile(dir=folder) as file:
        write_parquet(file, pieces)
        file.seek(0)
        yield from iter(partial(file.read, _PIECE), b"")


_TEXTS: Mapping[str, Callable[[Iterator[list[TableRow]]], Iterator[bytes]]] = {"json": _json, "csv": csv_lines}
_WHOLE: Mapping[str, Callable[[Sequence[Arm], RunRow, Wanted], str]] = {
    "go-bench": _go_bench,
    "bmf": _bencher,
    "kcidb": _kcidb,
}
