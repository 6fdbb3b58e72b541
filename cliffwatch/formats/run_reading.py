"""Reads run.json of every version: what an older one wrote differently is put into the form of today."""

from typing import Any, get_args

from cliffwatch.formats.reading import Wrong, converted, read_as, read_json
from cliffwatch.formats.run_record import FORMAT, FORMAT_VERSION, FREE_PARTS, RunRecord
from cliffwatch.formats.values import Part, Party

_TEXTS = ("message", "next_step", "evidence")


class _Head(Part, frozen=True, kw_only=True):
    """What every version begins with."""

    format: str = ""
    format_version: int = 0


def read_run_record(content: bytes) -> RunRecord | Wrong:
    """run.json from its text."""
    head = read_as(content, _Head)
    if not isinstance(head, Wrong) and head.format == FORMAT and head.format_version == FORMAT_VERSION:
        record = read_as(content, RunRecord)
        return record if isinstance(record, Wrong) else _checked(record)
    raw = read_json(content)
    return raw if isinstance(raw, Wrong) else run_record_of(raw)


def run_record_of(raw: Any) -> RunRecord | Wrong:
    """run.json from what its JSON holds."""
    if not isinstance(raw, dict):
        return Wrong("", "it holds no object")
    if raw.get("format") != FORMAT:
        return Wrong("format", "it is not of Cliffwatch")
    version = raw.get("format_version")
    if version not in (1, FORMAT_VERSION) or isinstance(version, bool):
        return Wrong(
            "format_version",
            f"the results are of format {version}; this Cliffwatch reads up to {FORMAT_VERSION}",
        )
    try:
        record = converted(_of_today(raw) if version == 1 else raw, RunRecord)
    except (TypeError, AttributeError, KeyError, ValueError) as error:
        return Wrong("", f"it is not as version 1 was: {error!r}")
    return record if isinstance(record, Wrong) else _checked(record)


def _checked(record: RunRecord) -> RunRecord | Wrong:
    """What must be so in its free parts, and that no two arms have one name."""
    for name, kind in FREE_PARTS.items():
        facts = converted(getattr(record, name) or {}, kind)
        if isinstance(facts, Wrong):
            return Wrong(f"{name}.{facts.where}".strip("."), facts.message)
    names = [arm.name for arm in record.arms]
    return Wrong("arms", "two arms have one name") if len(set(names)) < len(names) else record


def _of_today(raw: dict[str, Any]) -> dict[str, Any]:
    """Version 1: arms were an object by name, guests had one shape a run, and imported files left members out."""
    plan = raw["plan"]
    guest = _guest(raw.get("guest"))
    return {
        **raw,
        "format_version": FORMAT_VERSION,
        "arms": [
            {**arm, "name": name, "failure": _failure(arm.get("failure"))}
            for name, arm in raw["arms"].items()
        ],
        "plan": {
            **plan,
            "cases": [{"argv": [], **case, "guest": guest} for case in plan["cases"]],
        },
    }


def _guest(guest: Any) -> dict[str, Any] | None:
    if not isinstance(guest, dict) or not isinstance(guest.get("cpus"), int):
        return None
    return {"cpus": guest["cpus"], "memory_mib": guest.get("memory_mib")}


def _failure(failure: Any) -> dict[str, str] | None:
    """Services of old took failures that lacked texts."""
    if not failure:
        return None
    fields = failure if isinstance(failure, dict) else {}
    whose = next((each for each in get_args(Party) if each == fields.get("whose")), "")
    return {"whose": whose, **{name: str(fields.get(name) or "") for name in _TEXTS}}
