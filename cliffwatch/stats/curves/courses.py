"""The models of a curve: a straight line with up to two breaks, each a bend, a jump, or both.

All models are linear over the same points. Each is a small basis beside that of the straight line, so one
matrix product fits hundreds of curves to all of them. Every piece has at least two points.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.rank_tables import Values

Kind = Literal["bend", "jump", "bend and jump"]

PIECE = 2
"""Points of the shortest piece.

A bend and jump has three on either side, because its new course is free in level and slope.
"""

_BLOCK = 128
"""Models per matrix product: their gains for a thousand curves fit in a core's cache."""

_CORNERS = (0.0, 1 / 3, 2 / 3)
"""Where a bend may lie between two points, as a share of the gap."""


@dataclass(frozen=True, slots=True)
class Break:
    """A break between the points `gap` and `gap + 1`."""

    gap: int
    kind: Kind
    corner: float
    """Position of a bend on the axis of the points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Courses:
    """All models with one number of breaks."""

    singles: Sequence[Break]
    """The single breaks that models are made of."""
    members: NDArray[np.intp]
    """Indexes into `singles` of each model's breaks, (models, breaks).

    With two breaks there are tens of thousands of models.
    """
    bases: NDArray[np.float64]
    """Basis of each model, (models, points, columns): orthonormal to the straight line, padded with zeros."""
    parameters: NDArray[np.int64]
    """Parameters beyond a straight line's, (models,): the columns, and one position per break."""

    def breaks(self, course: int | np.integer) -> tuple[Break, ...]:
        return tuple(self.singles[place] for place in self.members[course])

    def gains(self, rests: Values) -> Values:
        """How much each model lowers the sum of squares, (models, curves).

        `rests` are the residuals of the straight line, (points, curves).
        """
        return _gains(self.bases, rests)

    def largest_gains(self, rests: Values) -> Iterator[tuple[int, Values]]:
        """For each number of parameters: the largest gain of each curve, (curves,)."""
        for parameters in np.unique(self.parameters):
            bases = self.bases[self.parameters == parameters]
            blocks = (bases[start : start + _BLOCK] for start in range(0, len(bases), _BLOCK))
            yield int(parameters), np.max([_gains(block, rests).max(axis=0) for block in blocks], axis=0)

    def only(self, keep: NDArray[np.bool_]) -> "Courses":
        kept = np.flatnonzero(keep)
        return Courses(
            singles=self.singles,
            members=self.members[kept],
            bases=self.bases[kept],
            parameters=self.parameters[kept],
        )


def _gains(bases: NDArray[np.float64], rests: Values) -> Values:
    total = np.zeros((len(bases), rests.shape[1]))
    for column in range(bases.shape[2]):
        part = np.ascontiguousarray(bases[:, :, column]) @ rests
        part *= part
        total += part
    return total


def line(x: Values, noise: Values) -> Values:
    """Orthonormal basis of the straight line, (points, 2), in units of the noise."""
    return np.asarray(np.linalg.qr(np.column_stack([np.ones_like(x), x]) / noise[:, None])[0])


def one_break(x: Values, noise: Values) -> Courses:
    singles = list(_singles(x))
    designs = np.zeros((len(singles), len(x), 2))
    for index, each in enumerate(singles):
        for place, column in enumerate(columns(each, x)):
            designs[index, :, place] = column
    parameters = np.array([2 + (each.kind == "bend and jump") for each in singles], dtype=np.int64)
    alone = _Breaks(singles, np.arange(len(singles), dtype=np.intp)[:, None])
    return _courses(alone, designs, parameters, line(x, noise), noise)


def two_breaks(x: Values, noise: Values) -> Courses:
    """Models of two breaks, each a bend or a jump.

    A bend and jump takes too many points to have a second break.
    """
    singles = [each for each in _singles(x) if each.kind != "bend and jump"]
    own = np.array([columns(each, x)[0] for each in singles]).reshape(len(singles), len(x))
    members = _pairs(np.array([each.gap for each in singles], dtype=np.intp))
    designs = np.stack([own[members[:, 0]], own[members[:, 1]]], axis=2)
    parameters = np.full(len(members), 4, dtype=np.int64)
    return _courses(_Breaks(singles, members), designs, parameters, line(x, noise), noise)


def _pairs(gaps: NDArray[np.intp]) -> NDArray[np.intp]:
    """Index pairs of breaks at least a piece apart, (models, 2), sorted by the first gap, then the second."""
    first, second = np.nonzero(gaps[None, :] - gaps[:, None] >= PIECE)
    order = np.lexsort((second, first, gaps[second], gaps[first]))
    return np.column_stack([first[order], second[order]])


def _singles(x: Values) -> Iterator[Break]:
    for gap in range(PIECE - 1, len(x) - PIECE):
        yield Break(gap, "jump", float(x[gap]))
        for share in _CORNERS:
            yield Break(gap, "bend", float(x[gap] + share * (x[gap + 1] - x[gap])))
        if gap >= PIECE and gap < len(x) - PIECE - 1:
            yield Break(gap, "bend and jump", float(x[gap]))


def columns(each: Break, x: Values) -> list[Values]:
    """The columns a break adds to the design of a straight line.

    A bend adds its change of slope, a jump its height.
    """
    found = []
    if each.kind != "jump":
        found.append(np.maximum(0.0, x - each.corner))
    if each.kind != "bend":
        found.append(np.asarray(np.arange(len(x)) > each.gap, dtype=float))
    return found


class _Breaks(NamedTuple):
    """Single breaks, and each model's breaks as indexes into them."""

    singles: Sequence[Break]
    members: NDArray[np.intp]


def _courses(
    breaks: _Breaks,
    designs: NDArray[np.float64],
    parameters: NDArray[np.int64],
    straight: Values,
    noise: Values,
) -> Courses:
    bases = _orthonormal(designs / noise[:, None], straight)
    return Courses(singles=breaks.singles, members=breaks.members, bases=bases, parameters=parameters)


def _orthonormal(designs: NDArray[np.float64], straight: Values) -> NDArray[np.float64]:
    """Gram-Schmidt beside the straight line, (models, points, 2).

    Columns of negligible length become zeros.
    """
    for column in range(designs.shape[2]):
        each = designs[:, :, column]
        size = np.linalg.norm(each, axis=1, keepdims=True)
        for _ in range(2):
            each = each - (each @ straight) @ straight.T
            for before in range(column):
                other = designs[:, :, before]
                each = each - (each * other).sum(axis=1, keepdims=True) * other
        length = np.linalg.norm(each, axis=1, keepdims=True)
        designs[:, :, column] = np.where(length > 1e-6 * size, each / np.maximum(length, 1e-300), 0.0)
    return designs
