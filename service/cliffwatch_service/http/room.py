"""How much of something the service holds at once: in all, and for one caller."""

import threading
from collections import Counter

from cliffwatch_service.refusal import Refusal


class Room:
    """Counts what is in use. Beyond `whole` everybody is asked to come again, beyond `each` the one who holds so much."""

    def __init__(self, what: str, *, whole: int, each: int) -> None:
        self._what, self._whole, self._each = what, whole, each
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, who: str, size: int) -> None:
        """Raises Refusal where there is no room, and takes none then."""
        with self._lock:
            if self._taken[who] + size > self._each:
                raise Refusal(
                    429, "too much at once", f"too many {self._what} of yours at once: send one after another"
                )
            if self._taken.total() + size > self._whole:
                raise Refusal(503, "no room", f"too many {self._what} at once: send it again later")
            self._taken[who] += size

    def give_back(self, who: str, size: int) -> None:
        with self._lock:
            self._taken[who] -= size
            if self._taken[who] <= 0:
                del self._taken[who]
