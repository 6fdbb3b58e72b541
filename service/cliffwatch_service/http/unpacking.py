"""Decompresses a body piece by piece, so that a decompression bomb is refused before it is expanded."""

import zlib
from collections.abc import Iterator
from typing import IO

import zstandard

from cliffwatch_service.refusal import Refusal

ENCODINGS = ("gzip", "zstd")

_PIECE = 1 << 16
_WINDOW = 1 << 23
"""Largest zstd window in bytes: 8 MiB, which RFC 8878 recommends that every decoder supports."""


def decompress(packed: IO[bytes], encoding: str) -> Iterator[bytes]:
    """Yields the decompressed content of a body. Raises Refusal if the body is damaged."""
    return _gzip(packed) if encoding == "gzip" else _zstd(packed)


def _gzip(packed: IO[bytes]) -> Iterator[bytes]:
    inflate = zlib.decompressobj(wbits=31)
    try:
        while part := packed.read(_PIECE):
            while part:
                if inflate.eof:
                    raise _damaged("gzip", "there is data after its end")
                yield inflate.decompress(part, _PIECE)
                part = inflate.unconsumed_tail or inflate.unused_data
    except zlib.error as error:
        raise _damaged("gzip", error) from None
    if not inflate.eof:
        raise _damaged("gzip", "it ends too early")


def _zstd(packed: IO[bytes]) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    try:
        with decompressor.stream_reader(
            packed, read_size=_PIECE, read_across_frames=False, closefd=False
        ) as reader:
            while piece := reader.read(_PIECE):
                yield piece
    except zstandard.ZstdError as error:
        raise _damaged("zstd", error) from None


def _damaged(encoding: str, why: object) -> Refusal:
    return Refusal(400, "damaged body", f"the {encoding} body cannot be decompressed: {why}")
