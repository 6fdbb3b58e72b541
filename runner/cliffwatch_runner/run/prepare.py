"""Prepares a run: resolves revisions, checks tools, builds kernels and bench, plans boots."""

import tempfile
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cliffwatch.catalogue.discovery import DISCOVERED
from cliffwatch.failure import Failure, host_failed
from cliffwatch.trees.addresses import without_credentials
from cliffwatch_runner.build.cache.uses import Uses
from cliffwatch_runner.build.image_root import image_root
from cliffwatch_runner.build.kernel_config import read_fragments
from cliffwatch_runner.build.toolchain import (
    PLAIN_TOOLS,
    Toolchain,
    find_outdated_tools,
    find_toolchain,
    needs_of,
)
from cliffwatch_runner.build.worktree import BuildSettings
from cliffwatch_runner.guest.counting.plugin import EMULATOR, Counting, counting_plugin, make_counting
from cliffwatch_runner.host.programs import find_udev, find_virtme_run, guest_programs, program_versions
from cliffwatch_runner.plan.plan import explain_too_few_boots
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.run_plan import PlannedRun, plan_run
from cliffwatch_runner.plan.selection import nothing_to_run
from cliffwatch_runner.plan.shapes import apply_shapes
from cliffwatch_runner.plan.subjects import Subject
from cliffwatch_runner.plan.writable_folders import RESULTS_HOME
from cliffwatch_runner.run.build import build
from cliffwatch_runner.run.built_run import ArmTools, BuiltRun, RunTools
from cliffwatch_runner.run.guest_on_host import beyond_host
from cliffwatch_runner.run.modes.calibrated import calibration_lines
from cliffwatch_runner.run.modes.timed import too_little_time
from cliffwatch_runner.run.modes.walltime_host import cost_lines, examine_host, host_faults
from cliffwatch_runner.run.progress import Progress
from cliffwatch_runner.run.unchanged_builds.leaving_out import leave_out_unchanged
from cliffwatch_runner.sandbox.isolation import (
    choose_guest_sandbox,
    choose_sandbox,
    find_path_problem,
    find_unreachable,
)
from cliffwatch_runner.sandbox.limits import change_limits, host_limits, refuse_root
from cliffwatch_runner.sandbox.programs import add_programs, show_programs
from cliffwatch_runner.sandbox.sandbox import Sandbox

_BUILD_SECONDS = 3 * 3600.0
"""Limit of one command of a build."""

_NO_UDEV = host_failed(
    "udev is missing, and without it a guest's output is lost",
    "install udev, in the root file system that --guest-root names if there is one",
)


def plan_with_progress(request: RunRequest, progress: Progress) -> PlannedRun | tuple[Failure, ...]:
    """Plans a request and reports progress, because fetching its tree takes time.

    Adds the host's faults to a walltime plan, and reports them with their cost before the run begins.
    """
    planned = plan_checked(request, progress)
    if isinstance(planned, tuple) or planned.mode != "walltime":
        return planned
    amiss = examine_host(planned.request)
    if isinstance(amiss, Failure):
        return (amiss,)
    for line in (*cost_lines(amiss, planned), *calibration_lines(planned)):
        progress.note(line)
    unreachable = explain_too_few_boots(planned.plan, planned.mode)
    if unreachable is not None:
        progress.note(unreachable)
    return replace(planned, host_faults=host_faults(amiss))


def plan_checked(request: RunRequest, progress: Progress) -> PlannedRun | tuple[Failure, ...]:
    """Plans a request, and refuses limits, guests and times that this host or the plan cannot have."""
    limits = change_limits(host_limits(_BUILD_SECONDS), request.limits)
    if isinstance(limits, Failure):
        return (limits,)
    progress.begin("tree", without_credentials(request.tree))
    planned = plan_run(request)
    if isinstance(planned, tuple):
        return planned
    progress.end(" .. ".join(arm.short for arm in planned.subjects))
    refused, short = tuple(beyond_host(planned)), too_little_time(planned)
    return (*refused, *(() if short is None else (short,))) or planned


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
    root = _choose_guest_root(request, tools)
    if isinstance(root, Failure):
        return (root,)
    run = build(replace(planned, request=replace(planned.request, guest_root=root)), tools)
    if isinstance(run, tuple):
        return run
    limited = leave_out_unchanged(run) if run.plan.cases else nothing_to_run(run.left_out)
    return (limited,) if isinstance(limited, Failure) else _with_counting(limited)


def _with_counting(run: BuiltRun) -> BuiltRun:
    """Adds the instruction counter of each arm, and a note for each arm that is not counted."""
    if run.mode != "icount" or not run.request.function_counts:
        return run
    plugin = counting_plugin(run.request.cache, run.tools.stop.is_set)
    if isinstance(plugin, Failure):
        return replace(run, notes=(*run.notes, f"instructions are not counted by function: {plugin}"))
    countings = {name: make_counting(kernel.folder, plugin) for name, kernel in run.kernels.items()}
    uncounted = (
        f"instructions of {name} are not counted by function: {counting}"
        for name, counting in countings.items()
        if isinstance(counting, Failure)
    )
    counting = {name: each for name, each in countings.items() if isinstance(each, Counting)}
    return replace(run, counting=counting, notes=(*run.notes, *uncounted))


def _choose_guest_root(request: RunRequest, tools: RunTools) -> Path | Failure | None:
    """Returns the file system of the build image, unless the user named another root. None for the host's."""
    image, progress, settings = request.tools.build_image, tools.progress, tools.settings
    if image is None or request.guest_root is not None:
        return request.guest_root
    progress.begin("guest root", f"the file system of {image}")
    root = image_root(request.cache, image, settings.uses, settings.should_stop)
    if isinstance(root, Failure):
        return root
    progress.end("this host's programs" if root is None else f"of {image}")
    if root is None and find_udev() is None:
        return _NO_UDEV
    if root is None:
        progress.note(
            f"{image} has no udev, so guests use this host's programs; bench may not find its libraries there"
        )
    return root


def check_tools(
    run: PlannedRun, progress: Progress, stop: threading.Event, uses: Uses, built: Path
) -> RunTools | tuple[Failure, ...]:
    """Checks tools, configuration, isolation and limits. Returns as many failures at once as possible.

    `built` is the folder of the builds, and `uses` holds the cache entries that the run uses.
    """
    request = run.request
    toolchain = find_toolchain(request.tools)
    if isinstance(toolchain, tuple):
        return toolchain
    of_arms: dict[str, ArmTools] = {}
    for arm in run.subjects:
        tools = _arm_tools(run, arm, toolchain)
        if isinstance(tools, tuple):
            return tools
        of_arms[arm.arm] = tools
    failures = list(
        find_outdated_tools(needs_of(run.tree.mirror, run.bench_revision), toolchain, run.bench_revision)
    )
    failures += [
        failure
        for arm in run.subjects
        if arm.revision is not None
        for failure in find_outdated_tools(
            needs_of(run.tree.mirror, arm.revision), of_arms[arm.arm].toolchain, arm.revision
        )
    ]
    failures += _boot_tools(request)
    sandboxes, limits = _sandboxes(request), change_limits(host_limits(_BUILD_SECONDS), request.limits)
    failures += [each for each in (sandboxes, limits) if isinstance(each, Failure)]
    if failures or isinstance(sandboxes, Failure) or isinstance(limits, Failure):
        return tuple(dict.fromkeys(failures))
    sandbox, guest_sandbox = sandboxes
    chains = [toolchain, *(each.toolchain for each in of_arms.values())]
    needed = [tool.program for chain in chains for tool in chain.tools]
    shown = show_programs(sandbox, needed, PLAIN_TOOLS)
    if isinstance(shown, Failure):
        return (shown,)
    # A container's processes are children of its engine, so limits on our own children do not reach them.
    sandbox = replace(shown, engine_options=tuple(limits.container_arguments()))
    settings = BuildSettings(
        cache=request.cache,
        built=built,
        sandbox=sandbox,
        limits=limits,
        trust=request.trust,
        jobs=request.jobs,
        report_progress=progress.advance,
        should_stop=stop.is_set,
        uses=uses,
    )
    return RunTools(
        toolchain=toolchain,
        of_arms=of_arms,
        settings=settings,
        guest_sandbox=add_programs(guest_sandbox, (EMULATOR,)),
        progress=progress,
        stop=stop,
    )


def _arm_tools(run: PlannedRun, arm: Subject, toolchain: Toolchain) -> ArmTools | tuple[Failure, ...]:
    request = run.request
    # Benchmarks that only this tree has may need the configuration of any suite.
    of_all = request.releases or DISCOVERED in request.suites
    needing = run.catalogue.suites if of_all else run.suites
    shaped = [apply_shapes(suite, request.shapes) for suite in needing]
    fragments = read_fragments(shaped, (*request.fragments, *arm.settings.config))
    if isinstance(fragments, Failure):
        return (fragments,)
    if arm.settings.cc is not None:
        own = find_toolchain(replace(request.tools, cc=arm.settings.cc))
        if isinstance(own, tuple):
            return own
        toolchain = own
    return ArmTools(toolchain=toolchain, fragments=fragments)


def _sandboxes(request: RunRequest) -> tuple[Sandbox, Sandbox] | Failure:
    """Chooses the sandboxes of builds and of emulators, or returns why this host has none."""
    sandbox = choose_sandbox(request.isolation, request.tools.build_image)
    guest_sandbox = choose_guest_sandbox(request.isolation)
    for each in (sandbox, guest_sandbox):
        if isinstance(each, Failure):
            return each
    assert isinstance(sandbox, Sandbox)
    assert isinstance(guest_sandbox, Sandbox)
    folders = (request.cache, Path(tempfile.gettempdir()))
    refused = find_path_problem(sandbox.level, folders) or refuse_root(sandbox.uid)
    for each in (sandbox, guest_sandbox):
        refused = refused or find_unreachable(
            each, (*folders, (request.out or RESULTS_HOME).absolute().parent, *guest_programs())
        )
    return refused if refused is not None else (sandbox, guest_sandbox)


def _boot_tools(request: RunRequest) -> Sequence[Failure]:
    versions = program_versions()
    wanted = {"qemu": ("QEMU", "qemu-system-x86")}
    missing = [
        host_failed(f"{title} is missing", f"install {package}, or run `make packages`")
        for name, (title, package) in wanted.items()
        if versions[name] is None
    ]
    if find_virtme_run() is None:
        missing.append(host_failed("virtme-ng is missing", "run `make setup`"))
    # An image can be checked only once its file system is unpacked.
    if request.tools.build_image is None and find_udev(request.guest_root or Path("/")) is None:
        missing.append(_NO_UDEV)
    return missing
