"""Renamed benchmarks: the suite declares former names. Similar names are never linked."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from cliffwatch.columns import bad_outcomes_of, columns_of, rename_cases
from cliffwatch.samples import Arm, CaseKey

_NOT_THERE = ("unsupported", "not-run")

_Benchmark = tuple[str, str]
"""Suite and name."""

_Names = Mapping[_Benchmark, Sequence[str]]
"""By benchmark, under its present name: the names under which an arm has it."""


def under_present_names(arms: Sequence[tuple[str, Arm]], renamed: Callable[[CaseKey], CaseKey]) -> list[Arm]:
    """The arms with renamed benchmarks under their present names, and with warnings that say so.

    `arms` are given with the names that the report uses. Names stay if all arms use the same name, or if one
    arm has a benchmark under two names.
    """
    names = [_names_by_benchmark(arm, renamed) for _, arm in arms]
    several = {
        each
        for of_arm in names
        for each in of_arm
        if len({tuple(has[each]) for has in names if each in has}) > 1
    }
    if not several:
        return [arm for _, arm in arms]
    ambiguous = {each for of_arm in names for each in several & of_arm.keys() if len(of_arm[each]) > 1}
    return [
        replace(
            _link_names(arm, has, several - ambiguous, renamed),
            warnings=(*arm.warnings, *_warnings(name, has, several - ambiguous, ambiguous)),
        )
        for (name, arm), has in zip(arms, names, strict=True)
    ]


def _names_by_benchmark(arm: Arm, renamed: Callable[[CaseKey], CaseKey]) -> _Names:
    found: dict[_Benchmark, dict[str, None]] = {}
    for case in _cases_of(arm):
        found.setdefault(_benchmark(renamed(case)), {})[case.benchmark] = None
    return {each: tuple(sorted(names)) for each, names in found.items()}


def _cases_of(arm: Arm) -> Iterable[CaseKey]:
    """Cases that the arm measured or should have measured.

    A case that its tree does not offer may exist under the other name.
    """
    ended = (
        each.case for each in (*bad_outcomes_of(arm.boots), *arm.unchanged) if each.status not in _NOT_THERE
    )
    return dict.fromkeys(
        chain((key.case for key in columns_of(arm.boots).keys), ended, (case for case, _ in arm.lost))
    )


def _link_names(arm: Arm, has: _Names, linked: set[_Benchmark], renamed: Callable[[CaseKey], CaseKey]) -> Arm:
    former = {(suite, has[suite, name][0]) for suite, name in linked & has.keys()} - linked
    if not former:
        return arm
    return rename_cases(arm, lambda case: renamed(case) if _benchmark(case) in former else case)


def _warnings(arm: str, has: _Names, linked: set[_Benchmark], ambiguous: set[_Benchmark]) -> Iterator[str]:
    pairs = [(has[each][0], each[1]) for each in sorted(linked & has.keys()) if has[each][0] != each[1]]
    if pairs:
        told = ", ".join(f"{former} as {present}" for former, present in pairs)
        yield f"Benchmarks of {arm} that were renamed are compared under their present names: {told}."
    for each in sorted(ambiguous & has.keys()):
        if len(has[each]) > 1:
            yield (
                f"{arm} has {' and '.join(has[each])}, names of one benchmark before and after it was"
                " renamed, so that neither is taken for the other. To compare it, give results that have one"
                " of them."
            )


def _benchmark(case: CaseKey) -> _Benchmark:
    return case.suite, case.benchmark
