"""Selects what to measure of a pull request, from its policy and from commands."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import msgspec

from cliffwatch.catalogue.discovery import AUTO
from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.catalogue.touches import find_touched_suites
from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.setup import NO_SETUP, Setup, find_conflict
from cliffwatch.pull_request.bench_command import BenchCommand
from cliffwatch.pull_request.policy import Policy
from cliffwatch.samples import DEFAULT_BOOTS, CaseKey

Targets = tuple[tuple[str, str], ...]
"""Pairs of platform and mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What to measure, as a request takes it."""

    suites: tuple[str, ...]
    profile: str
    boots: str
    targets: Targets
    setup: Setup = NO_SETUP
    """Layouts and time of the targets in walltime."""
    again: str = ""
    """Distinguishes measurements that people requested by comment; empty for the policy's own."""


def selection_of(policy: Policy) -> Selection:
    return Selection(
        suites=policy.suites,
        profile=policy.profile,
        boots=str(policy.boots),
        targets=tuple((target.platform, target.mode) for target in policy.targets),
        # Of a tree from outside no build is kept, to link head again where base has its functions.
        setup=msgspec.structs.replace(policy.setup, matched=False),
    )


def refuse_unaffected(selection: Selection, paths: Sequence[str]) -> Failure | None:
    """Fails if suites are selected automatically and no suite is affected by these files."""
    if set(selection.suites) != {AUTO} or not paths or find_touched_suites(load_catalogue().suites, paths):
        return None
    more = f" and {count_noun(len(paths) - 1, 'other')}" if paths[1:] else ""
    names = ", ".join(suite.name for suite in load_catalogue().suites)
    return wrong_usage(
        f"no suite executes what head changes ({paths[0][:100]}{more}), so nothing is measured",
        f"`/bench suite=NAME` measures one all the same, of {names}",
    )


def select_measurement(
    policy: Policy, command: BenchCommand, offered: Collection[tuple[str, str]], comment: int
) -> Selection | Failure:
    """Returns what a command asks for.

    A command may name platforms outside the policy if a host offers them.
    """
    selection = selection_of(policy)
    targets = _targets(selection.targets, command, sorted(offered))
    if not targets:
        known = ", ".join(
            f"`{platform}` in {mode}" for platform, mode in sorted({*offered, *selection.targets})
        )
        return wrong_usage(
            "No host measures that",
            f"there is {known}" if known else "there is no host yet; start `cliffwatch worker` on one",
        )
    suites = command.suites or selection.suites
    if command.cases:
        found = _suites_with(command.cases)
        if not found:
            return wrong_usage("No suite has such a case", "`cliffwatch suites` lists them")
        suites = command.suites or found
    selection = _with_boots(selection, command)
    modes = {mode for _, mode in targets}
    if modes == {"icount"} and not _says_boots(command):
        selection = replace(
            selection, setup=NO_SETUP
        )  # the policy's layouts and time are for its other targets
    conflict = find_conflict(selection.setup, selection.boots, modes)
    if conflict is not None:
        return wrong_usage("That does not go together", conflict.reason)
    return replace(selection, suites=tuple(suites), targets=targets, again=f"comment {comment}")


def _with_boots(selection: Selection, command: BenchCommand) -> Selection:
    """Boots, layouts and time of a command that says one of them take the place of the policy's."""
    if not _says_boots(command):
        return selection
    own = DEFAULT_BOOTS if command.seconds is not None else selection.boots
    setup = Setup(layouts=command.layouts, seconds=command.seconds)
    return replace(selection, boots=command.boots or own, setup=setup)


def _says_boots(command: BenchCommand) -> bool:
    return (command.boots, command.layouts, command.seconds) != (None, None, None)


def _targets(own: Targets, command: BenchCommand, offered: Sequence[tuple[str, str]]) -> Targets:
    for targets in (own, tuple(offered)) if command.platforms or command.modes else (own,):
        wanted = tuple(
            (platform, mode)
            for platform, mode in targets
            if (not command.platforms or platform in command.platforms)
            and (not command.modes or mode in command.modes)
        )
        if wanted and {platform for platform, _ in wanted} >= set(command.platforms):
            return wanted
    return ()


def _suites_with(cases: Sequence[str]) -> tuple[str, ...]:
    """Returns the suites that have a benchmark or a case matching one of these names or patterns.

    A case is always measured with the rest of its suite.
    """
    return tuple(
        suite.name
        for suite in load_catalogue().suites
        if any(_is_named(case.key, pattern) for case in suite.cases("full") for pattern in cases)
    )


def _is_named(case: CaseKey, pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in (case.benchmark, str(case), f"{case.suite}/{case}"))
