"""What fresh comparisons say of candidates, by the code that the service calls: up to two of them, each of
boots of its own, and a bisection.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrate.noise import Values
from cliffwatch.stats.history.culprits.boots import boots_per_step, steps_of
from cliffwatch.stats.history.fresh import COMPARISONS, FIRST_BOOTS, Fresh, judge_fresh, next_boots
from cliffwatch.stats.ranks import two_samples

Boots = Callable[[int], Values]
"""So many fresh boots of one revision, as logs."""

ERROR = 0.01
"""That of the service's bisections (cliffwatch_service.history.bisection.judging)."""

_LEVEL = 0.95
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of a candidate: whether it is confirmed, with how many boots of each revision, and the last
    comparison.
    """

    confirmed: bool
    boots: int
    fresh: Fresh


def asked(size: float, base: Boots, head: Boots) -> Asked:
    """A candidate of a signed size between two revisions."""
    boots, spent = FIRST_BOOTS, 0
    for number in range(1, COMPARISONS + 1):
        fresh = compared(base(boots), head(boots))
        spent += boots
        answer = judge_fresh(size, fresh, number)
        if answer != "open":
            return Asked(answer == "confirmed", spent, fresh)
        boots = next_boots(size, fresh)
    raise AssertionError("the last comparison leaves nothing open")


def bisected(fresh: Fresh, good: int, bad: int, at: Callable[[int], Boots]) -> int:
    """The index of the culprit of a confirmed change: at each step good against the middle, which counts as
    changed from half of the change on, in boots for which noise misleads the whole search at most with
    probability `ERROR`.
    """
    boots = boots_per_step(fresh.change, fresh.spread, ERROR, steps_of(bad - good))
    while bad - good > 1:
        middle = (good + bad) // 2
        if compared(at(good)(boots), at(middle)(boots)).change / fresh.change >= _HALF:
            bad = middle
        else:
            good = middle
    return bad


def compared(base: Values, head: Values) -> Fresh:
    ranks = two_samples(base, head)
    low, high = ranks.interval(_LEVEL)
    change, low, high = np.expm1([float(ranks.shift), float(low), float(high)]).tolist()
    return Fresh(change=change, low=low, high=high, level=_LEVEL, p=float(ranks.p()), boots=len(base))
