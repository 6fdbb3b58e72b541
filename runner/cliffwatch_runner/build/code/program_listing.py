"""Lists a BPF program's instructions as the JIT made them.

Names replace whatever differs from boot to boot and from build to build.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import capstone

from cliffwatch_runner.build.code.symbols import Names

Neighbour = tuple[int, int, str]
"""Other code that the JIT made: begin, end, name."""

_JIT = range(0xFFFFFFFFA0000000, 0xFFFFFFFFFF000000)
"""Addresses of JIT programs and modules."""

_IMAGE = range(0xFFFFFFFF80000000, 0xFFFFFFFFA0000000)
_MEMORY = range(0xFF00000000000000, 0xFFFFFFFF80000000)
"""Addresses of run-time memory without symbols: maps, their values, program metadata."""

_ALL = 1 << 64
_NUMBER = re.compile(r"(?P<minus>- ?)?0x(?P<digits>[0-9a-f]{8,16})\b")
_RELATIVE = re.compile(r"\brip (?P<sign>[+-]) (?P<distance>0x[0-9a-f]+|\d+)")
_OF_CPU = re.compile(r"\bgs:\[0x(?P<digits>[0-9a-f]{1,8})\]")
_LOADS_NUMBER = re.compile(r"^(?:movabs|mov) (?P<register>\w+), (?P<number>0x[0-9a-f]+)$")
_ADDS_CPU = re.compile(r"^add (?P<register>\w+), qword ptr gs:")
_HALF = re.compile(r"r\d+d")
_DIRECT = re.compile(r"^0x[0-9a-f]+$")
_LONGEST_DISTANCE = 64 << 10
"""Offsets from a symbol beyond this are not per-CPU variables: other symbols come only much later."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction as the disassembler prints it."""

    address: int
    size: int
    """In bytes."""
    mnemonic: str
    operands: str

    @property
    def text(self) -> str:
        return f"{self.mnemonic} {self.operands}".rstrip()


class ProgramListing:
    """Lists programs from the boots of one kernel."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._engine = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self._engine.skipdata = True

    def lines(self, start: int, code: bytes, neighbours: Sequence[Neighbour]) -> list[str]:
        """Returns the instructions of a program at an address, one per line.

        Places in the program itself are `#` and the number of an instruction, from 0. Unnamed memory is
        numbered in order of appearance.
        """
        instructions = [Instruction(*each) for each in self._engine.disasm_lite(code, start)]
        naming = _Naming(self._names, start, len(code), instructions, neighbours)
        return [naming.line(number) for number in range(len(instructions))]


class _Naming:
    """The names in one program."""

    def __init__(
        self,
        names: Names,
        start: int,
        size: int,
        instructions: Sequence[Instruction],
        neighbours: Sequence[Neighbour],
    ) -> None:
        self._names = names
        self._program = range(start, start + size)
        self._instructions = instructions
        self._numbers = {each.address: number for number, each in enumerate(instructions)}
        self._neighbours = neighbours
        self._memory: dict[int, int] = {}

    def line(self, number: int) -> str:
        instruction = self._instructions[number]
        mnemonic, operands = instruction.mnemonic, instruction.operands
        if _DIRECT.match(operands) and (mnemonic.startswith("j") or mnemonic == "call"):
            return f"{mnemonic} {self._place(int(operands, 16))}"
        loaded = _LOADS_NUMBER.match(instruction.text)
        if loaded and self._is_of_cpu(number, loaded["register"]):
            return f"{mnemonic} {loaded['register']}, {self._of_cpu(int(loaded['number'], 16))}"
        return f"{mnemonic} {self._named(operands, instruction.address + instruction.size)}".rstrip()

    def _named(self, operands: str, following: int) -> str:
        """Returns operands with names.

        Some are relative to `following`, the address of the next instruction.
        """

        def relative(match: re.Match[str]) -> str:
            distance = int(match["distance"], 0)
            target = (following + distance if match["sign"] == "+" else following - distance) % _ALL
            return (
                self._of_cpu(target) if "gs:" in operands and target < _IMAGE.start else self._place(target)
            )

        def absolute(match: re.Match[str]) -> str:
            value = int(match["digits"], 16)
            target = _ALL - value if match["minus"] else value
            named = self._place(target)
            return match[0] if named == f"{target:#x}" else f"{match['minus'] or ''}{named}"

        operands = _OF_CPU.sub(lambda match: f"gs:[{self._of_cpu(int(match['digits'], 16))}]", operands)
        return _NUMBER.sub(absolute, _RELATIVE.sub(relative, operands))

    def _place(self, target: int) -> str:
        if target in self._program:
            number = self._numbers.get(target)
            return f"<program+{target - self._program.start:x}>" if number is None else f"#{number}"
        if target in _JIT:
            found = next((each for each in self._neighbours if each[0] <= target < each[1]), None)
            return "<run-time code>" if found is None else _with_offset(found[2], target - found[0])
        if target in _IMAGE:
            symbol = self._names.at(target)
            return "<kernel>" if symbol is None else _with_offset(symbol[0], symbol[1])
        if target in _MEMORY:
            return f"<memory {self._memory.setdefault(target, len(self._memory) + 1)}>"
        return f"{target:#x}"

    def _is_of_cpu(self, number: int, register: str) -> bool:
        """True if the next instruction adds a CPU's per-CPU base to the number in a register."""
        following = self._instructions[number + 1].text if number + 1 < len(self._instructions) else ""
        added = _ADDS_CPU.match(following)
        return added is not None and _widen_register(added["register"]) == _widen_register(register)

    def _of_cpu(self, offset: int) -> str:
        """Returns the name of a per-CPU variable, if the kernel has it from the start."""
        symbol = self._names.at(offset) if offset < _IMAGE.start else None
        if symbol is None:
            return self._place(offset) if offset in _IMAGE else "<memory of the CPU>"
        return "<memory of the CPU>" if symbol[1] > _LONGEST_DISTANCE else _with_offset(symbol[0], symbol[1])


def _with_offset(name: str, distance: int) -> str:
    return f"{name}+{distance:x}" if distance else name


def _widen_register(register: str) -> str:
    """Returns the 64-bit register that contains a register."""
    if register.startswith("e"):
        return f"r{register[1:]}"
    return register.rstrip("d") if _HALF.fullmatch(register) else register
