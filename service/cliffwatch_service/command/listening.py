"""Binds the address of the service before anything else starts."""

import errno
import socket
from typing import Any

from cliffwatch_service.refusal import Refusal

_NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""Errors that are ignored if another address of the same name works: this machine may lack IPv6."""


def bind_sockets(host: str, port: int) -> tuple[socket.socket, ...]:
    """Binds a socket to each address of the host's name. Raises Refusal.

    The sockets do not listen yet: uvicorn does that when the service is ready.
    """
    sockets: list[socket.socket] = []
    try:
        known = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, address in dict.fromkeys((each[0], each[4]) for each in known):
            sockets.append(_bind_socket(family, address))
    except (OSError, UnicodeError) as error:
        if sockets and isinstance(error, OSError) and error.errno in _NOT_HERE:
            return tuple(sockets)
        for each in sockets:
            each.close()
        raise cannot_listen(host, port, error) from None
    return tuple(sockets)


def _bind_socket(family: int, address: Any) -> socket.socket:
    # asyncio sets TCP_NODELAY only if the socket names its protocol. Without it each response on a
    # keep-alive connection waits 40 ms for the client's acknowledgement.
    taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        taken.bind(address)
    except OSError:
        taken.close()
        raise
    return taken


def cannot_listen(host: str, port: int, error: Exception) -> Refusal:
    """Explains an error from binding or listening at an address."""
    number = error.errno if isinstance(error, OSError) else None
    if isinstance(error, socket.gaierror | UnicodeError) or number == errno.EADDRNOTAVAIL:
        return _refusal(
            422,
            f"this machine has no address {host!r}",
            "name one of its own addresses with --host, such as 127.0.0.1, or 0.0.0.0 for all",
        )
    if number == errno.EADDRINUSE:
        return _refusal(
            503,
            f"port {port} of {host} is taken by another program",
            f"choose another port with --port, or end that program (`ss -ltnp 'sport = :{port}'` names it)",
        )
    if number in (errno.EACCES, errno.EPERM):
        return _refusal(
            503,
            f"this user may not listen at port {port} of {host}",
            "choose a port from 1024 on with --port, and put a proxy in front of it",
        )
    return _refusal(503, f"port {port} of {host} cannot be used: {error}", "choose another port with --port")


def _refusal(status: int, reason: str, next_step: str) -> Refusal:
    return Refusal(status, "cannot listen", f"{reason}\n  {next_step}")
