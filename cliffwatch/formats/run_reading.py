"""Reads run.json of every version. Older versions are converted to the current one."""

from typing import Any

from cliffwatch.formats.reading import Wrong, convert_to, read_as, read_json
from cliffwatch.formats.run_record import FORMAT, FORMAT_VERSION, FREE_PARTS, RunRecord
from cliffwatch.formats.values import Part


class _Head(Part, frozen=True, kw_only=True):
    """The members that every version has."""

    format: str = ""
    format_version: int = 0


def read_run_record(content: bytes) -> RunRecord | Wrong:
    """Reads run.json from its text."""
    head = read_as(content, _Head)
    if not isinstance(head, Wrong) and (head.format, head.format_version) == (FORMAT, FORMAT_VERSION):
        record = read_as(content, RunRecord)
        return record if isinstance(record, Wrong) else _check(record)
    raw = read_json(content)
    return raw if isinstance(raw, Wrong) else run_record_of(raw)


def run_record_of(raw: Any) -> RunRecord | Wrong:
    """Reads run.json from its decoded JSON."""
    if not isinstance(raw, dict):
        return Wrong("", "it holds no object")
    if raw.get("format") != FORMAT:
        return Wrong("format", "it is not of Cliffwatch")
    version = raw.get("format_version")
    if version != FORMAT_VERSION or isinstance(version, bool):
        return Wrong(
            "format_version",
            f"the results are of format {version}; this Cliffwatch reads format {FORMAT_VERSION}",
        )
    record = convert_to(raw, RunRecord)
    return record if isinstance(record, Wrong) else _check(record)


def _check(record: RunRecord) -> RunRecord | Wrong:
    """Checks the free parts, and that no two arms have the same name."""
    for name, kind in FREE_PARTS.items():
        facts = convert_to(getattr(record, name) or {}, kind)
        if isinstance(facts, Wrong):
            return Wrong(f"{name}.{facts.where}".strip("."), facts.message)
    names = [arm.name for arm in record.arms]
    return Wrong("arms", "two arms have one name") if len(set(names)) < len(names) else record
