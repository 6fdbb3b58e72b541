"""Why a request or a command is not carried out, and what to do."""

from collections.abc import Sequence
from typing import Any

from cliffwatch.formats.values import FreeJson


class Refusal(Exception):
    """A refusal: who sent a request reads it as a problem document (RFC 9457), who gave a command on his terminal.

    Raised, not returned: whatever its transaction has written by then must go. `title` is the same for all refusals of a
    kind, `detail` says what and where, and what to do. `errors` are (path, message) where there are several.
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
        """Refusals come back from other processes."""
        return _again, (self.status, self.title, self.detail, self.errors, self.more)


def _again(
    status: int, title: str, detail: str, errors: Sequence[tuple[str, str]], more: FreeJson
) -> Refusal:
    return Refusal(status, title, detail, errors=errors, **more)


def not_found(what: str, name: str) -> Refusal:
    return Refusal(404, f"no such {what}", f"there is no {what} {name!r}")
