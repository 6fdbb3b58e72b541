"""Converts a source archive into a stream for `git fast-import`.

The stream is one commit with the archive's files, without the top folder. This program runs between a
decompressor and git:

`xz -dc A.tar.xz | python -m cliffwatch_runner.source.archive_stream REF BYTES | git fast-import`

git-fast-import(1) defines the format of the stream. Archives are untrusted: a name outside the top folder, or
a member that is neither file, link nor folder, ends the import.
"""

import os
import resource
import sys
import tarfile
from typing import IO, Any

from cliffwatch_runner.source.tree_size import LIMITS

_WHO = b"Cliffwatch <cliffwatch@localhost> 0 +0000"
_PIECE = 1 << 20
_MEMORY = 512 << 20
"""Memory limit of this program in bytes: tarfile reads headers whole, and a header may declare any length."""

_MOST_MEMBERS = 300_000
_MOST_BYTES = 4 << 30
_MOST_TIMES = 60
"""Largest ratio of unpacked to packed size. Linux sources unpack to about ten times their size."""

_SMALL = 64 << 20
"""Unpacked size in bytes that every archive may reach, whatever its packed size."""


class BadArchive(ValueError):
    """The reason why an archive is not imported, for the person who named it."""


class _Pieces:
    """The decompressor's output. Raises BadArchive after more than `most` bytes."""

    def __init__(self, archive: IO[bytes], most: int) -> None:
        self._archive, self._left = archive, most

    def read(self, size: int) -> bytes:
        content = self._archive.read(size)
        self._left -= len(content)
        if self._left < 0:
            raise BadArchive("it unpacks to far more than sources do")
        return content


def most_bytes(packed: int) -> int:
    """Returns the number of bytes to which an archive of `packed` bytes may unpack."""
    return min(_MOST_BYTES, max(_SMALL, packed * _MOST_TIMES))


def write_stream(archive: IO[bytes], ref: str, stream: IO[bytes], *, packed: int) -> None:
    """Reads an uncompressed tar archive and writes it as a commit to `ref`.

    `packed` is the archive's file size in bytes.

    Raises BadArchive, tarfile.TarError, OSError.
    """
    stream.write(b"feature done\ncommit %s\ncommitter %s\ndata 0\n\n" % (ref.encode(), _WHO))
    top: str | None = None
    pieces: Any = _Pieces(archive, most_bytes(packed))
    with tarfile.open(fileobj=pieces, mode="r|", errorlevel=2) as members:
        remembered: Any = members
        for number, member in enumerate(members, start=1):
            if number > _MOST_MEMBERS:
                raise BadArchive(f"it has more than {_MOST_MEMBERS} files and folders")
            remembered.members = []  # else all of them
            parts = _parts(member.name)
            top = top or parts[0]
            if parts[0] != top:
                raise BadArchive(f"there is no one folder at its top: {parts[0]} and {top}")
            if len(parts) > 1 and not member.isdir():
                _write_member(members, member, "/".join(parts[1:]), stream)
    if top is None:
        raise BadArchive("it is empty")
    stream.write(b"\ndone\n")


def _write_member(members: tarfile.TarFile, member: tarfile.TarInfo, path: str, stream: IO[bytes]) -> None:
    if member.issym():
        target = os.fsencode(member.linkname)
        stream.write(b"M 120000 inline %s\ndata %d\n%s\n" % (_quote_path(path), len(target), target))
    elif member.islnk():
        stream.write(b"C %s %s\n" % (_quote_path("/".join(_parts(member.linkname)[1:])), _quote_path(path)))
    elif member.isfile():
        mode = b"100755" if member.mode & 0o100 else b"100644"
        stream.write(b"M %s inline %s\ndata %d\n" % (mode, _quote_path(path), member.size))
        content = members.extractfile(member)
        assert content is not None
        while piece := content.read(_PIECE):
            stream.write(piece)
        stream.write(b"\n")
    else:
        raise BadArchive(f"{path} is neither a file nor a link nor a folder")


def _parts(name: str) -> list[str]:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if len(name) > LIMITS.path_bytes or len(parts) > LIMITS.levels:
        raise BadArchive(f"the name {name[:100]!r} is too long, or too deep")
    if not parts or name.startswith("/") or any(part == ".." or part.lower() == ".git" for part in parts):
        raise BadArchive(f"the name {name!r} leaves its folder, or is git's own")
    return parts


def _quote_path(path: str) -> bytes:
    """Quotes a path in C style, as git-fast-import(1) reads it."""
    plain = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + plain + b'"'


def main(ref: str, packed: str) -> int:
    """Reads the archive from standard input.

    Returns 1, with the reason on standard error, if it cannot be imported.
    """
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    try:
        write_stream(sys.stdin.buffer, ref, sys.stdout.buffer, packed=int(packed))
        sys.stdout.buffer.flush()
    except MemoryError:
        print("the archive cannot be read: a header of it is too large", file=sys.stderr)  # noqa: T201
        return 1
    except (BadArchive, tarfile.TarError) as error:
        print(f"the archive cannot be read: {error}", file=sys.stderr)  # noqa: T201 - a program of its own
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
