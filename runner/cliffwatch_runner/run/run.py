"""Carries out a run, from request to result directory."""

import threading
from contextlib import suppress

from cliffwatch.counting import count_noun, size_text
from cliffwatch.failure import Failure
from cliffwatch_runner import clock
from cliffwatch_runner.build.cache.pruning import prune_built, prune_mirror
from cliffwatch_runner.build.cache.uses import cache_uses
from cliffwatch_runner.build.worktree_pool import build_folder
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.run_plan import PlannedRun
from cliffwatch_runner.plan.writable_folders import (
    RESULTS_HOME,
    check_programs_run,
    check_results,
    open_cache,
)
from cliffwatch_runner.run.built_run import BuiltRun
from cliffwatch_runner.run.measured_run import FinishedRun, measure_run
from cliffwatch_runner.run.prepare import plan_with_progress, prepare_run
from cliffwatch_runner.run.progress import Progress


def run(
    request: RunRequest, progress: Progress, stop: threading.Event, *, needed: str | None = None
) -> FinishedRun | tuple[Failure, ...]:
    """Carries out a request.

    If the arm `needed` does not build, nothing is booted; without `needed`, the other arms are measured.
    Raises Stopped if interrupted before the first boot, OSError on a full disk.
    """
    unwritable = _unwritable_folder(request)
    if unwritable is not None:
        return (unwritable,)
    with suppress(OSError):
        prune_mirror(request.cache)
    with cache_uses() as uses, build_folder(request.cache, request.trust, stop.is_set) as built:
        uses.take(request.cache / "mirror.git", make=True)
        prepared = prepare_run(request, progress, stop, uses, built)
        if isinstance(prepared, BuiltRun) and needed is not None:
            kernel = prepared.arms[needed].kernel
            prepared = (kernel,) if isinstance(kernel, Failure) else prepared
        finished = measure_run(prepared) if isinstance(prepared, BuiltRun) else prepared
        _prune(request, progress)
    return finished


def plan_only(request: RunRequest, progress: Progress) -> PlannedRun | tuple[Failure, ...]:
    """Plans a run without building."""
    unwritable = _unwritable_folder(request)
    return (unwritable,) if unwritable is not None else plan_with_progress(request, progress)


def _unwritable_folder(request: RunRequest) -> Failure | None:
    return (
        open_cache(request.cache)
        or check_programs_run(request.cache)
        or check_results(request.out or RESULTS_HOME)
    )


def _prune(request: RunRequest, progress: Progress) -> None:
    """Makes room in the cache while the run still holds the entries that it uses."""
    with suppress(OSError):  # the results are complete without it
        pruned = prune_built(request.cache, request.cache_size, clock.now())
        if not pruned.removed:
            return
        one, several = "kernel, bench, program or guest root", "kernels, benches, programs and guest roots"
        what = f"{count_noun(len(pruned.removed), one, several)}, {size_text(pruned.bytes)}"
        progress.note(f"removed from the cache, least recently used first: {what} (see `cliffwatch cache`)")
