"""Where a request comes from, as what is counted against."""

import ipaddress

from starlette.types import Scope

_NETWORK_BITS = 64
"""Of IPv6: whoever has one address has all of its network."""


def origin_of(host: str) -> str:
    """What an address counts as: itself, or for IPv6 the network that one customer gets."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), _NETWORK_BITS), strict=False))


def address_of(scope: Scope) -> str:
    client = scope.get("client")
    return origin_of(client[0]) if client else "unknown"
