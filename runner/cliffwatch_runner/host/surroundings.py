"""The container that this process runs in, if it runs in one."""

import socket
from pathlib import Path

_MARKS = ("/.dockerenv", "/run/.containerenv")
"""Files by which Docker and Podman mark their containers."""


def find_isolation_gap(top: Path = Path("/")) -> str | None:
    """Why what runs here is not kept in by a container; None where it is: in one of its own, without a
    network.
    """
    if not any((top / mark[1:]).exists() for mark in _MARKS):
        return "this is no container"
    reached = sorted(name for _, name in socket.if_nameindex() if name != "lo")
    return f"this container has a network ({', '.join(reached)})" if reached else None
