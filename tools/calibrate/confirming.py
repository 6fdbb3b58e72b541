"""What fresh comparisons say of candidates, by the code that the service calls: up to two of them, each of boots of its own."""

from collections.abc import Callable

import numpy as np

from calibrate.noise import Values
from cliffwatch.stats.history.fresh import COMPARISONS, FIRST_BOOTS, Fresh, judged_fresh, next_boots
from cliffwatch.stats.ranks import two_samples

Boots = Callable[[int], Values]
"""So many fresh boots of one revision, as logs."""

_LEVEL = 0.95


def confirmed(size: float, base: Boots, head: Boots) -> tuple[bool, int]:
    """Whether a candidate of a signed size is confirmed, and how many boots of each revision that took."""
    boots, spent = FIRST_BOOTS, 0
    for number in range(1, COMPARISONS + 1):
        fresh = compared(base(boots), head(boots))
        spent += boots
        answer = judged_fresh(size, fresh, number)
        if answer != "open":
            return answer == "confirmed", spent
        boots = next_boots(size, fresh)
    raise AssertionError("the last comparison leaves nothing open")


def compared(base: Values, head: Values) -> Fresh:
    ranks = two_samples(base, head)
    low, high = ranks.interval(_LEVEL)
    change, low, high = np.expm1([float(ranks.shift), float(low), float(high)]).tolist()
    return Fresh(change=change, low=low, high=high, level=_LEVEL, p=float(ranks.p()), boots=len(base))
