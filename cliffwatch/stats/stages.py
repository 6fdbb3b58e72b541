"""Screen every metric, then confirm the candidates alone on fresh boots.

Nothing is published from the screen, so its errors cost boots and not trust; the confirmation looks at
data that the screen never had, so its error is what its own test says, whatever the screen chose. Source:
two-stage designs with independent stages, as Zehetmayer, Bauer and Posch, Biometrics 61, 2005; looks by a
union bound over the spent error (Bonferroni).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.families import holm
from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.ranks import two_samples

Directions = NDArray[np.int_]
"""+1, -1, or 0 where a metric is no candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A look at the confirming data when `boots` of each arm are in, with the family-wise error that it may
    spend.
    """

    boots: int
    alpha: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """A plan in two stages: `screen` boots an arm of everything, then looks at candidates up to the last
    look's boots.

    `screen_alpha` is the per-metric error of the screen.
    """

    screen: int
    screen_alpha: float
    looks: tuple[Look, ...]

    @property
    def alpha(self) -> float:
        """The family-wise error of what is published."""
        return sum(look.alpha for look in self.looks)

    def with_share(self, share: float) -> "Stages":
        """The plan with this share of its error."""
        return replace(self, looks=tuple(replace(look, alpha=share * look.alpha) for look in self.looks))


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What the error is shared among: `candidates` of `metrics` screened, of which `confirmed` at earlier
    looks.

    Those are false nulls as long as no error was made, so that Holm's steps go on from them; a candidate
    given up early still counts, because it was given up after a look at its data.
    """

    metrics: int
    candidates: int
    confirmed: int = 0


ADAPTIVE = Stages(
    screen=10,
    screen_alpha=0.1,
    looks=(Look(boots=14, alpha=0.001), Look(boots=28, alpha=0.003), Look(boots=42, alpha=0.006)),
)
"""The default of `--boots auto`: cheapest where most metrics do not change."""

CAREFUL = Stages(
    screen=21, screen_alpha=0.05, looks=(Look(boots=15, alpha=0.002), Look(boots=30, alpha=0.008))
)
"""21 boots of everything, as published tables have them, then at most 30 of the candidates."""


def screen(base: Values, head: Values, *, alpha: float, least: float | Values) -> Directions:
    """Candidates among metrics, from (metrics, boots) of logs: where a rank or a t-test at `alpha` detects a
    shift of `least`.

    The t-test is asked too because ten boots give the rank test few steps; a candidate too many costs
    boots, not trust.
    """
    ranked = two_samples(base, head)
    shift = ranked.shift
    chosen = (np.minimum(ranked.p(), _welch(base, head)) <= alpha) & (np.abs(shift) >= least)
    return np.where(chosen, np.sign(shift), 0).astype(int)


def confirm(p_values: Sequence[float], family: Family) -> list[float]:
    """One-sided p-values of the candidates at one look, controlled over all of the family that is not yet
    confirmed.
    """
    given_up = [1.0] * (family.candidates - family.confirmed - len(p_values))
    return holm([*p_values, *given_up])[: len(p_values)]


def _welch(base: Values, head: Values) -> Values:
    """Two-sided p-values of Welch's t-test; 1 where an arm has one boot or none varies."""
    n, m = base.shape[-1], head.shape[-1]
    if min(n, m) < 2:
        return np.ones(base.shape[:-1])
    from scipy import special  # noqa: PLC0415 - half a second to load, for plans in stages alone

    ours, theirs = base.var(axis=-1, ddof=1) / n, head.var(axis=-1, ddof=1) / m
    error = np.maximum(ours + theirs, 1e-300)
    freedom = error**2 / np.maximum(ours**2 / (n - 1) + theirs**2 / (m - 1), 1e-300)
    statistic = np.abs(head.mean(axis=-1) - base.mean(axis=-1)) / np.sqrt(error)
    return np.where(ours + theirs > 0, 2 * special.stdtr(freedom, -statistic), 1.0)
