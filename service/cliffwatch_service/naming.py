"""What people name: revisions by a part of their commit."""

import re
from collections.abc import Mapping
from typing import Any

from psycopg import Connection

from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import trees

_COMMIT = re.compile(rf"^[0-9a-f]{{{trees.SHORTEST_PREFIX},64}}$")


def revision_named(connection: Connection[Any], name: str) -> Mapping[str, Any]:
    """The revision whose commit begins so. Raises Refusal where none or several do."""
    if not _COMMIT.match(name):
        raise Refusal(
            422,
            "no revision",
            f"{name[:80]!r} is no commit: give at least {trees.SHORTEST_PREFIX} of its hexadecimal digits, in lower case",
        )
    found = trees.revisions_named(connection, name)
    if not found:
        raise Refusal(404, "no such revision", f"no revision {name} was measured or followed here")
    if len(found) > 1:
        raise Refusal(409, "several revisions", f"several revisions begin with {name}: give more digits")
    return found[0]
