"""Turns a request into the plan of a run: what its names mean on this host, its cases and its boots."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from cliffwatch.catalogue.discovery import ALL, AUTO, DISCOVERED
from cliffwatch.catalogue.load import Catalogue, load_catalogue
from cliffwatch.catalogue.suite import Suite
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.samples import CONTROL, CaseOutcome, Mode
from cliffwatch_runner.guest.argv import GuestShape
from cliffwatch_runner.guest.programs import GuestData
from cliffwatch_runner.host.facts import host_record, platform_name
from cliffwatch_runner.host.programs import program_versions
from cliffwatch_runner.plan.arguments import check_arguments, unmatched_patterns
from cliffwatch_runner.plan.costs import first_boots
from cliffwatch_runner.plan.layouts import layout_problem, planned_layouts
from cliffwatch_runner.plan.objects import object_of, objects_of_tree, with_objects, with_own_objects
from cliffwatch_runner.plan.plan import Plan, fewest_boots, make_plan
from cliffwatch_runner.plan.request import ICOUNT_NOISY_BOOTS, RunRequest
from cliffwatch_runner.plan.selection import (
    NONE_LACKING,
    Selection,
    drop_answered,
    keep_named,
    nothing_to_run,
    select_cases,
    with_discovered,
)
from cliffwatch_runner.plan.shapes import apply_shapes, guest_shape
from cliffwatch_runner.plan.subjects import (
    Subject,
    Subjects,
    check_subjects,
    compared_revisions,
    resolve_subjects,
)
from cliffwatch_runner.plan.suites.auto import choose_auto_suites
from cliffwatch_runner.plan.suites.own import collect_suites, read_data
from cliffwatch_runner.source.revision import Revision
from cliffwatch_runner.source.tree import Tree, open_tree

_LEAST_MEMORY_MIB = 2048
_MEMORY_BESIDES_MIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run before its builds: a request with its names resolved on this host, and its plan.

    Until bench is built, its cases are guessed from the tree's release.
    """

    request: RunRequest
    """With the chosen suites in place of `auto`."""

    tree: Tree
    subjects: tuple[Subject, ...]
    """In order. The others are compared with the first."""

    bench_revision: Revision
    """The revision whose bench all arms run."""

    bench_from: str
    """The arm or revision whose name means `bench_revision`."""

    platform: str
    host: Mapping[str, object]
    catalogue: Catalogue
    suites: tuple[Suite, ...]
    chosen: tuple[str, ...]
    """Sentences for the first lines of plan and report: the commits and suites that names resolved to."""

    notes: tuple[str, ...]
    """Sentences for the end of the report."""

    data: GuestData | None
    may_lack: frozenset[str]
    """Suites that came with `all` or `auto`. They are left out if their program does not build here."""

    objects: frozenset[str]
    """Objects of the tree's selftests that the cases of the profile verify."""

    plan: Plan
    left_out: tuple[CaseOutcome, ...]
    """Cases that are reported with their reason, but not run."""

    shape: GuestShape
    """Of the guests of cases that need no other."""

    layouts: int = 1
    """Layouts of each kernel; 1 if they are booted as they were built."""

    host_faults: tuple[str, ...] = ()
    """Why the host is not a bench host: failed walltime checks of `cliffwatch doctor`; empty in icount."""

    @property
    def mode(self) -> Mode:
        return self.request.mode

    @property
    def own_suites(self) -> tuple[Suite, ...]:
        """The user's own suites: their names are not in the catalogue."""
        known = {suite.name for suite in self.catalogue.suites}
        return tuple(suite for suite in self.suites if suite.name not in known)

    @property
    def need_bench(self) -> bool:
        """True if any case runs the kernel's bench."""
        return DISCOVERED in self.request.suites or any(suite.program is None for suite in self.suites)

    @property
    def one_bench(self) -> bool:
        """True if all arms verify the objects of `bench_revision`, False if each arm verifies its own."""
        return self.request.bench_from != "head"


Run = TypeVar("Run", bound=PlannedRun)


def plan_run(request: RunRequest) -> PlannedRun | tuple[Failure, ...]:
    """Resolves a request and plans its boots. Builds nothing, but may fetch git objects into the mirror.

    A plan without a case is refused.
    """
    run = _resolve(request)
    if isinstance(run, tuple):
        return run
    problem = layout_problem(request, run.subjects)
    if problem is not None:
        return (problem,)
    selection = select_run_cases(run, None)
    if not selection.cases and DISCOVERED not in request.suites:
        # Before bench is built all benchmarks count as offered, so that no build adds a case.
        return (nothing_to_run(selection.left_out),)
    wrong = unmatched_patterns(request, tuple(case.key for case in selection.cases))
    return wrong or plan_cases(run, selection)


def plan_cases(run: PlannedRun, selection: Selection) -> PlannedRun:
    """Plans the guest's shape and the boots for the selected cases, without those not asked for."""
    request = run.request
    selection = drop_answered(keep_named(selection, request.cases), request.answered)
    needed = max((case.memory_mib for case in selection.cases), default=0) + _MEMORY_BESIDES_MIB
    memory = request.memory_mib or max(_LEAST_MEMORY_MIB, needed)
    return plan_boots(replace(run, shape=guest_shape(request, memory)), selection)


def plan_boots(run: Run, selection: Selection) -> Run:
    """Plans the boots of the selected cases: as many as requested, or the default of the mode.

    By default, cases whose counts do not repeat get more boots in icount. In walltime, the first arm also
    comes under a second name, as control.
    """
    request = run.request
    names = tuple(subject.arm for subject in run.subjects)
    noisy = sum(case.icount.assume == "nothing" for case in selection.cases)
    own = request.mode == "icount" and request.boots is None and noisy > 0
    arms = (*names, CONTROL) if request.mode == "walltime" else names
    boots, layouts = request.boots_per_arm, run.layouts
    if request.seconds is not None:
        first = first_boots(request.seconds, selection.cases, len(arms), in_layouts=layouts > 1)
        boots, layouts = first.layouts * first.boots, first.layouts if layouts > 1 else 1
    plan = make_plan(
        selection.cases,
        arms=arms,
        boots=boots,
        seed=request.seed,
        notable=request.notable,
        of_noisy=max(ICOUNT_NOISY_BOOTS, fewest_boots(noisy)) if own else 0,
        layouts=layouts,
        matched=request.matched and layouts > 1,
        seconds=request.seconds,
    )
    return replace(run, plan=plan, layouts=layouts, left_out=selection.left_out)


def select_run_cases(
    run: PlannedRun,
    offered: tuple[str, ...] | None,
    lacking: Mapping[str, str] = NONE_LACKING,
    unbuilt: Mapping[str, str] = NONE_LACKING,
) -> Selection:
    """Selects the cases of the run's suites.

    `offered`: the benchmarks that bench lists; None before bench is built.
    `lacking`: the reason by suite, for suites whose program does not build here.
    `unbuilt`: the reason by BPF object, for objects that do not build here.
    """
    request = run.request
    offers = with_discovered(request.suites, run.suites, offered or (), run.catalogue, request.bench_args)
    return select_cases(
        [apply_shapes(suite, request.shapes) for suite in offers],
        request.profile,
        offered=frozenset(offered) if offered is not None else None,
        release=run.bench_revision.major_minor,
        mode=request.mode,
        cpus=run.shape.cpus,
        memory_mib=request.memory_mib,
        lacking=lacking,
        unbuilt=unbuilt,
    )


def _resolve(request: RunRequest) -> PlannedRun | tuple[Failure, ...]:
    """Checks a request and resolves its names. The plan that is returned has no case yet."""
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
    by_change = choose_auto_suites(request, subjects.arms, tree.mirror, catalogue.suites)
    if isinstance(by_change, Failure):
        return (by_change,)
    asked, request = request.suites, replace(request, suites=by_change.names)
    suites = collect_suites(request, catalogue)
    assert not isinstance(suites, Failure)  # all names are from the catalogue
    bench_from, bench = _bench(request.bench_from, subjects, tree)
    if isinstance(bench, Failure):
        return (bench,)
    host = {**host_record(), "programs": program_versions()}
    expanded = _with_objects(request, suites, data, tree, subjects.arms, bench)
    return PlannedRun(
        request=request,
        tree=tree,
        subjects=subjects.arms,
        bench_revision=bench,
        bench_from=bench_from,
        platform=request.platform or platform_name(host, request.mode, request.accel),
        host=host,
        catalogue=catalogue,
        suites=tuple(apply_shapes(suite, request.shapes) for suite in expanded),
        chosen=(*subjects.chosen, *((by_change.sentence,) if by_change.sentence else ())),
        notes=subjects.notes,
        data=data,
        may_lack=_may_lack(suites, asked),
        objects=_objects(request, expanded) if data is None or not data.objects else frozenset(),
        plan=Plan(seed=request.seed, cases=(), boots=()),
        left_out=(),
        shape=guest_shape(request, _LEAST_MEMORY_MIB),
        layouts=planned_layouts(request, subjects.arms),
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
        return tuple(with_own_objects(suite, data.objects) for suite in suites)
    own = compared_revisions(arms) if request.bench_from == "head" else []
    objects = objects_of_tree(tree, own or [bench])
    return tuple(with_objects(suite, objects) for suite in suites)


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
