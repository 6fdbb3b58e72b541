"""The identity of an environment and its epoch: which runs measured under the same conditions."""

from collections.abc import Iterator
from typing import Any

from cliffwatch.formats.host_facts import HostFacts
from cliffwatch.formats.reading import as_json, convert_to
from cliffwatch.formats.result_directory import comparable_environment
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.values import FreeJson
from cliffwatch.identities import digest_of
from cliffwatch.samples import Mode

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

    Another config, compiler, bench source or guest makes another epoch; in walltime also another processor,
    microcode, BIOS or kernel of the host.
    """
    built = next((arm for arm in record.arms if arm.facts.config is not None), None)
    known = comparable_environment(record, built)
    known.setdefault("config", str(record.config_digest))
    return digest_of(["epoch", record.mode, known])


def epoch_differences(before: FreeJson, after: FreeJson, mode: Mode) -> list[str]:
    """Returns what differs between the facts of two epochs, such as `microcode: 0x1, then 0x2`."""
    old, new = dict(_named_facts(before, mode)), dict(_named_facts(after, mode))
    return [
        f"{name}: {old.get(name, 'not recorded')}, then {new.get(name, 'not recorded')}"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]


def _named_facts(facts: FreeJson, mode: Mode) -> Iterator[tuple[str, str]]:
    host = convert_to(facts.get("host") or {}, HostFacts)
    if mode == "walltime" and isinstance(host, HostFacts):
        yield from host.machine().items()
    toolchain, bench = facts.get("toolchain") or {}, facts.get("bench") or {}
    compiler = toolchain.get("gcc") or toolchain.get("clang")
    for name, value in (
        ("compiler", compiler),
        ("config", str(facts.get("config_digest") or "")[:12]),
        ("bench", str(bench.get("source_digest") or "")[:12]),
    ):
        if value:
            yield name, str(value)
    for name, value in (facts.get("guest") or {}).items():
        yield f"guest {name}", str(value)[:200]
