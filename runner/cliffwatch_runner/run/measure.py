"""Carries out a plan: boots its guests, keeps what they wrote, and goes on where one of them died."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.failure import Failure
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
from cliffwatch_runner.results.operations import in_instructions
from cliffwatch_runner.results.outcomes import PartEnd, case_name, read_case
from cliffwatch_runner.sandbox.sandbox import Sandbox

_ICOUNT_CLOCK_SLACK = 20_000
"""How far the clock of an icount guest may run ahead of its work before a case counts as asleep for good. While a guest waits for
its host its clock leaps from timer to timer, so that a busy host costs it hours within a real second."""

_HOST_SECONDS = 12 * 3600.0
"""After half a day a boot is given up as its host's failure, whatever its guest does."""

_MOST_PARTS = 4
"""After so many starts a boot is given up: one that dies in every case has nothing more to show."""


class BootListener(Protocol):
    """Gets the events of a measurement. Called from several threads."""

    def boot_begins(self, boot: PlannedBoot) -> None: ...
    def case_begins(self, boot: PlannedBoot, case: str) -> None: ...
    def boot_ends(self, boot: PlannedBoot, end: BootEnd | None) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestSettings:
    """What every boot of the run needs besides its kernel: the programs of each arm. `argv` puts isolation and limits around the guest's
    start.
    """

    programs: Mapping[str, GuestPrograms]
    shape: GuestShape
    sandbox: Sandbox
    argv: Callable[..., Sequence[str]]
    hang_after: float


@dataclass(frozen=True, slots=True)
class PlanExecution:
    """A plan that is carried out into a result directory, `folder`; `stop` ends it early."""

    plan: Plan
    guest: GuestSettings
    folder: Path
    listener: BootListener
    stop: threading.Event


def measure(execution: PlanExecution, kernels: Mapping[str, ArmKernel], *, at_once: int) -> Failure | None:
    """Boots what is planned and not yet done, `at_once` guests at a time, in the plan's order.

    `kernels` has what is started for each arm; arms without it are passed over (their kernel did not build).
    Results come to lie in `folder`/boots. A Failure where the host did not get a guest run: that boot is to be done again. Raises
    OSError where the host cannot keep the results; what is done by then stays.
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
            parts = [in_instructions(execution.plan.cases, part, counts) for part in parts]
        write_boot(home, execution.plan, boot, parts, began=began, ended=clock.now())
    listener.boot_ends(boot, parts[-1].end if parts else None)
    return _starved(boot, parts[-1].end) if starved else None


def _starved(boot: PlannedBoot, end: BootEnd) -> Failure:
    return Failure(
        whose="host",
        message=f"boot {boot.index} ({boot.arm}) was ended after {end.seconds / 3600:.1f} hours: this host has too much other work",
        next_step="give it less other work, then give the same command again: that boot is done again, what is done is kept",
        evidence=end.evidence,
    )


def _worth_another(part: PartEnd, remaining: list[int]) -> bool:
    """A guest that died in a case has more to measure; one that never got to a case would die again."""
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
    """A start of a guest with some cases of one shape, by their places in the plan."""
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
    """In icount mode guests do not disturb each other's numbers, so every host CPU gets one; walltime boots alone."""
    if mode == "walltime":
        return 1
    return max(1, (os.cpu_count() or 1) // cpus_per_guest)
