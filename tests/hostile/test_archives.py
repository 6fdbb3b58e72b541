"""Archives that are not what they say: none is taken, and none that is stored already costs more than its own
size.
"""

import io
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
import zstandard
from psycopg.types.json import Jsonb
from service_running import Running
from service_runs import put_all, run_of

GIB = 1 << 30
TAR = {"Content-Type": "application/x-tar"}


def header(name: str, size: int, kind: bytes, **more: Any) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    for key, value in more.items():
        setattr(member, key, value)
    return member.tobuf(tarfile.GNU_FORMAT)


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 512)


def gnu_sparse() -> bytes:
    """1,536 bytes that say to be 3 GiB: a sparse member of the old GNU format with nothing in it."""
    block = bytearray(header("zeros", 0, b"S"))
    block[386:398] = b"00000000000\0"  # one extent: at 0, of 0 bytes
    block[398:410] = b"00000000000\0"
    block[483:495] = b"%011o\0" % (3 * GIB)
    block[148:156] = b"        "
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + bytes(1024)


def pax(*records: tuple[str, str], after: bytes) -> bytes:
    lines = b""
    for key, value in records:
        length = len(key) + len(value) + 3
        length += len(str(length + len(str(length))))
        lines += f"{length} {key}={value}\n".encode()
    return header("x", len(lines), tarfile.XHDTYPE) + padded(lines) + after


def plain(name: str = "a", content: bytes = b"text") -> bytes:
    return header(name, len(content), tarfile.REGTYPE) + padded(content)


END = bytes(1024)
ODD: dict[str, Callable[[], bytes]] = {
    "GNU sparse": gnu_sparse,
    "pax sparse 0.0": lambda: pax(
        ("GNU.sparse.size", str(3 * GIB)), ("GNU.sparse.numblocks", "0"), after=plain() + END
    ),
    "pax sparse 0.1": lambda: pax(("GNU.sparse.map", f"{3 * GIB},0"), after=plain() + END),
    "pax sparse 1.0": lambda: pax(
        ("GNU.sparse.major", "1"),
        ("GNU.sparse.minor", "0"),
        ("GNU.sparse.realsize", str(3 * GIB)),
        after=plain() + END,
    ),
    "pax size": lambda: pax(("size", str(3 * GIB)), after=plain() + END),
    "pax global header": lambda: (
        header("g", 16, tarfile.XGLTYPE) + padded(b"16 size=4000000\n") + plain() + END
    ),
    "pax header of 32 KiB": lambda: pax(("comment", "x" * 32768), after=plain() + END),
    "pax header of 8 GiB": lambda: header("x", 8 * GIB - 1, tarfile.XHDTYPE) + plain() + END,
    "pax record without end": lambda: header("x", 9, tarfile.XHDTYPE) + padded(b"99 path=a") + plain() + END,
    "pax record of length 0": lambda: header("x", 9, tarfile.XHDTYPE) + padded(b"0 path=a\n") + plain() + END,
    "name of 32 KiB": lambda: (
        header("L", 32768, tarfile.GNUTYPE_LONGNAME) + padded(b"n" * 32768) + plain() + END
    ),
    "name of 501 characters": lambda: pax(("path", "n" * 501), after=plain() + END),
    "file that is longer than the archive": lambda: header("a", 3 * GIB, tarfile.REGTYPE) + bytes(1024),
    "file of less than nothing": lambda: base_256(-1024) + bytes(1024),
    "file of 2^80 bytes": lambda: base_256(1 << 80) + bytes(1024),
    "hard link": lambda: header("a", 0, tarfile.LNKTYPE, linkname="b") + END,
    "symbolic link": lambda: header("a", 0, tarfile.SYMTYPE, linkname="/etc/passwd") + END,
    "device": lambda: header("a", 0, tarfile.CHRTYPE, devmajor=1, devminor=5) + END,
    "FIFO": lambda: header("a", 0, tarfile.FIFOTYPE) + END,
    "folder": lambda: header("a/", 0, tarfile.DIRTYPE) + END,
    "unknown type": lambda: header("a", 0, b"Z") + END,
    "path out of it": lambda: pax(("path", "../../etc/passwd"), after=plain() + END),
    "path with a newline": lambda: pax(("path", "a\nb"), after=plain() + END),
    "path that reads backwards": lambda: pax(("path", "a\u202etxt"), after=plain() + END),
    "file twice": lambda: plain() + plain() + END,
    "10,001 files": lambda: b"".join(header(f"f{each}", 0, tarfile.REGTYPE) for each in range(10_001)) + END,
}


def base_256(size: int) -> bytes:
    """A header whose size is written in the format's extension for large numbers."""
    block = bytearray(header("a", 0, tarfile.REGTYPE))
    block[124:136] = (size if size >= 0 else (1 << 96) + size).to_bytes(12, "big")
    block[124] |= 0x80
    block[148:156] = b"        "
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


@pytest.fixture
def run(running: Running) -> Any:
    made = run_of(boots=1, cases=1)
    with running.http("upload") as http:
        put_all(http, made)
    return made


@pytest.fixture
def mebibytes_more() -> Callable[[], float]:
    """How much more memory this process, which has the service in it, has needed than it did
    before the test.
    """
    Path("/proc/self/clear_refs").write_text("5")
    before = _peak()
    return lambda: _peak() - before


def _peak() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


@pytest.mark.parametrize("archive", ODD)
def test_an_archive_that_is_not_of_plain_files_is_refused(running: Running, run: Any, archive: str) -> None:
    with running.http("upload") as http:
        answer = http.put(f"/api/v1/runs/{run.digest}/boots/1/raw", content=ODD[archive](), headers=TAR)
    assert answer.status_code == 422, answer.text
    assert answer.json()["title"] == "odd archive"
    assert running.rows("SELECT number FROM raw_output") == []


@pytest.mark.parametrize(
    "archive", ["GNU sparse", "pax sparse 1.0", "pax size", "file that is longer than the archive"]
)
def test_a_stored_archive_is_read_as_carefully(
    running: Running, run: Any, mebibytes_more: Callable[[], float], archive: str
) -> None:
    store(running, ODD[archive](), {"zeros": 3 * GIB, "a": 3 * GIB})
    began = time.monotonic()
    for name in ("zeros", "a"):
        for address in (
            f"/api/v1/runs/{run.digest}/boots/1/raw/{name}",
            f"/runs/{run.digest}/boots/1/files/{name}",
        ):
            with running.http(None) as http:
                read_as_far_as_it_goes(http, address)
    assert time.monotonic() - began < 10
    assert mebibytes_more() < 100


def store(running: Running, archive: bytes, files: dict[str, int]) -> None:
    """Store an archive as if the service's checks had been got around."""
    content = zstandard.ZstdCompressor().compress(archive)
    about = Jsonb([{"name": name, "size": size} for name, size in files.items()])
    with psycopg.connect(running.database) as connection:
        connection.execute(
            "INSERT INTO raw_output (run_id, number, digest, files, received) SELECT id, 1, 'd', %s, now() FROM run",
            [about],
        )
        connection.execute("INSERT INTO raw_piece SELECT id, 1, 0, %s FROM run", [content])


def read_as_far_as_it_goes(http: Any, address: str) -> None:
    """An archive that breaks off breaks the answer off: never more than the archive has."""
    got = 0
    try:
        with http.stream("GET", address, headers={"Accept-Encoding": "identity"}) as answer:
            assert answer.status_code in (200, 404)
            for piece in answer.iter_bytes():
                got += len(piece)
    except httpx2.RemoteProtocolError:
        pass
    assert got < 100_000


def test_a_stored_archive_reads_as_it_was_written(running: Running, run: Any) -> None:
    content = bytes(range(256)) * 20_000
    store(running, plain("log", content) + END, {"log": len(content)})
    with running.http(None) as http:
        assert http.get(f"/api/v1/runs/{run.digest}/boots/1/raw/log").content == content


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_plain_files_come_back_whatever_wrote_their_archive(running: Running, run: Any, form: int) -> None:
    names = ["short", "folder/" * 12 + "name", "längst/" + "n" * 90, "empty"]
    if form != tarfile.USTAR_FORMAT:
        names.append("deep/" * 60 + "name")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        for name in names:
            content = b"" if name == "empty" else name.encode() * 20_000
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mtime = 1.5 if form == tarfile.PAX_FORMAT else 1
            tar.addfile(member, io.BytesIO(content))
    with running.http("upload") as http:
        address = f"/api/v1/runs/{run.digest}/boots/1/raw"
        http.put(address, content=buffer.getvalue(), headers=TAR).raise_for_status()
        assert [each["name"] for each in http.get(address).json()["files"]] == names
        for name in names:
            content = b"" if name == "empty" else name.encode() * 20_000
            assert http.get(f"{address}/{name}").raise_for_status().content == content


@pytest.mark.parametrize("ranges", ["bytes=0-1", "bytes=" + ",".join("0-" for _ in range(1000))])
def test_ranges_multiply_nothing(running: Running, run: Any, ranges: str) -> None:
    with running.http("upload") as http:
        address = f"/api/v1/runs/{run.digest}/boots/1/raw"
        http.put(address, content=plain("log", b"x" * 100_000) + END, headers=TAR).raise_for_status()
        answer = http.get(f"{address}/log", headers={"Range": ranges})
    assert (answer.status_code, len(answer.content)) == (200, 100_000)


def test_the_largest_archive_is_taken_and_read_within_a_fixed_memory(
    running: Running, run: Any, mebibytes_more: Callable[[], float]
) -> None:
    """60 MiB that do not pack, sent and read piece by piece, as both their page and the file itself."""
    size = 60 << 20

    def pieces() -> Iterator[bytes]:
        yield header("noise", size, tarfile.REGTYPE)
        with Path("/dev/urandom").open("rb") as noise:
            for _ in range(size >> 16):
                yield noise.read(1 << 16)
        yield END

    with running.http("upload") as http:
        address = f"/api/v1/runs/{run.digest}/boots/1/raw"
        assert http.put(address, content=pieces(), headers=TAR).status_code == 201
        got = 0
        with http.stream("GET", f"{address}/noise") as answer:
            for piece in answer.iter_bytes():
                got += len(piece)
        assert got == size
        page = http.get(f"/runs/{run.digest}/boots/1/files/noise")
        assert page.status_code == 200
        assert "characters in the middle are not shown" in page.text
    assert mebibytes_more() < 100
