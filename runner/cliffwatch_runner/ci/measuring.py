"""One job of the matrix: a plan's base and head on one target, into a result directory."""

import os
import threading
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch.pull_request.policy import Boots, Target
from cliffwatch.stats.stages import ADAPTIVE, CAREFUL, Stages
from cliffwatch_runner.build.cache.pruning import KEEP_BUILT_BYTES
from cliffwatch_runner.build.toolchain import ToolChoice
from cliffwatch_runner.ci.job_plan import JobPlan
from cliffwatch_runner.doctor.examination import checks, for_mode, to_fix
from cliffwatch_runner.doctor.facts import gather
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.run.measured_run import FinishedRun
from cliffwatch_runner.run.progress import Progress
from cliffwatch_runner.run.run import run
from cliffwatch_runner.source.access import TreeAccess

_STAGES: dict[str, Stages | None] = {"auto": None, "staged": ADAPTIVE, "careful": CAREFUL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a job measures: the tree and the right to fetch it, the folder of the results, the cache, and compilers at once."""

    tree: str
    access: TreeAccess
    out: Path
    cache: Path
    jobs: int | None


def measure_target(
    plan: JobPlan, target: Target, place: Place, progress: Progress, stop: threading.Event
) -> FinishedRun | tuple[Failure, ...]:
    """Measures as `cliffwatch run` does, in the mode of the target and no other. Raises what `run` raises."""
    unfit = unfit_for_walltime(place.cache) if target.mode == "walltime" else None
    if unfit is not None:
        return (unfit,)
    return run(_request(plan, target, place), progress, stop)


def unfit_for_walltime(cache: Path) -> Failure | None:
    """Why numbers of this machine would be noise: what `cliffwatch doctor --mode walltime` would have fixed."""
    results = tuple(checks(gather(cache)))
    if not to_fix(results, "walltime"):
        return None
    wrong = [check for check in for_mode(results, "walltime") if check.status == "fail"]
    return Failure(
        whose="host",
        message="this runner is no bench host: walltime is not measured here",
        next_step='set it up as `cliffwatch doctor --mode walltime` says, or name its target with mode = "icount"',
        evidence="\n".join(f"{check.name}: {check.finding.splitlines()[0]}" for check in wrong),
    )


def _request(plan: JobPlan, target: Target, place: Place) -> RunRequest:
    return RunRequest(
        tree=place.tree,
        tree_access=place.access,
        base=plan.base,
        head=plan.head,
        patch=None,
        suites=plan.suites,
        profile=plan.profile,
        mode=target.mode,
        platform=target.platform,
        boots=_boots(plan.boots),
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
    return boots if isinstance(boots, int) else _STAGES[boots]
