"""Refusals: why a request or a command is not carried out, and what to do about it."""

from collections.abc import Sequence
from typing import Any

from cliffwatch.formats.values import FreeJson


class Refusal(Exception):
    """A refused request or command. Clients get a problem document (RFC 9457), users of commands a message.

    Refusals are raised, not returned, so that the transaction rolls back.

    - `title`: the same for all refusals of a kind.
    - `detail`: what is wrong, where, and what to do.
    - `errors`: (path, message) of each error if there are several.
    - `more`: further fields of the problem document.
    """

    def __init__(
        self, status: int, title: str, detail: str, *, errors: Sequence[tuple[str, str]] = (), **more: Any
    ) -> None:
        super().__init__(f"{title}: {detail}")
        self.status, self.title, self.detail, self.errors, self.more = (
            status,
            title,
            detail,
            tuple(errors),
            more,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Makes refusals picklable: other processes raise them too."""
        return _rebuild_refusal, (self.status, self.title, self.detail, self.errors, self.more)


def _rebuild_refusal(
    status: int, title: str, detail: str, errors: Sequence[tuple[str, str]], more: FreeJson
) -> Refusal:
    return Refusal(status, title, detail, errors=errors, **more)


def not_found(what: str, name: str) -> Refusal:
    return Refusal(404, f"no such {what}", f"there is no {what} {name!r}")
