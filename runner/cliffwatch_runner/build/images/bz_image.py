"""Reads the header of an x86 kernel image: its release and its payload.

Documentation/arch/x86/boot.rst defines the boot protocol.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cliffwatch.failure import Failure, wrong_usage

_MAGIC = slice(0x202, 0x206)
_BOOT_FLAG = slice(0x1FE, 0x200)
_SETUP_SECTORS = 0x1F1
_PROTOCOL, _RELEASE, _PAYLOAD, _PAYLOAD_LENGTH = 0x206, 0x20E, 0x248, 0x24C
_SECTOR = 512
_WITH_PAYLOAD = 0x0208
"""First protocol version that states the payload's offset: linux 2.6.26."""

_FORM = re.compile(rb"([0-9A-Za-z][\w.+~-]{0,63})(?: |\0)")
_SIZE_BEHIND = 4
"""Bytes after the payload that state its uncompressed size. gzip has its own instead."""

COMPRESSIONS: Mapping[str, bytes] = {
    "gzip": b"\x1f\x8b",
    "xz": b"\xfd7zXZ\0",
    "zstd": b"\x28\xb5\x2f\xfd",
    "lz4": b"\x02\x21\x4c\x18",
    "bzip2": b"BZh",
    "lzma": b"\x5d\0\0",
}
"""Magic bytes at the start of a payload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BzImage:
    """The parts of a kernel image."""

    release: str
    """As `uname -r` will print it."""
    compression: str
    payload: bytes
    """vmlinux, compressed with `compression`."""


def read_bz_image(image: bytes) -> BzImage | Failure:
    """Returns the parts of an image, or why it cannot be read. Total."""
    if image[_MAGIC] != b"HdrS" or image[_BOOT_FLAG] != b"\x55\xaa":
        return _unfit("is no x86 kernel image (bzImage)")
    if _number(image, _PROTOCOL, 2) < _WITH_PAYLOAD:
        return _unfit("is of a kernel before linux 2.6.26")
    at = _number(image, _RELEASE, 2) + _SECTOR
    release = _FORM.match(image[at : at + 65])
    if release is None:
        return _unfit("names no release in its header")
    begin = (image[_SETUP_SECTORS] + 1) * _SECTOR + _number(image, _PAYLOAD, 4)
    length = _number(image, _PAYLOAD_LENGTH, 4)
    payload = image[begin : begin + length]
    if not length or len(payload) != length:
        return _unfit("is cut off: its header names more than there is")
    compression = next((name for name, start in COMPRESSIONS.items() if payload.startswith(start)), None)
    if compression is None:
        return _unfit(
            f"is compressed in a way that is not known here (it is none of {', '.join(COMPRESSIONS)})"
        )
    kept = payload if compression == "gzip" else payload[:-_SIZE_BEHIND]
    return BzImage(release=release[1].decode(), compression=compression, payload=kept)


def _unfit(why: str) -> Failure:
    return wrong_usage(f"its image {why}", "name a kernel image for x86-64 machines (vmlinuz, bzImage)")


def _number(image: bytes, at: int, width: int) -> int:
    return int.from_bytes(image[at : at + width], "little")
