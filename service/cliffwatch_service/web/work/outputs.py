"""Shortens a raw output for a page to its beginning and end. Memory use is bounded, whatever its length."""

from collections.abc import Iterator
from dataclasses import dataclass

from cliffwatch.parsers.splats import find_splats

_SHOWN = 400_000
"""Most characters of an output on a page. The page links to the whole output."""

_SEARCHED = 1 << 20
"""Bytes from the start that are searched for splats, shown or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortenedOutput:
    """A shortened output."""

    text: str
    left: int
    """Characters left out in the middle; bytes if the output is longer than about 1 MiB."""
    hidden_splats: int
    """Splats in the first 1 MiB that are not shown."""


def cut_output(pieces: Iterator[bytes], size: int) -> ShortenedOutput:
    """Keeps the beginning and the end of an output of `size` bytes.

    The end matters because it has the kernel's last messages.
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
            return ShortenedOutput(text=begin, left=0, hidden_splats=0)
        end = begin[-_SHOWN // 2 :]
    else:
        left = size - _SHOWN
        end = _last(pieces, bytes(first[-_SHOWN // 2 :])).decode(errors="replace")
    text = f"{begin[: _SHOWN // 2]}\n… {left:,} characters left out here …\n{end}"
    return ShortenedOutput(
        text=text, left=left, hidden_splats=len(find_splats(begin)) - len(find_splats(text))
    )


def _last(pieces: Iterator[bytes], end: bytes) -> bytes:
    for piece in pieces:
        end = (end + piece)[-_SHOWN // 2 :]
    return end


def mark_lines(text: str) -> list[tuple[str, str]]:
    """Returns each line with its kind: `first` for the first line of a splat, `splat` for its other lines.

    The kind of all other lines is empty.
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
