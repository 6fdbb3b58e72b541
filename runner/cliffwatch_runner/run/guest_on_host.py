"""Checks that this host has what the guests of a plan need. Nothing is built before."""

import os
from collections.abc import Iterator

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch_runner.host.capacity import meminfo_bytes
from cliffwatch_runner.plan.run_plan import PlannedRun


def beyond_host(run: PlannedRun) -> Iterator[Failure]:
    """Yields what the guest needs and this host does not have."""
    shape, here = run.shape, os.sched_getaffinity(0)
    total = meminfo_bytes("MemTotal")
    absent = sorted(set(shape.pin) - here)
    if absent:
        yield wrong_usage(
            f"the guest cannot be pinned to CPU {', '.join(map(str, absent))}: this process has no such CPU",
            f"name CPUs of {', '.join(map(str, sorted(here)))} with --pin",
        )
    elif shape.pin and len(shape.pin) != shape.cpus:
        yield wrong_usage(
            f"--pin names {count_noun(len(shape.pin), 'CPU')}, and the guest has {shape.cpus}",
            f"name {shape.cpus}, or use --cpus {len(shape.pin)}",
        )
    if run.mode == "walltime" and (run.request.cpus or 1) > len(here):
        yield wrong_usage(
            f"the guest has {shape.cpus} CPUs, and this process {len(here)}: they would wait for each other",
            f"use --cpus {len(here)} or fewer",
        )
    if total is not None and shape.memory_mib > total >> 20:
        yield wrong_usage(
            f"the guest has {shape.memory_mib:,} MiB of memory, and this host {total >> 20:,}",
            "use a smaller --memory, or leave out the cases that need as much",
        )
