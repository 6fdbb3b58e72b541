"""Lists a function's instructions with names in place of addresses.

Two builds that put the function at different addresses give the same text.
"""

import hashlib
import re
import struct
from collections.abc import Iterator

import capstone

from cliffwatch_runner.build.code.image import KernelImage
from cliffwatch_runner.build.code.symbols import Names, is_bound

_RELATIVE = re.compile(r"\brip ([+-]) (0x[0-9a-f]+|\d+)")
_ABSOLUTE = re.compile(r"(- ?)?0x([0-9a-f]{8,16})\b")
_ALONE = re.compile(r"\b(byte|word|dword|qword|xmmword|ymmword) ptr \[(?:rip [+-] )?(?:- ?)?0x[0-9a-f]+\]")
"""An operand that is read at exactly this place."""

_SIZES = {"byte": 1, "word": 2, "dword": 4, "qword": 8, "xmmword": 16, "ymmword": 32}
_TOP = 0xFFFFFFFF80000000
_ALL = 1 << 64
_PADDING = ("nop", "int3")
_LONGEST_TEXT = 512
_CONSTANT_BYTES = 64
_LARGEST_OBJECT = 1 << 16
_PRINTED = re.compile(rb"[\x01\t\n\r\x1b -~]{1,511}\0")
_TEXTS_BEHIND = re.compile(rb"[\x00\x01\t\n\r\x1b -~]{1024,}\Z")
"""All strings of a kernel follow the last constant object and have no symbol of their own."""

_ABOUT_ITSELF = re.compile(
    r"^(kallsyms_|__BTF_ID__|linux_banner|linux_proc_banner|__bug_table|__param_|orc_lookup|__st(art|op)_|__smp_locks|__alt_instructions|__ksymtab_)"
)
"""Tables in which a build describes itself. They change with any change and do not show what is executed."""

_INITCALL_BYTES = 4
"""Size of an entry, which is the distance to its function.

See include/linux/init.h, CONFIG_HAVE_ARCH_PREL32_RELOCATIONS.
"""

_SIDE_INSTRUCTIONS = 4
"""Instructions to list of unnamed code that a function jumps to.

Such code serves until the kernel knows its processor (.altinstr_aux).
"""

_SIDE_BYTES = 64


class Listing:
    """Lists functions of one kernel."""

    def __init__(self, image: KernelImage, names: Names) -> None:
        self._image = image
        self._names = names
        self._engine = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self._engine.skipdata = True
        self._objects: dict[int, str] = {}
        self._initcalls: str | None = None

    def lines(self, start: int, end: int) -> list[str]:
        """Returns the instructions of the function between two addresses, one per line, without padding.

        Returns an empty list if the image does not have the function.
        """
        code = self._image.read(start, end - start)
        lines = [
            f"{mnemonic} {self._named(operands, address + size, start, end)}".rstrip()
            for address, size, mnemonic, operands in self._engine.disasm_lite(code, start)
        ]
        while lines and lines[-1].startswith(_PADDING):
            lines.pop()
        return lines

    def digest(self, start: int, end: int) -> str:
        """Returns a digest that is equal for functions that do the same with the same data."""
        return hashlib.sha256("\n".join(self.lines(start, end)).encode()).hexdigest()[:24]

    def _named(self, operands: str, following: int, start: int, end: int) -> str:
        """Returns an instruction's operands with names.

        Some are relative to `following`, the next instruction's address.
        """
        if "0x" not in operands and "rip" not in operands:
            return operands

        alone = _ALONE.search(operands)
        size = _CONSTANT_BYTES if alone is None else _SIZES[alone[1]]

        def relative(match: re.Match[str]) -> str:
            distance = int(match[2], 0)
            target = following + distance if match[1] == "+" else following - distance
            return self._name(target % _ALL, start, end, size)

        def absolute(match: re.Match[str]) -> str:
            value = int(match[2], 16)
            target = _ALL - value if match[1] else value
            return (
                match[0]
                if target < _TOP or target >= _ALL
                else f"{match[1] or ''}{self._name(target, start, end, size)}"
            )

        return _ABSOLUTE.sub(absolute, _RELATIVE.sub(relative, operands))

    def _name(self, target: int, start: int, end: int, size: int) -> str:
        """Returns what an address stands for.

        This is a place in the function itself, another symbol, a string, or data with its initial content.
        """
        if start <= target < end:
            return f".+{target - start:x}"
        found = self._names.at(target)
        if found is None:
            return f"<{target:x}>"
        name, offset, _ = found
        if name == "_einittext":
            return f"side({'; '.join(self._side(target, start, end))})"
        place = name if offset == 0 else f"{name}+{offset:x}"
        return place if self._names.is_code(target) else self._data(target, place, found, size)

    def _data(self, target: int, place: str, found: tuple[str, int, int], read: int) -> str:
        """Returns a place in the data of the symbol `found`, with its initial content.

        The content is left out if it is what a build says about itself.
        """
        name, offset, size = found
        # Data of one name is known by what it holds: any other of that name in the kernel changes its
        # ordinal.
        place = place.replace(name, name.partition("@")[0], 1)
        if self._is_initcall(target):
            return self._initcall(target)
        constant = self._names.rodata[0] <= target < self._names.rodata[1]
        if constant and offset:
            return self._constant(target, read)
        if name == "__start_rodata":
            return self._constant(target, read)
        own = _ABOUT_ITSELF.match(name) is not None or target - offset in self._names.btf_ids
        if own or target in self._names.ends:
            return "<table of the build>"
        if is_bound(name):
            return place
        return f"{place}{{{self._object(target - offset, size)}}}"

    def _side(self, target: int, start: int, end: int) -> Iterator[str]:
        code = self._image.read(target, _SIDE_BYTES)
        for number, (address, size, mnemonic, operands) in enumerate(self._engine.disasm_lite(code, target)):
            if number < _SIDE_INSTRUCTIONS and not (
                mnemonic in ("jmp", "call") and f"{target:x}" in operands
            ):
                yield f"{mnemonic} {self._plain(operands, address + size, start, end)}"
            if mnemonic == "jmp":
                return

    def _plain(self, operands: str, following: int, start: int, end: int) -> str:
        """Returns the operands as `_named` does."""
        return self._named(operands, following, start, end)

    def _constant(self, address: int, read: int) -> str:
        """Returns the content of unnamed data: a string, or a digest of the bytes that are read.

        If their number is unknown, it digests as many bytes as may be read.
        """
        content = self._image.read(address, _LONGEST_TEXT)
        pointer = int.from_bytes(content[:8], "little") >= _TOP
        text = None if pointer else _PRINTED.match(content)
        if read == _CONSTANT_BYTES and not pointer and (text is not None or content[:1] == b"\0"):
            return f'"{"" if text is None else text[0][:-1].decode()!r}"'
        return f"[{_digest(self._words(address, content[:read]))}]"

    def _object(self, start: int, size: int) -> str:
        """Returns a digest of an object's initial content; empty if that is all zeros."""
        known = self._objects.get(start)
        if known is None:
            # What fills the room up to the next object is no part of it.
            content = self._image.read(start, min(size, _LARGEST_OBJECT)).rstrip(b"\0")
            content = _TEXTS_BEHIND.sub(b"", content)
            known = _digest(self._words(start, content)) if content else ""
            self._objects[start] = known
        return known

    def _is_initcall(self, address: int) -> bool:
        first, last = self._names.initcalls
        return first < last and first <= address <= last

    def _initcall(self, address: int) -> str:
        """Returns a place in the table of initcalls.

        The text has the number of calls before it, and a digest of all functions in the table.
        """
        if self._initcalls is None:
            first, last = self._names.initcalls
            table = self._image.read(first, min(last - first, _LARGEST_OBJECT))
            whole = len(table) // _INITCALL_BYTES * _INITCALL_BYTES
            distances = (distance for (distance,) in struct.iter_unpack("<i", table[:whole]))
            called = (
                self._names.at(first + place * _INITCALL_BYTES + each) for place, each in enumerate(distances)
            )
            names = (
                "?" if found is None else f"{found[0].partition('@')[0]}+{found[1]:x}" for found in called
            )
            self._initcalls = _digest(f"{name}\n".encode() for name in names)
        return f"<initcall {(address - self._names.initcalls[0]) // _INITCALL_BYTES} of {self._initcalls}>"

    def _words(self, start: int, content: bytes) -> Iterator[bytes]:
        """Yields the content in words, with names for addresses.

        For data addresses the name and offset are left out, because other data moves them.
        """
        first = min(-start % 8, len(content))
        last = first + (len(content) - first) // 8 * 8
        yield content[:first]
        for (word,) in struct.iter_unpack("<Q", content[first:last]):
            found = self._names.at(word) if word >= _TOP else None
            if self._is_initcall(word):
                yield self._initcall(word).encode()
            elif found is None:
                yield word.to_bytes(8, "little")
            elif self._names.is_code(word):
                yield f"<{found[0]}+{found[1]:x}>".encode()
            else:
                yield b"<data>"
        yield content[last:]


def _digest(parts: Iterator[bytes]) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:12]
