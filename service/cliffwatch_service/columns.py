"""Columns: which series the samples of a boot are of. Boots of one plan share them, so that a sample costs eight bytes."""

import threading
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from psycopg import Connection

from cliffwatch.identities import case_digest, digest_of, series_digest
from cliffwatch.samples import CaseKey
from cliffwatch_service.boot_document import Key
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import series

_MOST_KNOWN = 1000

Plan = frozenset[tuple[str, str, tuple[tuple[str, str], ...]]]
"""Suite, benchmark and parameters of each case."""


class ColumnsKnown:
    """Ids of columns by what they hold, as this process has seen them; columns never change and never go."""

    def __init__(self) -> None:
        self._ids: dict[int, tuple[tuple[Any, ...], int]] = {}
        self._plans: dict[str, Plan] = {}
        self._lock = threading.Lock()

    def plan(self, run: str) -> Plan | None:
        return self._plans.get(run)

    def keep_plan(self, run: str, cases: Plan) -> None:
        """The cases of a run's plan, which are part of its identity."""
        with self._lock:
            if len(self._plans) >= _MOST_KNOWN:
                self._plans.clear()
            self._plans[run] = cases

    def find(self, content: tuple[Any, ...]) -> int | None:
        held = self._ids.get(hash(content))
        return held[1] if held is not None and held[0] == content else None

    def keep(self, content: tuple[Any, ...], identity: int) -> None:
        with self._lock:
            if len(self._ids) >= _MOST_KNOWN:
                self._ids.clear()
            self._ids[hash(content)] = content, identity


def columns_for(
    connection: Connection[Any], known: ColumnsKnown, run: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]
) -> tuple[int, list[Mapping[str, Any]]]:
    """The id of the samples' columns, and the samples in its order. Raises Refusal for a series that is there twice.

    Columns go in the order in which samples came: boots run their cases in an order of their own, so they are sorted first.
    """
    keyed = sorted(
        ((each["suite"], each["benchmark"], tuple(each["params"].items()), each["metric"], each["unit"]), place)
        for place, each in enumerate(samples)
    )
    content = (run["platform"], run["mode"], *(key for key, _ in keyed))
    identity = known.find(content)
    if identity is None:
        _refuse_doubles(content[2:])
        identity = _kept(connection, known, run, content)
    return identity, [samples[place] for _, place in keyed]


def keys_of(connection: Connection[Any], columns: Sequence[int]) -> dict[int, list[Key]]:
    """Case, metric and unit of each column, by the columns' id."""
    held = series.columns_rows(connection, sorted(set(columns)))
    known = series.series_rows(connection, sorted({each for ids in held.values() for each in ids}))
    cases = {
        identity: CaseKey(row["suite"], row["benchmark"], tuple((name, value) for name, value in row["params"]))
        for identity, row in known.items()
    }
    return {
        number: [(cases[each], known[each]["metric"], known[each]["unit"]) for each in ids]
        for number, ids in held.items()
    }


def _refuse_doubles(keys: Sequence[tuple[Any, ...]]) -> None:
    for one, other in pairwise(keys):
        if one == other:
            raise Refusal(
                422,
                "a sample twice",
                f"metric {one[3]!r} of {CaseKey(*one[:3])} is there twice: a boot has one sample of it",
            )


def _kept(connection: Connection[Any], known: ColumnsKnown, run: Mapping[str, Any], content: tuple[Any, ...]) -> int:
    """Remembered only when found: what this transaction makes could yet go with it."""
    rows = [_row(run, *key) for key in content[2:]]
    digest = digest_of(["columns", [row.digest for row in rows]])
    found = series.columns_named(connection, digest)
    if found is not None:
        known.keep(content, found)
        return found
    ids = series.keep_series(connection, rows)
    return series.keep_columns(connection, digest, [ids[row.digest] for row in rows])


def _row(
    run: Mapping[str, Any], suite: str, benchmark: str, params: tuple[tuple[str, str], ...], metric: str, unit: str
) -> series.SeriesRow:
    case = CaseKey(suite, benchmark, params)
    return series.SeriesRow(
        digest=series_digest(case, metric, unit, run["platform"], run["mode"]),
        case_digest=case_digest(case),
        suite=suite,
        benchmark=benchmark,
        params=params,
        name=str(case),
        metric=metric,
        unit=unit,
        platform=run["platform"],
        mode=run["mode"],
    )
