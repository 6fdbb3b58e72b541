"""Runs one job of the matrix: measures a plan's base and head on one target into a result directory."""

import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from cliffwatch.failure import Failure, host_failed
from cliffwatch.formats.setup import NO_SETUP
from cliffwatch.pull_request.policy import Target
from cliffwatch.pull_request.policy_boots import Boots
from cliffwatch.samples import accel_of, is_rehearsal
from cliffwatch.stats.stages import Stages
from cliffwatch_runner.build.cache.pruning import KEEP_BUILT_BYTES
from cliffwatch_runner.build.toolchain import ToolChoice
from cliffwatch_runner.ci.job_plan import JobPlan, LibraryPlan
from cliffwatch_runner.doctor.examination import checks, for_mode, to_fix
from cliffwatch_runner.doctor.facts import gather_facts
from cliffwatch_runner.plan.arms import ArmRequest
from cliffwatch_runner.plan.request import STAGES_OF_WORDS, RunRequest
from cliffwatch_runner.run.progress import Progress
from cliffwatch_runner.run.run import FinishedRun, run
from cliffwatch_runner.source.access import TreeAccess
from cliffwatch_runner.source.library import check_out_library, open_library
from cliffwatch_runner.source.tree import is_url


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The places and resources of a job."""

    tree: str
    """The subject's repository: a kernel tree or a Go library."""
    access: TreeAccess
    """The right by which `tree` is fetched."""
    out: Path
    """Folder of the results."""
    cache: Path
    jobs: int | None
    """Number of parallel compiler jobs; None for the number of CPUs."""
    kernel_tree: str | None = None
    """The tree of a library's kernel; None for the tree that the plan names."""


def measure_target(
    plan: JobPlan, target: Target, place: Place, progress: Progress, stop: threading.Event
) -> FinishedRun | tuple[Failure, ...]:
    """Measures as `cliffwatch run` does, only in the target's mode. Raises the errors of `run`."""
    on_hardware = target.mode == "walltime" and not is_rehearsal(target.platform)
    unfit = unfit_for_walltime(place.cache) if on_hardware else None
    if unfit is not None:
        return (unfit,)
    if plan.library is None:
        return run(_request(plan, target, place), progress, stop)
    with _check_out(plan, place) as folders:
        if isinstance(folders, Failure):
            return (folders,)
        return run(_library_request(plan, plan.library, target, place, folders), progress, stop)


@contextmanager
def _check_out(plan: JobPlan, place: Place) -> Iterator[dict[str, Path] | Failure]:
    """Checks out a library's base and head. Yields the folders by arm name and removes them afterwards."""
    with tempfile.TemporaryDirectory(prefix="cliffwatch-library-") as temporary:
        home = Path(temporary)
        folders = {"base": home / "base", "head": home / "head"}
        library = open_library(place.tree, home, place.access)
        if isinstance(library, Failure):
            yield library
            return
        for name, folder in folders.items():
            failure = check_out_library(library, getattr(plan, name), folder)
            if failure is not None:
                yield failure
                return
        yield folders


def _library_request(
    plan: JobPlan, library: LibraryPlan, target: Target, place: Place, folders: Mapping[str, Path]
) -> RunRequest:
    """Builds the request for one kernel whose arms are the library's base and head."""
    tree = place.kernel_tree or library.kernel_tree
    arms = tuple(
        ArmRequest(
            name=name,
            rev=library.kernel,
            module={library.module: str(folder)},
            commits={library.module: getattr(plan, name)},
        )
        for name, folder in folders.items()
    )
    access: TreeAccess = "public" if is_url(tree) else "own"
    return replace(_request(plan, target, place), tree=tree, tree_access=access, arms=arms)


def unfit_for_walltime(cache: Path) -> Failure | None:
    """Returns the failed checks of `cliffwatch doctor --mode walltime`; None if walltime can be measured."""
    results = tuple(checks(gather_facts(cache)))
    if not to_fix(results, "walltime"):
        return None
    wrong = [check for check in for_mode(results, "walltime") if check.status == "fail"]
    return host_failed(
        "this runner is no bench host: walltime is not measured here",
        'set it up as `cliffwatch doctor --mode walltime` says, or name its target with mode = "icount"',
        "\n".join(f"{check.name}: {check.finding.splitlines()[0]}" for check in wrong),
    )


def _request(plan: JobPlan, target: Target, place: Place) -> RunRequest:
    setup = plan.setup if target.mode == "walltime" else NO_SETUP
    return RunRequest(
        tree=place.tree,
        tree_access=place.access,
        base=None,
        head=None,
        arms=(ArmRequest(name="base", rev=plan.base), ArmRequest(name="head", rev=plan.head)),
        chosen=tuple(note.removesuffix(".") for note in plan.notes),
        patch=None,
        suites=plan.suites,
        profile=plan.profile,
        mode=target.mode,
        platform=target.platform,
        accel=accel_of(target.platform),
        boots=_boots(plan.boots),
        layouts=setup.layouts,
        matched=setup.matched,
        seconds=setup.seconds,
        seed=1,
        bench_from=plan.bench_from,
        out=place.out,
        cache=place.cache,
        cache_size=KEEP_BUILT_BYTES,
        tools=ToolChoice(cc=None, clang=None, pahole=None, build_image=None),
        fragments=(),
        jobs=place.jobs or os.cpu_count() or 1,
        cpus=None,
        memory_mib=None,
        pin=(),
        guest_root=None,
        isolation="auto",
        limits=(),
        trust=plan.trust,
        hang_after=60.0,
        notable=plan.notable,
        explain=None,
    )


def _boots(boots: Boots) -> int | Stages | None:
    return boots if isinstance(boots, int) else STAGES_OF_WORDS[boots]
