"""Prepares a run: resolves revisions, checks tools, builds kernels and bench, plans boots."""

import threading
from dataclasses import replace
from pathlib import Path

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.trees.addresses import without_credentials
from cliffwatch_runner.build.cache.uses import Uses
from cliffwatch_runner.build.image_root import image_root
from cliffwatch_runner.guest.counting.plugin import Counting, counting_plugin, make_counting
from cliffwatch_runner.host.programs import find_udev
from cliffwatch_runner.plan.plan import explain_too_few_boots
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.run_plan import PlannedRun, plan_run
from cliffwatch_runner.run.build import build
from cliffwatch_runner.run.built_run import BuiltRun
from cliffwatch_runner.run.modes.walltime_host import cost_lines, examine_host, host_faults
from cliffwatch_runner.run.progress import Progress
from cliffwatch_runner.run.tools import NO_UDEV, check_tools
from cliffwatch_runner.run.unchanged_builds.leaving_out import leave_out_unchanged


def plan_with_progress(request: RunRequest, progress: Progress) -> PlannedRun | tuple[Failure, ...]:
    """Plans a request and reports progress, because fetching its tree takes time."""
    progress.begin("tree", without_credentials(request.tree))
    planned = plan_run(request)
    if isinstance(planned, PlannedRun):
        progress.end(" .. ".join(arm.short for arm in planned.subjects))
        return _on_this_host(planned, progress)
    return planned


def _on_this_host(planned: PlannedRun, progress: Progress) -> PlannedRun | tuple[Failure, ...]:
    """Adds the host's faults to a walltime plan, and reports them with their cost before the run begins."""
    if planned.mode != "walltime":
        return planned
    amiss = examine_host(planned.request.cache)
    if isinstance(amiss, Failure):
        return (amiss,)
    for line in cost_lines(amiss, planned):
        progress.note(line)
    unreachable = explain_too_few_boots(planned.plan, planned.mode)
    if unreachable is not None:
        progress.note(unreachable)
    return replace(planned, host_faults=host_faults(amiss))


def prepare_run(
    request: RunRequest, progress: Progress, stop: threading.Event, uses: Uses, built: Path
) -> BuiltRun | tuple[Failure, ...]:
    """Checks everything, then builds into the folder `built`. Raises Stopped and OSError as builds do."""
    planned = plan_with_progress(request, progress)
    if isinstance(planned, tuple):
        return planned
    tools = check_tools(planned, progress, stop, uses, built)
    if isinstance(tools, tuple):
        return tools
    rooted = _with_root_of_image(planned.request, progress, stop, uses)
    if isinstance(rooted, Failure):
        return (rooted,)
    run = build(replace(planned, request=rooted), tools)
    if isinstance(run, tuple):
        return run
    limited = leave_out_unchanged(run) if run.plan.cases else _nothing_to_run(run)
    return (limited,) if isinstance(limited, Failure) else _with_counting(limited)


def _with_counting(run: BuiltRun) -> BuiltRun:
    """Adds the instruction counter of each arm, and a note for each arm that is not counted."""
    if run.mode != "icount" or not run.request.function_counts:
        return run
    plugin = counting_plugin(run.request.cache, run.tools.stop.is_set)
    if isinstance(plugin, str):
        return replace(run, notes=(*run.notes, f"instructions are not counted by function: {plugin}"))
    countings = {name: make_counting(kernel.folder, plugin) for name, kernel in run.kernels.items()}
    uncounted = (
        f"instructions of {name} are not counted by function: {counting}"
        for name, counting in countings.items()
        if isinstance(counting, str)
    )
    counting = {name: each for name, each in countings.items() if isinstance(each, Counting)}
    return replace(run, counting=counting, notes=(*run.notes, *uncounted))


def _with_root_of_image(
    request: RunRequest, progress: Progress, stop: threading.Event, uses: Uses
) -> RunRequest | Failure:
    """Boots guests on the file system of the build image, unless the user named another root."""
    image = request.tools.build_image
    if image is None or request.guest_root is not None:
        return request
    progress.begin("guest root", f"the file system of {image}")
    root = image_root(request.cache, image, uses, stop.is_set)
    if isinstance(root, Failure):
        return root
    progress.end("this host's programs" if root is None else f"of {image}")
    if root is None and find_udev() is None:
        return NO_UDEV
    if root is None:
        progress.note(
            f"{image} has no udev, so guests use this host's programs; bench may not find its libraries there"
        )
    return replace(request, guest_root=root)


def _nothing_to_run(run: BuiltRun) -> Failure:
    reasons = dict.fromkeys(f"{outcome.case}: {outcome.reason}" for outcome in run.left_out)
    return wrong_usage(
        "no case of the chosen suites can run on this tree",
        "choose other suites (cliffwatch suites)",
        "\n".join(list(reasons)[:20]),
    )
