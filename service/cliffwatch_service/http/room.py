"""Limits on a resource in use at one time: in total and per caller."""

import threading
from collections import Counter

from cliffwatch_service.refusal import Refusal


class Room:
    """Counts a resource in use, such as the bytes of bodies or the number of streams.

    - `what`: plural name for messages.
    - `whole`: limit in total.
    - `each`: limit of one caller.
    """

    def __init__(self, what: str, *, whole: int, each: int) -> None:
        self._what, self._whole, self._each = what, whole, each
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, who: str, size: int) -> None:
        """Takes `size` for the caller `who`. Raises Refusal, without taking any, if a limit is reached."""
        with self._lock:
            if self._taken[who] + size > self._each:
                raise Refusal(
                    429, "too much at once", f"you have too many {self._what} at once: send fewer in parallel"
                )
            if self._taken.total() + size > self._whole:
                raise Refusal(503, "no room", f"too many {self._what} at once: send the request again later")
            self._taken[who] += size

    def give_back(self, who: str, size: int) -> None:
        with self._lock:
            self._taken[who] -= size
            if self._taken[who] <= 0:
                del self._taken[who]
