"""Cases that differ only in the number of processors.

Go appends GOMAXPROCS to a benchmark's name (`BenchmarkAdd-8`).
"""

from collections.abc import Iterator

from cliffwatch.columns import columns_of, rename_cases
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.samples import Arm, CaseKey

_PROCS = "procs"


def warnings_of_processors(base: Arm, head: Arm) -> Iterator[str]:
    """Warns if the sides have benchmarks of one name that never ran on equally many processors."""
    sides = [_procs_by_case(arm) for arm in (base, head)]
    common = [case for case in sides[0] if case in sides[1]]
    apart = [case for case in common if not set(sides[0][case]) & set(sides[1][case])]
    if apart:
        first, second = (_suffixes([procs for case in apart for procs in side[case]]) for side in sides)
        yield (
            f"base ran on other numbers of processors than head: {first} against {second} behind the names."
            " They are other cases; --ignore-procs compares them."
        )


def without_processors(arm: Arm) -> Arm | Failure:
    """The arm without numbers of processors in its cases.

    A Failure if that would merge several cases into one.
    """
    several = sorted({", ".join(procs) for procs in _procs_by_case(arm).values() if len(procs) > 1})
    if several:
        return wrong_usage(
            f"{arm.label} has benchmarks on several numbers of processors ({several[0]}), which"
            " --ignore-procs would make one",
            "leave --ignore-procs out, or give each side the results of one number",
        )
    return rename_cases(arm, _without_procs)


def _procs_by_case(arm: Arm) -> dict[CaseKey, list[str]]:
    """Numbers of processors by case without them; an empty text if a case has none."""
    found: dict[CaseKey, list[str]] = {}
    for case in dict.fromkeys(key.case for key in columns_of(arm.boots).keys):
        found.setdefault(_without_procs(case), []).append(dict(case.params).get(_PROCS, ""))
    return found


def _without_procs(case: CaseKey) -> CaseKey:
    if all(name != _PROCS for name, _ in case.params):
        return case
    return case._replace(params=tuple(each for each in case.params if each[0] != _PROCS))


def _suffixes(numbers: list[str]) -> str:
    return " and ".join(f"-{number}" if number else "none" for number in dict.fromkeys(numbers))
