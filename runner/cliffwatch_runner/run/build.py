"""Builds what a run needs: base, head, and one bench."""

from dataclasses import dataclass

from cliffwatch.counting import counted
from cliffwatch_runner.build.bench import BenchProgram, build_bench
from cliffwatch_runner.build.kernel import Kernel, build_kernel, kernel_digest
from cliffwatch_runner.build.worktree import BuildSettings
from cliffwatch_runner.failure import Failure
from cliffwatch_runner.host.capacity import free_disk
from cliffwatch_runner.plan.prepare import CheckedTools, ResolvedRequest, missing_space
from cliffwatch_runner.results.record import BuiltArm
from cliffwatch_runner.run.progress import Progress
from cliffwatch_runner.source.revision import Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The arms with their kernels, and the bench that serves them all. `bench_from` names the revision it came from."""

    arms: dict[str, BuiltArm]
    bench: BenchProgram
    bench_from: str
    notes: tuple[str, ...]


def build(
    resolved: ResolvedRequest, tools: CheckedTools, settings: BuildSettings, progress: Progress, bench_from: str
) -> Built | tuple[Failure, ...]:
    """Builds both kernels and bench. A kernel that does not build is a result: the other one is measured all the same.

    Raises Stopped and OSError as the builds do.
    """
    short = missing_space(settings.cache, free_disk(settings.cache))
    new = any(not _is_there(revision, tools, settings) for revision in (resolved.base, resolved.head))
    if short is not None and new:
        return (short,)
    arms: dict[str, BuiltArm] = {}
    for name, revision in (("base", resolved.base), ("head", resolved.head)):
        kernel = _kernel(name, revision, resolved, tools, settings, progress)
        if isinstance(kernel, Failure) and kernel.whose != "kernel":
            return (kernel,)
        arms[name] = BuiltArm(revision=revision, kernel=kernel)
    return _with_bench(arms, resolved, tools, settings, progress, bench_from)


def _is_there(revision: Revision, tools: CheckedTools, settings: BuildSettings) -> bool:
    digest = kernel_digest(revision, tools.fragments, tools.toolchain, settings.trust)
    return (settings.cache / "kernels" / digest / "kernel.json").exists()


def _kernel(
    name: str,
    revision: Revision,
    resolved: ResolvedRequest,
    tools: CheckedTools,
    settings: BuildSettings,
    progress: Progress,
) -> Kernel | Failure:
    progress.begin(f"build {name}", f"{revision.short} linux {revision.release}")
    kernel = build_kernel(
        resolved.tree, revision, fragments=tools.fragments, toolchain=tools.toolchain, settings=settings
    )
    if isinstance(kernel, Failure):
        progress.end(f"{revision.short}: {kernel.message}")
    else:
        progress.end(f"{revision.short} {'was there' if kernel.was_there else 'built'}")
    return kernel


def _with_bench(
    arms: dict[str, BuiltArm],
    resolved: ResolvedRequest,
    tools: CheckedTools,
    settings: BuildSettings,
    progress: Progress,
    bench_from: str,
) -> Built | tuple[Failure, ...]:
    """Bench of the wanted revision; of base where head does not build, so that base is measured all the same."""
    candidates: list[tuple[str, Revision]] = [(bench_from, resolved.bench), ("base", resolved.base)]
    kernels = {name: arm.kernel for name, arm in arms.items() if isinstance(arm.kernel, Kernel)}
    if not kernels:
        return tuple(arm.kernel for arm in arms.values() if isinstance(arm.kernel, Failure))
    failures: list[Failure] = []
    for name, revision in dict(candidates).items():
        kernel = kernels.get(name) or kernels.get("head") or kernels["base"]
        if name == "head" and "head" not in kernels:
            continue
        progress.begin("build bench", f"of {name}")
        bench = build_bench(
            resolved.tree,
            revision,
            kernel,
            toolchain=tools.toolchain,
            settings=settings,
        )
        if isinstance(bench, BenchProgram):
            progress.end(
                f"of {name} {'was there' if bench.was_there else 'built'}, {counted(len(bench.offered), 'benchmark')}"
            )
            notes = (f"bench is of {name}, as that of {bench_from} does not build",) if name != bench_from else ()
            return Built(arms=arms, bench=bench, bench_from=name, notes=notes)
        progress.end(f"of {name}: {bench.message}")
        failures.append(bench)
        if bench.whose != "kernel":
            break
    return tuple(failures)
