"""Names the user-space addresses that a case executed, by objects of its own and other processes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cliffwatch.formats.code.function_counts import UNNAMED_LIBRARIES, UNNAMED_PROGRAMS
from cliffwatch_runner.guest.counting.bpf_names import BpfCode
from cliffwatch_runner.guest.counting.user_objects import ANONYMOUS, MappedObject

_LIBRARIES = 0x7F0000000000
"""Linux places programs below this address and maps everything else (libraries, the vDSO) above."""

_DRAWN = 0x550000000000
"""Linux randomizes addresses above this one: for position-independent programs and all libraries.

Other programs all begin at one address below it.
"""


class OtherProcesses:
    """Files of all processes of a boot at randomized addresses, where no other process has anything but the
    same file.

    QEMU 8 and newer translate the code of a file once for all processes, and count it at the addresses of the
    process that executed it first.
    """

    def __init__(self, objects: Iterable[MappedObject]) -> None:
        placed = sorted(
            {(each.start, each.end, each.name) for each in objects if _is_drawn_for_its_process(each)}
        )
        self._starts = np.array([start for start, _, _ in placed], dtype=np.uint64)
        self._ends = np.array([end for _, end, _ in placed], dtype=np.uint64)
        self._names = np.array([name for _, _, name in placed], dtype=object)

    def name(self, addresses: NDArray[np.uint64], names: NDArray[np.object_]) -> NDArray[np.object_]:
        """Returns `names`, replaced by the file's name wherever an address lies in a file."""
        if not len(self._names):
            return names
        at = np.searchsorted(self._starts, addresses, side="right").astype(np.int64) - 1
        return np.where((at >= 0) & (addresses < self._ends[at]), self._names[at], names)


@dataclass(frozen=True, slots=True)
class CaseNames:
    """What is known of a case's addresses."""

    code: Sequence[BpfCode]
    """BPF code, most frequently seen first."""

    objects: Sequence[MappedObject]
    """Memory of the case's processes, most frequently seen first."""

    others: OtherProcesses
    """Files of other processes in the boot."""


NO_NAMES = CaseNames((), (), OtherProcesses(()))


def _is_drawn_for_its_process(each: MappedObject) -> bool:
    return each.name != ANONYMOUS and each.start >= _DRAWN


def instructions_of_objects(
    addresses: NDArray[np.uint64], instructions: NDArray[np.int64], given: CaseNames
) -> Iterator[tuple[str, int]]:
    """Yields the user-space instructions by object.

    If objects of the case's processes overlap, the one seen most often counts; anonymous memory counts only
    where there is no other object. An address in no object counts as an unnamed program or library, by its
    position.
    """
    names = np.where(addresses >= _LIBRARIES, UNNAMED_LIBRARIES, UNNAMED_PROGRAMS).astype(object)
    names = given.others.name(addresses, names)
    anonymous = [each for each in given.objects if each.name == ANONYMOUS]
    for each in reversed([*(each for each in given.objects if each.name != ANONYMOUS), *anonymous]):
        names[(addresses >= each.start) & (addresses < each.end)] = each.name
    for name in sorted(set(names)):
        yield name, int(instructions[names == name].sum())
