"""Everything that a run recorded about the measurement of an arm, as texts by dotted names.

These facts are compared only if the user says which of them may differ.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cliffwatch.formats.boot_record import EnvironmentRecord
from cliffwatch.formats.reading import as_json
from cliffwatch.formats.run_record import ArmRecord, RunRecord

_OF_THE_MOMENT = frozenset(
    {"load_average", "available_kib", "swap_kib", "throttle", "steal_seconds", "parts", "tainted"}
)
"""Facts that change from one minute to the next."""

_OF_THE_KERNEL = frozenset({"kernel", "config_sha256", "config_from", "memory_kib", "vulnerabilities"})
"""Facts reported by a guest that depend on its kernel."""

_DEEPEST = 6
_LONGEST = 200


def record_settings(record: RunRecord, arm: ArmRecord) -> dict[str, str]:
    """Returns the facts in run.json: the arm's own settings, and the facts that all arms of the run share."""
    settings = arm.settings
    lengths = {f"{each.warmup}+{each.duration} s" for each in record.plan.cases if each.duration is not None}
    shared: dict[str, object] = {
        "settings": {
            "boot": [] if settings is None else list(settings.boot),
            "writes": {} if settings is None else dict(settings.writes),
            "config": [] if settings is None else list(settings.config),
        },
        "toolchain": arm.toolchain or record.toolchain,
        "guest": record.guest,
        "host": record.host,
        "profile": record.profile,
        "isolation": record.isolation,
        "bench": None
        if record.bench is None
        else {"fixed_seed": record.bench.fixed_seed, "source": record.bench.source_digest},
        "data": None if record.data is None else record.data.sha256,
        "cliffwatch": record.cliffwatch_version,
        "durations": sorted(lengths),
        "programs": {each.suite: each.source_digest for each in record.programs if each.ran_on(arm.name)},
        "modules": {
            name: version
            for each in record.programs
            if each.ran_on(arm.name)
            for name, version in each.modules.items()
        },
    }
    return dict(_texts("", {key: value for key, value in shared.items() if value is not None}, 0))


def guest_settings(environment: EnvironmentRecord) -> dict[str, str]:
    """Returns the facts that a guest reported about itself, without those that depend on its kernel."""
    known = {
        name: value
        for name, value in as_json(environment).items()
        if name not in _OF_THE_KERNEL and value is not None
    }
    known.pop("format_version", None)
    return dict(_texts("booted.", known, 0))


def _texts(prefix: str, content: Mapping[str, Any], depth: int) -> Iterator[tuple[str, str]]:
    for key, value in content.items():
        name = f"{prefix}{key}"
        if key in _OF_THE_MOMENT:
            continue
        if isinstance(value, dict) and value and depth < _DEEPEST:
            yield from _texts(f"{name}.", value, depth + 1)
        elif isinstance(value, list | tuple | dict):
            yield name, (", ".join(map(str, value)) or "none")[:_LONGEST]
        else:
            yield name, ("none" if value is None else str(value))[:_LONGEST]
