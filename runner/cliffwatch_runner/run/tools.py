"""Checks the tools, the configuration and the isolation of a planned run, before anything is built."""

import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cliffwatch.catalogue.discovery import DISCOVERED
from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner.build.cache.uses import Uses
from cliffwatch_runner.build.kernel_config import Fragments, read_fragments
from cliffwatch_runner.build.toolchain import Toolchain, find_outdated_tools, find_toolchain, needs_of
from cliffwatch_runner.build.worktree import BuildSettings
from cliffwatch_runner.host.programs import find_udev, find_virtme_run, guest_programs, program_versions
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.run_plan import PlannedRun
from cliffwatch_runner.plan.shapes import apply_shapes
from cliffwatch_runner.plan.subjects import Subject
from cliffwatch_runner.plan.writable_folders import RESULTS_HOME
from cliffwatch_runner.run.progress import Progress
from cliffwatch_runner.sandbox.isolation import (
    choose_guest_sandbox,
    choose_sandbox,
    find_path_problem,
    find_unreachable,
)
from cliffwatch_runner.sandbox.limits import change_limits, host_limits, refuse_root
from cliffwatch_runner.sandbox.sandbox import Sandbox

_NEEDED_BYTES = 6 << 30
_BUILD_SECONDS = 3 * 3600.0
"""Limit of one command of a build."""

NO_UDEV = host_failed(
    "udev is missing, and without it a guest's output is lost",
    "install udev, in the root file system that --guest-root names if there is one",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmTools:
    """Tools and configuration of an arm's kernel: the run's, adjusted by the arm's settings."""

    toolchain: Toolchain
    fragments: Fragments


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTools:
    """What a run builds and measures with, and how it reports and is stopped."""

    toolchain: Toolchain
    of_arms: Mapping[str, ArmTools]
    settings: BuildSettings
    guest_sandbox: Sandbox
    """For emulators. That of builds is in `settings`."""

    progress: Progress
    stop: threading.Event


Failures = tuple[Failure, ...]


def check_tools(
    run: PlannedRun, progress: Progress, stop: threading.Event, uses: Uses, built: Path
) -> RunTools | Failures:
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
    # A container's processes are children of its engine, so limits on our own children do not reach them.
    sandbox = replace(sandbox, engine_options=tuple(limits.container_arguments()))
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
        guest_sandbox=guest_sandbox,
        progress=progress,
        stop=stop,
    )


def _arm_tools(run: PlannedRun, arm: Subject, toolchain: Toolchain) -> ArmTools | Failures:
    request = run.request
    # Benchmarks that only this tree has may need the configuration of any suite.
    needing = run.catalogue.suites if DISCOVERED in request.suites else run.suites
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
        missing.append(NO_UDEV)
    return missing


def missing_space(cache: Path, free: int) -> Failure | None:
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
