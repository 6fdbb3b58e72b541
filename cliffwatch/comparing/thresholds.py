"""All numeric rules of a verdict: thresholds, errors, and when a row is no fair comparison.

A row carries its own threshold from here to every report.
"""

from dataclasses import dataclass, replace

from cliffwatch.comparing.comparison import CHANGES
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.samples import Assume, Better
from cliffwatch.stats.stages import Stages

COUNTED = 0.002
"""Smallest reported change of counted values, a fraction."""

NOISY = 0.01
"""Smallest reported change of noisy values, a fraction."""

ALPHA = 0.01
"""Family-wise error: how often anything is reported if nothing changed. Intervals have the matching level."""

SECONDARY_SHARE = 0.1
"""Share of `ALPHA` for secondary rows if a report has both kinds, so that `ALPHA` covers all of it."""

MEAN_LEVEL = 1 - ALPHA
"""Level of the intervals of geometric means."""

SEVERAL_CPUS_REPEATABILITY = 0.001
"""With four virtual CPUs, single-producer cases were measured to repeat to 0.1 %."""

MOST_FAILED = 0.2
"""Largest share of an arm's boots in which a case may fail; beyond it the rest is a biased selection."""

LARGEST_RATIO = 1e12
"""Between two boots of a row; beyond it a value is not the benchmark's."""

DRIFT_P = 0.001
"""Largest p-value at which a host counts as drifting."""

MOVED_ALIKE = 0.9
"""Share of times and rates that move the same way if the host drifted between two arms."""

BEYOND_COMMON = 2.0
"""Multiple of the rows' common movement that each row allows for: hosts do not slow all cases equally."""

FEWEST_ALIKE = 6
"""Fewest times and rates for a common movement. By chance, all of them move the same way 1 time in 32."""

SEEN = 3.0
"""Standard errors from which a row can show a movement."""

MOST_DRIFTING = 0.1
"""Largest share of rows that may drift before the host counts as unsteady; 0.1 % do by chance."""

LIKELY = 0.05
"""Largest p-value at which an inconclusive row is worth a second look."""

CLOSE = 1.3
"""A number of boots whose range is within this factor is reported without the range."""

WORTH_A_WORD = 0.1
"""Smallest correction of a published change that gets a note, as a fraction of the change."""

LAYOUT_P = 0.01
"""Largest p-value at which layouts count as different."""

MATCHED_LEVEL = 0.95
"""Confidence level of changes in matched layouts, which decide no verdict."""

LEAST_OF_A_CALL = 0.01
"""Smallest reported change of a function in an unchanged case, in instructions per call."""
CALL_SHARE = 0.00005
"""The same as a fraction of the call's instructions."""

FEWEST_CALLS = 0.01
"""Calls per operation from which a function is on its path.

Functions called more rarely belong to ticks and interrupts, which take other paths each time.
"""

FEWEST_COUNTED = 100
"""Fewest calls per boot. With fewer, a single call on another path moves the mean."""

CALLS_SHARE = 0.01
"""Smallest reported change in how often an operation calls a function, a fraction."""
CALLS_APART = 5.0
"""The same, as a multiple of the difference of the case between equal kernels."""

PATH_SHARE = 0.03
"""Share of a case's instructions from which a function is on its path, if operations are unknown.

Set-up and faults take less, and other paths each time.
"""

OPERATION_SHARE = 0.002
"""Smallest reported change of a function in a case counted as a whole, a fraction of an operation."""

LARGEST_DETECTABLE = 1000.0
"""Factor of a change. A row that could only detect larger changes has no detectable change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """How arms are compared."""

    notable: float | None = None
    """Smallest reported change, a fraction; None for each row's default."""
    alpha: float = ALPHA
    """Family-wise error."""
    stages: Stages | None = None
    """The plan's stages; None if it has one stage."""
    one_run: bool = True
    """True if both arms come from one plan, so that the boots of a block belong together."""

    def threshold(self, assume: Assume, repeatability: float = 0.0) -> float:
        """The smallest reported change of a row.

        For counted values it is at least twice their repeatability: a row that differs by no more cannot
        exclude a smaller change.
        """
        if self.notable is not None:
            return self.notable
        return max(COUNTED, 2 * repeatability) if assume == "exact" else NOISY

    def in_one_stage(self) -> "Method":
        return replace(self, stages=None)

    def interval_level(self, assume: Assume) -> float | None:
        """None for counted values: their interval is run-to-run noise."""
        return None if assume == "exact" else 1 - self.alpha


PLAIN = Method()


def is_real(
    *, verdict: str, q: float | None, ci_low: float | None, ci_high: float | None, counted: bool
) -> bool:
    """True if there is a difference, notable or not, by the rule that decided the verdict.

    The rule is the family's error, or the band of a counted value.
    """
    if ci_low is None or ci_high is None:
        return verdict in CHANGES
    if counted:
        return ci_low > 0 or ci_high < 0
    return verdict in CHANGES or (verdict == "unchanged" and q is not None and q <= ALPHA)


def direction(change: float, better: Better | None) -> Verdict:
    """The verdict on a change by the metric's better direction; `changed` if that is unknown."""
    if better is None:
        return "changed"
    return "improvement" if (change > 0) == (better == "higher") else "regression"
