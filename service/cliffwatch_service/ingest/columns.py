"""Columns: the series of a boot's samples, in order.

Boots of one plan share them: a sample takes eight bytes.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from psycopg import Connection

from cliffwatch.columns import RowKey
from cliffwatch.formats.boot_record import SampleRecord
from cliffwatch.identities import case_digest, digest_of, series_digest
from cliffwatch.samples import CaseKey
from cliffwatch_service.ingest.boot_document import PlainKey
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import series
from cliffwatch_service.store.runs import RunRow

_MOST_KNOWN = 60_000
"""Most cached entries: cases and boots of plans, and samples of columns. Each takes about half a KiB."""

SampleKey = tuple[str, str, tuple[tuple[str, str], ...], str, str]
"""Suite, benchmark, parameters, metric and unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanIndex:
    """What boots are checked against."""

    cases: frozenset[PlainKey]
    boots: Mapping[int, tuple[str, int, str]]
    """Arm, block and stage of each boot, by its number."""


def _size(plan: PlanIndex) -> int:
    return len(plan.cases) + len(plan.boots)


class ColumnsCache:
    """Cache of the columns of runs and the plans of their records. Neither ever changes."""

    def __init__(self) -> None:
        self._columns: dict[str, tuple[int, Mapping[SampleKey, int]]] = {}
        self._plans: dict[str, PlanIndex] = {}
        self._lock = threading.Lock()

    def plan(self, record: str) -> PlanIndex | None:
        """Returns the plan of a record, by the record's digest; None if it is not cached."""
        return self._plans.get(record)

    def keep_plan(self, record: str, plan: PlanIndex) -> None:
        with self._lock:
            if sum(map(_size, (*self._plans.values(), plan))) > _MOST_KNOWN:
                self._plans.clear()
            self._plans[record] = plan

    def columns(self, run: str) -> tuple[int, Mapping[SampleKey, int]] | None:
        """Returns the columns of the run's last boot: their id and the position of each sample.

        None if they are not cached.
        """
        return self._columns.get(run)

    def keep_columns(self, run: str, identity: int, keys: Sequence[SampleKey]) -> None:
        with self._lock:
            if sum(len(positions) for _, positions in self._columns.values()) + len(keys) > _MOST_KNOWN:
                self._columns.clear()
            self._columns[run] = identity, {key: position for position, key in enumerate(keys)}


def columns_for(
    connection: Connection[Any], known: ColumnsCache, run: RunRow, samples: Sequence[SampleRecord]
) -> tuple[int, list[SampleRecord]]:
    """Returns the id of the samples' columns, and the samples in column order.

    Raises Refusal for a repeated series. Each boot runs its cases in another order, so its samples are sorted
    first. This is skipped if the run's last boot had the same columns, as usual.
    """
    keys = [
        (each.suite, each.benchmark, tuple(each.params.items()), each.metric, each.unit) for each in samples
    ]
    last = known.columns(run.digest)
    if last is not None and len(last[1]) == len(keys):
        positions = [last[1].get(key, -1) for key in keys]
        if len(set(positions)) == len(positions) and -1 not in positions:
            of_position = dict(zip(positions, samples, strict=True))
            return last[0], [of_position[position] for position in range(len(samples))]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    _refuse_doubles([keys[position] for position in order])
    return _store_columns(connection, known, run, [keys[position] for position in order]), [
        samples[position] for position in order
    ]


def keys_of(connection: Connection[Any], columns: Sequence[int]) -> dict[int, list[RowKey]]:
    """Returns case, metric and unit of each column, by the id of the columns."""
    series_of = series.columns_rows(connection, sorted(set(columns)))
    known = series.series_rows(connection, sorted({each for ids in series_of.values() for each in ids}))
    cases = {
        identity: CaseKey(row.suite, row.benchmark, tuple((name, value) for name, value in row.params))
        for identity, row in known.items()
    }
    return {
        number: [RowKey(cases[each], known[each].metric, known[each].unit) for each in ids]
        for number, ids in series_of.items()
    }


def _refuse_doubles(keys: Sequence[tuple[Any, ...]]) -> None:
    for one, other in pairwise(keys):
        if one == other:
            raise Refusal(
                422,
                "a sample twice",
                f"metric {one[3]!r} of {CaseKey(*one[:3])} appears twice: send one sample of it per boot",
            )


def _store_columns(
    connection: Connection[Any], known: ColumnsCache, run: RunRow, keys: Sequence[SampleKey]
) -> int:
    """Stores columns and returns their id.

    Caches only columns stored before: this transaction may roll back.
    """
    rows = [_row(run, *key) for key in keys]
    digest = digest_of(["columns", [row.digest for row in rows]])
    stored = series.columns_named(connection, digest)
    if stored is not None:
        known.keep_columns(run.digest, stored, keys)
        return stored
    ids = series.keep_series(connection, rows)
    return series.keep_columns(connection, digest, [ids[row.digest] for row in rows])


def _row(
    run: RunRow, suite: str, benchmark: str, params: tuple[tuple[str, str], ...], metric: str, unit: str
) -> series.SeriesFacts:
    case = CaseKey(suite, benchmark, params)
    return series.SeriesFacts(
        digest=series_digest(case, metric, unit, run.platform, run.mode),
        case_digest=case_digest(case),
        suite=suite,
        benchmark=benchmark,
        params=params,
        name=str(case),
        metric=metric,
        unit=unit,
        platform=run.platform,
        mode=run.mode,
    )
