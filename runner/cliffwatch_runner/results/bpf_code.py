"""The BPF code of a case: names by address for function counts, programs' code for bpf-programs.json."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.formats.code.bpf_programs import MOST_PIECES, BpfPiece, CaseBpfPrograms
from cliffwatch_runner.guest.counting.bpf_names import BpfCode

BPF_PROGRAMS = "bpf-programs.json"
_TAG = re.compile(r"^bpf_prog_[0-9a-f]{16}_?")
_IDENTITY = re.compile(r"^(bpf_trampoline|bpf_dispatcher)_\d+")


class BpfCodes:
    """Finds the names of a case's BPF code by address.

    `code` is sorted by how often it was seen. Where two pieces overlap, the first one wins: the other was
    replaced while the case was set up.
    """

    def __init__(self, code: Sequence[BpfCode]) -> None:
        self._code: list[BpfCode] = []
        for each in code:
            if all(each.end <= other.start or other.end <= each.start for other in self._code):
                self._code.append(each)
        self._code.sort(key=lambda each: each.start)
        self._starts = [each.start for each in self._code]
        names = number_repeated(plain_name(each.name) for each in self._code)
        self.names: Mapping[BpfCode, str] = dict(zip(self._code, names, strict=True))

    def at(self, address: int) -> BpfCode | None:
        before = bisect_right(self._starts, address)
        code = self._code[before - 1] if before else None
        return code if code is not None and address < code.end else None


def plain_name(name: str) -> str:
    """Removes the parts of a name that differ between kernels: a program's digest, a trampoline's number."""
    without = _TAG.sub("", name)
    return _IDENTITY.sub(r"\1", without) or "BPF program without a name"


def number_repeated(names: Iterable[str]) -> Iterator[str]:
    """Yields the names, and numbers those that repeat."""
    ordinals: Counter[str] = Counter()
    for name in names:
        ordinals[name] += 1
        yield name if ordinals[name] == 1 else f"{name}@{ordinals[name]}"


def case_programs(
    case: PlannedCase, code: Sequence[BpfCode], read: Mapping[BpfCode, bytes], executed: Iterable[int] | None
) -> CaseBpfPrograms:
    """Returns the record of a case's BPF programs.

    - `code`: the pieces that were seen, most frequent first.
    - `read`: the machine code of each program.
    - `executed`: addresses of the blocks that ran while the case measured; None if not known.
    """
    codes = BpfCodes(code)
    ran = None if executed is None else {codes.at(address) for address in executed}
    return CaseBpfPrograms(
        suite=case.key.suite,
        benchmark=case.key.benchmark,
        params=dict(case.key.params),
        pieces=tuple(
            BpfPiece(
                address=f"{each.start:016x}",
                bytes=min(each.end - each.start, 2**31 - 1),
                name=each.name,
                function=codes.names.get(each),
                executed=None if ran is None else each in ran,
                code=read.get(each),
            )
            for each in code[:MOST_PIECES]
        ),
    )
