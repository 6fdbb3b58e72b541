"""What is known by name of the addresses that a case executed in user space: objects of its own processes, and of others of the boot."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cliffwatch.formats.code.function_counts import UNNAMED_LIBRARIES, UNNAMED_PROGRAMS
from cliffwatch_runner.guest.counting.bpf_names import BpfCode
from cliffwatch_runner.guest.counting.user_objects import ANONYMOUS, MappedObject

_LIBRARIES = 0x7F0000000000
"""Linux places programs below it and what it maps above, shared libraries and the vDSO among that."""

_DRAWN = 0x550000000000
"""Linux draws addresses above it for programs that may lie anywhere, and for all libraries; others all begin at one address below it."""


class OtherProcesses:
    """The files of all processes of a boot that lie at addresses drawn for their process, where no other process has anything but the same file.

    QEMU 8 and newer translate a file's code once for all processes, and count it at the addresses of the one that executed it first.
    """

    def __init__(self, objects: Iterable[MappedObject]) -> None:
        placed = sorted(
            {(each.start, each.end, each.name) for each in objects if _is_drawn_for_its_process(each)}
        )
        self._starts = np.array([start for start, _, _ in placed], dtype=np.uint64)
        self._ends = np.array([end for _, end, _ in placed], dtype=np.uint64)
        self._names = np.array([name for _, _, name in placed], dtype=object)

    def name(self, addresses: NDArray[np.uint64], names: NDArray[np.object_]) -> NDArray[np.object_]:
        """`names`, and in their place those of the files that addresses lie in."""
        if not len(self._names):
            return names
        at = np.searchsorted(self._starts, addresses, side="right").astype(np.int64) - 1
        return np.where((at >= 0) & (addresses < self._ends[at]), self._names[at], names)


@dataclass(frozen=True, slots=True)
class CaseNames:
    """What is known of a case's run-time code and of its processes' memory, what was seen most often first, and of other processes."""

    code: Sequence[BpfCode]
    objects: Sequence[MappedObject]
    others: OtherProcesses


NO_NAMES = CaseNames((), (), OtherProcesses(()))


def _is_drawn_for_its_process(each: MappedObject) -> bool:
    return each.name != ANONYMOUS and each.start >= _DRAWN


def instructions_of_objects(
    addresses: NDArray[np.uint64], instructions: NDArray[np.int64], given: CaseNames
) -> Iterator[tuple[str, int]]:
    """The instructions of user space by object. Where objects of a case's processes overlap, that counts which was seen most often, and anonymous memory only
    where no object of them was seen; of what is nowhere it is known whether it is a program or was mapped above one.
    """
    names = np.where(addresses >= _LIBRARIES, UNNAMED_LIBRARIES, UNNAMED_PROGRAMS).astype(object)
    names = given.others.name(addresses, names)
    anonymous = [each for each in given.objects if each.name == ANONYMOUS]
    for each in reversed([*(each for each in given.objects if each.name != ANONYMOUS), *anonymous]):
        names[(addresses >= each.start) & (addresses < each.end)] = each.name
    for name in sorted(set(names)):
        yield name, int(instructions[names == name].sum())
