"""Reads the packets of a capture (pcap)."""

import struct

_ORDERS = {
    b"\xd4\xc3\xb2\xa1": "<",
    b"\xa1\xb2\xc3\xd4": ">",
    b"\x4d\x3c\xb2\xa1": "<",
    b"\xa1\xb2\x3c\x4d": ">",
}
"""Byte order by the first bytes: microseconds, then nanoseconds."""
_NEXT_GENERATION = b"\x0a\x0d\x0d\x0a"
_ETHERNET = 1
_HEADER_BYTES, _RECORD_BYTES = 24, 16
MOST_PACKETS = 64


def packets_of(capture: bytes) -> list[bytes] | str:
    """Returns the packets of a capture of Ethernet, or what is wrong with it."""
    if capture.startswith(_NEXT_GENERATION):
        return "it is a pcapng: convert it with `editcap -F pcap`"
    order = _ORDERS.get(capture[:4])
    if order is None or len(capture) < _HEADER_BYTES:
        return "it is no capture (pcap)"
    (link,) = struct.unpack_from(f"{order}I", capture, 20)
    if link & 0xFFFF != _ETHERNET:
        return f"its packets are not of Ethernet (link type {link & 0xFFFF})"
    packets = _split(capture, f"{order}I")
    if packets is None:
        return "it is cut off"
    if not packets:
        return "it has no packet"
    many = len(packets) > MOST_PACKETS
    return f"it has {len(packets)} packets, each a case: at most {MOST_PACKETS}" if many else packets


def _split(capture: bytes, number: str) -> list[bytes] | None:
    """Returns the packets of the records; None if one is cut off."""
    packets, place = [], _HEADER_BYTES
    while place < len(capture):
        start = place + _RECORD_BYTES
        if start > len(capture):
            return None
        (size,) = struct.unpack_from(number, capture, place + 8)
        place = start + size
        if place > len(capture):
            return None
        packets.append(capture[start:place])
    return packets
