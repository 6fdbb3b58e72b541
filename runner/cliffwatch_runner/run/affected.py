"""Which cases a change can touch: those that execute a function whose code, or the data that it refers to, is not the same in both kernels."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.counting import counted
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.boot_record import BootRecord
from cliffwatch.formats.code.affected import AffectedCase, AffectedDocument
from cliffwatch.formats.code.function_counts import FunctionCountsRecord
from cliffwatch.formats.reading import Wrong, read_as
from cliffwatch.formats.result_directory import read_run
from cliffwatch.samples import CaseKey, CaseOutcome
from cliffwatch_runner.build.code.functions import Digests, differing, function_digests
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.plan.selection import Selection
from cliffwatch_runner.plan.writable_folders import RESULTS_HOME
from cliffwatch_runner.results.function_counts import FUNCTION_COUNTS
from cliffwatch_runner.results.record import BuiltArm
from cliffwatch_runner.sandbox.sandbox import Sandbox

_LARGEST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """The kernel's functions that cases execute, from the boots of a run: by case, and `start` of every guest. `kernels` are the digests
    of those that were counted.
    """

    folder: Path
    cases: Mapping[CaseKey, frozenset[str]]
    start: frozenset[str]
    kernels: frozenset[str]


def newest_counts() -> Path | None:
    """The result directory under `cliffwatch-results` whose counts by function are the newest."""
    files = sorted(RESULTS_HOME.glob(f"*/boots/*/{FUNCTION_COUNTS}"), key=lambda path: path.stat().st_mtime)
    return files[-1].parents[2] if files else None


def read_executed(folder: Path) -> Executed | Failure:
    """What the boots of a run executed, all of them together: what one boot executes by chance counts too."""
    run = read_run(folder)
    if isinstance(run, Failure):
        return run
    cases: dict[CaseKey, set[str]] = {}
    start: set[str] = set()
    arms: set[str] = set()
    for home in sorted((folder / "boots").glob("*")):
        about, counts = _read(home)
        if about is None or counts is None:
            continue
        arms.add(about.arm)
        start |= _names(counts, (*counts.started, *counts.booted))
        for case in counts.cases:
            cases.setdefault(case.key, set()).update(_names(counts, case.executed))
    if not cases:
        return wrong_usage(
            f"{folder} has no counts by function",
            "name a result directory of an icount run that counted them, with --counts",
        )
    kernels = {arm.facts.kernel for arm in run.record.arms if arm.name in arms and arm.facts.kernel is not None}
    return Executed(
        folder=folder,
        cases={case: frozenset(names) for case, names in cases.items()},
        start=frozenset(start),
        kernels=frozenset(kernels),
    )


def _read(home: Path) -> tuple[BootRecord | None, FunctionCountsRecord | None]:
    try:
        about = read_as((home / "boot.json").read_bytes(), BootRecord)
        with (home / FUNCTION_COUNTS).open("rb") as file:
            counts = read_as(file.read(_LARGEST_BYTES), FunctionCountsRecord)
    except OSError:
        return None, None
    return None if isinstance(about, Wrong) else about, None if isinstance(counts, Wrong) else counts


def _names(counts: FunctionCountsRecord, places: Iterable[int]) -> set[str]:
    """Of the kernel's functions alone: bench and its programs are the same for all arms."""
    functions = counts.functions
    return {functions[place].name for place in places if place < len(functions) and functions[place].object == "kernel"}


def changed_functions(
    arms: Mapping[str, BuiltArm], cache: Path, sandbox: Sandbox, should_stop: Callable[[], bool]
) -> frozenset[str] | Failure:
    """The functions in which the kernel of any arm differs from that of the first one."""
    digests: list[Digests] = []
    for name, arm in arms.items():
        if not isinstance(arm.kernel, Kernel):
            return arm.kernel
        made = function_digests(arm.kernel.folder, cache, sandbox, should_stop)
        if isinstance(made, str):
            return Failure(
                whose="host",
                message=f"the functions of {name} cannot be compared: {made}",
                next_step="measure all cases",
            )
        digests.append(made)
    return frozenset(name for other in digests[1:] for name in differing(digests[0], other))


def affected_cases(
    arms: Mapping[str, BuiltArm], cases: Sequence[PlannedCase], changed: frozenset[str], executed: Executed
) -> AffectedDocument:
    """Every planned case, affected or not; of more than two arms the last one is called head."""
    base, *_, head = arms.values()
    kernels = {arm.kernel.digest for arm in arms.values() if isinstance(arm.kernel, Kernel)}
    at_start = changed & executed.start
    all_cases = [_case(case, changed, executed) for case in _distinct(cases)]
    touched = [bool(at_start) or bool(case.functions) or not case.counted for case in all_cases]
    return AffectedDocument(
        base=base.subject.label[:4000],
        head=head.subject.label[:4000],
        counts=str(executed.folder),
        same_kernel=bool(kernels & executed.kernels),
        changed=tuple(sorted(changed)),
        at_start=tuple(sorted(at_start)),
        affected=tuple(case for case, is_touched in zip(all_cases, touched, strict=True) if is_touched),
        unaffected=tuple(case for case, is_touched in zip(all_cases, touched, strict=True) if not is_touched),
    )


def only_affected(
    selection: Selection,
    arms: Mapping[str, BuiltArm],
    counts: Path,
    cache: Path,
    sandbox: Sandbox,
    should_stop: Callable[[], bool],
) -> Selection | Failure:
    """The cases that can be touched; the others are left out, as what they are."""
    executed = read_executed(counts)
    changed = executed if isinstance(executed, Failure) else changed_functions(arms, cache, sandbox, should_stop)
    if isinstance(executed, Failure) or isinstance(changed, Failure):
        return next(each for each in (executed, changed) if isinstance(each, Failure))
    unaffected = {case.key for case in affected_cases(arms, selection.cases, changed, executed).unaffected}
    reason = f"unchanged build: it executes none of the {counted(len(changed), 'function that differs', 'functions that differ')} (by {counts})"
    same = tuple(
        CaseOutcome(case=case.key, status="not-run", reason=reason)
        for case in selection.cases
        if case.key in unaffected
    )
    return replace(
        selection,
        cases=tuple(case for case in selection.cases if case.key not in unaffected),
        left_out=(*selection.left_out, *same),
    )


def _distinct(cases: Sequence[PlannedCase]) -> list[CaseKey]:
    return list(dict.fromkeys(case.key for case in cases))


def _case(key: CaseKey, changed: frozenset[str], executed: Executed) -> AffectedCase:
    names = executed.cases.get(key)
    return AffectedCase(
        suite=key.suite,
        benchmark=key.benchmark,
        params=dict(key.params),
        counted=names is not None,
        functions=tuple(sorted(changed & (names or frozenset()))),
    )
