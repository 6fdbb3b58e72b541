"""Reads which kernel functions the cases of a run execute, and describes what else decides that."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.boot_record import BootRecord
from cliffwatch.formats.code.function_counts import CaseCounts, FunctionCountsRecord
from cliffwatch.formats.reading import read_as
from cliffwatch.formats.result_directory import read_run
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import CaseKey
from cliffwatch_runner.build.cache.executed import Executed
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.build.programs.loaded import loaded_digest
from cliffwatch_runner.plan.writable_folders import RESULTS_HOME
from cliffwatch_runner.results.function_counts import FUNCTION_COUNTS
from cliffwatch_runner.run.built_run import BuiltRun

_LARGEST_BYTES = 64 << 20
_LEAST_SHARE = 0.001


def newest_counts() -> Path | None:
    """Returns the folder of `cliffwatch-results` with the newest function counts; None if there are none."""
    files = sorted(RESULTS_HOME.glob(f"*/boots/*/{FUNCTION_COUNTS}"), key=lambda path: path.stat().st_mtime)
    return files[-1].parents[2] if files else None


def read_executed(folder: Path, arm: str | None = None) -> Executed | Failure:
    """Returns the functions that a run executed, over all boots or those of one arm.

    The boots are united, because a function that one boot executes by chance counts, too.
    """
    run = read_run(folder)
    if isinstance(run, Failure):
        return run
    cases: dict[CaseKey, set[str]] = {}
    measured: dict[CaseKey, set[str]] = {}
    start: set[str] = set()
    arms: set[str] = set()
    for home in sorted((folder / "boots").glob("*")):
        about, counts = _read(home)
        if about is None or counts is None or arm not in (None, about.arm):
            continue
        arms.add(about.arm)
        start |= _names(counts, (*counts.started, *counts.booted))
        for case in counts.cases:
            cases.setdefault(case.case, set()).update(_names(counts, case.executed))
            measured.setdefault(case.case, set()).update(_names(counts, measured_places(case)))
    if not cases:
        return wrong_usage(
            f"{folder} has no function counts",
            "name the result directory of an icount run that has them, with --counts",
        )
    kernels = {
        each.facts.kernel for each in run.record.arms if each.name in arms and each.facts.kernel is not None
    }
    return Executed(
        source=str(folder),
        cases={case: frozenset(names) for case, names in cases.items()},
        start=frozenset(start),
        kernels=frozenset(kernels),
        measured={case: frozenset(names) for case, names in measured.items()},
    )


def measured_places(case: CaseCounts) -> Iterator[int]:
    """Yields the functions with a larger share of the window's instructions than a timer tick has.

    Yields nothing for a case whose window is not known.
    """
    total = sum(count for _, count in case.counts)
    if case.seconds is not None:
        yield from (place for place, count in case.counts if count >= _LEAST_SHARE * total)


def _read(home: Path) -> tuple[BootRecord | None, FunctionCountsRecord | None]:
    try:
        about = read_as((home / "boot.json").read_bytes(), BootRecord)
        with (home / FUNCTION_COUNTS).open("rb") as file:
            counts = read_as(file.read(_LARGEST_BYTES), FunctionCountsRecord)
    except OSError:
        return None, None
    return None if isinstance(about, Problem) else about, None if isinstance(counts, Problem) else counts


def _names(counts: FunctionCountsRecord, places: Iterable[int]) -> set[str]:
    """Returns the kernel functions only: bench and its programs are the same for all arms."""
    functions = counts.functions
    return {
        functions[place].name
        for place in places
        if place < len(functions) and functions[place].object == "kernel"
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionContext:
    """What decides which code an arm's cases execute, besides its kernel."""

    boot: Sequence[str]
    """Arguments of the kernel."""

    files: Mapping[str, str]
    """Files that are written before the first case, with their content."""

    bench: Sequence[str] | None
    """Digests of bench and its empty loop; None without bench."""

    programs: Sequence[tuple[str, str]]
    """Suite and digest of each suite's own program."""

    data: str | None
    """Digest of the data that the programs read; None if there is none."""

    guest: Mapping[str, object]
    """Shape of the guest."""

    def of_suite(self, suite: str) -> Mapping[str, object]:
        """Returns what concerns one suite and is equal on every host: its own program, no pinned CPUs."""
        of_suite = [digest for name, digest in self.programs if name == suite]
        about = {key: value for key, value in self.guest.items() if key != "pin"}
        program = of_suite or self.bench
        return {"boot": self.boot, "files": self.files, "program": program, "data": self.data, "guest": about}


def execution_context(run: BuiltRun, arm: str) -> ExecutionContext:
    """Raises OSError if a program cannot be read."""
    settings = run.arms[arm].subject.settings
    return ExecutionContext(
        boot=settings.boot,
        files=settings.files(),
        bench=None if run.bench is None else _contents(run.bench.program, run.bench.empty_loop),
        programs=sorted((each.suite, each.digest) for each in run.programs.get(arm, ())),
        data=None if run.data is None else run.data.digest,
        guest=run.shape.record(),
    )


def kept_key(run: BuiltRun, arm: str) -> str | None:
    """Returns the cache key for what an arm's cases execute, from its kernel and its context.

    Returns None if the arm has no kernel. Raises OSError.
    """
    built = run.arms[arm]
    if not isinstance(built.kernel, Kernel):
        return None
    conditions = {"kernel": built.kernel.digest, **asdict(execution_context(run, arm))}
    return hashlib.sha256(json.dumps(conditions, sort_keys=True).encode()).hexdigest()[:32]


def _contents(*files: Path) -> list[str]:
    """Returns digests of the loaded parts of bench. Its name in the cache changes with the kernel's types."""
    return [loaded_digest(path.read_bytes()) for path in files]
