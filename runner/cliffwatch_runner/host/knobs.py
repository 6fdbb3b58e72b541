"""What a walltime run sets on its host, and why: each knob is one value in one file of /sys or /proc."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cliffwatch_runner.host.cpu_lists import cpu_list, cpu_mask, parse_cpu_list, parse_cpu_mask
from cliffwatch_runner.host.facts import read_word

Form = Literal["word", "cpu-list", "cpu-mask"]

LATENCY_DEVICE = "dev/cpu_dma_latency"

KNOB_FILES = re.compile(
    r"sys/devices/system/cpu/(smt/control|intel_pstate/no_turbo|cpufreq/boost|cpufreq/policy[0-9]+/scaling_governor)"
    r"|sys/kernel/mm/(ksm/run|transparent_hugepage/enabled)"
    r"|proc/sys/kernel/(numa_balancing|nmi_watchdog|perf_event_max_sample_rate)"
    r"|proc/irq/(default_smp_affinity|[0-9]+/smp_affinity_list)"
    r"|sys/devices/virtual/workqueue/cpumask"
)
"""All files that are ever tuned: what restores as root writes to no other, whatever a journal holds."""

SERVICES = ("irqbalance",)

_CPUS = "sys/devices/system/cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One file and the value it shall have while a run measures.

    `path` is relative to the root. `settled` are values that need no change although they are not
    `wanted`: the kernel's words for "there is nothing to switch here".
    """

    name: str
    path: str
    wanted: str
    why: str
    form: Form = "word"
    settled: tuple[str, ...] = ()

    def is_set(self, value: str) -> bool:
        return value in self.settled or is_same_value(value, self.wanted, self.form)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningPlan:
    """All that a run changes, in this order; it is restored in the opposite order.

    `services` are stopped first: irqbalance would move the interrupts back. `idle_latency_us` is asked of
    the kernel for as long as the run lasts (Documentation/power/pm_qos_interface.rst); null asks nothing.
    """

    knobs: tuple[Knob, ...]
    services: tuple[str, ...]
    idle_latency_us: int | None


def tuning_plan(root: Path, bench_cpus: frozenset[int]) -> TuningPlan:
    """The plan for this host. `bench_cpus` are those that guests are pinned to: interrupts and kernel threads
    leave them.

    Address-space randomisation of the host (kernel.randomize_va_space) is left alone: it changes QEMU's
    addresses and not the guest kernel's, and boots average over it. Frequency limits are left alone too:
    the performance governor already asks for the highest.
    """
    return TuningPlan(
        knobs=(*_processor_knobs(root), *_kernel_knobs(), *_interrupt_knobs(root, bench_cpus)),
        services=SERVICES,
        idle_latency_us=0,
    )


def primary_threads(root: Path = Path("/")) -> frozenset[int]:
    """The CPUs that stay when SMT goes off: the first of every core. Guests are pinned to some of these."""
    cpus = set()
    for path in (root / _CPUS).glob("cpu[0-9]*/topology/thread_siblings_list"):
        siblings = parse_cpu_list(read_word(path) or "")
        cpus.update([min(siblings)] if siblings else [])
    return frozenset(cpus)


def is_same_value(left: str, right: str, form: Form) -> bool:
    """Whether two texts mean the same: the kernel writes `0,1` back as `0-1` and pads masks with zeros."""
    if form == "cpu-list":
        return parse_cpu_list(left) == parse_cpu_list(right)
    if form == "cpu-mask":
        return parse_cpu_mask(left) == parse_cpu_mask(right)
    return left == right


def write_value(path: Path, value: str) -> str | None:
    """Writes one value in one write, as sysfs wants it; gives the kernel's reason where it refuses. Makes no
    file.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(descriptor, value.encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        return error.strerror or str(error)
    return None


def _processor_knobs(root: Path) -> Iterator[Knob]:
    yield Knob(
        name="smt",
        path=f"{_CPUS}/smt/control",
        wanted="off",
        why="a sibling thread takes execution units and caches from the measured one",
        settled=("forceoff", "notsupported", "notimplemented"),
    )
    turbo = "the clock rises and falls with temperature and with what other cores do"
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
        why=(
            "how much of a guest lies in huge pages would differ from boot to boot with the host's"
            " fragmentation"
        ),
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
    """Moves interrupts and unbound kernel work to the other CPUs. Nothing where no CPU would be left for
    them.
    """
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
