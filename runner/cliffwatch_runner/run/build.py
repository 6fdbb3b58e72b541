"""Builds what a run needs: base, head, and one bench."""

from dataclasses import dataclass

from cliffwatch.counting import counted
from cliffwatch_runner.build.bench import BenchProgram, build_bench
from cliffwatch_runner.build.kernel import Kernel, build_kernel, kernel_digest
from cliffwatch_runner.build.worktree import BuildSettings
from cliffwatch_runner.failure import Failure
from cliffwatch_runner.host.capacity import free_disk
from cliffwatch_runner.plan.prepare import Chosen, Equipped, missing_space
from cliffwatch_runner.results.record import BuiltArm
from cliffwatch_runner.run.progress import Teller
from cliffwatch_runner.source.revision import Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The arms with their kernels, and the bench that serves them all. `bench_from` names the revision it came from."""

    arms: dict[str, BuiltArm]
    bench: BenchProgram
    bench_from: str
    notes: tuple[str, ...]


def build(
    chosen: Chosen, equipped: Equipped, settings: BuildSettings, teller: Teller, bench_from: str
) -> Built | tuple[Failure, ...]:
    """Builds both kernels and bench. A kernel that does not build is a result: the other one is measured all the same.

    Raises Stopped and OSError as the builds do.
    """
    short = missing_space(settings.cache, free_disk(settings.cache))
    new = any(not _is_there(revision, equipped, settings) for revision in (chosen.base, chosen.head))
    if short is not None and new:
        return (short,)
    arms: dict[str, BuiltArm] = {}
    for name, revision in (("base", chosen.base), ("head", chosen.head)):
        kernel = _kernel(name, revision, chosen, equipped, settings, teller)
        if isinstance(kernel, Failure) and kernel.whose != "kernel":
            return (kernel,)
        arms[name] = BuiltArm(revision=revision, kernel=kernel)
    return _with_bench(arms, chosen, equipped, settings, teller, bench_from)


def _is_there(revision: Revision, equipped: Equipped, settings: BuildSettings) -> bool:
    digest = kernel_digest(revision, equipped.fragments, equipped.toolchain, settings.trust)
    return (settings.cache / "kernels" / digest / "kernel.json").exists()


def _kernel(
    name: str, revision: Revision, chosen: Chosen, equipped: Equipped, settings: BuildSettings, teller: Teller
) -> Kernel | Failure:
    teller.begin(f"build {name}", f"{revision.short} linux {revision.release}")
    kernel = build_kernel(
        chosen.tree, revision, fragments=equipped.fragments, toolchain=equipped.toolchain, settings=settings
    )
    if isinstance(kernel, Failure):
        teller.end(f"{revision.short}: {kernel.message}")
    else:
        teller.end(f"{revision.short} {'was there' if kernel.was_there else 'built'}")
    return kernel


def _with_bench(
    arms: dict[str, BuiltArm],
    chosen: Chosen,
    equipped: Equipped,
    settings: BuildSettings,
    teller: Teller,
    bench_from: str,
) -> Built | tuple[Failure, ...]:
    """Bench of the wanted revision; of base where head does not build, so that base is measured all the same."""
    candidates: list[tuple[str, Revision]] = [(bench_from, chosen.bench), ("base", chosen.base)]
    kernels = {name: arm.kernel for name, arm in arms.items() if isinstance(arm.kernel, Kernel)}
    if not kernels:
        return tuple(arm.kernel for arm in arms.values() if isinstance(arm.kernel, Failure))
    failures: list[Failure] = []
    for name, revision in dict(candidates).items():
        kernel = kernels.get(name) or kernels.get("head") or kernels["base"]
        if name == "head" and "head" not in kernels:
            continue
        teller.begin("build bench", f"of {name}")
        bench = build_bench(
            chosen.tree,
            revision,
            kernel,
            toolchain=equipped.toolchain,
            settings=settings,
        )
        if isinstance(bench, BenchProgram):
            teller.end(
                f"of {name} {'was there' if bench.was_there else 'built'}, {counted(len(bench.offered), 'benchmark')}"
            )
            notes = (f"bench is of {name}, as that of {bench_from} does not build",) if name != bench_from else ()
            return Built(arms=arms, bench=bench, bench_from=name, notes=notes)
        teller.end(f"of {name}: {bench.message}")
        failures.append(bench)
        if bench.whose != "kernel":
            break
    return tuple(failures)
