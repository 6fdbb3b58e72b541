"""bpf-programs.json of a boot: the code that the kernel's JIT made of the BPF programs of each case, as it lay in the guest's memory."""

from typing import Annotated, Literal

from msgspec import Meta

from cliffwatch.formats.values import MOST_SAMPLES, Count, Name, OfCase, Part

MOST_PIECES = 4000
Address = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}(?![\s\S])")]
Code = Annotated[bytes, Meta(max_length=1 << 20)]


class BpfPiece(Part, frozen=True, kw_only=True):
    """A piece of code that the JIT made, `bytes` long at `address` of the guest's memory, with its name in /proc/kallsyms: of a program its tag is in there. `function` is its name in functions.json, with the ordinal of those
    of one name; null of code that made room for other code of its case. `executed`: within what the case measured; null where that was not counted. `code` are a program's bytes, in base64; null of a trampoline or a dispatcher, of a
    program of more than 256 KiB, and of what was gone before it could be read.
    """

    address: Address
    bytes: Count
    name: Name
    function: Name | None
    executed: bool | None
    code: Code | None


class CaseBpfPrograms(OfCase, frozen=True, kw_only=True):
    """All pieces of code that the guest had while a case ran, those seen most often first."""

    pieces: Annotated[tuple[BpfPiece, ...], Meta(max_length=MOST_PIECES)]


class BpfProgramsRecord(Part, frozen=True, kw_only=True):
    """bpf-programs.json."""

    format: Literal["cliffwatch-bpf-programs"] = "cliffwatch-bpf-programs"
    format_version: Literal[1] = 1
    cases: Annotated[tuple[CaseBpfPrograms, ...], Meta(max_length=MOST_SAMPLES)]
