"""`--suite auto`: chooses the suites whose cases execute the code that head changes.

The function counts of earlier runs on this host decide, function by function. The source files that a suite
declares (`touches` in its suite.toml) decide in two cases:

- no case of the suite was ever counted here;
- a changed function has no symbol of its own, because compilers inline it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cliffwatch.catalogue.suite import Suite
from cliffwatch.catalogue.touches import is_touched
from cliffwatch.comparing.attribution.operations import plain_name
from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.samples import CaseKey
from cliffwatch_runner.source.ranges.changes import ChangedFile

_NAMED = 3
"""Most files or functions that a sentence names."""

Measured = Mapping[str, frozenset[str]]
"""The functions on the measured path of any case, by suite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AffectedSuite:
    """A suite that a change affects."""

    name: str
    functions: tuple[str, ...] = ()
    """Changed functions that its cases executed in earlier runs."""

    files: tuple[str, ...] = ()
    """Changed files that it declares."""

    @property
    def why(self) -> str:
        """The reason, such as `executes __bpf_ringbuf_reserve`."""
        parts = [f"executes {_abbreviate(self.functions)}"] if self.functions else []
        return "; ".join([*parts, *([f"declares {_abbreviate(self.files)}"] if self.files else [])])


def measured_by_suite(by_case: Mapping[CaseKey, frozenset[str]]) -> Measured:
    """Merges executed functions by case into functions by suite, under their names in the source."""
    found: dict[str, frozenset[str]] = {}
    for case, names in by_case.items():
        found[case.suite] = found.get(case.suite, frozenset()) | {plain_name(name) for name in names}
    return found


def affected_suites(
    suites: Iterable[Suite], changes: Sequence[ChangedFile], measured: Measured
) -> tuple[AffectedSuite, ...]:
    """Returns the suites that the changes affect, in the order of the catalogue."""
    symbols: frozenset[str] = frozenset().union(*measured.values())
    found = []
    for suite in suites:
        functions: dict[str, None] = {}
        files: dict[str, None] = {}
        for change in changes:
            executed = change.functions & measured.get(suite.name, frozenset())
            functions.update(dict.fromkeys(sorted(executed)))
            counts_decide = suite.name in measured and not change.whole and change.functions <= symbols
            if not executed and not counts_decide and change.is_code and is_touched(suite, change.path):
                files[change.path] = None
        if functions or files:
            found.append(AffectedSuite(name=suite.name, functions=tuple(functions), files=tuple(files)))
    return tuple(found)


def chosen_sentence(found: Sequence[AffectedSuite], changes: Sequence[ChangedFile]) -> str:
    """Returns the sentence that names the suites and the reasons, for the first lines of plan and report."""
    chosen = ", ".join(f"{each.name} ({each.why})" for each in found)
    return f"Suites by what head changes in {_abbreviate([each.path for each in changes])}: {chosen}"


def none_affected(changes: Sequence[ChangedFile], suites: Iterable[Suite]) -> Failure:
    """Returns a failure that says why no suite is affected, and which suites there are."""
    if not changes:
        what = "base and head have the same files, so no suite is affected"
    elif not any(each.is_code for each in changes):
        what = (
            "head changes only comments, so no suite is affected:"
            f" {_abbreviate([each.path for each in changes])}"
        )
    else:
        what = f"no suite executes what head changes: {_abbreviate([each.path for each in changes])}"
    return wrong_usage(what, f"name the suites to measure anyway with --suite: {suites_offered(suites)}")


def suites_offered(suites: Iterable[Suite]) -> str:
    return f"all, or some of {', '.join(suite.name for suite in suites)}"


def _abbreviate(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {count_noun(more, 'other')}" if more > 0 else "")
