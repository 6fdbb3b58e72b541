"""Builds the kernel of each arm and one bench, and plans the run anew by what was built."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, host_failed
from cliffwatch.formats.values import copy_fields
from cliffwatch.samples import CONTROL
from cliffwatch_runner.build.kernel import Kernel, build_kernel, kernel_digest
from cliffwatch_runner.build.prebuilt import prebuilt_kernel
from cliffwatch_runner.build.selftests.bench import BenchProgram, build_bench
from cliffwatch_runner.host.capacity import free_disk
from cliffwatch_runner.plan.run_plan import PlannedRun, plan_cases, select_run_cases
from cliffwatch_runner.plan.subjects import Subject
from cliffwatch_runner.run.built_run import BuiltArm, BuiltRun, RunTools
from cliffwatch_runner.run.layouts import check_layouts, link_programs, seeds_of_first_stage
from cliffwatch_runner.run.programs import BuiltPrograms, add_objects, build_programs
from cliffwatch_runner.sandbox.isolation import isolation_sentence

_NEEDED_BYTES = 6 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    """The bench of a run."""

    program: BenchProgram | None
    """None if every suite has its own program."""

    name: str
    """Of the arm or revision that it was built from."""

    notes: tuple[str, ...] = ()


def build(run: PlannedRun, tools: RunTools) -> BuiltRun | tuple[Failure, ...]:
    """Builds the arms' kernels and bench. A kernel that does not build is a result: the other arms are still
    measured.

    Raises Stopped and OSError as builds do.
    """
    cache = tools.settings.cache
    short = _missing_space(cache, free_disk(cache))
    new = any(not _in_cache(subject, tools) for subject in run.subjects)
    if short is not None and new:
        return (short,)
    programs = build_programs(run, tools)
    if isinstance(programs, Failure):
        return (programs,)
    arms = _arms(run, tools)
    laid_out = arms if isinstance(arms, Failure) else check_layouts(run, arms)
    if isinstance(arms, Failure) or isinstance(laid_out, Failure):
        return tuple(each for each in (laid_out,) if isinstance(each, Failure))
    run = laid_out
    bench = _bench(arms, run, tools)
    if isinstance(bench, tuple):
        return bench
    with_objects = add_objects(programs, arms, run, tools)
    linked = (
        with_objects if isinstance(with_objects, tuple) else link_programs(with_objects, run, arms, tools)
    )
    return linked if isinstance(linked, tuple) else _built(run, tools, arms, bench, linked)


def _arms(run: PlannedRun, tools: RunTools) -> dict[str, BuiltArm] | Failure:
    """Builds the arms' kernels. Returns a failure if it is not a kernel's."""
    kernels: dict[str, Kernel | Failure] = {}
    # Prebuilt ones first: that one of them cannot be used is seen at once.
    for subject in sorted(run.subjects, key=lambda each: each.revision is not None):
        kernel = _kernel(subject, run, tools)
        if isinstance(kernel, Failure) and kernel.whose != "kernel":
            return kernel
        kernels[subject.arm] = kernel
    return {
        each.arm: BuiltArm(
            subject=each, kernel=kernels[each.arm], toolchain=tools.of_arms[each.arm].toolchain
        )
        for each in run.subjects
    }


def _built(
    run: PlannedRun, tools: RunTools, arms: dict[str, BuiltArm], bench: _Bench, programs: BuiltPrograms
) -> BuiltRun:
    """Plans the run anew, and adds the control to its arms in walltime."""
    offered = bench.program.offered if bench.program is not None else ()
    of_arms = dict(programs.of_arms)
    if run.mode == "walltime":
        first = run.subjects[0].arm
        arms[CONTROL], of_arms[CONTROL] = arms[first], of_arms[first]
    return copy_fields(
        BuiltRun,
        plan_cases(run, select_run_cases(run, offered, programs.lacking, programs.unbuilt)),
        tools=tools,
        arms=arms,
        bench=bench.program,
        bench_from=bench.name,
        programs=of_arms,
        links=tuple(
            seconds
            for subject in run.subjects
            if isinstance(kernel := arms[subject.arm].kernel, Kernel)
            for seconds in kernel.links
        ),
        notes=(
            *run.notes,
            isolation_sentence(tools.settings.sandbox.level),
            *bench.notes,
            *programs.notes,
            *(f"left out: {reason}" for reason in programs.lacking.values()),
        ),
    )


def _in_cache(arm: Subject, tools: RunTools) -> bool:
    if arm.revision is None:
        return True  # a prebuilt kernel needs no build
    own = tools.of_arms[arm.arm]
    digest = kernel_digest(arm.revision, own.fragments, own.toolchain, tools.settings.trust)
    return (tools.settings.built / "kernels" / digest / "kernel.json").exists()


def _kernel(arm: Subject, run: PlannedRun, tools: RunTools) -> Kernel | Failure:
    progress, own = tools.progress, tools.of_arms[arm.arm]
    if isinstance(arm.of, Path):
        return _prebuilt(arm.arm, arm.of, tools)
    progress.begin(f"build {arm.arm}", f"{arm.short} linux {arm.of.release}")
    kernel = build_kernel(
        run.tree,
        arm.of,
        fragments=own.fragments,
        toolchain=own.toolchain,
        settings=tools.settings,
        layouts=seeds_of_first_stage(run, arm.arm, tools.settings.trust),
    )
    if isinstance(kernel, Failure):
        progress.end(f"{arm.short}: {kernel.message}")
    else:
        layouts = f", {len(kernel.layouts)} layouts" if kernel.layouts else ""
        progress.end(f"{arm.short} {'cached' if kernel.was_there else 'built'}{layouts}")
    return kernel


def _prebuilt(arm: str, path: Path, tools: RunTools) -> Kernel | Failure:
    tools.progress.begin(f"unpack {arm}", path.name)
    kernel = prebuilt_kernel(path, tools.settings)
    if isinstance(kernel, Failure):
        tools.progress.end(f"{path.name}: {kernel.message}")
    else:
        tools.progress.end(f"linux {kernel.release} {'cached' if kernel.was_there else 'unpacked'}")
    return kernel


def _bench(arms: Mapping[str, BuiltArm], run: PlannedRun, tools: RunTools) -> _Bench | tuple[Failure, ...]:
    """Builds bench from the wanted revision.

    If that arm or its bench does not build, uses another arm's: of the last that has one and builds.
    """
    kernels = {name: arm.kernel for name, arm in arms.items() if isinstance(arm.kernel, Kernel)}
    if not kernels:
        return tuple(
            replace(arm.kernel, message=f"{name}: {arm.kernel.message}")
            for name, arm in arms.items()
            if isinstance(arm.kernel, Failure)
        )
    if not run.need_bench:
        return _Bench(program=None, name=run.bench_from)
    revisions = {arm.arm: arm.revision for arm in run.subjects if arm.revision is not None}
    candidates = {run.bench_from: run.bench_revision, **dict(reversed(revisions.items()))}
    failures: list[Failure] = []
    for name, revision in candidates.items():
        if name in arms and name not in kernels:
            continue
        kernel = kernels.get(name) or list(kernels.values())[-1]
        tools.progress.begin("build bench", f"of {name}")
        toolchain, settings = tools.toolchain, tools.settings
        bench = build_bench(run.tree, revision, kernel, toolchain=toolchain, settings=settings)
        if isinstance(bench, BenchProgram):
            how = "cached" if bench.was_there else "built"
            tools.progress.end(f"of {name} {how}, {count_noun(len(bench.offered), 'benchmark')}")
            other = name != run.bench_from
            note = f"bench is from {name}, because that of {run.bench_from} does not build"
            return _Bench(program=bench, name=name, notes=(note,) if other else ())
        tools.progress.end(f"of {name}: {bench.message}")
        failures.append(bench)
        if bench.whose != "kernel":
            break
    return tuple(failures)


def _missing_space(cache: Path, free: int) -> Failure | None:
    """Returns a failure if fewer than 6 GiB are free. Sources and build output take about 5 GiB."""
    if free >= _NEEDED_BYTES:
        return None
    return host_failed(
        (
            f"{free >> 20} MiB are free for builds under {cache}, "
            f"and a build needs up to {_NEEDED_BYTES >> 30} GiB"
        ),
        "free some space, or name another folder with --cache",
    )
