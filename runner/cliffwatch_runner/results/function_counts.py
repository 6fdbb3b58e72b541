"""The function counts of a boot, put together from what the plugin counted, the kernel's symbols and the names of BPF code."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.counting import counted
from cliffwatch.formats.code.function_counts import (
    UNNAMED_LIBRARIES,
    UNNAMED_PROGRAMS,
    CaseCounts,
    CodeObject,
    CountedFunction,
    FunctionCountsRecord,
)
from cliffwatch_runner.guest.counting.bpf_names import BpfCode
from cliffwatch_runner.guest.counting.kernel_symbols import kernel_functions, read_system_map
from cliffwatch_runner.guest.counting.name_watch import BPF_CODE, USER_OBJECTS, read_bpf_code, read_user_objects
from cliffwatch_runner.guest.counting.plugin import COUNTS
from cliffwatch_runner.guest.counting.records import BOOTED, STARTED, WITHIN, GuestCounts, Stretch, read_counts
from cliffwatch_runner.guest.counting.user_objects import ANONYMOUS, MappedObject
from cliffwatch_runner.plan.plan import Plan
from cliffwatch_runner.results.files import write_document
from cliffwatch_runner.results.outcomes import PartEnd, case_name

FUNCTION_COUNTS = "functions.json"
_USER_END = 1 << 47
_LIBRARIES = 0x7F0000000000
"""Linux places programs below it and what it maps above, shared libraries and the vDSO among that."""

_JIT = range(0xFFFFFFFFA0000000, 0xFFFFFFFFFF000000)
_TAG = re.compile(r"^bpf_prog_[0-9a-f]{16}_?")
_IDENTITY = re.compile(r"^(bpf_trampoline|bpf_dispatcher)_\d+")
UNNAMED_AT_RUN_TIME = "run-time code without a name"
UNNAMED_KERNEL = "kernel code without a name"


def write_function_counts(home: Path, plan: Plan, parts: Sequence[PartEnd], kernel: Path, counter: str) -> None:
    """Writes functions.json of a boot and removes what it is made of: counts by block take megabytes a boot."""
    document = counts_of_boot(home, plan.cases, parts, kernel, counter)
    if document is not None:
        write_document(home / FUNCTION_COUNTS, document)
    for part in range(1, len(parts) + 1):
        for name in (COUNTS, BPF_CODE, USER_OBJECTS):
            (home / str(part) / name).unlink(missing_ok=True)


def counts_of_boot(
    home: Path, planned: Sequence[PlannedCase], parts: Sequence[PartEnd], kernel: Path, counter: str
) -> FunctionCountsRecord | None:
    """What the cases that are ok executed, of a boot whose parts lie in `home`; None where nothing was counted.

    Raises OSError where the counts cannot be read.
    """
    made = _Making(_KernelText(kernel))
    for number, part in enumerate(parts, 1):
        if (home / str(number) / COUNTS).exists():
            made.take(home / str(number), part, planned)
    if not made.cases and not made.notes:
        return None
    return FunctionCountsRecord(
        counter=counter,
        functions=tuple(CountedFunction(name=name, object=kind) for kind, name in made.places),
        started=tuple(sorted(made.started)),
        booted=tuple(sorted(made.booted)),
        cases=tuple(made.cases),
        notes=tuple(made.notes),
    )


class _KernelText:
    """The kernel's functions as arrays, for many addresses at once."""

    def __init__(self, kernel: Path) -> None:
        functions = kernel_functions(read_system_map(kernel) or b"")
        self.names = [each.name for each in functions]
        self._starts = np.array([each.start for each in functions], dtype=np.uint64)
        self._ends = np.array([each.end for each in functions], dtype=np.uint64)

    def find(self, addresses: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The number of the function at each address, -1 where there is none."""
        if not self.names:
            return np.full(len(addresses), -1)
        at = np.searchsorted(self._starts, addresses, side="right").astype(np.int64) - 1
        return np.where((at >= 0) & (addresses < self._ends[at]), at, -1)


_Function = tuple[CodeObject, str]


@dataclass(slots=True)
class _Making:
    """Function counts that grow case by case. `places` has the table of functions in its order."""

    text: _KernelText
    places: dict[_Function, int] = field(default_factory=dict)
    started: set[int] = field(default_factory=set)
    booted: set[int] = field(default_factory=set)
    cases: list[CaseCounts] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def take(self, folder: Path, part: PartEnd, planned: Sequence[PlannedCase]) -> None:
        counts = read_counts(folder / COUNTS)
        self.notes += counts.notes
        odd = _odd_marks(counts, part)
        if odd is not None:
            self.notes.append(odd)
            return
        code, objects = read_bpf_code(folder), read_user_objects(folder)
        self.started |= {self._place(each) for each in self._functions(counts.stretches.get(STARTED), _NO_NAMES)}
        self.booted |= {self._place(each) for each in self._functions(counts.stretches.get(BOOTED), _NO_NAMES)}
        for number, index in enumerate(part.cases, 1):
            result = part.results.get(index)
            if result is not None and result.outcome.status == "ok":
                name = case_name(index, planned[index])
                names = _Names(code.get(name, ()), objects.get(name, ()))
                self.cases.append(self._case(planned[index], counts, number, names))

    def _case(self, case: PlannedCase, counts: GuestCounts, number: int, names: "_Names") -> CaseCounts:
        stretches = {part: counts.stretches.get((number, part)) for part in range(3)}
        windowed = case.program is None and stretches[WITHIN] is not None
        executed: dict[_Function, None] = {}
        total: Counter[_Function] = Counter()
        for part, stretch in stretches.items():
            functions = self._functions(stretch, names)
            executed |= dict.fromkeys(functions)
            if not windowed or part == WITHIN:
                total.update(functions)
        return CaseCounts(
            suite=case.key.suite,
            benchmark=case.key.benchmark,
            params=dict(case.key.params),
            seconds=float(case.duration) if windowed else None,
            counts=tuple((self._place(each), count) for each, count in total.most_common()),
            executed=tuple(sorted(map(self._place, executed))),
        )

    def _place(self, function: _Function) -> int:
        return self.places.setdefault(function, len(self.places))

    def _functions(self, stretch: Stretch | None, given: "_Names") -> dict[_Function, int]:
        """The instructions of a stretch by function."""
        if stretch is None:
            return {}
        found = self.text.find(stretch.addresses)
        totals: defaultdict[_Function, int] = defaultdict(int)
        kernel = found >= 0
        sums = _sums(found[kernel], stretch.instructions[kernel], len(self.text.names))
        for number in np.flatnonzero(sums):
            totals["kernel", self.text.names[number]] += int(sums[number])
        user = stretch.addresses < _USER_END
        for name, count in _of_objects(stretch.addresses[user], stretch.instructions[user], given.objects):
            totals["user", name] += count
        names, rest = _BpfCodes(given.code), ~kernel & ~user
        for address, count in zip(stretch.addresses[rest].tolist(), stretch.instructions[rest].tolist(), strict=True):
            totals[_elsewhere(address, names)] += count
        return dict(totals)


@dataclass(frozen=True, slots=True)
class _Names:
    """What is known of a case's run-time code and of its processes' memory, what was seen most often first."""

    code: Sequence[BpfCode]
    objects: Sequence[MappedObject]


_NO_NAMES = _Names((), ())


def _of_objects(
    addresses: NDArray[np.uint64], instructions: NDArray[np.int64], objects: Sequence[MappedObject]
) -> Iterator[tuple[str, int]]:
    """The instructions of user space by object. Where objects of several processes overlap, that counts which was seen most often, and anonymous memory only
    where no object was seen; of what is nowhere it is known whether it is a program or was mapped above one.
    """
    names = np.where(addresses >= _LIBRARIES, UNNAMED_LIBRARIES, UNNAMED_PROGRAMS).astype(object)
    anonymous = [each for each in objects if each.name == ANONYMOUS]
    for each in reversed([*(each for each in objects if each.name != ANONYMOUS), *anonymous]):
        names[(addresses >= each.start) & (addresses < each.end)] = each.name
    for name in sorted(set(names)):
        yield name, int(instructions[names == name].sum())


def _sums(numbers: NDArray[np.int64], counts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    sums = np.zeros(length, dtype=np.int64)
    np.add.at(sums, numbers, counts)
    return sums


def _odd_marks(counts: GuestCounts, part: PartEnd) -> str | None:
    """Why cases cannot be told apart: the agent marks its start and each case twice, and nobody else should."""
    begun = len(part.results)
    if counts.marks is None:
        return "instructions by function are missing of one start of the guest: the emulator ended before it wrote them"
    if counts.marks not in (1 + 2 * begun, 2 * begun):
        return f"instructions by function are missing of one start of the guest: its cases cannot be distinguished, with {counts.marks} marks for {counted(begun, 'case')}"
    return None


class _BpfCodes:
    """The names of a case's BPF code by address. Code that made room for other code while the case was set up was seen less often than
    that, and comes after it in `code`.
    """

    def __init__(self, code: Sequence[BpfCode]) -> None:
        self._code: list[BpfCode] = []
        for each in code:
            if all(each.end <= other.start or other.end <= each.start for other in self._code):
                self._code.append(each)
        self._code.sort(key=lambda each: each.start)
        self._names = list(_told_apart(_plain(each.name) for each in self._code))

    def name(self, address: int) -> str | None:
        for code, name in zip(self._code, self._names, strict=True):
            if code.start <= address < code.end:
                return name
        return None


def _plain(name: str) -> str:
    """A name as it is in every kernel: without the digest of the program's instructions, or the number of what a trampoline is for."""
    without = _TAG.sub("", name)
    return _IDENTITY.sub(r"\1", without) or "BPF program without a name"


def _told_apart(names: Iterable[str]) -> Iterator[str]:
    ordinals: Counter[str] = Counter()
    for name in names:
        ordinals[name] += 1
        yield name if ordinals[name] == 1 else f"{name}@{ordinals[name]}"


def _elsewhere(address: int, bpf: _BpfCodes) -> _Function:
    if address in _JIT:
        name = bpf.name(address)
        return ("kernel", UNNAMED_AT_RUN_TIME) if name is None else ("bpf", name)
    return "kernel", UNNAMED_KERNEL
