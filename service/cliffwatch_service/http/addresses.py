"""Client addresses, as the keys of rate and connection limits."""

import ipaddress

from starlette.types import Scope

_NETWORK_BITS = 64
"""Prefix length of an IPv6 network. A customer who has one address usually has the whole /64."""

_LONGEST = 100
"""Characters of a client's address in a log. Addresses have at most 45, and a zone."""


def origin_of(host: str) -> str:
    """Returns the key that limits count an address under: the address itself, or its /64 network for IPv6.

    An address that cannot be parsed is its own key.
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), _NETWORK_BITS), strict=False))


def client_of(scope: Scope) -> str:
    """The client's address as logs name it: that of the connection, or what a trusted proxy forwarded.

    A proxy may forward anything, so it is cut; "unknown" if the server does not report an address.
    """
    client = scope.get("client")
    return client[0][:_LONGEST] if client else "unknown"


def address_of(scope: Scope) -> str:
    """The client's key for limits; "unknown" if the server does not report an address."""
    client = scope.get("client")
    return origin_of(client[0]) if client else "unknown"
