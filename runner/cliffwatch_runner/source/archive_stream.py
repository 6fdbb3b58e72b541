"""Turns a source archive into a stream for `git fast-import`: one commit with the archive's files, its top folder left out.

Run as a program between a decompressor and git: `xz -dc A.tar.xz | python -m cliffwatch_runner.source.archive_stream REF | git fast-import`.
The format of the stream is that of git-fast-import(1). An archive is someone else's: names that leave its top folder, and what is
neither file, link nor folder, end the import.
"""

import os
import sys
import tarfile
from typing import IO

_WHO = b"Cliffwatch <cliffwatch@localhost> 0 +0000"
_PIECE = 1 << 20


class BadArchive(ValueError):
    """Why an archive is not imported, for whoever gave it."""


def write_stream(archive: IO[bytes], ref: str, stream: IO[bytes]) -> None:
    """Reads an uncompressed tar archive and writes it as a commit to `ref`. Raises BadArchive, tarfile.TarError, OSError."""
    stream.write(b"feature done\ncommit %s\ncommitter %s\ndata 0\n\n" % (ref.encode(), _WHO))
    top: str | None = None
    with tarfile.open(fileobj=archive, mode="r|", errorlevel=2) as members:
        for member in members:
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
        stream.write(b"M 120000 inline %s\ndata %d\n%s\n" % (_quoted(path), len(target), target))
    elif member.islnk():
        stream.write(b"C %s %s\n" % (_quoted("/".join(_parts(member.linkname)[1:])), _quoted(path)))
    elif member.isfile():
        mode = b"100755" if member.mode & 0o100 else b"100644"
        stream.write(b"M %s inline %s\ndata %d\n" % (mode, _quoted(path), member.size))
        content = members.extractfile(member)
        assert content is not None
        while piece := content.read(_PIECE):
            stream.write(piece)
        stream.write(b"\n")
    else:
        raise BadArchive(f"{path} is neither a file nor a link nor a folder")


def _parts(name: str) -> list[str]:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts or name.startswith("/") or any(part == ".." or part.lower() == ".git" for part in parts):
        raise BadArchive(f"the name {name!r} leaves its folder, or is git's own")
    return parts


def _quoted(path: str) -> bytes:
    """A path as git-fast-import(1) reads it, in C style."""
    plain = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + plain + b'"'


def main(ref: str) -> int:
    """Reads standard input; 1 with the reason on standard error where the archive is not to be imported."""
    try:
        write_stream(sys.stdin.buffer, ref, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except (BadArchive, tarfile.TarError) as error:
        print(f"the archive cannot be read: {error}", file=sys.stderr)  # noqa: T201 - a program of its own
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
