"""What is packed is unpacked by its content, within limits; what cannot be is refused and never cut."""

import bz2
import gzip
import io
import lzma
import zipfile
from pathlib import Path

import pytest
import zstandard
from wrapped_up import CONTAINERS, ENCODINGS, tarred, zipped

from cliffwatch.failure import Failure
from cliffwatch.parsers.received import unpacking
from cliffwatch.parsers.received.decoding import decode
from cliffwatch.parsers.received.opening import read_text
from cliffwatch.parsers.received.unpacking import unpack

TEXT = "Summary: hits    5.096 ± 0.029M/s (  5.096M/prod), drops    0.000 ± 0.000M/s\n" * 50


def refused(content: bytes) -> str:
    found = unpack(content, "a.txt")
    assert isinstance(found, Failure), found[:40]
    assert found.whose == "usage"
    return found.message


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_text_is_the_same_whatever_it_came_in(tmp_path: Path, container: str, encoding: str) -> None:
    path = tmp_path / "any-name.png"
    path.write_bytes(CONTAINERS[container](ENCODINGS[encoding](TEXT)))

    assert read_text(path) == TEXT


@pytest.mark.parametrize("container", CONTAINERS)
def test_what_was_cut_off_is_refused(container: str) -> None:
    whole = CONTAINERS[container](bytes(range(256)) * 64)

    assert "is damaged" in refused(whole[: len(whole) - 20 if "tar" not in container else len(whole) // 3])


@pytest.mark.parametrize(
    "bomb",
    [
        gzip.compress(bytes(1 << 20)) * 3,
        gzip.compress(bytes(3 << 20)),
        bz2.compress(bytes(3 << 20)),
        lzma.compress(bytes(3 << 20)),
        zstandard.compress(bytes(3 << 20)),
        zipped(bytes(3 << 20)),
        gzip.compress(gzip.compress(bytes(3 << 20))),
        tarred(bytes(3 << 20)),
    ],
    ids=["gz in a row", "gz", "bz2", "xz", "zst", "zip", "gz of a gz", "tar"],
)
def test_what_unpacks_to_more_than_the_limit_is_refused(bomb: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "LARGEST_BYTES", 2 << 20)

    assert "unpacks to more than 2 MiB" in refused(bomb)


def test_archives_of_several_files_name_them() -> None:
    assert "it holds 2 files: base.txt, head.txt" in refused(zipped(b"x", "base.txt", "head.txt"))
    assert "it holds 2 files: base.txt, head.txt" in refused(tarred(b"x", "base.txt", "head.txt"))
    assert "it holds no file" in refused(zipped(b"x", "__MACOSX/._a"))
    assert unpack(zipped(b"x", "out.txt", "__MACOSX/._out.txt"), "a") == b"x"


def test_what_is_packed_too_often_or_in_odd_ways_is_refused() -> None:
    deep = b"x"
    for _ in range(4):
        deep = gzip.compress(deep)
    assert "packed more than 3 times" in refused(deep)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a", b"x")
    assert "its compression method is not supported" in refused(file.getvalue())
    assert "other data follows" in refused(gzip.compress(b"x") + b"more")
    many = lzma.compress(b"x", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 29}])
    assert "is damaged" in refused(many)
    assert "an archive of 7-Zip" in refused(b"7z\xbc\xaf\x27\x1c and so on")
    assert "a program, not its output" in refused(b"\x7fELF\2\1")


def test_lines_of_two_encodings_are_each_read_as_their_own() -> None:
    assert decode("a ± b\n".encode() + "c ± d\n".encode("latin-1")) == "a ± b\nc ± d\n"


@pytest.mark.parametrize("content", [b"", b"\0", b"\xff", b"\xff\xfe\x00", b"\0" * 9, b"\x81\x8d", b"a\0b"])
def test_decoding_is_total(content: bytes) -> None:
    assert isinstance(decode(content), str)
