"""From which size on a change is reported, how sure that must be, when a row is no fair comparison, and which
way is better.

Every rule of a verdict that is a number stands here and nowhere else. A row carries its own threshold from
here to every report.
"""

from dataclasses import dataclass

from cliffwatch.comparing.comparison import CHANGES
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.samples import Assume, Better
from cliffwatch.stats.stages import Stages

COUNTED = 0.002
"""The smallest change that is reported of counted values, as a fraction."""

NOISY = 0.01
"""The smallest change that is reported of noisy values, as a fraction."""

ALPHA = 0.01
"""The error of a family: how often anything is reported where nothing changed. Intervals have the level that
belongs to it.
"""

SECONDARY_SHARE = 0.1
"""The share of `ALPHA` that secondary rows have where a report has both kinds: one promise for the whole
report.
"""

MEAN_LEVEL = 1 - ALPHA
"""The level of the intervals of geometric means."""

SEVERAL_CPUS_REPEATABILITY = 0.001
"""Seen with four virtual CPUs: single-producer cases still repeat to a tenth of a per cent."""

MOST_FAILED = 0.2
"""The share of boots of an arm in which a case may fail before what is left is a selection."""

LARGEST_RATIO = 1e12
"""Between two boots of one row; beyond it something else than a benchmark was read."""

DRIFT_P = 0.001
"""A host drifted where chance makes as much of a drift more rarely than this."""

MOVED_ALIKE = 0.9
"""The share of times and rates that move the same way when a host drifts between two arms, and not their
kernels differ.
"""

BEYOND_COMMON = 2.0
"""How many times the common movement of all rows is allowed for in each row: hosts do not slow all cases
equally.
"""

FEWEST_ALIKE = 6
"""Times and rates from which on all of them moving the same way is more than chance (1 in 32)."""

SEEN = 3.0
"""Standard errors from which on a row can show a movement."""

MOST_DRIFTING = 0.1
"""The share of them that may drift while they are measured before the host is said to: one in a thousand does
by chance.
"""

LIKELY = 0.05
"""A row that is not decided is worth a second look where chance alone makes as much of a difference more
rarely than this.
"""

CLOSE = 1.3
"""The factor within which a number of boots is known when it is said without a range."""

WORTH_A_WORD = 0.1
"""How much less the size of a published change may be than what was measured, as a fraction, without a note.
"""

LAYOUT_P = 0.01
"""Layouts differ where chance makes as much of a difference more rarely than this."""

LEAST_OF_A_CALL = 0.01
CALL_SHARE = 0.00005
"""The smallest change of a function that is told where its case did not change: in instructions of a call,
and as a fraction of them.
"""

FEWEST_CALLS = 0.01
"""Of an operation, for a function to be on its path: what is called more rarely belongs to ticks and
interrupts, which take other paths each time.
"""

FEWEST_COUNTED = 100
"""Calls in each boot: of fewer, one more that takes another path moves their mean."""

CALLS_SHARE = 0.01
CALLS_APART = 5.0
"""The smallest change of how often an operation calls a function, as a fraction, and in what the case itself
differs by between equal kernels.
"""

PATH_SHARE = 0.03
"""Of a case's instructions, for a function to be on its path where operations are not known: set-up and
faults take less, and other paths each time.
"""

LARGEST_DETECTABLE = 1000.0
"""The factor of a change; a row that could detect nothing smaller has no detectable change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """How arms are compared. `notable` is the smallest change that is reported, as a fraction; None is each
    row's default.

    `alpha` is the family-wise error; `stages` the plan where the run has two. `one_run` says that both
    arms come from one plan, whose blocks hold boots that belong together.
    """

    notable: float | None = None
    alpha: float = ALPHA
    stages: Stages | None = None
    one_run: bool = True

    def threshold(self, assume: Assume, repeatability: float = 0.0) -> float:
        """The smallest change that is reported for a row of such values: of counted ones no less than twice
        what they repeat to, as a row that differs by no more than that shows no smaller change to be
        absent.
        """
        if self.notable is not None:
            return self.notable
        return max(COUNTED, 2 * repeatability) if assume == "exact" else NOISY

    def interval_level(self, assume: Assume) -> float | None:
        """None for counted values: theirs is the band within which they repeat."""
        return None if assume == "exact" else 1 - self.alpha


PLAIN = Method()


def is_real(
    *, verdict: str, q: float | None, ci_low: float | None, ci_high: float | None, counted: bool
) -> bool:
    """Whether a difference is there, notable or not, by what decided its verdict: the family's error, or a
    counted value's band.
    """
    if ci_low is None or ci_high is None:
        return verdict in CHANGES
    if counted:
        return ci_low > 0 or ci_high < 0
    return verdict in CHANGES or (verdict == "unchanged" and q is not None and q <= ALPHA)


def direction(change: float, better: Better | None) -> Verdict:
    """Better or worse, by which way the metric is better; changed where nobody said that."""
    if better is None:
        return "changed"
    return "improvement" if (change > 0) == (better == "higher") else "regression"
