"""Guest shapes: that of the run, and those in which every case is measured (`--shape 'cpus=2 …'`)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cliffwatch.catalogue.suite import Benchmark, CaseSpec, GuestNeeds, Suite
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.samples import GUEST_CPUS, Mode
from cliffwatch_runner.guest.argv import GuestShape
from cliffwatch_runner.host.knobs import primary_threads
from cliffwatch_runner.plan.request import RunRequest

_NUMBER = re.compile(r"[0-9]{1,4}")
_MEMBERS = {
    GUEST_CPUS.removeprefix("guest-"): "cpus",
    "possible-cpus": "possible_cpus",
    "numa-nodes": "numa_nodes",
}
MOST_CPUS = 255
"""The most CPUs of a guest that QEMU starts without a remapping of interrupts."""
_MOST = {"cpus": MOST_CPUS, "possible-cpus": MOST_CPUS, "numa-nodes": 16}
SHAPE_WORDS = " ".join(f"{each}=N" for each in _MEMBERS)
"""All words of a shape: `cpus=N …`."""

_CHOICES = f"give one or more of {SHAPE_WORDS}"
_WALLTIME_CPUS = 4
_NODES_CONFIG = ("CONFIG_NUMA=y", "CONFIG_X86_64_ACPI_NUMA=y")
"""Kernel configuration for several NUMA nodes."""


def parse_shape(text: str) -> GuestNeeds | Failure:
    """Parses a shape such as `cpus=2 possible-cpus=16 numa-nodes=2`."""
    values: dict[str, int] = {}
    for word in text.split():
        name, _, value = word.partition("=")
        if name not in _MEMBERS or not _NUMBER.fullmatch(value):
            return wrong_usage(f"{word!r} is no part of a shape", _CHOICES)
        if not 1 <= int(value) <= _MOST[name]:
            return wrong_usage(
                f"a guest cannot have {word!r}", f"give {name} a number from 1 to {_MOST[name]}"
            )
        if _MEMBERS[name] in values:
            return wrong_usage(f"{name} is given twice", "leave one out")
        values[_MEMBERS[name]] = int(value)
    if not values:
        return wrong_usage("it names nothing", _CHOICES)
    if values.get("possible_cpus", 255) < values.get("cpus", 1):
        return wrong_usage("it has fewer possible CPUs than CPUs", "raise possible-cpus or lower cpus")
    return GuestNeeds(
        cpus=values.get("cpus"),
        possible_cpus=values.get("possible_cpus"),
        numa_nodes=values.get("numa_nodes"),
    )


def apply_shapes(suite: Suite, shapes: Sequence[GuestNeeds]) -> Suite:
    """Returns the suite with each case in each shape, and with the kernel configuration of these shapes.

    A case with a guest shape of its own is unchanged.
    """
    if not shapes:
        return suite
    needed = _NODES_CONFIG if any(shape.numa_nodes for shape in shapes) else ()
    benchmarks = tuple(_benchmark_in(each, shapes) for each in suite.benchmarks)
    return replace(suite, benchmarks=benchmarks, config=tuple(sorted({*suite.config, *needed})))


def _benchmark_in(benchmark: Benchmark, shapes: Sequence[GuestNeeds]) -> Benchmark:
    return replace(benchmark, cases=tuple(each for case in benchmark.cases for each in _cases(case, shapes)))


def _cases(case: CaseSpec, shapes: Sequence[GuestNeeds]) -> Iterator[CaseSpec]:
    if case.guest.params:
        yield case
        return
    for shape in shapes:
        guest = replace(shape, concurrent=case.guest.concurrent)
        yield replace(case, guest=guest, params=(*case.params, *guest.params))


def guest_shape(request: RunRequest, memory_mib: int) -> GuestShape:
    """Returns the requested guest shape.

    The default in icount is one CPU, as more make values less exact. In walltime each virtual CPU is pinned
    to its own core, from the last core down, because interrupts prefer the first cores. A rehearsal gets no
    more than can be pinned, because its host is any machine.
    """
    mode = request.mode
    cpus = request.cpus or (1 if mode == "icount" else _walltime_cpus(request))
    pin = request.pin or _choose_cores(mode, cpus)
    return GuestShape(
        mode=mode,
        cpus=cpus,
        memory_mib=memory_mib,
        pin=pin,
        root=request.guest_root,
        accel=request.accel,
    )


def _walltime_cpus(request: RunRequest) -> int:
    if not request.is_rehearsal:
        return _WALLTIME_CPUS
    return max(1, min(_WALLTIME_CPUS, len(request.pin) or len(primary_threads()) - 1))


def _choose_cores(mode: Mode, cpus: int) -> tuple[int, ...]:
    cores = sorted(primary_threads()) if mode == "walltime" else []
    return tuple(cores[-cpus:]) if len(cores) > cpus else ()


def shape_of_case(shape: GuestShape, needs: GuestNeeds) -> GuestShape:
    """Returns the run's guest shape, adjusted to the needs of a case."""
    cpus = needs.cpus or shape.cpus
    return replace(
        shape,
        cpus=cpus,
        pin=shape.pin if cpus == shape.cpus else _choose_cores(shape.mode, cpus),
        possible_cpus=needs.possible_cpus,
        numa_nodes=needs.numa_nodes or 1,
    )
