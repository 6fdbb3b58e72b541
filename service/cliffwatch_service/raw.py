"""Raw outputs: a boot's folder as one archive, kept as the host sent it."""

import io
import tarfile
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch_service.boot_document import packed, unpacked
from cliffwatch_service.ingest import Stored, content_digest
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import boots, runs

MOST_FILES = 10_000


def put_raw(connection: Connection[Any], digest: str, number: int, archive: bytes, now: datetime) -> Stored:
    """Keeps a tar archive of regular files. Raises Refusal for any other content, and for another one of this boot."""
    run = runs.run_row(connection, digest)
    if run is None:
        raise Refusal(404, "no such run", f"there is no run {digest}: upload its run.json first")
    files = _files(archive)
    own = content_digest(archive)
    if boots.insert_raw(connection, run["id"], number, digest=own, files=files, content=packed(archive), now=now):
        return Stored(digest=own, fresh=True)
    held = boots.raw_about(connection, run["id"], number)
    assert held is not None
    if held["digest"] != own:
        raise Refusal(
            409,
            "another archive is stored",
            f"the raw outputs of boot {number} are stored with content {held['digest']}; what came now is {own}",
            stored=held["digest"],
            received=own,
        )
    return Stored(digest=own, fresh=False)


def _files(archive: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
            for member in tar:
                _refuse_odd(member, len(found))
                found.append({"name": member.name, "size": member.size})
    except (tarfile.TarError, ValueError, EOFError, OverflowError) as error:
        raise Refusal(422, "no archive", f"the body is no tar archive: {error}") from None
    if len({each["name"] for each in found}) != len(found):
        raise Refusal(422, "no archive", "a file is in the archive twice")
    return found


def _refuse_odd(member: tarfile.TarInfo, count: int) -> None:
    name = member.name
    parts = name.split("/")
    plain = (
        name.isprintable() and len(name) <= 500 and not name.startswith("/") and ".." not in parts and "" not in parts
    )
    if not member.isreg() or not plain:
        raise Refusal(422, "odd file", f"{ascii(name)[:200]} is no regular file with a plain relative name")
    if count >= MOST_FILES:
        raise Refusal(422, "too many files", f"an archive may hold {MOST_FILES} files")


def raw_file(connection: Connection[Any], digest: str, number: int, path: str) -> bytes:
    """One file of a boot's archive. Raises Refusal."""
    run = runs.run_row(connection, digest)
    content = boots.raw_content(connection, run["id"], number) if run is not None else None
    if content is None:
        raise not_found("raw output", f"{digest}/{number}")
    archive = unpacked(content)
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
        for member in tar:
            if member.name == path:
                file = tar.extractfile(member)
                assert file is not None
                return file.read()
    raise not_found("raw output", path)
