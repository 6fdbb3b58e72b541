"""run.json as it is stored, fit for reading: older services took parts of it that no runner writes."""

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from cliffwatch_service.ingest.boot_document import unpacked
from cliffwatch_service.ingest.uploads import PARTS, RunParts
from cliffwatch_service.store.runs import RunRow

_FAILURE = ("whose", "message", "next_step", "evidence")


def stored_record(row: RunRow) -> dict[str, Any]:
    """The record of a run's row. Parts that are none of today's types are left out, as a record may leave them out; a failure
    has all its texts, empty where it lacks one.
    """
    record: dict[str, Any] = orjson.loads(unpacked(row.record))
    odd = _odd_parts({name: record[name] for name in RunParts.__annotations__ if name in record})
    fit = {name: value for name, value in record.items() if name not in odd}
    fit["arms"] = {
        name: {**arm, "failure": _failure(arm["failure"])} if "failure" in arm else arm
        for name, arm in record["arms"].items()
    }
    return fit


def _odd_parts(parts: Mapping[str, Any]) -> set[Any]:
    try:
        PARTS.validate_python(parts, strict=True)
    except ValidationError as error:
        return {each["loc"][0] for each in error.errors(include_url=False, include_input=False, include_context=False)}
    return set()


def _failure(failure: Any) -> dict[str, Any] | None:
    if not failure:
        return None
    fields = failure if isinstance(failure, dict) else {}
    return {**fields, **{name: str(fields.get(name) or "") for name in _FAILURE}}
