"""The identity of an environment and its epoch: which runs measured under the same conditions."""

from typing import Any

from cliffwatch.formats.reading import as_json
from cliffwatch.formats.result_directory import comparable_environment
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.values import FreeJson
from cliffwatch.identities import digest_of

VOLATILE_FACTS = frozenset(
    {"load_average", "available_kib", "throttle", "mhz", "cpu_mhz", "bogomips", "uptime", "steal_seconds"}
)
"""Facts that change all the time and do not affect results: stored with the run, part of no identity."""


def environment_facts(record: RunRecord) -> FreeJson:
    """Returns the part of run.json that changes only with the host, the tools or the guest."""
    facts = {
        "toolchain": record.toolchain,
        "guest": record.guest,
        "bench": as_json(record.bench),
        "host": record.host,
        "config_digest": record.config_digest,
    }
    return {name: _drop_volatile(value) for name, value in facts.items() if value}


def _drop_volatile(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _drop_volatile(each)
            for name, each in value.items()
            if str(name).lower() not in VOLATILE_FACTS
        }
    return [_drop_volatile(each) for each in value] if isinstance(value, list) else value


def epoch_of(record: RunRecord) -> str:
    """Returns the epoch of a run. Numbers may be compared if their epochs are equal.

    Another config, compiler, bench source, guest, processor or microcode makes another epoch.
    """
    built = next((arm for arm in record.arms if arm.facts.config is not None), None)
    known = comparable_environment(record, built)
    known.setdefault("config", str(record.config_digest))
    return digest_of(["epoch", record.mode, known])
