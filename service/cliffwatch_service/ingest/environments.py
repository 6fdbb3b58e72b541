"""Which runs measured under the same conditions: the identity of an environment, and its epoch."""

from collections.abc import Mapping
from typing import Any

from cliffwatch.identities import digest_of
from cliffwatch.results import comparable_environment
from cliffwatch_service.runtime.free_json import JsonObject

PASSING = frozenset(
    {"load_average", "available_kib", "throttle", "mhz", "cpu_mhz", "bogomips", "uptime", "steal_seconds"}
)
"""What changes from minute to minute and says nothing of the numbers; kept with the run, no part of any identity."""


def environment_facts(record: Mapping[str, Any]) -> JsonObject:
    """What of run.json stays the same while nobody changes the host, the tools or the guest."""
    facts = {name: record.get(name) for name in ("toolchain", "guest", "bench", "host", "config_digest")}
    return {name: _lasting(value) for name, value in facts.items() if value}


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _lasting(each) for name, each in value.items() if str(name).lower() not in PASSING}
    return [_lasting(each) for each in value] if isinstance(value, list) else value


def epoch_of(record: Mapping[str, Any]) -> str:
    """Equal where numbers may be compared: another config, compiler, bench source, guest, processor or microcode is another."""
    arm: Mapping[str, Any] = next(
        (arm for arm in record["arms"].values() if arm.get("facts", {}).get("config")), {"facts": {}}
    )
    known = comparable_environment(record, arm)
    known.setdefault("config", str(record.get("config_digest")))
    return digest_of(["epoch", record["mode"], known])
