"""Decides which trees may be requested: public ones, and any that an administrator allowed by a prefix."""

from collections.abc import Iterable
from typing import Any, Literal

from psycopg import Connection

from cliffwatch.failure import Failure
from cliffwatch.trees.addresses import TreeAddress, closed, is_allowed, read_address
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import follows

Access = Literal["allowed", "public"]

_ASK = "ask an administrator to allow it (CLIFFWATCH_TREES)"
_LOCAL = ("localhost", "localdomain", "local", "internal", "home", "lan", "intranet", "corp")
"""Last labels of host names that no public tree has."""


def refuse_address(tree: str) -> TreeAddress:
    """Parses the address of a tree. Raises Refusal if it is invalid or carries credentials.

    The message does not repeat the address.
    """
    address = read_address(tree)
    if isinstance(address, Failure):
        raise Refusal(422, "no tree to fetch", f"the tree cannot be fetched: {address}")
    return address


def refuse_tree(connection: Connection[Any], tree: str, prefixes: Iterable[str]) -> None:
    """Raises Refusal for a tree that no host would fetch. The host itself checks what a name resolves to."""
    address = refuse_address(tree)
    if access_of(connection, tree, prefixes) == "allowed":
        return
    if address.scheme not in ("https", "http"):
        raise Refusal(422, "no tree to fetch", f"trees are fetched by https: use that, or {_ASK}")
    if address.host.rpartition(".")[2] in _LOCAL or (address.literal and closed(address.host)):
        raise Refusal(422, "no tree to fetch", f"the tree is at a private or reserved address: {_ASK}")


def access_of(connection: Connection[Any], tree: str, prefixes: Iterable[str]) -> Access:
    """Returns `allowed` for a tree below a prefix of the setting and for a followed tree, else `public`.

    An administrator named both the prefixes and the followed trees.
    """
    address = read_address(tree)
    if isinstance(address, Failure):
        return "public"
    if is_allowed(address, prefixes):
        return "allowed"
    followed = (read_address(row.tree) for row in follows.list_follows(connection))
    return "allowed" if address in followed else "public"
