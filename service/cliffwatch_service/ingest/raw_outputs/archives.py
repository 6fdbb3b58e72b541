"""Reads tar archives as streams of plain files, in bounded memory, whatever their headers claim.

The standard library's reader follows every extension of the format: a sparse member of 1,536 bytes reads as
gigabytes, and an extended header is read whole, however long it is. Here every byte of a file lies in the
archive, or the archive is refused.
"""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

MOST_FILES = 10_000
LONGEST_NAME = 500

_BLOCK = tarfile.BLOCKSIZE
_PIECE = 1 << 16
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE)
_LONGEST_EXTENSION = 1 << 14
_FEWEST = len("5 a=\n")


class Source(Protocol):
    """A stream from which an archive is read."""

    def read(self, size: int, /) -> bytes: ...


class OddArchive(Exception):
    """An archive that is refused. The message names the file and the reason."""


@dataclass(slots=True)
class ArchiveMember:
    """A plain file of an archive. It can be read until the iteration moves on to the next member."""

    name: str
    size: int
    _stream: "_ArchiveStream"

    def pieces(self) -> Iterator[bytes]:
        """Yields the rest of its content, piece by piece. Raises OddArchive if the archive ends too early."""
        while piece := self._stream.of_member():
            yield piece


def members(source: Source) -> Iterator[ArchiveMember]:
    """Yields the files of an archive in order.

    Raises OddArchive at the first member that is not a regular file with a plain relative name.
    """
    stream = _ArchiveStream(source)
    names: set[str] = set()
    while (header := _header(stream)) is not None:
        name = _plain_name(header)
        if name in names:
            raise OddArchive(f"{ascii(name)[:200]} is in the archive twice")
        if len(names) >= MOST_FILES:
            raise OddArchive(f"an archive may hold at most {MOST_FILES} files")
        names.add(name)
        stream.begin(header.size)
        yield ArchiveMember(name, header.size, stream)
        stream.skip()


class _ArchiveStream:
    """The bytes of an archive, read forwards. Counts down the bytes of the current member."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._left = self._padding = 0

    def exactly(self, size: int) -> bytes:
        """Reads `size` bytes; fewer only at the archive's end."""
        parts = bytearray()
        while len(parts) < size and (part := self._source.read(size - len(parts))):
            parts += part
        return bytes(parts)

    def begin(self, size: int) -> None:
        self._left, self._padding = size, -size % _BLOCK

    def of_member(self) -> bytes:
        piece = self._source.read(min(self._left, _PIECE)) if self._left else b""
        if self._left and not piece:
            raise OddArchive("the archive ends in the middle of a file")
        self._left -= len(piece)
        return piece

    def skip(self) -> None:
        while self.of_member():
            pass
        self.exactly(self._padding)


def _header(stream: _ArchiveStream) -> tarfile.TarInfo | None:
    """Returns the next plain member's header, with its extended name if it has one; None at the end."""
    name: str | None = None
    while True:
        header = _block(stream)
        if header is None:
            return None
        if header.type == tarfile.XHDTYPE:
            name = _extended_name(_extension(stream, header)) or name
        elif header.type == tarfile.GNUTYPE_LONGNAME:
            name = _text(_extension(stream, header).partition(b"\0")[0])
        elif header.type in _PLAIN and header.size >= 0:
            header.name = header.name if name is None else name
            return header
        else:
            raise OddArchive(f"{ascii(header.name)[:200]} is not a regular file")


def _block(stream: _ArchiveStream) -> tarfile.TarInfo | None:
    block = stream.exactly(_BLOCK)
    if not block:
        return None
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except tarfile.HeaderError as error:
        if len(block) == _BLOCK and not any(block):
            return None
        raise OddArchive(f"the body is not a tar archive: {error}") from None
    except (ValueError, OverflowError) as error:
        raise OddArchive(f"the body is not a tar archive: {error}") from None


def _extension(stream: _ArchiveStream, header: tarfile.TarInfo) -> bytes:
    if not 0 <= header.size <= _LONGEST_EXTENSION:
        raise OddArchive(f"an extended header may have at most {_LONGEST_EXTENSION} bytes")
    content = stream.exactly(header.size + -header.size % _BLOCK)
    if len(content) < header.size:
        raise OddArchive("the archive ends in the middle of an extended header")
    return content[: header.size]


def _extended_name(content: bytes) -> str | None:
    """Returns the path from a pax header; None if it has none.

    Refuses keys that change a file's content or size, and ignores the others.
    """
    name = None
    while content:
        digits, space, _ = content[:8].partition(b" ")
        length = int(digits) if space and digits.isdigit() else 0
        record, content = content[:length], content[length:]
        key, equals, value = record[len(digits) + 1 :].partition(b"=")
        if length < _FEWEST or len(record) < length or not equals or not value.endswith(b"\n"):
            raise OddArchive("an extended header is damaged")
        if key.startswith(b"GNU.sparse") or key in (b"size", b"linkpath", b"hdrcharset"):
            raise OddArchive(
                f"an extended header has {ascii(key.decode(errors='replace'))[:80]}: write plain files only"
            )
        if key == b"path":
            name = _text(value[:-1])
    return name


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise OddArchive(f"{ascii(name)[:200]} is not a name in UTF-8") from None


def _plain_name(header: tarfile.TarInfo) -> str:
    name = header.name
    parts = name.split("/")
    plain = name.isprintable() and len(name) <= LONGEST_NAME and ".." not in parts and "" not in parts
    if not plain:
        raise OddArchive(f"{ascii(name)[:200]} is not a regular file with a plain relative name")
    return name
