"""Sets of CPUs in the kernel's two formats: lists (`0-3,8`) and masks (`0000010f`)."""

from collections.abc import Iterable


def parse_cpu_list(text: str) -> frozenset[int] | None:
    """Parses a list of CPUs, which may be empty; None if the text is not a list."""
    cpus: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            return None
        cpus.update(range(int(first), int(last or first) + 1))
    return frozenset(cpus)


def cpu_list(cpus: Iterable[int]) -> str:
    """Formats CPUs as the shortest list, with ranges for consecutive CPUs."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
            continue
        runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def parse_cpu_mask(text: str) -> int | None:
    """Parses a mask, with commas between groups of 32 bits, as a number; None if the text is not a mask."""
    try:
        return int(text.replace(",", ""), 16)
    except ValueError:
        return None


def cpu_mask(cpus: Iterable[int]) -> str:
    """Formats CPUs as a mask in groups of 32 bits, as /proc/irq and workqueues expect it."""
    number = sum(1 << cpu for cpu in set(cpus))
    groups = [f"{number & 0xFFFFFFFF:08x}"]
    while number := number >> 32:
        groups.insert(0, f"{number & 0xFFFFFFFF:08x}")
    return ",".join(groups)
