"""Finds the affected cases: those that execute a function whose code or data differs between the kernels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure
from cliffwatch.formats.code.affected import AffectedCase, AffectedDocument
from cliffwatch.samples import CaseKey, CaseOutcome
from cliffwatch_runner.build.cache.executed import Executed
from cliffwatch_runner.build.code.functions import Digests, find_differing, function_digests
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.build.programs.program import SuiteProgram
from cliffwatch_runner.plan.selection import Selection
from cliffwatch_runner.run.built_run import BuiltArm
from cliffwatch_runner.run.unchanged_builds.case_code import CodeOfArm, digests_of
from cliffwatch_runner.sandbox.sandbox import Sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """How the arms differ from the first one."""

    functions: frozenset[str]
    """Kernel functions that differ."""

    suites: frozenset[str] = frozenset()
    """Suites whose programs differ."""

    guests: bool = False
    """True if guests are set up differently: by boot arguments or by files that are written."""


def changed_functions(
    arms: Mapping[str, BuiltArm], cache: Path, sandbox: Sandbox, should_stop: Callable[[], bool]
) -> frozenset[str] | Failure:
    """Returns the functions in which any arm's kernel differs from the first one's."""
    digests: list[Digests] = []
    for name, arm in arms.items():
        if not isinstance(arm.kernel, Kernel):
            return arm.kernel
        made = function_digests(arm.kernel.folder, cache, sandbox, should_stop)
        if isinstance(made, Failure):
            return replace(made, message=f"the functions of {name} cannot be compared: {made.message}")
        digests.append(made)
    return frozenset(name for other in digests[1:] for name in find_differing(digests[0], other))


def differences(
    arms: Mapping[str, BuiltArm],
    programs: Mapping[str, Sequence[SuiteProgram]],
    cache: Path,
    sandbox: Sandbox,
    should_stop: Callable[[], bool],
) -> Differences | Failure:
    """Returns how the arms differ from the first one. Raises Stopped, OSError."""
    functions = changed_functions(arms, cache, sandbox, should_stop)
    if isinstance(functions, Failure):
        return functions
    digests = [{(each.suite, each.digest) for each in programs.get(name, ())} for name in arms]
    suites = {suite for other in digests[1:] for suite, _ in other ^ digests[0]}
    prepared = [(arm.subject.settings.boot, arm.subject.settings.files()) for arm in arms.values()]
    return Differences(
        functions=functions, suites=frozenset(suites), guests=any(each != prepared[0] for each in prepared)
    )


def affected_cases(
    arms: Mapping[str, BuiltArm],
    cases: Sequence[PlannedCase],
    changed: Differences,
    executed: Executed,
    code: Mapping[str, CodeOfArm] | None = None,
) -> AffectedDocument:
    """Returns every planned case, split into affected and unaffected, with digests of the `code` that each
    arm executes.

    If there are more than two arms, the last one is called head.
    """
    base, *_, head = arms.values()
    kernels = {arm.kernel.digest for arm in arms.values() if isinstance(arm.kernel, Kernel)}
    at_start = changed.functions & executed.start
    all_cases = [_case(case, changed, executed, code or {}) for case in _distinct(cases)]
    touched = [
        changed.guests or bool(at_start) or bool(case.functions) or case.program or not case.counted
        for case in all_cases
    ]
    return AffectedDocument(
        base=base.subject.label[:4000],
        head=head.subject.label[:4000],
        counts=executed.source,
        same_kernel=bool(kernels & executed.kernels),
        changed=tuple(sorted(changed.functions)),
        at_start=tuple(sorted(at_start)),
        guests_differ=changed.guests,
        affected=tuple(case for case, is_touched in zip(all_cases, touched, strict=True) if is_touched),
        unaffected=tuple(case for case, is_touched in zip(all_cases, touched, strict=True) if not is_touched),
    )


def only_affected(
    selection: Selection, arms: Mapping[str, BuiltArm], changed: Differences, executed: Executed
) -> Selection:
    """Returns the selection with the unaffected cases left out as `unchanged-build`."""
    unaffected = {case.case for case in affected_cases(arms, selection.cases, changed, executed).unaffected}
    reason = _unchanged(arms, len(changed.functions))
    same = tuple(
        CaseOutcome(case=case.key, status="unchanged-build", reason=reason)
        for case in selection.cases
        if case.key in unaffected
    )
    return replace(
        selection,
        cases=tuple(case for case in selection.cases if case.key not in unaffected),
        left_out=(*selection.left_out, *same),
    )


def _unchanged(arms: Mapping[str, BuiltArm], differing: int) -> str:
    """Names the kernels, because the reason may be shown where an arm is compared with another run."""
    kernels = " and ".join(dict.fromkeys(arm.subject.short for arm in arms.values()))
    if not differing:
        return f"no function of {kernels} differs"
    functions = count_noun(differing, "function that differs", "functions that differ")
    return f"it executes none of the {functions} between {kernels}"


def _distinct(cases: Sequence[PlannedCase]) -> list[CaseKey]:
    return list(dict.fromkeys(case.key for case in cases))


def _case(
    key: CaseKey, changed: Differences, executed: Executed, code: Mapping[str, CodeOfArm]
) -> AffectedCase:
    names = executed.cases.get(key)
    return AffectedCase(
        suite=key.suite,
        benchmark=key.benchmark,
        params=dict(key.params),
        counted=names is not None,
        program=key.suite in changed.suites,
        functions=tuple(sorted(changed.functions & (names or frozenset()))),
        code=digests_of(code, executed, key) if code else None,
    )
