"""Plans of two stages: screen every metric, then confirm only the candidates on fresh boots.

Nothing is published from the screen, so its errors cost only boots. The confirmation uses data the screen
never had, so its error rate is its own test's, however the screen chose.

Source: two-stage designs with independent stages, as Zehetmayer, Bauer and Posch, Biometrics 61, 2005; looks
by a union bound over the spent error (Bonferroni).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.families import holm
from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.ranks import two_samples

Directions = NDArray[np.int_]
"""+1 or -1; 0 if a metric is no candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A look at the confirming data."""

    boots: int
    """Boots of each arm at which this look is made."""
    alpha: float
    """Family-wise error that this look may spend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """A plan of two stages."""

    screen: int
    """Boots per arm of the screen, for all metrics."""
    screen_alpha: float
    """Error of the screen per metric."""
    looks: tuple[Look, ...]
    """Looks at the candidates, by rising number of boots. The last look ends the plan."""

    @property
    def alpha(self) -> float:
        """The family-wise error of published results."""
        return sum(look.alpha for look in self.looks)

    def with_share(self, share: float) -> "Stages":
        """The same plan with this share of its error."""
        return replace(self, looks=tuple(replace(look, alpha=share * look.alpha) for look in self.looks))


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What the error is shared among.

    Candidates confirmed earlier are false nulls as long as no error was made, so Holm's steps continue from
    them. A candidate that was given up still counts, because its data was looked at first.
    """

    metrics: int
    """Metrics screened."""
    candidates: int
    """Candidates among them."""
    confirmed: int = 0
    """Candidates confirmed at earlier looks."""


ADAPTIVE = Stages(
    screen=10,
    screen_alpha=0.1,
    looks=(Look(boots=14, alpha=0.001), Look(boots=28, alpha=0.003), Look(boots=42, alpha=0.006)),
)
"""Default of `--boots auto`: the cheapest plan where most metrics do not change."""

CAREFUL = Stages(
    screen=21, screen_alpha=0.05, looks=(Look(boots=15, alpha=0.002), Look(boots=30, alpha=0.008))
)
"""21 boots of everything, as in published tables, then at most 30 of the candidates."""


def screen(base: Values, head: Values, *, alpha: float, least: float | Values) -> Directions:
    """Candidates among metrics: a rank test or a t-test at `alpha` detects a shift of at least `least`.

    `base` and `head` are logs, (metrics, boots). With ten boots a rank test has few possible p-values, so the
    t-test is used too. A superfluous candidate costs boots, not trust.
    """
    ranked = two_samples(base, head)
    shift = ranked.shift
    chosen = (np.minimum(ranked.p(), _welch(base, head)) <= alpha) & (np.abs(shift) >= least)
    return np.where(chosen, np.sign(shift), 0).astype(int)


def confirm(p_values: Sequence[float], family: Family) -> list[float]:
    """Adjusted one-sided p-values of the candidates at one look.

    Controlled over all candidates that are not yet confirmed, including those given up.
    """
    given_up = [1.0] * (family.candidates - family.confirmed - len(p_values))
    return holm([*p_values, *given_up])[: len(p_values)]


def _welch(base: Values, head: Values) -> Values:
    """Two-sided p-values of Welch's t-test; 1 if an arm has one boot or neither arm varies."""
    n, m = base.shape[-1], head.shape[-1]
    if min(n, m) < 2:
        return np.ones(base.shape[:-1])
    from scipy import special  # noqa: PLC0415 - half a second to load, for plans in stages alone

    ours, theirs = base.var(axis=-1, ddof=1) / n, head.var(axis=-1, ddof=1) / m
    error = np.maximum(ours + theirs, 1e-300)
    freedom = error**2 / np.maximum(ours**2 / (n - 1) + theirs**2 / (m - 1), 1e-300)
    statistic = np.abs(head.mean(axis=-1) - base.mean(axis=-1)) / np.sqrt(error)
    return np.where(ours + theirs > 0, 2 * special.stdtr(freedom, -statistic), 1.0)
