"""The knobs that a walltime run sets on its host, with reasons.

A knob is one value in one file of /sys or /proc.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner.host.cpu_lists import cpu_list, cpu_mask, parse_cpu_list, parse_cpu_mask
from cliffwatch_runner.host.facts import read_word

Form = Literal["word", "cpu-list", "cpu-mask"]

LATENCY_DEVICE = "dev/cpu_dma_latency"

KNOB_FILES = re.compile(
    r"sys/devices/system/cpu/(smt/control|intel_pstate/no_turbo|cpufreq/boost"
    r"|cpufreq/policy[0-9]+/scaling_governor)"
    r"|sys/kernel/mm/(ksm/run|transparent_hugepage/enabled)"
    r"|proc/sys/kernel/(numa_balancing|nmi_watchdog|perf_event_max_sample_rate)"
    r"|proc/irq/(default_smp_affinity|[0-9]+/smp_affinity_list)"
    r"|sys/devices/virtual/workqueue/cpumask"
)
"""All files that may be tuned. Restoring as root writes to no other file, whatever the journal says."""

SERVICES = ("irqbalance",)

_CPUS = "sys/devices/system/cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One file, and its value while a run measures."""

    name: str
    path: str
    """Relative to the root."""

    wanted: str
    why: str
    form: Form = "word"
    settled: tuple[str, ...] = ()
    """Other values that need no change: the kernel's words for a setting that cannot be switched."""

    def is_set(self, value: str) -> bool:
        return value in self.settled or is_same_value(value, self.wanted, self.form)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningPlan:
    """Everything that a run changes. It is restored in the opposite order."""

    knobs: tuple[Knob, ...]
    """In the order of the changes."""

    services: tuple[str, ...]
    """Stopped before the knobs are set, because irqbalance would move the interrupts back."""

    idle_latency_us: int | None
    """Wake-up latency to request during the run (Documentation/power/pm_qos_interface.rst); None for none."""


def tuning_plan(root: Path, bench_cpus: frozenset[int]) -> TuningPlan:
    """Makes the plan for this host. `bench_cpus` run the guests; interrupts and kernel threads leave them.

    The plan does not change

    - the host's address-space randomisation (kernel.randomize_va_space): it affects QEMU's addresses, not
      those of the guest kernel, and boots average over it;
    - frequency limits: the performance governor already requests the highest frequency.
    """
    return TuningPlan(
        knobs=(*_processor_knobs(root), *_kernel_knobs(), *_interrupt_knobs(root, bench_cpus)),
        services=SERVICES,
        idle_latency_us=0,
    )


def primary_threads(root: Path = Path("/")) -> frozenset[int]:
    """Returns the CPUs that remain when SMT is off: the first of every core.

    Guests are pinned to some of them.
    """
    cpus = set()
    for path in (root / _CPUS).glob("cpu[0-9]*/topology/thread_siblings_list"):
        siblings = parse_cpu_list(read_word(path) or "")
        cpus.update([min(siblings)] if siblings else [])
    return frozenset(cpus)


SEE_DOCTOR = "see `cliffwatch doctor --mode walltime`"


def is_same_value(left: str, right: str, form: Form) -> bool:
    """True if two texts mean the same value: the kernel prints `0,1` as `0-1`, and pads masks with zeros."""
    if form == "cpu-list":
        return parse_cpu_list(left) == parse_cpu_list(right)
    if form == "cpu-mask":
        return parse_cpu_mask(left) == parse_cpu_mask(right)
    return left == right


def write_value(path: Path, value: str) -> Failure | None:
    """Writes a value with one write, as sysfs requires. A failure gives the kernel's reason.

    Never creates a file.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(descriptor, value.encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        return host_failed(error.strerror or str(error), SEE_DOCTOR)
    return None


def _processor_knobs(root: Path) -> Iterator[Knob]:
    yield Knob(
        name="smt",
        path=f"{_CPUS}/smt/control",
        wanted="off",
        why="a sibling thread competes with the measured one for execution units and caches",
        settled=("forceoff", "notsupported", "notimplemented"),
    )
    turbo = "the clock changes with temperature and with the load of other cores"
    yield Knob(name="boost", path=f"{_CPUS}/intel_pstate/no_turbo", wanted="1", why=turbo)
    yield Knob(name="boost", path=f"{_CPUS}/cpufreq/boost", wanted="0", why=turbo)
    for policy in sorted((root / _CPUS / "cpufreq").glob("policy[0-9]*")):
        yield Knob(
            name="governor",
            path=str((policy / "scaling_governor").relative_to(root)),
            wanted="performance",
            why="other governors change the clock with the load",
        )


def _kernel_knobs() -> Iterator[Knob]:
    mm, kernel = "sys/kernel/mm", "proc/sys/kernel"
    yield Knob(
        name="ksm",
        path=f"{mm}/ksm/run",
        wanted="0",
        why="its thread scans and merges the guest's pages while it runs",
        settled=("2",),
    )
    yield Knob(
        name="thp",
        path=f"{mm}/transparent_hugepage/enabled",
        wanted="never",
        why="the share of a guest in huge pages would differ between boots with the host's fragmentation",
    )
    yield Knob(
        name="numa-balancing",
        path=f"{kernel}/numa_balancing",
        wanted="0",
        why="it unmaps the guest's pages to see who uses them, and moves them",
    )
    yield Knob(
        name="watchdogs",
        path=f"{kernel}/nmi_watchdog",
        wanted="0",
        why="it interrupts every CPU and takes a performance counter",
    )
    yield Knob(
        name="perf-sampling",
        path=f"{kernel}/perf_event_max_sample_rate",
        wanted="1",
        why="a profiler on the host would interrupt the guest",
    )


def _interrupt_knobs(root: Path, bench_cpus: frozenset[int]) -> Iterator[Knob]:
    """Moves interrupts and unbound kernel work to the other CPUs. Yields nothing if there is no other CPU."""
    others = primary_threads(root) - bench_cpus
    if not bench_cpus or not others:
        return
    why = "an interrupt on a measured CPU stops the guest there"
    mask = cpu_mask(others)
    yield Knob(
        name="irq-affinity", path="proc/irq/default_smp_affinity", wanted=mask, why=why, form="cpu-mask"
    )
    files = sorted((root / "proc/irq").glob("[0-9]*/smp_affinity_list"))
    for file in files:
        path = str(file.relative_to(root))
        yield Knob(name="irq-affinity", path=path, wanted=cpu_list(others), why=why, form="cpu-list")
    yield Knob(
        name="workqueues",
        path="sys/devices/virtual/workqueue/cpumask",
        wanted=mask,
        why="unbound kernel work would run on the measured CPUs",
        form="cpu-mask",
    )
