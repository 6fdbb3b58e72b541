"""Unpacks compressed inputs within limits. The format is detected by content, never by file name."""

import bz2
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from cliffwatch.failure import Failure, wrong_usage

LARGEST_BYTES = 64 << 20
"""The largest input, before and after unpacking."""

_DEEPEST = 3
"""The most layers: a zip of a .tar.gz has three."""

_PIECE = 1 << 20
_XZ_MEMORY = 128 << 20
_ZSTD_WINDOW = 128 << 20
_ZSTD_INPUT = 1 << 10
"""Bytes that are fed at a time: four bytes may expand to 128 KiB."""

_MOST_MEMBERS = 10_000
_ZIP_ENTRY = b"PK\x01\x02"
_READ_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
"""Without LZMA, whose dictionary in a zip may take 4 GiB."""

_NO_CONTENT = ("__MACOSX/", ".DS_Store")
_SHOWN = 5


def unpack(content: bytes, name: str) -> bytes | Failure:
    """Unpacks all layers of an input. Returns an unpacked input unchanged."""
    try:
        unpacked = _innermost(content)
    except (
        EOFError,
        OSError,
        ValueError,
        RuntimeError,
        lzma.LZMAError,
        zlib.error,
        tarfile.TarError,
        zipfile.BadZipFile,
        UnicodeError,
    ) as error:
        reason = str(error)[:200] or "it ends too early"
        return wrong_usage(f"{name} is damaged: {reason}", "pack it again, or give its content")
    if isinstance(unpacked, Failure):
        return replace(unpacked, message=f"{name} is not read: {unpacked.message}")
    return unpacked


def _innermost(content: bytes) -> bytes | Failure:
    for _ in range(_DEEPEST + 1):
        unpacked = _one_layer(content)
        if unpacked is None or isinstance(unpacked, Failure):
            return content if unpacked is None else unpacked
        content = unpacked
    return wrong_usage(f"it is packed more than {_DEEPEST} times", "unpack it")


def _one_layer(content: bytes) -> bytes | Failure | None:
    """Unpacks one layer. None if the content is not a container."""
    for magic, what in _FOREIGN.items():
        if content.startswith(magic):
            return wrong_usage(
                f"it is {what}",
                "give the text that the benchmark printed, as it is or as .gz, .xz, .zst or .zip",
            )
    for magic, read in _READERS.items():
        if content.startswith(magic):
            return read(content)
    return _tar(content) if content[257:262] == b"ustar" else None


def _join_pieces(pieces: Iterator[bytes]) -> bytes | Failure:
    """Joins the pieces.

    Stops as soon as they exceed the limit, so a decompression bomb is not unpacked further.
    """
    whole = io.BytesIO()
    for piece in pieces:
        whole.write(piece)
        if whole.tell() > LARGEST_BYTES:
            return wrong_usage(
                f"it unpacks to more than {LARGEST_BYTES >> 20} MiB",
                "split it by benchmark and compare the parts",
            )
    return whole.getvalue()


def _gzip(content: bytes) -> bytes | Failure:
    return _join_pieces(_streams(content, _Zlib, b"\x1f\x8b"))


def _bzip2(content: bytes) -> bytes | Failure:
    return _join_pieces(_streams(content, bz2.BZ2Decompressor, b"BZh"))


def _xz(content: bytes) -> bytes | Failure:
    return _join_pieces(_streams(content, lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY), b"\xfd7zXZ\0"))


class _Zlib:
    """Gives gzip's decompressor the interface of those of bz2 and lzma."""

    def __init__(self) -> None:
        self._object = zlib.decompressobj(wbits=31)
        self._left = b""

    @property
    def eof(self) -> bool:
        return self._object.eof

    @property
    def needs_input(self) -> bool:
        return not self._left

    @property
    def unused_data(self) -> bytes:
        return self._object.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        piece = self._object.decompress(self._left + data, max_length)
        self._left = self._object.unconsumed_tail
        return piece


def _streams(
    content: bytes,
    begin: Callable[[], "_Zlib | bz2.BZ2Decompressor | lzma.LZMADecompressor"],
    magic: bytes,
) -> Iterator[bytes]:
    """Yields the pieces of all concatenated streams, such as `cat a.gz b.gz`.

    Only zeros may follow the last stream.
    """
    place = 0
    while content.startswith(magic, place):
        stream, fed = begin(), place
        while not stream.eof:
            data = b""
            if stream.needs_input:
                data = content[fed : fed + _PIECE]
                fed += len(data)
                if not data:
                    raise EOFError("it was cut off")
            yield stream.decompress(data, _PIECE)
        place = fed - len(stream.unused_data)
    if content[place:].strip(b"\0"):
        raise ValueError("other data follows the packed data")


def _zstd(content: bytes) -> bytes | Failure:
    import zstandard  # noqa: PLC0415 - needed only for this container

    def pieces() -> Iterator[bytes]:
        made = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        place = 0
        while place < len(content):
            stream = made.decompressobj()
            while not stream.eof:
                data = content[place : place + _ZSTD_INPUT]
                if not data:
                    raise EOFError("it was cut off")
                place += len(data)
                yield stream.decompress(data)
            place -= len(stream.unused_data)

    try:
        return _join_pieces(pieces())
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None


def _zip(content: bytes) -> bytes | Failure:
    if content.count(_ZIP_ENTRY) > _MOST_MEMBERS:
        return wrong_usage(f"it holds more than {_MOST_MEMBERS} files", "give the one you mean")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = [each for each in archive.infolist() if not each.is_dir()]
        single = _find_single_file([each.filename for each in files])
        if isinstance(single, Failure):
            return single
        chosen = files[single]
        if chosen.flag_bits & 1:
            return wrong_usage("it is encrypted", "unpack it")
        if chosen.compress_type not in _READ_METHODS:
            return wrong_usage("its compression method is not supported", "unpack it, or pack it with `zip`")
        with archive.open(chosen) as member:
            return _join_pieces(iter(lambda: member.read(_PIECE), b""))


def _tar(content: bytes) -> bytes | Failure:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        files = []
        for each in archive:
            if each.isreg():
                files.append(each)
            if len(files) > _MOST_MEMBERS:
                return wrong_usage(f"it holds more than {_MOST_MEMBERS} files", "give the one you mean")
        single = _find_single_file([each.name for each in files])
        if isinstance(single, Failure):
            return single
        member = archive.extractfile(files[single])
        assert member is not None
        return _join_pieces(iter(lambda: member.read(_PIECE), b""))


def _find_single_file(names: list[str]) -> int | Failure:
    """Returns the index of the only file in an archive.

    Refuses archives with several files, since any may be meant.
    """
    meant = [place for place, name in enumerate(names) if not any(part in name for part in _NO_CONTENT)]
    if len(meant) == 1:
        return meant[0]
    shown = ", ".join(names[place] for place in meant[:_SHOWN]) + (", …" if len(meant) > _SHOWN else "")
    reason = f"it holds {len(meant)} files: {shown}" if meant else "it holds no file"
    return wrong_usage(reason, "unpack it and name the files you mean")


_READERS: Mapping[bytes, Callable[[bytes], bytes | Failure]] = {
    b"\x1f\x8b": _gzip,
    b"\xfd7zXZ\0": _xz,
    b"\x28\xb5\x2f\xfd": _zstd,
    **{b"BZh%d" % level: _bzip2 for level in range(1, 10)},
    b"PK\x03\x04": _zip,
    b"PK\x05\x06": _zip,
}

_FOREIGN: Mapping[bytes, str] = {
    b"7z\xbc\xaf\x27\x1c": "an archive of 7-Zip",
    b"Rar!\x1a\x07": "an archive of RAR",
    b"\x04\x22\x4d\x18": "packed with lz4",
    b"LZIP": "packed with lzip",
    b"\x1f\x9d": "packed with compress",
    b"\x7fELF": "a program, not its output",
    b"%PDF-": "a PDF",
    b"\x89PNG\r\n": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"PERFILE2": "perf's own data",
    b"SQLite format 3\0": "a database of SQLite",
}
