"""Guest shapes that a person names for a run (`--shape 'cpus=2 possible-cpus=16'`): every case is measured in each of them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cliffwatch.catalogue.suite import Benchmark, CaseSpec, GuestNeeds, Suite
from cliffwatch.samples import GUEST_CPUS

_NUMBER = re.compile(r"[0-9]{1,4}")
_MEMBERS = {
    GUEST_CPUS.removeprefix("guest-"): "cpus",
    "possible-cpus": "possible_cpus",
    "numa-nodes": "numa_nodes",
}
_MOST = {"cpus": 255, "possible-cpus": 255, "numa-nodes": 16}
_NODES_CONFIG = ("CONFIG_NUMA=y", "CONFIG_X86_64_ACPI_NUMA=y")
"""What a kernel needs to have several nodes."""


def parse_shape(text: str) -> GuestNeeds | str:
    """The shape of words such as `cpus=2 possible-cpus=16 numa-nodes=2`, or what is wrong with them."""
    values: dict[str, int] = {}
    for word in text.split():
        name, _, value = word.partition("=")
        if name not in _MEMBERS or not _NUMBER.fullmatch(value):
            return f"{word!r} is none of {', '.join(f'{each}=N' for each in _MEMBERS)}"
        if not 1 <= int(value) <= _MOST[name]:
            return f"{word!r}: {name} is from 1 to {_MOST[name]}"
        if _MEMBERS[name] in values:
            return f"{name} stands in it twice"
        values[_MEMBERS[name]] = int(value)
    if not values:
        return f"it names nothing: give {', '.join(f'{each}=N' for each in _MEMBERS)}"
    if values.get("possible_cpus", 255) < values.get("cpus", 1):
        return "it has fewer possible CPUs than CPUs"
    return GuestNeeds(
        cpus=values.get("cpus"),
        possible_cpus=values.get("possible_cpus"),
        numa_nodes=values.get("numa_nodes"),
    )


def in_shapes(suite: Suite, shapes: Sequence[GuestNeeds]) -> Suite:
    """The suite with each case in each shape, and the configuration that these need. A case that asks for a guest itself stays as it is."""
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
