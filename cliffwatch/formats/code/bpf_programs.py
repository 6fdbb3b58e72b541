"""bpf-programs.json of a boot: the JIT code of each case's BPF programs, copied from the guest's memory."""

from typing import Annotated, Literal

from msgspec import Meta

from cliffwatch.formats.values import MOST_SAMPLES, Count, Name, OfCase, Part

MOST_PIECES = 4000
Address = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}(?![\s\S])")]
Code = Annotated[bytes, Meta(max_length=1 << 20)]


class BpfPiece(Part, frozen=True, kw_only=True):
    """A piece of code from the JIT."""

    address: Address
    """In the guest's memory."""
    bytes: Count
    name: Name
    """As in /proc/kallsyms, with the tag of a program."""
    function: Name | None
    """Its name in functions.json, with an ordinal if names repeat; null if its memory was reused within the
    case.
    """
    executed: bool | None
    """Executed in the measured window; null if that was not counted."""
    code: Code | None
    """Bytes in base64; null for trampolines, dispatchers, programs above 256 KiB, and what could not be read
    in time.
    """


class CaseBpfPrograms(OfCase, frozen=True, kw_only=True):
    """All pieces of JIT code in the guest while a case ran, the most frequently seen first."""

    pieces: Annotated[tuple[BpfPiece, ...], Meta(max_length=MOST_PIECES)]


class BpfProgramsRecord(Part, frozen=True, kw_only=True):
    """bpf-programs.json."""

    format: Literal["cliffwatch-bpf-programs"] = "cliffwatch-bpf-programs"
    format_version: Literal[1] = 1
    cases: Annotated[tuple[CaseBpfPrograms, ...], Meta(max_length=MOST_SAMPLES)]
