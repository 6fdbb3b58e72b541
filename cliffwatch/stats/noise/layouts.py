"""Separates changes caused by code layout from noise and from the patch.

Boots of one kernel under several layouts (link orders, or KASLR offsets) split the variance into layout and
rest by a one-way random-effects analysis. A change within the layouts' spread may be luck of placement.

Sources: Mytkowicz et al., Producing Wrong Data Without Doing Anything Obviously Wrong, ASPLOS 2009;
Curtsinger and Berger, Stabilizer, ASPLOS 2013.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutSpread:
    """Standard deviations of logs."""

    layout: float
    """Between layouts."""
    boot: float
    """Between boots of one layout."""
    p: float
    """p-value of no effect of layout."""


def layout_spread(groups: Sequence[Sequence[float]]) -> LayoutSpread | None:
    """The spread of one kernel's log values, one group per layout.

    None unless there are two layouts and one of them has two boots.
    """
    filled = [np.asarray(group, dtype=float) for group in groups if len(group)]
    freedom = sum(len(group) for group in filled) - len(filled)
    if len(filled) < 2 or freedom < 1:
        return None
    sizes = np.array([len(group) for group in filled], dtype=float)
    means = np.array([group.mean() for group in filled])
    centre = float((sizes * means).sum() / sizes.sum())
    inner = float(sum(((group - group.mean()) ** 2).sum() for group in filled) / freedom)
    outer = float((sizes * (means - centre) ** 2).sum() / (len(filled) - 1))
    typical = float((sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(filled) - 1))
    if inner == 0:
        return LayoutSpread(layout=math.sqrt(outer / typical), boot=0.0, p=0.0 if outer > 0 else 1.0)
    from scipy import special  # noqa: PLC0415 - half a second to load, for runs with several layouts alone

    p = float(special.fdtrc(len(filled) - 1, freedom, outer / inner))
    return LayoutSpread(layout=math.sqrt(max(0.0, (outer - inner) / typical)), boot=math.sqrt(inner), p=p)
