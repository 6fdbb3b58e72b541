"""Compares the JIT code of the benchmarks' BPF programs between the arms of a run, case by case."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cliffwatch.failure import Failure
from cliffwatch.formats.boot_record import BootRecord, EnvironmentRecord
from cliffwatch.formats.code.bpf_programs import BpfPiece, BpfProgramsRecord, CaseBpfPrograms
from cliffwatch.formats.code.differences import MOST_LINES, CasePrograms, ProgramDifference
from cliffwatch.formats.reading import read_as
from cliffwatch.formats.values import OfCase, Part
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import CaseKey
from cliffwatch_runner.build.code.functions import JitProgram, program_listings
from cliffwatch_runner.results.bpf_code import BPF_PROGRAMS, plain_name
from cliffwatch_runner.results.instruction_difference import instruction_difference
from cliffwatch_runner.sandbox.sandbox import Sandbox

D = TypeVar("D", bound=Part)

_LARGEST_RECORD = 64 << 20
_BLINDS_CONSTANTS = "2"
"""Value of net.core.bpf_jit_harden at which the JIT hides constants behind numbers drawn at each load."""

_MOST_OF_ONE_NAME = 4
"""Limit on programs of one name per case and arm, which come from several boots or share the name."""

_MOST_BYTES = 8 << 20
"""Limit on the code of an arm's programs, which are disassembled together."""


@dataclass(frozen=True, slots=True, order=True)
class _Code:
    """A program's machine code."""

    size: int
    """Bytes."""

    lines: tuple[str, ...]
    """Its instructions, disassembled."""


ArmPrograms = Mapping[CaseKey, Mapping[str, frozenset[_Code]]]
"""An arm's programs, by case and name. One piece of code if all boots agree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramDifferences:
    """The programs that differ and the cases that were compared, in the order of the first arm's boots."""

    programs: tuple[ProgramDifference, ...] = ()
    cases: tuple[CasePrograms, ...] = ()


def arm_programs(
    folder: Path, arm: str, kernel: Path, sandbox: Sandbox, should_stop: Callable[[], bool]
) -> ArmPrograms:
    """Returns the programs that an arm's cases executed while they measured, in any boot.

    Empty if the run did not read programs or its kernel cannot be disassembled. Raises Stopped.
    """
    wanted: dict[tuple[CaseKey, str], dict[JitProgram, None]] = defaultdict(dict)
    left = _MOST_BYTES
    for case in _of_arm(folder, arm):
        for name, program in _executed(case):
            known = wanted[case.case, name]
            if program not in known and len(known) < _MOST_OF_ONE_NAME and len(program.code) <= left:
                known[program] = None
                left -= len(program.code)
    programs = list(dict.fromkeys(program for each in wanted.values() for program in each))
    listings = program_listings(kernel, programs, sandbox, should_stop) if programs else ()
    if isinstance(listings, Failure):
        return {}
    code = {
        program: _Code(len(program.code), lines) for program, lines in zip(programs, listings, strict=True)
    }
    of_cases: dict[CaseKey, dict[str, frozenset[_Code]]] = defaultdict(dict)
    for (case_key, name), known in wanted.items():
        if known:
            of_cases[case_key][name] = frozenset(code[program] for program in known)
    return of_cases


def program_differences(base: ArmPrograms, head: ArmPrograms) -> ProgramDifferences:
    """Compares the programs that a case executed in both arms.

    Code that both arms have counts as the same, so disagreement between boots of one kernel is no difference.
    """
    found: dict[tuple[str, _Code, _Code], list[OfCase]] = defaultdict(list)
    cases: list[CasePrograms] = []
    for case in base:
        names = sorted(base[case].keys() & head.get(case, {}).keys())
        of_case = OfCase(suite=case.suite, benchmark=case.benchmark, params=dict(case.params))
        pairs = {name: list(_pairs(base[case][name], head[case][name])) for name in names}
        for name, different in pairs.items():
            for pair in different:
                found[name, *pair].append(of_case)
        if names:
            cases.append(_case(of_case, pairs, base[case], head[case]))
    return ProgramDifferences(
        programs=tuple(_difference(name, old, new, of) for (name, old, new), of in found.items()),
        cases=tuple(cases),
    )


def _of_arm(folder: Path, arm: str) -> Iterator[CaseBpfPrograms]:
    for path in sorted((folder / "boots").glob(f"*/{BPF_PROGRAMS}")):
        about = _read(path.with_name("boot.json"), BootRecord)
        environment = _read(path.with_name("environment.json"), EnvironmentRecord)
        record = _read(path, BpfProgramsRecord)
        blinded = environment is not None and environment.bpf_jit_harden == _BLINDS_CONSTANTS
        if about is not None and about.arm == arm and record is not None and not blinded:
            yield from record.cases


def _read(path: Path, kind: type[D]) -> D | None:
    try:
        with path.open("rb") as file:
            document = read_as(file.read(_LARGEST_RECORD), kind)
    except OSError:
        return None
    return None if isinstance(document, Problem) else document


def _executed(case: CaseBpfPrograms) -> Iterator[tuple[str, JitProgram]]:
    """Yields the programs that ran while the case measured, with names that are equal in every kernel."""
    neighbours = tuple(
        (_address(each), _address(each) + each.bytes, plain_name(each.name))
        for each in case.pieces
        if each.function is not None
    )
    for piece in case.pieces:
        if piece.executed and piece.code:
            program = JitProgram(start=_address(piece), code=piece.code, neighbours=neighbours)
            yield plain_name(piece.name), program


def _address(piece: BpfPiece) -> int:
    return int(piece.address, 16)


def _pairs(base: frozenset[_Code], head: frozenset[_Code]) -> Iterator[tuple[_Code, _Code]]:
    """Pairs the code that only base has with the code that only head has."""
    return zip(sorted(base - head), sorted(head - base), strict=False)


def _case(
    case: OfCase,
    pairs: Mapping[str, Sequence[tuple[_Code, _Code]]],
    base: Mapping[str, frozenset[_Code]],
    head: Mapping[str, frozenset[_Code]],
) -> CasePrograms:
    old = {name: [one for one, _ in pairs[name]] or sorted(base[name] & head[name])[:1] for name in pairs}
    new = {name: [other for _, other in pairs[name]] or old[name] for name in pairs}
    return CasePrograms(
        suite=case.suite,
        benchmark=case.benchmark,
        params=case.params,
        names=len(pairs),
        base=_digest(old),
        head=_digest(new),
    )


def _digest(code: Mapping[str, Sequence[_Code]]) -> str:
    text = "\n\n".join("\n".join((name, *each.lines)) for name in sorted(code) for each in code[name])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _difference(name: str, base: _Code, head: _Code, cases: Sequence[OfCase]) -> ProgramDifference:
    lines = instruction_difference(base.lines, head.lines)
    return ProgramDifference(
        name=name,
        cases=tuple(cases),
        base=base.size,
        head=head.size,
        base_instructions=len(base.lines),
        head_instructions=len(head.lines),
        lines=tuple(lines[:MOST_LINES]),
        more=max(0, len(lines) - MOST_LINES),
    )
