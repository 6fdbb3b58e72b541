"""Reads run.json of every version. Older versions are converted to the current one."""

from typing import Any

from cliffwatch.formats.reading import convert_to, read_as, read_json
from cliffwatch.formats.run_record import FORMAT, FORMAT_VERSION, FREE_PARTS, RunRecord
from cliffwatch.formats.values import Part
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import is_rehearsal


class _Head(Part, frozen=True, kw_only=True):
    """The members that every version has."""

    format: str = ""
    format_version: int = 0


def read_run_record(content: bytes) -> RunRecord | Problem:
    """Reads run.json from its text."""
    head = read_as(content, _Head)
    if not isinstance(head, Problem) and (head.format, head.format_version) == (FORMAT, FORMAT_VERSION):
        record = read_as(content, RunRecord)
        return record if isinstance(record, Problem) else _check(record)
    raw = read_json(content)
    return raw if isinstance(raw, Problem) else run_record_of(raw)


def run_record_of(raw: Any) -> RunRecord | Problem:
    """Reads run.json from its decoded JSON."""
    if not isinstance(raw, dict):
        return Problem(reason="it holds no object")
    if raw.get("format") != FORMAT:
        return Problem(member="format", reason="it is not of Cliffwatch")
    version = raw.get("format_version")
    if version != FORMAT_VERSION or isinstance(version, bool):
        return Problem(
            member="format_version",
            reason=f"the results are of format {version}; this Cliffwatch reads format {FORMAT_VERSION}",
        )
    record = convert_to(raw, RunRecord)
    return record if isinstance(record, Problem) else _check(record)


def _check(record: RunRecord) -> RunRecord | Problem:
    """Checks the free parts, the platform, and that no two arms have the same name."""
    for name, kind in FREE_PARTS.items():
        facts = convert_to(getattr(record, name) or {}, kind)
        if isinstance(facts, Problem):
            return Problem(member=f"{name}.{facts.member}".strip("."), reason=facts.reason)
    accelerator = record.guest_facts.accelerator
    if accelerator is not None and (accelerator == "tcg") != is_rehearsal(record.platform):
        return Problem(
            member="platform",
            reason=f"{record.platform} cannot be the platform of a guest with accelerator {accelerator}",
        )
    names = [arm.name for arm in record.arms]
    return Problem(member="arms", reason="two arms have one name") if len(set(names)) < len(names) else record
