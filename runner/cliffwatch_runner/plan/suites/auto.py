"""Replaces `auto` with suites, once the arms of a run are resolved."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from cliffwatch.catalogue.discovery import AUTO
from cliffwatch.catalogue.suite import Suite
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.reports.explain import matches
from cliffwatch_runner.build.cache.executed import measured_by_case
from cliffwatch_runner.plan.arm_words.modules import check_modules, modules_of
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.subjects import Subject, compared_revisions
from cliffwatch_runner.plan.suites.affected import (
    Measured,
    affected_suites,
    chosen_sentence,
    measured_by_suite,
    none_affected,
    suites_offered,
)
from cliffwatch_runner.source.git import git
from cliffwatch_runner.source.ranges.changes import ChangedFile, changed_files

NOTHING_COUNTED: Measured = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSuites:
    """Names of suites, and the reason for their choice."""

    names: tuple[str, ...]
    sentence: str = ""
    """Empty if the user named the suites."""


def choose_auto_suites(
    request: RunRequest, arms: Sequence[Subject], mirror: Path, suites: Sequence[Suite]
) -> ChosenSuites | Failure:
    """Returns the suites in place of `auto`, before those that the user named as well."""
    if AUTO not in request.suites:
        return ChosenSuites(names=request.suites)
    chosen = _choose(request, arms, mirror, suites)
    if isinstance(chosen, Failure):
        return chosen
    others = (name for name in request.suites if name != AUTO)
    return replace(chosen, names=tuple(dict.fromkeys((*chosen.names, *others))))


def _choose(
    request: RunRequest, arms: Sequence[Subject], mirror: Path, suites: Sequence[Suite]
) -> ChosenSuites | Failure:
    if request.cases:
        return _with_cases(request, suites)
    if any(arm.settings.module for arm in arms):
        return _with_modules(request, suites)
    if any(arm.revision is None for arm in arms):
        return wrong_usage(
            "a prebuilt kernel has no revision, so it is not known what it changes",
            f"name the suites to measure with --suite: {suites_offered(suites)}",
        )
    return _of_revisions(request, arms, mirror, suites)


def _of_revisions(
    request: RunRequest, arms: Sequence[Subject], mirror: Path, suites: Sequence[Suite]
) -> ChosenSuites | Failure:
    changes = _changes(arms, mirror)
    if isinstance(changes, Failure):
        return changes
    if not changes and any(arm.settings != arms[0].settings for arm in arms):
        return wrong_usage(
            "the arms differ only in their settings, which may affect any suite",
            f"name the suites to measure with --suite: {suites_offered(suites)}",
        )
    counted = NOTHING_COUNTED if request.trust == "outside" else _load_counts(request)
    return suites_of_changes(suites, changes, request.suites, counted, own=bool(request.own_suites))


def _with_modules(request: RunRequest, suites: Sequence[Suite]) -> ChosenSuites | Failure:
    """Chooses the suites whose programs are built with the arms' Go modules."""
    wrong = next(check_modules(request.arms, suites), None)
    if wrong is not None:
        return wrong
    modules = list(dict.fromkeys(name for arm in request.arms for name in arm.module))
    names = tuple(each.name for each in suites if not (modules_of(each) or {}).keys().isdisjoint(modules))
    return ChosenSuites(
        names=names, sentence=f"Suites that are built with {', '.join(modules)}: {', '.join(names)}"
    )


def suites_of_changes(
    suites: Sequence[Suite],
    changes: Sequence[ChangedFile],
    named: Sequence[str] = (AUTO,),
    counted: Measured = NOTHING_COUNTED,
    *,
    own: bool = False,
) -> ChosenSuites | Failure:
    """Replaces `auto` in `named` with the suites that the changes affect.

    Returns a Failure if no suite is left, unless the user has suites of his `own`.
    """
    others = [name for name in named if name != AUTO]
    found = affected_suites(suites, changes, counted)
    if found:
        names = dict.fromkeys((*(each.name for each in found), *others))
        return ChosenSuites(names=tuple(names), sentence=chosen_sentence(found, changes))
    none = none_affected(changes, suites)
    if not others and not own:
        return none
    what = f"{none.message[0].upper()}{none.message[1:]}"
    return ChosenSuites(names=tuple(others), sentence=f"{what}; only the named suites are measured")


def _load_counts(request: RunRequest) -> Measured:
    return measured_by_suite(measured_by_case(request.cache, request.trust))


def _with_cases(request: RunRequest, suites: Sequence[Suite]) -> ChosenSuites | Failure:
    """Chooses the suites with a case that matches `--case`. Returns a Failure if no suite has one."""
    names = tuple(
        suite.name
        for suite in suites
        if any(
            matches(case.key, pattern) for case in suite.cases(request.profile) for pattern in request.cases
        )
    )
    patterns = ", ".join(request.cases)
    if not names:
        return wrong_usage(
            f"--case: no case of any suite matches {patterns!r} in the profile {request.profile}",
            "`cliffwatch suites show NAME` lists the cases of a suite",
        )
    return ChosenSuites(names=names, sentence=f"Suites with the cases {patterns}: {', '.join(names)}")


def _changes(arms: Sequence[Subject], mirror: Path) -> tuple[ChangedFile, ...] | Failure:
    """Returns the files that any arm changes against the first, with their changed functions merged."""
    first, *others = compared_revisions(arms)
    found: dict[str, ChangedFile] = {}
    for each in others:
        changes = changed_files(partial(git, git_dir=mirror), first.commit, each.commit)
        if isinstance(changes, Failure):
            return changes
        for change in changes:
            known = found.get(change.path)
            found[change.path] = (
                change
                if known is None
                else replace(
                    change, functions=change.functions | known.functions, whole=change.whole or known.whole
                )
            )
    return tuple(found.values())
