"""Raw outputs: a boot's folder as one archive, stored as the host sent it.

Storing and reading an archive need memory for one piece only, whatever its headers claim. Stored archives are
read as carefully as uploaded ones.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any, cast

import zstandard
from psycopg import Connection

from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.ingest.columns import ColumnsCache
from cliffwatch_service.ingest.ingest import StoreResult, own_run
from cliffwatch_service.ingest.plan import plan_of, refuse_unplanned
from cliffwatch_service.ingest.raw_outputs.archives import ArchiveMember, OddArchive, members
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.runtime.memory import release_freed_memory
from cliffwatch_service.store import boots, runs
from cliffwatch_service.store.boots import RawFileListed

_LEVEL = 3
_WINDOW = 1 << 23
"""Most memory for unpacking, in bytes; our own compression level needs a quarter of it."""

_PIECE = 1 << 16
_MUCH = 1 << 20
Transaction = Callable[[], AbstractContextManager[Connection[Any]]]


def put_raw(
    connection: Connection[Any],
    known: ColumnsCache,
    digest: str,
    number: int,
    archive: IO[bytes],
    *,
    by: Caller,
    now: datetime,
) -> StoreResult:
    """Stores a tar archive of regular files.

    Raises Refusal for other content, or if the boot has another archive.
    """
    run = own_run(connection, digest, by)
    refuse_unplanned(plan_of(known, run), run, number)
    archive.seek(0)
    try:
        files = [RawFileListed(name=member.name, size=member.size) for member in members(archive)]
    except OddArchive as error:
        raise Refusal(422, "odd archive", f"{error}; send a tar archive of regular files only") from None
    own = _digest(archive)
    if boots.insert_raw(connection, run.id, number, digest=own, files=files, now=now):
        for index, piece in enumerate(_compress(archive)):
            boots.insert_raw_piece(connection, run.id, number, index, piece)
        return StoreResult(digest=own, fresh=True)
    stored = boots.raw_about(connection, run.id, number)
    assert stored is not None
    if stored.digest != own:
        raise Refusal(
            409,
            "another archive is stored",
            f"the raw outputs of boot {number} are stored with content {stored.digest},"
            f" but this upload has {own}",
            stored=stored.digest,
            received=own,
        )
    return StoreResult(digest=own, fresh=False)


def _digest(archive: IO[bytes]) -> str:
    archive.seek(0)
    digest = hashlib.sha256()
    while piece := archive.read(_PIECE):
        digest.update(piece)
    return digest.hexdigest()[:32]


def _compress(archive: IO[bytes]) -> Iterator[bytes]:
    archive.seek(0)
    chunker = zstandard.ZstdCompressor(level=_LEVEL).chunker(chunk_size=boots.RAW_PIECE)
    while piece := archive.read(_PIECE):
        yield from chunker.compress(piece)
    yield from chunker.finish()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawFile:
    """A file of a boot's archive."""

    size: int
    digest: str
    """Changes with the content."""
    pieces: Iterator[bytes]
    """The content; can be read once."""


def raw_file(transaction: Transaction, digest: str, number: int, path: str) -> RawFile:
    """Returns one file of a boot's archive. Raises Refusal.

    Every piece is read in a transaction of its own, so that a slow client holds none open.
    """
    with transaction() as connection:
        run = runs.run_row(connection, digest)
        about = boots.raw_about(connection, run.id, number) if run is not None else None
    if run is None or about is None:
        raise not_found("raw output", f"{digest}/{number}")
    source = cast("IO[bytes]", _StoredArchive(transaction, run.id, number))
    unpacking = zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(source, read_size=_PIECE)
    try:
        for member in members(unpacking):
            if member.name == path:
                own = hashlib.sha256(f"{about.digest} {path}".encode()).hexdigest()[:32]
                return RawFile(size=member.size, digest=own, pieces=_until_read(member))
    except (OddArchive, zstandard.ZstdError) as error:
        raise Refusal(
            404, "no plain file", f"the archive of boot {number} cannot be read up to {path!r}: {error}"
        ) from None
    raise not_found("raw output", path)


def _until_read(member: ArchiveMember) -> Iterator[bytes]:
    try:
        yield from member.pieces()
    finally:
        if member.size > _MUCH:
            release_freed_memory()


class _StoredArchive:
    """A packed archive in the database, fetched piece by piece."""

    def __init__(self, transaction: Transaction, run_id: int, number: int) -> None:
        self._transaction, self._run_id, self._number = transaction, run_id, number
        self._index = 0
        self._buffer = b""

    def read(self, size: int) -> bytes:
        if not self._buffer:
            with self._transaction() as connection:
                self._buffer = boots.raw_piece(connection, self._run_id, self._number, self._index)
            self._index += 1
        piece, self._buffer = self._buffer[:size], self._buffer[size:]
        return piece
