"""Resolves a request to trees, revisions, tools and suites, and checks them all before anything is built."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cliffwatch.catalogue.discovery import ALL, AUTO, DISCOVERED
from cliffwatch.catalogue.load import Catalogue, load_catalogue
from cliffwatch.catalogue.suite import Suite
from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch.samples import Mode
from cliffwatch_runner.build.kernel_config import Fragments, read_fragments
from cliffwatch_runner.build.toolchain import Toolchain, find_outdated_tools, find_toolchain, needs_of
from cliffwatch_runner.guest.programs import GuestData
from cliffwatch_runner.host.facts import host_record, platform_name
from cliffwatch_runner.host.programs import find_udev, find_virtme_run, guest_programs, program_versions
from cliffwatch_runner.plan.arguments import check_arguments
from cliffwatch_runner.plan.objects import object_of, objects_of_tree, with_objects
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.shapes import apply_shapes
from cliffwatch_runner.plan.subjects import (
    Subject,
    Subjects,
    check_subjects,
    compared_revisions,
    resolve_subjects,
)
from cliffwatch_runner.plan.suites.auto import with_auto_suites
from cliffwatch_runner.plan.suites.own import collect_suites, read_data
from cliffwatch_runner.plan.writable_folders import RESULTS_HOME
from cliffwatch_runner.sandbox.isolation import (
    choose_guest_sandbox,
    choose_sandbox,
    find_path_problem,
    find_unreachable,
)
from cliffwatch_runner.sandbox.limits import SandboxLimits, change_limits, host_limits, refuse_root
from cliffwatch_runner.sandbox.sandbox import Sandbox
from cliffwatch_runner.source.revision import Revision
from cliffwatch_runner.source.tree import Tree, open_tree

_NEEDED_BYTES = 6 << 30
_BUILD_SECONDS = 3 * 3600.0
"""Limit of one command of a build."""

NO_UDEV = host_failed(
    "udev is missing, and without it a guest's output is lost",
    "install udev, in the root file system that --guest-root names if there is one",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedRequest:
    """A request with its names resolved on this host."""

    tree: Tree
    arms: tuple[Subject, ...]
    bench: Revision
    """The revision whose bench all arms run."""

    bench_from: str
    """The arm or revision that names `bench`."""

    mode: Mode
    platform: str
    host: dict[str, object]
    catalogue: Catalogue
    suites: tuple[Suite, ...]
    notes: tuple[str, ...]
    """Sentences for the end of the report."""

    chosen: tuple[str, ...] = ()
    """Sentences for the first lines of plan and report: the commits and suites that names resolved to."""

    named_suites: tuple[str, ...] = ()
    """Suite names of the request, with the chosen suites in place of `auto`."""

    data: GuestData | None = None
    discovers: bool = False
    """True if the run includes the benchmarks that only the tree's bench lists."""

    may_lack: frozenset[str] = frozenset()
    """Suites that came with `all` or `auto`. They are left out if their program does not build here."""

    objects: frozenset[str] = frozenset()
    """Objects of the tree's selftests that the cases of the profile verify."""

    one_bench: bool = False
    """True if all arms verify the objects of `bench`, False if each arm verifies its own."""

    @property
    def own_suites(self) -> tuple[Suite, ...]:
        """The user's own suites: their names are not in the catalogue."""
        known = {suite.name for suite in self.catalogue.suites}
        return tuple(suite for suite in self.suites if suite.name not in known)

    @property
    def need_bench(self) -> bool:
        """True if any case runs the kernel's bench."""
        return self.discovers or any(suite.program is None for suite in self.suites)

    @property
    def revisions(self) -> tuple[Revision, ...]:
        """The revisions of all arms and of bench, each once."""
        return tuple(
            dict.fromkeys((*(arm.of for arm in self.arms if isinstance(arm.of, Revision)), self.bench))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmTools:
    """Tools and configuration of an arm's kernel: the run's, adjusted by the arm's settings."""

    toolchain: Toolchain
    fragments: Fragments


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedTools:
    """Checked tools and configuration. `sandbox` is for builds, `guest_sandbox` for emulators."""

    toolchain: Toolchain
    of_arms: dict[str, ArmTools]
    sandbox: Sandbox
    guest_sandbox: Sandbox
    limits: SandboxLimits


Failures = tuple[Failure, ...]


def resolve_request(request: RunRequest) -> ResolvedRequest | Failures:
    """Resolves the names of a request. Builds nothing, but may fetch git objects into the mirror."""
    catalogue = load_catalogue()
    wrong = (*check_subjects(request), *check_arguments(request, catalogue))
    suites, data = collect_suites(request, catalogue), read_data(request.data)
    if isinstance(data, Failure):
        wrong = (*wrong, data)
    if wrong or isinstance(suites, Failure) or isinstance(data, Failure):
        return wrong
    tree = open_tree(request.tree, request.cache, request.tree_access)
    if isinstance(tree, Failure):
        return (tree,)
    subjects = resolve_subjects(request, tree)
    if isinstance(subjects, tuple):
        return subjects
    by_change = with_auto_suites(request, subjects.arms, tree.mirror, catalogue)
    if isinstance(by_change, Failure):
        return (by_change,)
    asked, (request, on_suites) = request.suites, by_change
    suites = collect_suites(request, catalogue)
    assert not isinstance(suites, Failure)  # all names are from the catalogue
    bench_from, bench = _bench(request.bench_from, subjects, tree)
    if isinstance(bench, Failure):
        return (bench,)
    host = {**host_record(), "programs": program_versions()}
    expanded = _with_objects(request, suites, data, tree, subjects.arms, bench)
    return ResolvedRequest(
        tree=tree,
        arms=subjects.arms,
        bench=bench,
        bench_from=bench_from,
        mode=request.mode,
        platform=request.platform or platform_name(host, request.mode),
        host=host,
        catalogue=catalogue,
        suites=tuple(apply_shapes(suite, request.shapes) for suite in expanded),
        notes=subjects.notes,
        chosen=(*subjects.chosen, *((on_suites,) if on_suites else ())),
        named_suites=request.suites,
        data=data,
        discovers=DISCOVERED in request.suites,
        may_lack=_may_lack(suites, asked),
        objects=_objects(request, expanded) if data is None or not data.objects else frozenset(),
        one_bench=request.bench_from != "head",
    )


def _may_lack(suites: Sequence[Suite], asked: Sequence[str]) -> frozenset[str]:
    """Returns the suites that `all` or `auto` added."""
    return frozenset(suite.name for suite in suites) - set(asked) if {ALL, AUTO} & set(asked) else frozenset()


def _with_objects(
    request: RunRequest,
    suites: Sequence[Suite],
    data: GuestData | None,
    tree: Tree,
    arms: Sequence[Subject],
    bench: Revision,
) -> tuple[Suite, ...]:
    """Adds a case for each BPF object: the user's if given, else those with a source in the revisions."""
    if not any(suite.program is not None and suite.program.objects for suite in suites):
        return tuple(suites)
    if data is not None and data.objects:
        return tuple(with_objects(suite, data.objects, own=True) for suite in suites)
    own = compared_revisions(arms) if request.bench_from == "head" else []
    objects = objects_of_tree(tree, own or [bench])
    return tuple(with_objects(suite, objects, own=False) for suite in suites)


def _objects(request: RunRequest, suites: Sequence[Suite]) -> frozenset[str]:
    """Returns the objects that the cases of the profile verify."""
    named = (object_of(suite, case) for suite in suites for case in suite.cases(request.profile))
    return frozenset(name for name in named if name is not None)


def _bench(name: str, subjects: Subjects, tree: Tree) -> tuple[str, Revision | Failure]:
    """Resolves the revision of bench. Without an arm `head`, `head` means the last arm with a revision."""
    named = {arm.arm: arm.of for arm in subjects.arms}
    if name == "head" and not isinstance(named.get(name), Revision):
        revisions = {arm: of for arm, of in named.items() if isinstance(of, Revision)}
        if not revisions:
            return name, wrong_usage(
                "no arm is a revision of the tree, so none has a bench",
                "name a revision of the tree with --bench-from REV",
            )
        name = list(revisions)[-1]
    of = named.get(name)
    if isinstance(of, Path):
        return name, wrong_usage(
            f"--bench-from: {name} is a prebuilt kernel and has no bench", "name a revision"
        )
    return name, of if of is not None else tree.resolve(name)


def check_tools(request: RunRequest, resolved: ResolvedRequest) -> CheckedTools | Failures:
    """Checks tools, configuration, isolation and limits. Returns as many failures at once as possible."""
    toolchain = find_toolchain(request.tools)
    if isinstance(toolchain, tuple):
        return toolchain
    of_arms: dict[str, ArmTools] = {}
    for arm in resolved.arms:
        tools = _arm_tools(request, resolved, arm, toolchain)
        if isinstance(tools, tuple):
            return tools
        of_arms[arm.arm] = tools
    failures = list(
        find_outdated_tools(needs_of(resolved.tree.mirror, resolved.bench), toolchain, resolved.bench)
    )
    failures += [
        failure
        for arm in resolved.arms
        if arm.revision is not None
        for failure in find_outdated_tools(
            needs_of(resolved.tree.mirror, arm.revision), of_arms[arm.arm].toolchain, arm.revision
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
    return CheckedTools(
        toolchain=toolchain, of_arms=of_arms, sandbox=sandbox, guest_sandbox=guest_sandbox, limits=limits
    )


def _arm_tools(
    request: RunRequest, resolved: ResolvedRequest, arm: Subject, toolchain: Toolchain
) -> ArmTools | Failures:
    # Benchmarks that only this tree has may need the configuration of any suite.
    needing = resolved.catalogue.suites if DISCOVERED in request.suites else resolved.suites
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
