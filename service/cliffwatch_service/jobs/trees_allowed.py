"""Which trees may be asked for, and where hosts may fetch them: below an administrator's prefix anywhere, else in public alone."""

from collections.abc import Iterable
from typing import Any, Literal

from psycopg import Connection

from cliffwatch.trees.addresses import TreeAddress, allowed, closed, read_address
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import follows

Access = Literal["allowed", "public"]

_ASK = "ask an administrator to allow it (CLIFFWATCH_TREES)"
_LOCAL = ("localhost", "localdomain", "local", "internal", "home", "lan", "intranet", "corp")
"""Ends of names that no public tree has."""


def refuse_address(tree: str) -> TreeAddress:
    """The address that an administrator names. Raises Refusal where it is none, or carries credentials; it is not repeated."""
    address = read_address(tree)
    if isinstance(address, str):
        raise Refusal(422, "no tree to fetch", f"the tree cannot be fetched: {address}")
    return address


def refuse_tree(connection: Connection[Any], tree: str, prefixes: Iterable[str]) -> None:
    """Refuses what no host would fetch for anybody. What a name leads to is looked at by the host that fetches it. Raises Refusal."""
    address = refuse_address(tree)
    if access_of(connection, tree, prefixes) == "allowed":
        return
    if address.scheme not in ("https", "http"):
        raise Refusal(422, "no tree to fetch", f"trees are fetched by https: use that, or {_ASK}")
    if address.host.rpartition(".")[2] in _LOCAL or (address.literal and closed(address.host)):
        raise Refusal(422, "no tree to fetch", f"the tree is at a private or reserved address: {_ASK}")


def access_of(connection: Connection[Any], tree: str, prefixes: Iterable[str]) -> Access:
    """`allowed` for what lies below a prefix of the setting, and for a followed tree itself: an administrator named both."""
    address = read_address(tree)
    if isinstance(address, str):
        return "public"
    if allowed(address, prefixes):
        return "allowed"
    followed = (read_address(row.tree) for row in follows.list_follows(connection))
    return "allowed" if address in followed else "public"
