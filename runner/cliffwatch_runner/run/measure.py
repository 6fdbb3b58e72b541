"""Executes a plan: boots its guests, stores their output and continues with a fresh guest if one dies."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner import clock
from cliffwatch_runner.build.selftests.empty_loop import PROGRAM
from cliffwatch_runner.guest.argv import GuestShape
from cliffwatch_runner.guest.boot import ArmKernel, BootOrder, GuestCase, boot_guest
from cliffwatch_runner.guest.boot_end import BootEnd
from cliffwatch_runner.guest.programs import DATA_WORD, GuestData, GuestPrograms
from cliffwatch_runner.guest.watch import GuestLimits
from cliffwatch_runner.plan.plan import Plan, PlannedBoot
from cliffwatch_runner.plan.run_plan import shape_of_case
from cliffwatch_runner.results.files import finished_boot, set_aside, write_boot
from cliffwatch_runner.results.function_counts import write_function_counts
from cliffwatch_runner.results.operations import convert_to_instructions
from cliffwatch_runner.results.outcomes import PartEnd, case_name, read_case
from cliffwatch_runner.sandbox.sandbox import Sandbox

_ICOUNT_CLOCK_SLACK = 20_000
"""How far the clock of an icount guest may run ahead of its work before a case counts as hung.

While a guest waits for its host, its clock jumps from timer to timer: on a busy host, by hours within a real
second.
"""

_HOST_SECONDS = 12 * 3600.0
"""A boot that takes longer (12 hours) is abandoned as a failure of the host, whatever its guest does."""

_MOST_PARTS = 4
"""Maximum number of starts per boot. A guest that dies in every case has nothing more to show."""


class BootListener(Protocol):
    """Receives the events of a measurement. Called from several threads."""

    def boot_begins(self, boot: PlannedBoot) -> None: ...
    def case_begins(self, boot: PlannedBoot, case: str) -> None: ...
    def boot_ends(self, boot: PlannedBoot, end: BootEnd | None) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestSettings:
    """What every boot of a run needs besides its kernel."""

    programs: Mapping[str, GuestPrograms]
    """By arm."""

    shape: GuestShape
    sandbox: Sandbox
    argv: Callable[..., Sequence[str]]
    """Wraps the command that starts the guest in isolation and limits."""

    hang_after: float
    """Seconds of the guest's clock without a sign of life after which it counts as hung."""


@dataclass(frozen=True, slots=True)
class PlanExecution:
    """A plan that is being executed."""

    plan: Plan
    guest: GuestSettings
    folder: Path
    """The result directory."""

    listener: BootListener
    stop: threading.Event
    """Ends the execution early."""


def measure(execution: PlanExecution, kernels: Mapping[str, ArmKernel], *, at_once: int) -> Failure | None:
    """Boots everything in the plan that is not done, in the plan's order, at most `at_once` guests at a time.

    `kernels` has the kernel of each arm. Arms without one are skipped: their kernel did not build. Results go
    to `folder`/boots. Returns a Failure if the host was too busy to run a guest; that boot must be repeated.
    Raises OSError if the host cannot store the results; boots that are done stay.
    """
    stop, folder = execution.stop, execution.folder
    todo = [boot for boot in execution.plan.boots if boot.arm in kernels and not finished_boot(folder, boot)]
    with ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="boot") as pool:
        running: set[Future[Failure | None]] = set()
        failure: Failure | None = None
        try:
            while (todo or running) and not (stop.is_set() and not running):
                while todo and len(running) < at_once and not stop.is_set():
                    boot = todo.pop(0)
                    running.add(pool.submit(_boot, execution, boot, kernels[boot.arm]))
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    failure = future.result() or failure
                if failure is not None:
                    todo.clear()
        except BaseException:
            stop.set()
            raise
    return failure


def _boot(execution: PlanExecution, boot: PlannedBoot, kernel: ArmKernel) -> Failure | None:
    stop, listener = execution.stop, execution.listener
    listener.boot_begins(boot)
    home = execution.folder / "boots" / boot.folder
    set_aside(home)
    parts: list[PartEnd] = []
    began = clock.now()
    remaining = list(boot.cases)
    while remaining and len(parts) < _MOST_PARTS and not stop.is_set():
        part = _part(execution, boot, remaining, kernel, home / str(len(parts) + 1))
        parts.append(part)
        remaining = [case for case in remaining if case not in part.results]
        if not _worth_another(part, remaining):
            break
    starved = bool(parts) and parts[-1].end.status == "starved"
    if not stop.is_set() and not starved:
        counting = kernel.counting
        counts = (
            None
            if counting is None
            else write_function_counts(home, execution.plan, parts, kernel.folder, counting.plugin.counter)
        )
        if execution.guest.shape.mode == "icount":
            parts = [convert_to_instructions(execution.plan.cases, part, counts) for part in parts]
        write_boot(home, execution.plan, boot, parts, began=began, ended=clock.now())
    listener.boot_ends(boot, parts[-1].end if parts else None)
    return _starved(boot, parts[-1].end) if starved else None


def _starved(boot: PlannedBoot, end: BootEnd) -> Failure:
    hours = end.seconds / 3600
    return host_failed(
        f"boot {boot.index} ({boot.arm}) was ended after {hours:.1f} hours: this host is too busy",
        "stop other work, then repeat the command: it repeats this boot and keeps finished ones",
        end.evidence,
    )


def _worth_another(part: PartEnd, remaining: list[int]) -> bool:
    """True if a fresh guest can measure more: this one died, but not before its first case."""
    return bool(remaining) and part.end.status in ("panic", "hang", "lost") and bool(part.results)


def _part(
    execution: PlanExecution, boot: PlannedBoot, cases: list[int], kernel: ArmKernel, folder: Path
) -> PartEnd:
    planned, stop = execution.plan.cases, execution.stop
    order = boot_order([(index, planned[index]) for index in cases], boot.arm, kernel, execution.guest)

    def on_case(name: str) -> None:
        execution.listener.case_begins(boot, name)

    end = boot_guest(order, folder, on_case=on_case, should_stop=stop.is_set)
    results = {index: read_case(index, planned[index], folder, end) for index in cases}
    return PartEnd(
        end=end,
        cases=tuple(cases),
        results={index: result for index, result in results.items() if result is not None},
    )


def boot_order(
    cases: Sequence[tuple[int, PlannedCase]], arm: str, kernel: ArmKernel, guest: GuestSettings
) -> BootOrder:
    """Returns the order for one start of a guest.

    `cases` share a shape; each comes with its index in the plan.
    """
    programs = guest.programs[arm]
    shape = shape_of_case(guest.shape, cases[0][1].guest)
    guest_cases = tuple(_guest_case(index, case, shape, programs.data) for index, case in cases)
    return BootOrder(
        kernel=kernel,
        programs=programs,
        cases=guest_cases,
        shape=shape,
        limits=GuestLimits(
            quiet=guest.hang_after,
            cases={case.name: float(case.busy) for case in guest_cases},
            host=_HOST_SECONDS,
        ),
        sandbox=guest.sandbox,
        argv=partial(guest.argv, shape=shape),
    )


def _guest_case(index: int, case: PlannedCase, shape: GuestShape, data: GuestData | None = None) -> GuestCase:
    lengths = (f"-w{case.warmup}", f"-d{case.duration}") if case.program is None else ()
    path = DATA_WORD if data is None else str(data.guest_path)
    slack = _ICOUNT_CLOCK_SLACK if shape.mode == "icount" else 1
    return GuestCase(
        name=case_name(index, case),
        deadline=case.deadline * slack,
        busy=case.deadline * shape.cpus,
        program=_program(case),
        window=(case.warmup, case.warmup + case.duration) if case.program is None else (0, 0),
        arguments=(*lengths, *(word.replace(DATA_WORD, path) for word in case.argv)),
    )


def _program(case: PlannedCase) -> str:
    if case.program is not None:
        return f"{case.key.suite}/{case.program.run}"
    return PROGRAM if case.emptied else "bench"


def guests_at_once(mode: str, cpus_per_guest: int) -> int:
    """Returns how many guests may run at the same time.

    In icount, guests do not affect each other's counts, so all host CPUs are used. In walltime, guests run
    one at a time.
    """
    if mode == "walltime":
        return 1
    return max(1, (os.cpu_count() or 1) // cpus_per_guest)
