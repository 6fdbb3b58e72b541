"""Builds what a run needs: the kernel of each arm, and one bench."""

from dataclasses import dataclass
from pathlib import Path

from cliffwatch.counting import counted
from cliffwatch.failure import Failure
from cliffwatch_runner.build.bench import BenchProgram, build_bench
from cliffwatch_runner.build.kernel import Kernel, build_kernel, kernel_digest
from cliffwatch_runner.build.prebuilt import prebuilt_kernel
from cliffwatch_runner.build.worktree import BuildSettings
from cliffwatch_runner.host.capacity import free_disk
from cliffwatch_runner.plan.prepare import CheckedTools, ResolvedRequest, missing_space
from cliffwatch_runner.plan.subjects import Subject
from cliffwatch_runner.results.record import BuiltArm
from cliffwatch_runner.run.progress import Progress


@dataclass(frozen=True, slots=True)
class BuildOrder:
    """What is built for a run, with what, and where its progress is reported."""

    resolved: ResolvedRequest
    tools: CheckedTools
    settings: BuildSettings
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltRun:
    """The arms with their kernels, and the bench that serves them all. `bench_from` names the revision it came from."""

    arms: dict[str, BuiltArm]
    bench: BenchProgram
    bench_from: str
    notes: tuple[str, ...]


def build(order: BuildOrder) -> BuiltRun | tuple[Failure, ...]:
    """Builds the arms' kernels and bench. A kernel that does not build is a result: the others are measured all the same.

    Raises Stopped and OSError as the builds do.
    """
    cache, resolved = order.settings.cache, order.resolved
    short = missing_space(cache, free_disk(cache))
    new = any(not _in_cache(arm, order) for arm in resolved.arms)
    if short is not None and new:
        return (short,)
    arms: dict[str, BuiltArm] = {}
    for subject in resolved.arms:
        kernel = _kernel(subject, order)
        if isinstance(kernel, Failure) and kernel.whose != "kernel":
            return (kernel,)
        arms[subject.arm] = BuiltArm(
            subject=subject, kernel=kernel, toolchain=order.tools.of_arms[subject.arm].toolchain
        )
    return _with_bench(arms, order)


def _in_cache(arm: Subject, order: BuildOrder) -> bool:
    if arm.revision is None:
        return True  # it takes no build
    tools = order.tools.of_arms[arm.arm]
    digest = kernel_digest(arm.revision, tools.fragments, tools.toolchain, order.settings.trust)
    return (order.settings.cache / "kernels" / digest / "kernel.json").exists()


def _kernel(arm: Subject, order: BuildOrder) -> Kernel | Failure:
    progress, tools = order.progress, order.tools.of_arms[arm.arm]
    if isinstance(arm.of, Path):
        progress.begin(f"take {arm.arm}", f"{arm.short}, prebuilt")
        kernel = prebuilt_kernel(arm.of, order.settings)
    else:
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
        how = "taken" if kernel.prebuilt else "built"
        progress.end(f"{arm.short} {'was there' if kernel.was_there else how}")
    return kernel


def _with_bench(arms: dict[str, BuiltArm], order: BuildOrder) -> BuiltRun | tuple[Failure, ...]:
    """Bench of the wanted revision; of the first arm that has one where the wanted arm or its bench does not build."""
    resolved, progress = order.resolved, order.progress
    kernels = {name: arm.kernel for name, arm in arms.items() if isinstance(arm.kernel, Kernel)}
    if not kernels:
        return tuple(arm.kernel for arm in arms.values() if isinstance(arm.kernel, Failure))
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
            how = "was there" if bench.was_there else "built"
            progress.end(f"of {name} {how}, {counted(len(bench.offered), 'benchmark')}")
            other = name != resolved.bench_from
            notes = (f"bench is of {name}, as that of {resolved.bench_from} does not build",) if other else ()
            return BuiltRun(arms=arms, bench=bench, bench_from=name, notes=notes)
        progress.end(f"of {name}: {bench.message}")
        failures.append(bench)
        if bench.whose != "kernel":
            break
    return tuple(failures)
