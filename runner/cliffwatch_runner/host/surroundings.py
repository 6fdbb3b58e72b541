"""Checks the container that this process runs in."""

import socket
from pathlib import Path

_MARKS = ("/.dockerenv", "/run/.containerenv")
"""Files that mark the containers of Docker and Podman."""


def find_isolation_gap(top: Path = Path("/")) -> str | None:
    """Returns why this process is not isolated; None if it runs in a container without a network."""
    if not any((top / mark[1:]).exists() for mark in _MARKS):
        return "this is not a container"
    reached = sorted(name for _, name in socket.if_nameindex() if name != "lo")
    return f"this container has a network ({', '.join(reached)})" if reached else None
