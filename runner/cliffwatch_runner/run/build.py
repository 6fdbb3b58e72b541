"""Builds the kernel of each arm and one bench."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure
from cliffwatch_runner.build.kernel import Kernel, build_kernel, kernel_digest
from cliffwatch_runner.build.prebuilt import prebuilt_kernel
from cliffwatch_runner.build.programs.program import SuiteProgram
from cliffwatch_runner.build.selftests.bench import BenchProgram, build_bench
from cliffwatch_runner.host.capacity import free_disk
from cliffwatch_runner.plan.prepare import missing_space
from cliffwatch_runner.plan.subjects import Subject
from cliffwatch_runner.results.record import BuiltArm
from cliffwatch_runner.run.build_order import BuildOrder
from cliffwatch_runner.run.objects import BuiltObjects, add_objects
from cliffwatch_runner.run.programs import build_programs


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltRun:
    """Everything that was built for a run."""

    arms: dict[str, BuiltArm]
    bench: BenchProgram | None
    """One bench for all arms; None if every suite has its own program."""

    bench_from: str
    """Name of the revision that bench was built from; empty if there is no bench."""

    notes: tuple[str, ...]
    programs: Mapping[str, tuple[SuiteProgram, ...]] = field(default_factory=dict)
    """The suites' own programs, by arm."""

    lacking: Mapping[str, str] = field(default_factory=dict)
    """Suites whose program does not build here, with the reason."""

    unbuilt: Mapping[str, str] = field(default_factory=dict)
    """BPF objects that no arm has, with the reason."""


def build(order: BuildOrder) -> BuiltRun | tuple[Failure, ...]:
    """Builds the arms' kernels and bench. A kernel that does not build is a result: the other arms are still
    measured.

    Raises Stopped and OSError as builds do.
    """
    cache, resolved = order.settings.cache, order.resolved
    short = missing_space(cache, free_disk(cache))
    new = any(not _in_cache(arm, order) for arm in resolved.arms)
    if short is not None and new:
        return (short,)
    programs = build_programs(order)
    if isinstance(programs, Failure):
        return (programs,)
    arms: dict[str, BuiltArm] = {}
    for subject in resolved.arms:
        kernel = _kernel(subject, order)
        if isinstance(kernel, Failure) and kernel.whose != "kernel":
            return (kernel,)
        arms[subject.arm] = BuiltArm(
            subject=subject, kernel=kernel, toolchain=order.tools.of_arms[subject.arm].toolchain
        )
    built = _with_bench(arms, order)
    if not isinstance(built, BuiltRun):
        return built
    objects = add_objects(programs.of_arms, arms, order)
    if not isinstance(objects, BuiltObjects):
        return objects
    return replace(
        built,
        programs=objects.of_arms,
        lacking={**programs.lacking, **objects.lacking},
        unbuilt=objects.unbuilt,
        notes=(*built.notes, *objects.notes),
    )


def _in_cache(arm: Subject, order: BuildOrder) -> bool:
    if arm.revision is None:
        return True  # a prebuilt kernel needs no build
    tools = order.tools.of_arms[arm.arm]
    digest = kernel_digest(arm.revision, tools.fragments, tools.toolchain, order.settings.trust)
    return (order.settings.built / "kernels" / digest / "kernel.json").exists()


def _kernel(arm: Subject, order: BuildOrder) -> Kernel | Failure:
    progress, tools = order.progress, order.tools.of_arms[arm.arm]
    if isinstance(arm.of, Path):
        return _prebuilt(arm.arm, arm.of, order)
    progress.begin(f"build {arm.arm}", f"{arm.short} linux {arm.of.release}")
    kernel = build_kernel(
        order.resolved.tree,
        arm.of,
        fragments=tools.fragments,
        toolchain=tools.toolchain,
        settings=order.settings,
    )
    if isinstance(kernel, Failure):
        progress.end(f"{arm.short}: {kernel.message}")
    else:
        progress.end(f"{arm.short} {'cached' if kernel.was_there else 'built'}")
    return kernel


def _prebuilt(arm: str, path: Path, order: BuildOrder) -> Kernel | Failure:
    order.progress.begin(f"unpack {arm}", path.name)
    kernel = prebuilt_kernel(path, order.settings)
    if isinstance(kernel, Failure):
        order.progress.end(f"{path.name}: {kernel.message}")
    else:
        order.progress.end(f"linux {kernel.release} {'cached' if kernel.was_there else 'unpacked'}")
    return kernel


def _with_bench(arms: dict[str, BuiltArm], order: BuildOrder) -> BuiltRun | tuple[Failure, ...]:
    """Builds bench from the wanted revision.

    If that arm or its bench does not build, uses the first arm with a revision.
    """
    resolved, progress = order.resolved, order.progress
    kernels = {name: arm.kernel for name, arm in arms.items() if isinstance(arm.kernel, Kernel)}
    if not kernels:
        return tuple(arm.kernel for arm in arms.values() if isinstance(arm.kernel, Failure))
    if not resolved.need_bench:
        return BuiltRun(arms=arms, bench=None, bench_from="", notes=())
    revisions = {arm.arm: arm.revision for arm in resolved.arms if arm.revision is not None}
    candidates = {resolved.bench_from: resolved.bench, **dict(list(revisions.items())[:1])}
    failures: list[Failure] = []
    for name, revision in candidates.items():
        if name in arms and name not in kernels:
            continue
        kernel = kernels.get(name) or list(kernels.values())[-1]
        progress.begin("build bench", f"of {name}")
        toolchain, settings = order.tools.toolchain, order.settings
        bench = build_bench(resolved.tree, revision, kernel, toolchain=toolchain, settings=settings)
        if isinstance(bench, BenchProgram):
            how = "cached" if bench.was_there else "built"
            progress.end(f"of {name} {how}, {count_noun(len(bench.offered), 'benchmark')}")
            other = name != resolved.bench_from
            note = f"bench is from {name}, because that of {resolved.bench_from} does not build"
            notes = (note,) if other else ()
            return BuiltRun(arms=arms, bench=bench, bench_from=name, notes=notes)
        progress.end(f"of {name}: {bench.message}")
        failures.append(bench)
        if bench.whose != "kernel":
            break
    return tuple(failures)
