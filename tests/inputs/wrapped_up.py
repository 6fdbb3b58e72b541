"""What a text may be packed and encoded in on its way to us."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Mapping

import zstandard


def zipped(content: bytes, name: str = "out.txt", *more: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in (name, *more):
            archive.writestr(each, content)
    return file.getvalue()


def tarred(content: bytes, *names: str) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name in names or ("out.txt",):
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return file.getvalue()


def halves(pack: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """As `cat a.gz b.gz` has it."""
    return lambda content: pack(content[: len(content) // 2]) + pack(content[len(content) // 2 :])


CONTAINERS: Mapping[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": zstandard.compress,
    "bz2": bz2.compress,
    "zip": zipped,
    "tar": tarred,
    "two gz in a row": halves(gzip.compress),
    "two xz in a row": halves(lzma.compress),
    "two zst in a row": halves(zstandard.compress),
    "tar.gz": lambda content: gzip.compress(tarred(content)),
    "zip of a tar.gz": lambda content: zipped(gzip.compress(tarred(content))),
    "zst without its size": lambda content: zstandard.ZstdCompressor(write_content_size=False).compress(
        content
    ),
}

ENCODINGS: Mapping[str, Callable[[str], bytes]] = {
    "UTF-8": str.encode,
    "UTF-8 with a mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16 little-endian": lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
    "UTF-16 big-endian": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "UTF-16 without a mark": lambda text: text.encode("utf-16-le"),
    "UTF-16 big-endian without a mark": lambda text: text.encode("utf-16-be"),
    "UTF-32": lambda text: text.encode("utf-32"),
    "UTF-32 big-endian without a mark": lambda text: text.encode("utf-32-be"),
    "Latin-1": lambda text: text.encode("latin-1", errors="replace"),
    "the code page of Windows": lambda text: text.encode("cp1252", errors="replace"),
}
