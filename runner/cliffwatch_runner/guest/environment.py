"""Reads the guest's half of an environment record from the agent's facts."""

import hashlib
import re
from collections.abc import Mapping
from typing import Literal

from cliffwatch.formats.boot_record import EnvironmentRecord

_HEADING = re.compile(r"==> (/\S+) <==")
_PROCESSOR = re.compile(r"(?m)^processor")
_MEMORY = re.compile(r"MemTotal:[ \t]+(\d{1,18})")
_STOLEN = re.compile(r"(?m)^cpu +(?:\d{1,20} +){7}(\d{1,18})")
_CLOCK_TICKS_PER_SECOND = 100


def parse_facts(text: str) -> Mapping[str, str]:
    """Parses the agent's `facts` file into content by path. Accepts any text.

    `head` wrote it: each file follows a line `==> path <==`.
    """
    facts: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        heading = _HEADING.fullmatch(line)
        if heading:
            current = facts.setdefault(heading[1], [])
        elif current is not None:
            current.append(line)
    return {path: "\n".join(lines).strip() for path, lines in facts.items()}


def guest_environment(
    facts_text: str, config: str, config_from: str, stat_after: str, *, parts: int
) -> EnvironmentRecord:
    """Builds the environment record of one boot (docs/formats.md). Facts that the guest lacks are None.

    `parts`: starts of the guest in this boot.
    `config`: the kernel's configuration.
    `config_from`: its source, the kernel itself (/proc/config.gz) or its package.
    `stat_after`: the guest's /proc/stat after the last case.
    """
    facts = parse_facts(facts_text)
    cpu = _first_processor(facts.get("/proc/cpuinfo", ""))
    return EnvironmentRecord(
        parts=parts,
        kernel=facts.get("/proc/version"),
        command_line=facts.get("/proc/cmdline"),
        cpu_model=cpu.get("model name"),
        cpu_flags_hypervisor="hypervisor" in cpu.get("flags", "").split(),
        microcode=cpu.get("microcode"),
        cpus=len(_PROCESSOR.findall(facts.get("/proc/cpuinfo", ""))) or None,
        memory_kib=_number(facts.get("/proc/meminfo", ""), _MEMORY),
        clocksource=facts.get("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        root_file_system=_root_file_system(facts.get("/proc/mounts", "")),
        host_bridge=facts.get("/sys/bus/pci/devices/0000:00:00.0/device"),
        bpf_jit_enable=facts.get("/proc/sys/net/core/bpf_jit_enable"),
        bpf_jit_harden=facts.get("/proc/sys/net/core/bpf_jit_harden"),
        bpf_stats_enabled=facts.get("/proc/sys/kernel/bpf_stats_enabled"),
        randomize_va_space=facts.get("/proc/sys/kernel/randomize_va_space"),
        transparent_hugepage=facts.get("/sys/kernel/mm/transparent_hugepage/enabled"),
        lsm=facts.get("/sys/kernel/security/lsm"),
        tainted=facts.get("/proc/sys/kernel/tainted"),
        load_average=facts.get("/proc/loadavg"),
        vulnerabilities=_vulnerabilities(facts),
        config_sha256=hashlib.sha256(config.encode()).hexdigest() if config else None,
        config_from=_config_from(config_from.strip()),
        steal_seconds=_steal(facts.get("/proc/stat", ""), stat_after),
    )


def _config_from(text: str) -> Literal["kernel", "package"] | None:
    match text:
        case "kernel" | "package":
            return text
        case _:
            return None


def _first_processor(cpuinfo: str) -> dict[str, str]:
    block = cpuinfo.split("\n\n", 1)[0]
    pairs = (line.partition(":") for line in block.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _root_file_system(mounts: str) -> str | None:
    rows = (line.split() for line in mounts.splitlines())
    return next((row[2] for row in rows if len(row) > 2 and row[1] == "/"), None)


def _vulnerabilities(facts: Mapping[str, str]) -> dict[str, str]:
    folder = "/sys/devices/system/cpu/vulnerabilities/"
    return {
        path.removeprefix(folder): text for path, text in sorted(facts.items()) if path.startswith(folder)
    }


def _number(text: str, pattern: re.Pattern[str]) -> int | None:
    match = pattern.search(text)
    return int(match[1]) if match else None


def _steal(before: str, after: str) -> float | None:
    """Returns the guest's steal time in seconds between two /proc/stat (eighth number of the `cpu` line)."""
    ticks = [_number(text, _STOLEN) for text in (before, after)]
    if ticks[0] is None or ticks[1] is None:
        return None
    return (ticks[1] - ticks[0]) / _CLOCK_TICKS_PER_SECOND
