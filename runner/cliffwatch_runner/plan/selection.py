"""Selects the cases of a run, by the request, the tree's bench and the guest's shape."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cliffwatch.catalogue.discovery import (
    ALL,
    AUTO,
    DISCOVERED,
    NO_CASE_RUNS,
    Missing,
    Unsupported,
    check_support,
    discovered_suite,
)
from cliffwatch.catalogue.load import Catalogue
from cliffwatch.catalogue.suite import PlannedCase, Suite
from cliffwatch.comparing.loops.empty_loop import loop_among
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.reports.explain import matches
from cliffwatch.samples import CaseKey, CaseOutcome, Mode, Profile
from cliffwatch.suggesting import did_you_mean
from cliffwatch_runner.plan.objects import object_of

ANSWERED = (
    "icount shows its change, so it is not measured in walltime as well: "
    "name it with --case to measure it in both"
)
NONE_LACKING: Mapping[str, str] = {}
"""No program failed to build, or none is built yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The cases to run and the cases left out."""

    cases: tuple[PlannedCase, ...]
    left_out: tuple[CaseOutcome, ...]
    """Reported with their reason, but not run."""


def choose_suites(catalogue: Catalogue, names: Sequence[str]) -> tuple[Suite, ...] | Failure:
    """Returns the named suites of the catalogue, or all for `all`. Ignores `auto` and `discovered`."""
    known = {suite.name: suite for suite in catalogue.suites}
    for name in names or ("",):
        if name not in known and name not in (ALL, AUTO, DISCOVERED):
            return wrong_usage(
                f"there is no suite '{name}'{did_you_mean(name, known)}",
                (f"choose among: {', '.join([AUTO, ALL, *sorted(known), DISCOVERED])} (cliffwatch suites)"),
            )
    if ALL in names:
        return catalogue.suites
    return tuple(known[name] for name in names if name in known)


def select_cases(
    suites: Sequence[Suite],
    profile: Profile,
    *,
    offered: frozenset[str] | None,
    release: tuple[int, int],
    mode: Mode,
    cpus: int,
    memory_mib: int | None,
    lacking: Mapping[str, str] = NONE_LACKING,
    unbuilt: Mapping[str, str] = NONE_LACKING,
) -> Selection:
    """Splits the profile's cases into those that can run and those that cannot.

    `offered`: the benchmarks that the tree's `bench -l` lists. None before bench is built (`--dry-run`): then
    only the release decides. A missing benchmark is unsupported if the tree is older than the benchmark's
    release, else it has failed.
    `lacking`: suites that cannot run, with the reason.
    `unbuilt`: BPF objects that did not build, with the reason.
    """
    cases: list[PlannedCase] = []
    left_out: list[CaseOutcome] = []
    for suite in suites:
        for case in suite.cases(profile):
            if suite.name in lacking:
                outcome: CaseOutcome | None = CaseOutcome(
                    case=case.key, status="not-run", reason=lacking[suite.name]
                )
            elif (reason := unbuilt.get(object_of(suite, case) or "")) is not None:
                outcome = CaseOutcome(case=case.key, status="not-run", reason=reason)
            else:
                outcome = _cannot_run(suite, case, offered, release, mode, cpus, memory_mib)
            if outcome is None:
                cases.append(case)
            else:
                left_out.append(outcome)
    return Selection(cases=tuple(cases), left_out=tuple(left_out))


def keep_named(selection: Selection, patterns: Sequence[str]) -> Selection:
    """Keeps the cases that match a pattern, with their empty loops. Without patterns, keeps all.

    Cases that were left out are filtered alike, without empty loops.
    """
    if not patterns:
        return selection

    def named(case: CaseKey) -> bool:
        return any(matches(case, pattern) for pattern in patterns)

    keys = [case.key for case in selection.cases]
    chosen: set[CaseKey | None] = {key for key in keys if named(key)}
    chosen |= {loop_among(case.key, case.empty_loop, keys) for case in selection.cases if case.key in chosen}
    return Selection(
        cases=tuple(case for case in selection.cases if case.key in chosen),
        left_out=tuple(outcome for outcome in selection.left_out if named(outcome.case)),
    )


def drop_answered(selection: Selection, answered: frozenset[CaseKey]) -> Selection:
    """Leaves out the cases that icount decided, but keeps the empty loops that other cases need."""
    keys = [case.key for case in selection.cases]
    kept: set[CaseKey | None] = {key for key in keys if key not in answered}
    kept |= {loop_among(case.key, case.empty_loop, keys) for case in selection.cases if case.key in kept}
    return Selection(
        cases=tuple(case for case in selection.cases if case.key in kept),
        left_out=(
            *selection.left_out,
            *(CaseOutcome(case=key, status="not-run", reason=ANSWERED) for key in keys if key not in kept),
        ),
    )


def nothing_to_run(left_out: Sequence[CaseOutcome]) -> Failure:
    """Says why a run has no case."""
    next_step = "choose other suites (cliffwatch suites)"
    reasons = {outcome.reason for outcome in left_out}
    if not reasons:
        return wrong_usage("the chosen suites have no case in this profile", next_step)
    if len(reasons) == 1:
        return wrong_usage(f"{NO_CASE_RUNS}: {reasons.pop()}", next_step)
    cases = dict.fromkeys(f"{outcome.case}: {outcome.reason}" for outcome in left_out)
    return wrong_usage(NO_CASE_RUNS, next_step, "\n".join(list(cases)[:20]))


def _cannot_run(
    suite: Suite,
    case: PlannedCase,
    offered: frozenset[str] | None,
    release: tuple[int, int],
    mode: Mode,
    cpus: int,
    memory_mib: int | None,
) -> CaseOutcome | None:
    benchmark = next(each for each in suite.benchmarks if each.name == case.key.benchmark)
    if offered is None or suite.program is not None:
        offered = frozenset({benchmark.offered_as})
    answer = check_support(benchmark, offered, release, suite.other_names(benchmark))
    if isinstance(answer, Unsupported):
        return CaseOutcome(case=case.key, status="unsupported", reason=answer.reason)
    if isinstance(answer, Missing):
        return CaseOutcome(case=case.key, status="failed", reason=answer.reason)
    if case.guest.concurrent and mode == "icount":
        reason = (
            "not measured in icount: the guest's CPUs do not run concurrently there, as they share one clock"
        )
        return CaseOutcome(case=case.key, status="unsupported", reason=reason)
    unfit = _does_not_fit(case, case.guest.cpus or cpus, memory_mib)
    return None if unfit is None else CaseOutcome(case=case.key, status="not-run", reason=unfit)


def _does_not_fit(case: PlannedCase, cpus: int, memory_mib: int | None) -> str | None:
    """Returns why the case does not fit a guest of this size, or None."""
    possible = case.guest.possible_cpus
    if possible is not None and possible < cpus:
        return (
            f"its guest has {cpus} CPUs but only {possible} possible CPUs: lower cpus or raise possible_cpus"
        )
    if case.min_cpus > cpus:
        return f"needs {case.min_cpus} CPUs, the guest has {cpus}: use --cpus {case.min_cpus}"
    if memory_mib is not None and case.memory_mib > memory_mib:
        return f"needs {case.memory_mib} MiB, the guest has {memory_mib}: use --memory {case.memory_mib}"
    return None


def with_discovered(
    names: Sequence[str],
    suites: Sequence[Suite],
    offered: Sequence[str],
    catalogue: Catalogue,
    args: Sequence[str] = (),
) -> tuple[Suite, ...]:
    """Adds the benchmarks that are in the tree but not in the catalogue, if `discovered` is requested.

    Each gets the arguments `args`.
    """
    if DISCOVERED not in names:
        return tuple(suites)
    return (*suites, discovered_suite(offered, catalogue, args))
