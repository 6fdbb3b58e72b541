"""One metric of both arms as the statistics take it: one value a boot, on a log scale, with the block it was measured in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.ranks import Ranked, pairs, two_samples

Blocks = NDArray[np.int_]

FEWEST_PAIRS = 8
"""Pairs from which on a correlation is known well enough to choose by."""

RELATED = 0.5
"""Correlation within blocks from which on pairs are worth their lost degrees of freedom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BootValues:
    """Logs of the boots' values, (n,) and (m,), and the plan's block of each; a block holds each arm at most once."""

    base: Values
    head: Values
    base_blocks: Blocks
    head_blocks: Blocks

    def paired(self) -> "BootValues":
        """The boots whose block holds both arms, in the order of blocks."""
        if np.array_equal(self.base_blocks, self.head_blocks):
            return self
        both, ours, theirs = np.intersect1d(self.base_blocks, self.head_blocks, return_indices=True)
        return BootValues(base=self.base[ours], head=self.head[theirs], base_blocks=both, head_blocks=both)

    def least_p_of_pairs(self) -> float:
        """One-sided: what the signed-rank test gives when all pairs agree."""
        return float(2.0 ** -len(self.paired().base))

    def ranked(self, *, in_pairs: bool) -> Ranked:
        if not in_pairs:
            return two_samples(self.base, self.head)
        twins = self.paired()
        return pairs(twins.base, twins.head)

    def joined(self, other: "BootValues") -> "BootValues":
        """Both stages together; blocks of the second come after those of the first."""
        after = 1 + max(self.base_blocks.max(initial=-1), self.head_blocks.max(initial=-1))
        return BootValues(
            base=np.concatenate([self.base, other.base]),
            head=np.concatenate([self.head, other.head]),
            base_blocks=np.concatenate([self.base_blocks, other.base_blocks + after]),
            head_blocks=np.concatenate([self.head_blocks, other.head_blocks + after]),
        )

    def first(self, boots: int) -> "BootValues":
        """The first so many boots of each arm, in the order of blocks."""
        ours, theirs = np.argsort(self.base_blocks)[:boots], np.argsort(self.head_blocks)[:boots]
        return BootValues(
            base=self.base[ours],
            head=self.head[theirs],
            base_blocks=self.base_blocks[ours],
            head_blocks=self.head_blocks[theirs],
        )


def alike(rows: Sequence[BootValues]) -> Iterator[tuple[list[int], Values, Values]]:
    """Rows with the same numbers of boots together: their indexes, and both arms as (rows, boots)."""
    groups: dict[tuple[int, int], list[int]] = {}
    for index, row in enumerate(rows):
        groups.setdefault((len(row.base), len(row.head)), []).append(index)
    for indexes in groups.values():
        yield (
            indexes,
            np.stack([rows[index].base for index in indexes]),
            np.stack([rows[index].head for index in indexes]),
        )


def related(rows: Sequence[BootValues]) -> list[bool]:
    """Whether boots of one block move together so much that comparing within blocks detects more, of each row."""
    answers = [False] * len(rows)
    blocked = [
        index
        for index, row in enumerate(rows)
        if len(row.base) and len(row.head) and row.base_blocks.max() >= row.head_blocks.min()
    ]
    twins = [rows[index].paired() for index in blocked]
    for places, base, head in alike(twins):
        if base.shape[-1] < FEWEST_PAIRS:
            continue
        ours, theirs = base - base.mean(axis=-1, keepdims=True), head - head.mean(axis=-1, keepdims=True)
        within = np.sqrt((ours**2).sum(axis=-1) * (theirs**2).sum(axis=-1))
        moving = (np.ptp(base, axis=-1) > 0) & (np.ptp(head, axis=-1) > 0)
        for place, answer in zip(places, moving & ((ours * theirs).sum(axis=-1) >= RELATED * within), strict=True):
            answers[blocked[place]] = bool(answer)
    return answers


def ranked_alike(rows: Sequence[BootValues], in_pairs: Sequence[bool]) -> Iterator[tuple[list[int], Ranked]]:
    """All rows ranked, those with the same numbers of boots in one call: the indexes of a group, and its ranks in their order."""
    for paired, compare in ((True, pairs), (False, two_samples)):
        chosen = [index for index, each in enumerate(in_pairs) if each == paired]
        used = [rows[index].paired() if paired else rows[index] for index in chosen]
        for positions, base, head in alike(used):
            yield [chosen[position] for position in positions], compare(base, head)


def boot_values(base: Values, head: Values) -> BootValues:
    """Of plain logs whose n-th boots share a block."""
    return BootValues(base=base, head=head, base_blocks=np.arange(len(base)), head_blocks=np.arange(len(head)))
