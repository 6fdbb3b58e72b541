"""What a page shows of a raw output: its beginning and its end, within a fixed memory however long it is."""

from collections.abc import Iterator
from dataclasses import dataclass

from cliffwatch.parsers.splats import find_splats

_SHOWN = 400_000
"""Characters of an output on a page; the whole of it is one link further."""

_SEARCHED = 1 << 20
"""Bytes of the beginning in which splats are counted that are not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """`left` characters (bytes, of a long output) lie between the beginning and the end that are shown."""

    text: str
    left: int
    hidden_splats: int


def cut_output(pieces: Iterator[bytes], size: int) -> Shown:
    """The beginning and the end of an output, where kernels say their last words, and how much
    lies between.
    """
    first = bytearray()
    for piece in pieces:
        first += piece
        if len(first) >= _SEARCHED:
            break
    begin = first.decode(errors="replace")
    if len(first) == size:
        left = len(begin) - _SHOWN
        if left <= 0:
            return Shown(text=begin, left=0, hidden_splats=0)
        end = begin[-_SHOWN // 2 :]
    else:
        left = size - _SHOWN
        end = _last(pieces, bytes(first[-_SHOWN // 2 :])).decode(errors="replace")
    text = f"{begin[: _SHOWN // 2]}\n… {left:,} characters left out here …\n{end}"
    return Shown(text=text, left=left, hidden_splats=len(find_splats(begin)) - len(find_splats(text)))


def _last(pieces: Iterator[bytes], end: bytes) -> bytes:
    for piece in pieces:
        end = (end + piece)[-_SHOWN // 2 :]
    return end


def mark_lines(text: str) -> list[tuple[str, str]]:
    """Lines with what they are: `splat` for those that a kernel says when something went wrong, the first of
    each `first`.
    """
    firsts, within = set(), set()
    for splat in find_splats(text):
        block = splat.text.split("\n")
        firsts.add(block[0])
        within |= set(block)
    return [
        ("first" if line[:300] in firsts else "splat" if line[:300] in within else "", line)
        for line in text.splitlines()
    ]
