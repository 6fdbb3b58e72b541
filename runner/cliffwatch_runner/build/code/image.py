"""Reads the kernel inside a bzImage, as it is laid out in memory.

Sources: Documentation/arch/x86/boot.rst for the header (setup_sects, payload_offset, payload_length), and the
ELF-64 specification. An image is untrusted: sizes are limited.
"""

import bz2
import lzma
import struct
import zlib
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import zstandard

from cliffwatch.failure import Failure, host_failed

MEASURE_ALL = "measure all cases"
LARGEST_IMAGE_BYTES = 512 << 20
LARGEST_KERNEL_BYTES = 1 << 30
_SETUP_SECTORS, _MAGIC, _PAYLOAD = 0x1F1, 0x202, 0x248
_SECTOR = 512
_LOAD = 1
_MOST_SEGMENTS = 64
_HEADER_BYTES = 64
_SEGMENT_BYTES = 56


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes that are loaded at a virtual address."""

    address: int
    content: memoryview


@dataclass(frozen=True, slots=True)
class KernelImage:
    """The segments that a kernel's image loads, ordered by address."""

    segments: tuple[Segment, ...]

    def read(self, address: int, size: int) -> bytes:
        """Returns at most `size` bytes at an address; empty if the image has nothing there."""
        at = bisect_right(self.segments, address, key=lambda each: each.address) - 1
        if at < 0:
            return b""
        offset = address - self.segments[at].address
        return bytes(self.segments[at].content[offset : offset + size])


def read_image(path: Path) -> KernelImage | Failure:
    """Returns the image in a file, or what is wrong with it."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_IMAGE_BYTES)
    except OSError as error:
        return _unread(f"{path.name} cannot be read: {error.strerror}")
    payload = _payload(content)
    if payload is None:
        return _unread(f"{path.name} is no bzImage")
    kernel = _decompress(payload)
    if kernel is None:
        return _unread(f"{path.name} is packed in a way that is not known")
    return _load_segments(kernel, path.name)


def _unread(why: str) -> Failure:
    return host_failed(why, MEASURE_ALL)


def _payload(content: bytes) -> bytes | None:
    if len(content) < _PAYLOAD + 8 or content[_MAGIC : _MAGIC + 4] != b"HdrS":
        return None
    offset, length = struct.unpack_from("<II", content, _PAYLOAD)
    start = ((content[_SETUP_SECTORS] or 4) + 1) * _SECTOR + offset
    return content[start : start + length]


def _gzip(payload: bytes) -> bytes:
    return zlib.decompressobj(31).decompress(payload, LARGEST_KERNEL_BYTES)


def _zstd(payload: bytes) -> bytes:
    with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(payload) as reader:
        return reader.read(LARGEST_KERNEL_BYTES)


def _xz(payload: bytes) -> bytes:
    return lzma.LZMADecompressor(memlimit=1 << 30).decompress(payload, LARGEST_KERNEL_BYTES)


def _bzip2(payload: bytes) -> bytes:
    return bz2.BZ2Decompressor().decompress(payload, LARGEST_KERNEL_BYTES)


_PACKINGS: Mapping[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": _gzip,
    b"\x28\xb5\x2f\xfd": _zstd,
    b"\xfd7zXZ\x00": _xz,
    b"\x5d\x00\x00": _xz,
    b"BZh": _bzip2,
    b"\x7fELF": bytes,
}


def _decompress(payload: bytes) -> bytes | None:
    unpack = next((unpack for magic, unpack in _PACKINGS.items() if payload.startswith(magic)), None)
    try:
        return None if unpack is None else unpack(payload)
    except (zlib.error, zstandard.ZstdError, lzma.LZMAError, OSError, EOFError, MemoryError):
        return None


def _load_segments(kernel: bytes, name: str) -> KernelImage | Failure:
    if len(kernel) < _HEADER_BYTES or kernel[:5] != b"\x7fELF\x02":
        return _unread(f"{name} has no kernel of 64 bits in it")
    (start,) = struct.unpack_from("<Q", kernel, 32)
    (count,) = struct.unpack_from("<H", kernel, 56)
    segments: list[Segment] = []
    for number in range(min(count, _MOST_SEGMENTS)):
        at = start + number * _SEGMENT_BYTES
        if at + _SEGMENT_BYTES > len(kernel):
            return _unread(f"the kernel in {name} is cut short")
        kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", kernel, at)
        if kind == _LOAD:
            segments.append(Segment(address, memoryview(kernel)[offset : offset + size]))
    return KernelImage(tuple(sorted(segments, key=lambda each: each.address)))
