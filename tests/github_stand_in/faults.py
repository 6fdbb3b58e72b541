"""What goes wrong between GitHub and us: planned for single requests, or at random from a seed."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["500", "502", "503", "lost", "silent", "secondary", "too-many", "primary", "dropped"]
"""`dropped`: the connection ends before anything is done; `lost`: it is done and the answer never comes;
`silent`: it is not done and no answer comes. `secondary` is a 403, `too-many` a 429, both with
Retry-After; `primary` a 403 with the hour's limit used up.
"""

RETRYABLE: tuple[Kind, ...] = ("500", "502", "503", "secondary", "too-many", "primary")


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong; `seconds` is what Retry-After or the reset of the limit says."""

    kind: Kind
    seconds: int = 1


class Faults:
    """Decides for each request, by its operation, what goes wrong."""

    def __init__(self) -> None:
        self.planned: list[tuple[str, Fault]] = []
        self.happened: list[tuple[str, str]] = []
        self._draw: Callable[[], Fault | None] = lambda: None

    def next(self, operation: str, *faults: Fault | Kind) -> None:
        """The next requests of an operation (its operationId, `*` for any) fail in this way, one after
        another.
        """
        self.planned += [(operation, each if isinstance(each, Fault) else Fault(each)) for each in faults]

    def at_random(
        self, seed: int, share: float, kinds: tuple[Kind, ...] = RETRYABLE, *, longest: int = 90
    ) -> None:
        """From now on a share of all requests fails, in ways drawn from a seed."""
        random_ = random.Random(seed)

        def draw() -> Fault | None:
            if random_.random() >= share:
                return None
            return Fault(random_.choice(kinds), random_.randint(1, longest))

        self._draw = draw

    def never(self) -> None:
        self.planned.clear()
        self._draw = lambda: None

    def of(self, operation: str) -> Fault | None:
        """What goes wrong with a request of an operation."""
        due = next((each for each in self.planned if each[0] in (operation, "*")), None)
        if due is not None:
            self.planned.remove(due)
        fault = due[1] if due is not None else self._draw()
        if fault is not None:
            self.happened.append((operation, fault.kind))
        return fault
