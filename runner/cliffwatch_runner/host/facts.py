"""Reads the host's facts for the environment record from /proc and /sys."""

import re
from collections.abc import Mapping
from pathlib import Path

from cliffwatch.samples import DEFAULT_ACCEL, REHEARSAL_PLATFORM, Accel, Mode

_CHOSEN = re.compile(r"(?:\S+ )*\[(\S+)\](?: \S+)*")
_KIB = re.compile(r"(?m)^(\w+):[^\S\n]+(\d{1,18}) kB")
_NO_NAME = re.compile(r"[^a-z0-9]+")
_CPUS = "sys/devices/system/cpu"
_ONE_LINE = 4096


def host_record(root: Path = Path("/")) -> dict[str, object]:
    """Returns the host's half of an environment record, ready for JSON (docs/host.md).

    Facts that the host does not show are None.
    """
    return {
        "cpu": _cpu(root),
        "hypervisor": "hypervisor" in _first_processor(root).get("flags", "").split(),
        "vulnerabilities": _folder(root / _CPUS / "vulnerabilities"),
        "kernel": _kernel(root),
        "frequency": _frequency(root),
        "smt": read_line(root / _CPUS / "smt/control"),
        "idle": _idle(root),
        "isolation": {name: read_line(root / _CPUS / name) for name in ("isolated", "nohz_full")},
        "numa": _numa(root),
        "dmi": _dmi(root),
        "memory": _memory(root),
        "clocksource": read_line(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "load_average": _load_average(root),
        "throttle": throttle_counters(root),
    }


def throttle_counters(root: Path = Path("/")) -> dict[str, int | None]:
    """Returns how often heat has throttled this host since it started.

    `core` is the sum over cores, `package` the maximum over packages; None if the processor does not count it
    (AMD). A difference between before and after a boot means that the boot was throttled. Source:
    Documentation/ABI/testing/sysfs-devices-system-cpu, `thermal_throttle`.
    """

    def counts(name: str) -> list[int]:
        texts = (read_line(path) for path in (root / _CPUS).glob(f"cpu[0-9]*/thermal_throttle/{name}"))
        return [int(text) for text in texts if text is not None and text.isdigit()]

    core, package = counts("core_throttle_count"), counts("package_throttle_count")
    # Every CPU of a package shows the count of the package, so a sum would count one event many times.
    return {"core": sum(core) if core else None, "package": max(package) if package else None}


NAMED_PLATFORMS = frozenset({"emulated-x86-64", "amd-rome", "intel-skylake"})
"""Platforms with a short name in `platform_name`."""


def platform_name(record: Mapping[str, object], mode: Mode, accel: Accel = DEFAULT_ACCEL) -> str:
    """Returns the host's platform, which is part of a series' key. Guests under icount are one platform on
    all hosts, those of rehearsals another.

    Two processors have short names: AMD Rome (family 23, model 49) and Intel Skylake (family 6, models 78
    and 94, and 85 up to stepping 4: later steppings are Cascade Lake). Others are named by vendor, family
    and model.
    """
    if mode == "icount":
        return "emulated-x86-64"
    if accel == "tcg":
        return REHEARSAL_PLATFORM
    cpu = record["cpu"]
    assert isinstance(cpu, Mapping), "a host record has a cpu"
    match (cpu["vendor"], cpu["family"], cpu["model"], cpu["stepping"]):
        case ("AuthenticAMD", 23, 49, _):
            return "amd-rome"
        case ("GenuineIntel", 6, 78 | 94, _) | ("GenuineIntel", 6, 85, 0 | 1 | 2 | 3 | 4):
            return "intel-skylake"
        case (str(vendor), int(family), int(model), _):
            short = {"AuthenticAMD": "amd", "GenuineIntel": "intel"}.get(vendor, vendor)
            return _slug(f"{short} family {family} model {model}")
    return _slug(str(cpu["model_name"] or "unknown machine"))


def read_line(path: Path) -> str | None:
    """Reads a small file of /proc or /sys, stripped; None if it is empty or unreadable."""
    try:
        with path.open("rb") as file:
            text = file.read(_ONE_LINE).decode(errors="replace").strip()
    except OSError:
        return None
    # The kernel prints an empty CPU list as (null).
    return None if text in {"", "(null)"} else text


def read_word(path: Path) -> str | None:
    """Like `read_line`, but returns only the chosen word of a choice such as `always [madvise] never`."""
    line = read_line(path)
    chosen = _CHOSEN.fullmatch(line or "")
    return chosen[1] if chosen else line


def _slug(text: str) -> str:
    return _NO_NAME.sub("-", text.lower()).strip("-")


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _processors(root: Path) -> list[dict[str, str]]:
    blocks = _text(root / "proc/cpuinfo").split("\n\n")
    tables = ([line.partition(":") for line in block.splitlines() if ":" in line] for block in blocks)
    return [{name.strip(): value.strip() for name, _, value in table} for table in tables if table]


def _first_processor(root: Path) -> dict[str, str]:
    return next(iter(_processors(root)), {})


def _cpu(root: Path) -> dict[str, object]:
    processors = _processors(root)
    first = processors[0] if processors else {}
    threads = len(processors) or None
    cores = {(cpu.get("physical id"), cpu.get("core id")) for cpu in processors}
    return {
        "vendor": first.get("vendor_id"),
        "model_name": first.get("model name"),
        "family": _number(first.get("cpu family")),
        "model": _number(first.get("model")),
        "stepping": _number(first.get("stepping")),
        # Several versions if not all CPUs were updated. Measurements on such a host are not comparable.
        "microcode": sorted({cpu["microcode"] for cpu in processors if "microcode" in cpu}),
        "sockets": len({cpu.get("physical id") for cpu in processors}) or None,
        "cores": len(cores) or None,
        "threads": threads,
        "online": read_line(root / _CPUS / "online"),
    }


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def _folder(folder: Path) -> dict[str, str | None]:
    return {path.name: read_line(path) for path in sorted(folder.glob("*"))}


def _kernel(root: Path) -> dict[str, str | None]:
    return {
        "release": read_line(root / "proc/sys/kernel/osrelease"),
        "version": read_line(root / "proc/sys/kernel/version"),
        "command_line": read_line(root / "proc/cmdline"),
    }


def _frequency(root: Path) -> dict[str, object]:
    cpufreq = root / _CPUS / "cpufreq"

    def over_policies(name: str) -> list[str]:
        return sorted(
            {word for path in cpufreq.glob(f"policy*/{name}") if (word := read_line(path)) is not None}
        )

    return {
        "drivers": over_policies("scaling_driver"),
        "governors": over_policies("scaling_governor"),
        "max_khz": over_policies("cpuinfo_max_freq"),
        "boost": _boost(root),
    }


def _boost(root: Path) -> str | None:
    """Returns `on` or `off` from any driver (intel_pstate shows the opposite); None if no driver shows it."""
    no_turbo = read_line(root / _CPUS / "intel_pstate/no_turbo")
    if no_turbo is not None:
        return "off" if no_turbo == "1" else "on"
    boost = read_line(root / _CPUS / "cpufreq/boost")
    return None if boost is None else "on" if boost == "1" else "off"


def _idle(root: Path) -> dict[str, object]:
    states = sorted((root / _CPUS / "cpu0/cpuidle").glob("state*"))

    return {
        "driver": read_line(root / _CPUS / "cpuidle/current_driver"),
        "states": [name for state in states if (name := read_line(state / "name")) is not None],
    }


def _numa(root: Path) -> dict[str, object]:
    nodes = (root / "sys/devices/system/node").glob("node[0-9]*")
    return {
        "nodes": {node.name.removeprefix("node"): read_line(node / "cpulist") for node in sorted(nodes)},
        "balancing": read_line(root / "proc/sys/kernel/numa_balancing"),
    }


def _dmi(root: Path) -> dict[str, str | None]:
    names = ("bios_vendor", "bios_version", "bios_date", "sys_vendor", "product_name", "board_name")
    return {name: read_line(root / "sys/class/dmi/id" / name) for name in names}


def _memory(root: Path) -> dict[str, object]:
    meminfo = _text(root / "proc/meminfo")

    def kib(name: str) -> int | None:
        return next((int(value) for key, value in _KIB.findall(meminfo) if key == name), None)

    return {
        "total_kib": kib("MemTotal"),
        "available_kib": kib("MemAvailable"),
        "swap_kib": kib("SwapTotal"),
        "huge_pages": read_line(root / "proc/sys/vm/nr_hugepages"),
        "transparent_hugepage": read_word(root / "sys/kernel/mm/transparent_hugepage/enabled"),
        "ksm": read_line(root / "sys/kernel/mm/ksm/run"),
    }


def _load_average(root: Path) -> list[float] | None:
    numbers = _text(root / "proc/loadavg").split()[:3]
    try:
        return [float(number) for number in numbers] or None
    except ValueError:
        return None
