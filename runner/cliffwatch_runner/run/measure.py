"""Executes a plan: boots its guests, stores their output and continues with a fresh guest if one dies."""

import os
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from pathlib import Path

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner import clock
from cliffwatch_runner.build.images.config import forbidden_in_prebuilt
from cliffwatch_runner.build.kernel_config import FORBIDDEN
from cliffwatch_runner.build.programs.program import SuiteProgram
from cliffwatch_runner.build.selftests.empty_loop import PROGRAM
from cliffwatch_runner.guest.argv import GuestShape, guest_argv
from cliffwatch_runner.guest.boot import ArmGuest, BootOrder, GuestCase, boot_guest
from cliffwatch_runner.guest.boot_end import BootEnd
from cliffwatch_runner.guest.profiling.recording import Recording
from cliffwatch_runner.guest.programs import DATA_WORD, GuestData, GuestPrograms
from cliffwatch_runner.guest.watch import GuestLimits
from cliffwatch_runner.host.programs import guest_programs
from cliffwatch_runner.plan.plan import PlannedBoot, order_of_retry
from cliffwatch_runner.plan.shapes import shape_of_case
from cliffwatch_runner.results.files import finished_boot, interruptions, set_aside, write_boot
from cliffwatch_runner.results.function_counts import write_function_counts
from cliffwatch_runner.results.operations import convert_to_instructions
from cliffwatch_runner.results.outcomes import PartEnd, case_name, read_case
from cliffwatch_runner.run.built_run import BuiltRun
from cliffwatch_runner.run.progress import BootProgress

_ICOUNT_CLOCK_SLACK = 20_000
"""How far the clock of an icount guest may run ahead of its work before a case counts as hung.

While a guest waits for its host, its clock jumps from timer to timer: on a busy host, by hours within a real
second.
"""

_REHEARSAL_SLACK = 10
"""How many times as long a case may take in a rehearsal.

Its guest takes the time in which the host does something else for its own.
"""

_HOST_SECONDS = 12 * 3600.0
"""A boot that takes longer (12 hours) is abandoned as a failure of the host, whatever its guest does."""

_MOST_PARTS = 4
"""Maximum number of starts per boot. A guest that dies in every case has nothing more to show."""


def measure(run: BuiltRun, folder: Path) -> Failure | None:
    """Boots everything in the plan that is not done, in the plan's order, which turns where a block was
    interrupted. Results go to `folder`/boots.

    Arms without a kernel are skipped. Returns a Failure if the host was too busy to run a guest; that boot
    must be repeated. Raises OSError if the host cannot store the results; boots that are done stay.
    """
    stop, at_once = run.tools.stop, _guests_at_once(run)
    done = {boot.index for boot in run.plan.boots if finished_boot(folder, boot)}
    progress = BootProgress(run.plan, run.tools.progress, done)
    unfinished = [boot for boot in run.plan.boots if boot.arm in run.kernels and boot.index not in done]
    todo = order_of_retry(unfinished, {boot.index: interruptions(folder, boot) for boot in unfinished})
    with ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="boot") as pool:
        running: set[Future[Failure | None]] = set()
        failure: Failure | None = None
        try:
            while (todo or running) and not (stop.is_set() and not running):
                while todo and len(running) < at_once and not stop.is_set():
                    running.add(pool.submit(_boot, run, todo.pop(0), folder, progress))
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    failure = future.result() or failure
                if failure is not None:
                    todo.clear()
        except BaseException:
            stop.set()
            raise
    return failure


def _guests_at_once(run: BuiltRun) -> int:
    """Returns how many guests may run at the same time.

    In icount, guests do not affect each other's counts, so all host CPUs are used. In walltime, guests run
    one at a time.
    """
    if run.mode == "walltime":
        return 1
    cpus = max(case.guest.cpus or run.shape.cpus for case in run.plan.cases)
    return max(1, (os.cpu_count() or 1) // cpus)


def _boot(run: BuiltRun, boot: PlannedBoot, folder: Path, progress: BootProgress) -> Failure | None:
    stop = run.tools.stop
    progress.boot_begins(boot)
    home = folder / "boots" / boot.folder
    set_aside(home)
    parts: list[PartEnd] = []
    began = clock.now()
    remaining = list(boot.cases)
    while remaining and len(parts) < _MOST_PARTS and not stop.is_set():
        part = _part(run, boot, remaining, home / str(len(parts) + 1), progress)
        parts.append(part)
        remaining = [case for case in remaining if case not in part.results]
        if not _worth_another(part, remaining):
            break
    starved = bool(parts) and parts[-1].end.status == "starved"
    if not stop.is_set() and not starved:
        counting, kernel = run.counting.get(boot.arm), run.image(boot.arm, boot.layout)
        counts = (
            None
            if counting is None
            else write_function_counts(home, run.plan, parts, kernel, counting.plugin.counter)
        )
        if run.mode == "icount":
            parts = [convert_to_instructions(run.plan.cases, part, counts) for part in parts]
        write_boot(home, run.plan, boot, parts, began=began, ended=clock.now())
    progress.boot_ends(boot, parts[-1].end if parts else None)
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
    run: BuiltRun, boot: PlannedBoot, cases: list[int], folder: Path, progress: BootProgress
) -> PartEnd:
    planned = run.plan.cases
    end = boot_guest(
        boot_order(
            run, boot.arm, [(index, _lasting(planned[index], boot)) for index in cases], layout=boot.layout
        ),
        folder,
        on_case=partial(progress.case_begins, boot),
        should_stop=run.tools.stop.is_set,
    )
    results = {index: read_case(index, planned[index], folder, end) for index in cases}
    return PartEnd(
        end=end,
        cases=tuple(cases),
        results={index: result for index, result in results.items() if result is not None},
    )


def _lasting(case: PlannedCase, boot: PlannedBoot) -> PlannedCase:
    """Returns the case as it is measured in this boot. The length of a program's cases is fixed."""
    if boot.duration is None or case.program is not None:
        return case
    return replace(
        case,
        duration=boot.duration,
        deadline=max(case.deadline, case.deadline - case.duration + boot.duration),
    )


def boot_order(
    run: BuiltRun,
    arm: str,
    cases: Sequence[tuple[int, PlannedCase]],
    recording: Recording | None = None,
    layout: int | None = None,
) -> BootOrder:
    """Returns the order for one start of a guest.

    `cases` share a shape; each comes with its index in the plan. `layout` is the seed of its image and of
    its programs.
    """
    guest, sandbox = _arm_guest(run, arm, layout), run.tools.guest_sandbox
    shape = shape_of_case(run.shape, cases[0][1].guest)
    guest_cases = tuple(_guest_case(index, case, shape, run.data) for index, case in cases)
    housekeeping = sorted(os.sched_getaffinity(0) - set(run.shape.pin)) if run.shape.pin else []
    return BootOrder(
        arm=guest,
        cases=guest_cases,
        shape=shape,
        limits=GuestLimits(
            quiet=run.request.hang_after,
            cases={case.name: float(case.busy) for case in guest_cases},
            host=_HOST_SECONDS,
        ),
        sandbox=sandbox,
        argv=partial(guest_argv, sandbox=sandbox, programs=guest_programs(), cpus=housekeeping, shape=shape),
        recording=recording,
    )


def _arm_guest(run: BuiltRun, arm: str, layout: int | None) -> ArmGuest:
    kernel, settings = run.kernels[arm], run.arms[arm].subject.settings
    return ArmGuest(
        kernel=run.image(arm, layout),
        programs=_guest_programs(run, run.programs[arm], layout),
        config=kernel.given_config,
        forbidden=forbidden_in_prebuilt() if kernel.prebuilt else FORBIDDEN,
        arguments=settings.boot,
        writes=settings.files(),
        counting=run.counting.get(arm),
    )


def _guest_programs(run: BuiltRun, programs: Sequence[SuiteProgram], layout: int | None) -> GuestPrograms:
    """Returns the programs that an arm's guests run in a layout.

    Random numbers are fixed only in dynamically linked programs, into which the library can be preloaded.
    """
    bench = [] if run.bench is None else [run.bench.program, run.bench.empty_loop]
    seeds = [each.fixed_seed for each in ([run.bench] if run.bench is not None else programs)]
    return GuestPrograms(
        bench=(*bench, *(seeds[:1] if run.mode == "icount" else ())),
        of_suites={program.suite: program.files_in(layout) for program in programs},
        data=run.data,
    )


def _guest_case(index: int, case: PlannedCase, shape: GuestShape, data: GuestData | None = None) -> GuestCase:
    lengths = (f"-w{case.warmup}", f"-d{case.duration}") if case.program is None else ()
    path = DATA_WORD if data is None else str(data.guest_path)
    budget = case.deadline * (_REHEARSAL_SLACK if shape.is_rehearsal else 1)
    slack = _ICOUNT_CLOCK_SLACK if shape.mode == "icount" else 1
    return GuestCase(
        name=case_name(index, case),
        deadline=budget * slack,
        busy=budget * shape.cpus,
        program=_program(case),
        window=(case.warmup, case.warmup + case.duration) if case.program is None else (0, 0),
        arguments=(*lengths, *(word.replace(DATA_WORD, path) for word in case.argv)),
    )


def _program(case: PlannedCase) -> str:
    if case.program is not None:
        return f"{case.key.suite}/{case.program.run}"
    return PROGRAM if case.emptied else "bench"
