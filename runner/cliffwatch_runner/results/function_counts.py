"""Builds a boot's function counts from the plugin's counts, kernel symbols and the names of BPF code."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.counting import count_noun
from cliffwatch.formats.code.bpf_programs import BpfProgramsRecord, CaseBpfPrograms
from cliffwatch.formats.code.function_counts import (
    UNNAMED_AT_RUN_TIME,
    CaseCounts,
    CodeObject,
    CountedFunction,
    FunctionCountsRecord,
)
from cliffwatch.samples import Sample
from cliffwatch_runner.guest.counting.bpf_names import BpfCode
from cliffwatch_runner.guest.counting.kernel_symbols import kernel_functions, read_system_map
from cliffwatch_runner.guest.counting.name_watch import (
    BPF_BYTES,
    BPF_CODE,
    USER_OBJECTS,
    read_bpf_bytes,
    read_bpf_code,
    read_user_objects,
)
from cliffwatch_runner.guest.counting.plugin import COUNTS
from cliffwatch_runner.guest.counting.records import (
    BOOTED,
    STARTED,
    WITHIN,
    GuestCounts,
    Stretch,
    read_counts,
)
from cliffwatch_runner.plan.plan import Plan
from cliffwatch_runner.results.bpf_code import BPF_PROGRAMS, BpfCodes, case_programs
from cliffwatch_runner.results.files import write_document
from cliffwatch_runner.results.operations import operations_in_window, operations_of_whole
from cliffwatch_runner.results.outcomes import PartEnd, case_name
from cliffwatch_runner.results.user_names import NO_NAMES, CaseNames, OtherProcesses, instructions_of_objects

FUNCTION_COUNTS = "functions.json"
_USER_END = 1 << 47
_JIT = range(0xFFFFFFFFA0000000, 0xFFFFFFFFFF000000)
UNNAMED_KERNEL = "kernel code without a name"


def write_function_counts(
    home: Path, plan: Plan, parts: Sequence[PartEnd], kernel: Path, counter: str
) -> FunctionCountsRecord | None:
    """Writes functions.json and bpf-programs.json of a boot, and removes their sources, which take megabytes
    per boot.

    Returns the content of functions.json; None if nothing was counted.
    """
    made = _collect_counts(home, plan.cases, parts, kernel)
    document = made.document(counter)
    if document is not None:
        write_document(home / FUNCTION_COUNTS, document)
    if made.programs:
        write_document(home / BPF_PROGRAMS, BpfProgramsRecord(cases=tuple(made.programs)))
    for part in range(1, len(parts) + 1):
        for name in (COUNTS, BPF_CODE, BPF_BYTES, USER_OBJECTS):
            (home / str(part) / name).unlink(missing_ok=True)
    return document


def _collect_counts(
    home: Path, planned: Sequence[PlannedCase], parts: Sequence[PartEnd], kernel: Path
) -> "_CountsBuilder":
    made = _CountsBuilder(_KernelText(kernel))
    for number, part in enumerate(parts, 1):
        if (home / str(number) / COUNTS).exists():
            made.take(home / str(number), part, planned)
    return made


class _KernelText:
    """The kernel's functions as arrays, to look up many addresses at once."""

    def __init__(self, kernel: Path) -> None:
        functions = kernel_functions(read_system_map(kernel) or b"")
        self.names = [each.name for each in functions]
        self._starts = np.array([each.start for each in functions], dtype=np.uint64)
        self._ends = np.array([each.end for each in functions], dtype=np.uint64)

    def find(self, addresses: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Returns the index of the function at each address, -1 if there is none."""
        if not self.names:
            return np.full(len(addresses), -1)
        at = np.searchsorted(self._starts, addresses, side="right").astype(np.int64) - 1
        return np.where((at >= 0) & (addresses < self._ends[at]), at, -1)

    def entered(self, stretch: Stretch) -> dict[str, int]:
        """Returns how often each function was called: the executions of the block at its first address."""
        found = self.find(stretch.addresses)
        entries = found >= 0
        entries[entries] = stretch.addresses[entries] == self._starts[found[entries]]
        sums = _sums(found[entries], stretch.times[entries], len(self.names))
        return {self.names[number]: int(sums[number]) for number in np.flatnonzero(sums)}


_Function = tuple[CodeObject, str]


@dataclass(slots=True)
class _CountsBuilder:
    """Collects function counts case by case."""

    text: _KernelText
    places: dict[_Function, int] = field(default_factory=dict)
    """Index of each function in the document's table."""

    started: set[int] = field(default_factory=set)
    """Functions executed from the agent's start to the first case."""

    booted: set[int] = field(default_factory=set)
    """Functions executed before the agent's start."""

    cases: list[CaseCounts] = field(default_factory=list)
    programs: list[CaseBpfPrograms] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def document(self, counter: str) -> FunctionCountsRecord | None:
        """Returns None if nothing was counted."""
        if not self.cases and not self.notes:
            return None
        return FunctionCountsRecord(
            counter=counter,
            functions=tuple(CountedFunction(name=name, object=kind) for kind, name in self.places),
            started=tuple(sorted(self.started)),
            booted=tuple(sorted(self.booted)),
            cases=tuple(self.cases),
            notes=tuple(self.notes),
        )

    def take(self, folder: Path, part: PartEnd, planned: Sequence[PlannedCase]) -> None:
        counts = read_counts(folder / COUNTS)
        self.notes += counts.notes
        odd = _odd_marks(counts, part)
        code = read_bpf_code(folder)
        self._take_programs(folder, part, planned, code, counts if odd is None else None)
        if odd is not None:
            self.notes.append(odd)
            return
        objects = read_user_objects(folder)
        others = OtherProcesses([each for of_case in objects.values() for each in of_case])
        self.started |= {
            self._place(each) for each in self._functions(counts.stretches.get(STARTED), NO_NAMES)
        }
        self.booted |= {self._place(each) for each in self._functions(counts.stretches.get(BOOTED), NO_NAMES)}
        for number, index in enumerate(part.cases, 1):
            result = part.results.get(index)
            if result is not None and result.outcome.status == "ok":
                name = case_name(index, planned[index])
                names = CaseNames(code.get(name, ()), objects.get(name, ()), others)
                self.cases.append(self._case(planned[index], counts, number, names, result.samples))

    def _take_programs(
        self,
        folder: Path,
        part: PartEnd,
        planned: Sequence[PlannedCase],
        code: Mapping[str, Sequence[BpfCode]],
        counts: GuestCounts | None,
    ) -> None:
        """Stores the BPF programs.

        `counts` is None if the counts are unusable; the programs are kept without them.
        """
        read = read_bpf_bytes(folder)
        for number, index in enumerate(part.cases, 1):
            name = case_name(index, planned[index])
            pieces = code.get(name)
            if pieces:
                measured = () if counts is None else _measured(planned[index], counts, number)
                executed = [int(address) for stretch in measured for address in stretch.addresses]
                self.programs.append(
                    case_programs(planned[index], pieces, read.get(name, {}), executed or None)
                )

    def _case(
        self,
        case: PlannedCase,
        counts: GuestCounts,
        number: int,
        names: "CaseNames",
        samples: Sequence[Sample],
    ) -> CaseCounts:
        stretches = {part: counts.stretches.get((number, part)) for part in range(3)}
        windowed = _has_window(case, counts, number)
        executed: dict[_Function, None] = {}
        total: Counter[_Function] = Counter()
        calls: Counter[_Function] = Counter()
        for part, stretch in stretches.items():
            functions = self._functions(stretch, names)
            executed |= dict.fromkeys(functions)
            if not windowed or part == WITHIN:
                total.update(functions)
                calls.update(self._calls(stretch, names))
        made = (
            operations_in_window(case, samples, calls, total.total())
            if windowed
            else operations_of_whole(case, calls)
        )
        unknown = case.timed_in_part and made is None
        return CaseCounts(
            suite=case.key.suite,
            benchmark=case.key.benchmark,
            params=dict(case.key.params),
            seconds=float(case.duration) if windowed and not unknown else None,
            counts=tuple((self._place(each), count) for each, count in total.most_common()),
            executed=tuple(sorted(map(self._place, executed))),
            calls=tuple((self._place(each), count) for each, count in calls.most_common()),
            operations=None if made is None else made.number,
            operation=None if made is None else made.operation,
        )

    def _place(self, function: _Function) -> int:
        return self.places.setdefault(function, len(self.places))

    def _functions(self, stretch: Stretch | None, given: "CaseNames") -> dict[_Function, int]:
        """Returns the instructions of a stretch by function."""
        if stretch is None:
            return {}
        found = self.text.find(stretch.addresses)
        totals: defaultdict[_Function, int] = defaultdict(int)
        kernel = found >= 0
        sums = _sums(found[kernel], stretch.instructions[kernel], len(self.text.names))
        for number in np.flatnonzero(sums):
            totals["kernel", self.text.names[number]] += int(sums[number])
        user = stretch.addresses < _USER_END
        for name, count in instructions_of_objects(
            stretch.addresses[user], stretch.instructions[user], given
        ):
            totals["user", name] += count
        names, rest = BpfCodes(given.code), ~kernel & ~user
        for address, count in zip(
            stretch.addresses[rest].tolist(), stretch.instructions[rest].tolist(), strict=True
        ):
            totals[_elsewhere(address, names)] += count
        return dict(totals)

    def _calls(self, stretch: Stretch | None, given: "CaseNames") -> dict[_Function, int]:
        """Returns how often each kernel function and BPF program was called in a stretch."""
        if stretch is None:
            return {}
        calls: dict[_Function, int] = {
            ("kernel", name): times for name, times in self.text.entered(stretch).items()
        }
        codes = BpfCodes(given.code)
        starts = np.array(sorted(each.start for each in codes.names), dtype=np.uint64)
        entered = np.isin(stretch.addresses, starts)
        for address, times in zip(
            stretch.addresses[entered].tolist(), stretch.times[entered].tolist(), strict=True
        ):
            code = codes.at(address)
            if code is not None:
                calls["bpf", codes.names[code]] = calls.get(("bpf", codes.names[code]), 0) + times
        return calls


def _has_window(case: PlannedCase, counts: GuestCounts, number: int) -> bool:
    """True if only a window of the case is measured. Otherwise the whole case is, including its set-up."""
    return case.program is None and (number, WITHIN) in counts.stretches


def _measured(case: PlannedCase, counts: GuestCounts, number: int) -> Sequence[Stretch]:
    """Returns the stretches that the case measured."""
    parts = (WITHIN,) if _has_window(case, counts, number) else range(3)
    return [stretch for part in parts if (stretch := counts.stretches.get((number, part))) is not None]


def _sums(numbers: NDArray[np.int64], counts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    sums = np.zeros(length, dtype=np.int64)
    np.add.at(sums, numbers, counts)
    return sums


def _odd_marks(counts: GuestCounts, part: PartEnd) -> str | None:
    """Returns why the counts cannot be split into cases; None if they can.

    The agent marks its start once and each case twice. Any other number of marks means that something else
    marked, too.
    """
    begun = len(part.results)
    if counts.marks is None:
        return "function counts of one start of the guest are missing: the emulator ended before writing them"
    if counts.marks not in (1 + 2 * begun, 2 * begun):
        return (
            "function counts of one start of the guest are missing: its cases cannot be distinguished,"
            f" with {counts.marks} marks for {count_noun(begun, 'case')}"
        )
    return None


def _elsewhere(address: int, bpf: BpfCodes) -> _Function:
    if address in _JIT:
        code = bpf.at(address)
        return ("kernel", UNNAMED_AT_RUN_TIME) if code is None else ("bpf", bpf.names[code])
    return "kernel", UNNAMED_KERNEL
