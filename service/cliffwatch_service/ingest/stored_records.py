"""Reads stored run.json records. Older services accepted parts that no runner writes."""

import msgspec
import orjson

from cliffwatch.formats.run_reading import run_record_of
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.values import FreeJson
from cliffwatch.parsers.readings import Problem
from cliffwatch_service.ingest.boot_document import unpack_content
from cliffwatch_service.store.runs import RunRow

_OPTIONAL = frozenset(field.encode_name for field in msgspec.structs.fields(RunRecord) if not field.required)


def stored_record(row: RunRow) -> RunRecord:
    """Returns the record of a run. Optional parts that do not fit today's types are left out."""
    raw: FreeJson = orjson.loads(unpack_content(bytes(row.record)))
    return fit_record(raw)


def fit_record(raw: FreeJson) -> RunRecord:
    """Reads a record without optional parts of other types.

    Raises ValueError if a required part does not fit.
    """
    record = run_record_of(raw)
    left = dict(raw)
    while isinstance(record, Problem):
        odd = record.member.partition(".")[0]
        if odd not in left or odd not in _OPTIONAL:
            raise ValueError(f"a stored run.json cannot be read: {record}")
        del left[odd]
        record = run_record_of(left)
    return record
