"""Compares two listings of a BPF program, ignoring jumps that only span inserted or removed code."""

import difflib
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

_PLACE = re.compile(r"#(\d+)\b")
_LONGEST_LINE = 400
_MOST_COMPARED = 2000
"""Limit on instructions between the first and the last difference, as comparing takes quadratic time.

Beyond it, all of them are listed as different.
"""


def instruction_difference(base: Sequence[str], head: Sequence[str]) -> list[str]:
    """Returns a unified diff without context; empty if the programs do the same.

    `#14` is the number of an instruction in base. `#+14` is an instruction of head that base does not have.
    """
    same = _same(base, head)

    def place(match: re.Match[str]) -> str:
        number = int(match[1])
        return f"#{same[number]}" if number in same else f"#+{number}"

    moved = [_PLACE.sub(place, line) for line in head]
    start, end = _count_equal_ends(base, moved)
    middle = (base[start : len(base) - end], moved[start : len(moved) - end])
    whole = (
        difflib.unified_diff(*middle, n=0, lineterm="")
        if max(map(len, middle)) <= _MOST_COMPARED
        else _all(*middle)
    )
    return [_header(line, start)[:_LONGEST_LINE] for line in whole if not line.startswith(("---", "+++"))]


def _same(base: Sequence[str], head: Sequence[str]) -> Mapping[int, int]:
    """Maps instructions of head to the same instructions of base, by number, ignoring jump targets."""
    old, new = ([_PLACE.sub("#", line) for line in lines] for lines in (base, head))
    start, end = _count_equal_ends(old, new)
    same = {number: number for number in range(start)}
    same |= {len(new) - back: len(old) - back for back in range(1, end + 1)}
    middle = (old[start : len(old) - end], new[start : len(new) - end])
    if max(map(len, middle)) <= _MOST_COMPARED:
        for first, second, length in difflib.SequenceMatcher(
            None, *middle, autojunk=False
        ).get_matching_blocks():
            same |= {start + second + step: start + first + step for step in range(length)}
    return same


def _count_equal_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Returns the number of equal lines at the start and, in the rest, at the end."""
    start = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    behind = zip(reversed(old[start:]), reversed(new[start:]), strict=False)
    return start, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], behind))


def _all(old: Sequence[str], new: Sequence[str]) -> list[str]:
    return [
        f"@@ -1,{len(old)} +1,{len(new)} @@",
        *(f"-{line}" for line in old),
        *(f"+{line}" for line in new),
    ]


_HEADER = re.compile(r"(?<=[-+])\d+")


def _header(line: str, skipped: int) -> str:
    """Adds the skipped leading lines to the line numbers of a hunk header."""
    return _HEADER.sub(lambda match: str(int(match[0]) + skipped), line) if line.startswith("@@") else line
