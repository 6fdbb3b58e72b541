"""Boot values of one metric in both arms: one log value per boot, with the block the boot was measured in."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.ranks import Ranked, pairs, two_samples

Blocks = NDArray[np.int_]

FEWEST_PAIRS = 8
"""Fewest pairs from which a correlation is estimated."""

RELATED = 0.5
"""Correlation within blocks from which pairing is worth the lost degrees of freedom."""


class BootValues(NamedTuple):
    """Values of one metric in both arms. A block holds each arm at most once."""

    base: Values
    """Logs of base's boots, (n,)."""
    head: Values
    """Logs of head's boots, (m,)."""
    base_blocks: Blocks
    """The plan's block of each boot, (n,)."""
    head_blocks: Blocks
    """The plan's block of each boot, (m,)."""

    def paired(self) -> "BootValues":
        """Boots whose block holds both arms, in block order."""
        if np.array_equal(self.base_blocks, self.head_blocks):
            return self
        both, ours, theirs = np.intersect1d(self.base_blocks, self.head_blocks, return_indices=True)
        return BootValues(base=self.base[ours], head=self.head[theirs], base_blocks=both, head_blocks=both)

    def least_p_of_pairs(self) -> float:
        """The smallest one-sided p-value of the signed-rank test: that of pairs that all agree."""
        return float(2.0 ** -len(self.paired().base))

    def ranked(self, *, in_pairs: bool) -> Ranked:
        if not in_pairs:
            return two_samples(self.base, self.head)
        twins = self.paired()
        return pairs(twins.base, twins.head)

    def joined(self, other: "BootValues") -> "BootValues":
        """Both stages together. Blocks of the second stage are numbered after those of the first."""
        after = 1 + max(self.base_blocks.max(initial=-1), self.head_blocks.max(initial=-1))
        return BootValues(
            base=np.concatenate([self.base, other.base]),
            head=np.concatenate([self.head, other.head]),
            base_blocks=np.concatenate([self.base_blocks, other.base_blocks + after]),
            head_blocks=np.concatenate([self.head_blocks, other.head_blocks + after]),
        )

    def first(self, boots: int) -> "BootValues":
        """The first `boots` boots of each arm, in block order."""
        ours, theirs = np.argsort(self.base_blocks)[:boots], np.argsort(self.head_blocks)[:boots]
        return BootValues(
            base=self.base[ours],
            head=self.head[theirs],
            base_blocks=self.base_blocks[ours],
            head_blocks=self.head_blocks[theirs],
        )


class EqualBootGroup(NamedTuple):
    """Rows with equal numbers of boots, stacked."""

    indexes: NDArray[np.intp]
    """Index of each row in its family, (rows,)."""
    base: Values
    """Logs, (rows, n)."""
    head: Values
    """Logs, (rows, m)."""
    base_blocks: Blocks
    """Blocks, (rows, n)."""
    head_blocks: Blocks
    """Blocks, (rows, m)."""


class ArmLogs(NamedTuple):
    """One arm of a family in columns. Row r has `logs[first[r]:last[r]]`, and the same slice of `blocks`."""

    logs: Values
    blocks: Blocks
    first: NDArray[np.intp]
    last: NDArray[np.intp]


class BootTable(Sequence[BootValues]):
    """A family in columns, so that a computation over all rows needs no object per row."""

    def __init__(self, base: ArmLogs, head: ArmLogs) -> None:
        self.base, self.head = base, head

    @cached_property
    def _bounds(self) -> list[tuple[int, int, int, int]]:
        bounds = (self.base.first, self.base.last, self.head.first, self.head.last)
        return list(zip(*(each.tolist() for each in bounds), strict=True))

    @cached_property
    def groups(self) -> tuple[EqualBootGroup, ...]:
        """Rows grouped by their numbers of boots."""
        ours, theirs = self.base.last - self.base.first, self.head.last - self.head.first
        numbers: dict[tuple[int, int], list[int]] = {}
        for index, counts in enumerate(zip(ours.tolist(), theirs.tolist(), strict=True)):
            numbers.setdefault(counts, []).append(index)
        return tuple(self._alike(np.array(rows, dtype=np.intp), *counts) for counts, rows in numbers.items())

    def _alike(self, rows: NDArray[np.intp], n: int, m: int) -> EqualBootGroup:
        ours, theirs = (
            side.first[rows][:, None] + np.arange(boots) for side, boots in ((self.base, n), (self.head, m))
        )
        return EqualBootGroup(
            rows,
            self.base.logs[ours],
            self.head.logs[theirs],
            self.base.blocks[ours],
            self.head.blocks[theirs],
        )

    @cached_property
    def ranked(self) -> tuple[tuple[NDArray[np.intp], Ranked], ...]:
        """Per group: the rows' indexes and the rows ranked as two samples.

        Cached, so that a verdict and its size come from the same ranks.
        """
        return tuple((group.indexes, two_samples(group.base, group.head)) for group in self.groups)

    def __len__(self) -> int:
        return len(self.base.first)

    @overload
    def __getitem__(self, index: int) -> BootValues: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[BootValues]: ...
    def __getitem__(self, index: int | slice) -> BootValues | Sequence[BootValues]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        first, last, head_first, head_last = self._bounds[index]
        return BootValues(
            self.base.logs[first:last],
            self.head.logs[head_first:head_last],
            self.base.blocks[first:last],
            self.head.blocks[head_first:head_last],
        )


def to_table(rows: Sequence[BootValues]) -> BootTable:
    """Converts rows to columns. A table is returned as it is."""
    if isinstance(rows, BootTable):
        return rows
    return BootTable(
        _side([row.base for row in rows], [row.base_blocks for row in rows]),
        _side([row.head for row in rows], [row.head_blocks for row in rows]),
    )


def _side(logs: Sequence[Values], blocks: Sequence[Blocks]) -> ArmLogs:
    bounds = np.concatenate([[0], np.cumsum([len(each) for each in logs])]).astype(np.intp)
    return ArmLogs(
        np.concatenate([*logs, np.zeros(0)]),
        np.concatenate([*blocks, np.zeros(0, dtype=int)]),
        bounds[:-1],
        bounds[1:],
    )


def correlated_within_blocks(rows: Sequence[BootValues]) -> list[bool]:
    """For each row: whether boots of one block correlate so much that a paired comparison detects more."""
    answers = np.zeros(len(rows), dtype=bool)
    apart: list[int] = []
    for group in to_table(rows).groups:
        if not group.base.shape[1] or not group.head.shape[1]:
            continue
        blocked = group.base_blocks.max(axis=1) >= group.head_blocks.min(axis=1)
        if group.base.shape == group.head.shape:
            shared = blocked & (group.base_blocks == group.head_blocks).all(axis=1)
            answers[group.indexes[shared]] = _correlated(group.base[shared], group.head[shared])
            blocked &= ~shared
        apart += group.indexes[blocked].tolist()
    for group in to_table([rows[index].paired() for index in apart]).groups:
        answers[[apart[index] for index in group.indexes]] = _correlated(group.base, group.head)
    return [bool(answer) for answer in answers]


def _correlated(base: Values, head: Values) -> NDArray[np.bool_]:
    """Per row of pairs, (rows, pairs): whether the correlation reaches `RELATED`.

    False below `FEWEST_PAIRS`.
    """
    if base.shape[-1] < FEWEST_PAIRS:
        return np.zeros(len(base), dtype=bool)
    ours, theirs = base - base.mean(axis=-1, keepdims=True), head - head.mean(axis=-1, keepdims=True)
    within = np.sqrt((ours**2).sum(axis=-1) * (theirs**2).sum(axis=-1))
    moving = (np.ptp(base, axis=-1) > 0) & (np.ptp(head, axis=-1) > 0)
    return np.asarray(moving & ((ours * theirs).sum(axis=-1) >= RELATED * within))


def group_by_pairing(
    rows: Sequence[BootValues], in_pairs: Sequence[bool], *, paired: bool
) -> Iterator[EqualBootGroup]:
    """Groups of the rows whose `in_pairs` equals `paired`, by their numbers of boots.

    `indexes` are those among all rows. With `paired`, only boots of complete pairs are used.
    """
    if not paired and not any(in_pairs):
        yield from to_table(rows).groups
        return
    chosen = np.flatnonzero(np.array(in_pairs, dtype=bool) == paired)
    used = [rows[index].paired() if paired else rows[index] for index in chosen.tolist()]
    for group in to_table(used).groups:
        yield group._replace(indexes=chosen[group.indexes])


def rank_groups(
    rows: Sequence[BootValues], in_pairs: Sequence[bool]
) -> Iterator[tuple[NDArray[np.intp], Ranked]]:
    """Ranks all rows, one call per group with equal numbers of boots.

    Yields the group's indexes and its ranks.
    """
    if not any(in_pairs):
        yield from to_table(rows).ranked
        return
    for paired, compare in ((True, pairs), (False, two_samples)):
        for group in group_by_pairing(rows, in_pairs, paired=paired):
            yield group.indexes, compare(group.base, group.head)


def boot_values(base: Values, head: Values) -> BootValues:
    """Builds boot values from plain logs. The n-th boots of both arms share a block."""
    return BootValues(
        base=base, head=head, base_blocks=np.arange(len(base)), head_blocks=np.arange(len(head))
    )
