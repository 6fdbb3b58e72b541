"""The values of one stage of a plan, as statistics take them."""

from collections.abc import Sequence

import numpy as np

from cliffwatch.comparing.rows import Row, Side
from cliffwatch.samples import Stage
from cliffwatch.stats.boot_values import ArmLogs, BootTable


def boots_of_stage(rows: Sequence[Row], stage: Stage, *, one_run: bool) -> BootTable:
    """The rows' boots of one stage. Boots of two runs share no block."""
    ours, theirs = _of_stage([row.base for row in rows], stage), _of_stage([row.head for row in rows], stage)
    if one_run:
        return BootTable(ours, theirs)
    return BootTable(ours, theirs._replace(blocks=theirs.blocks + 1 + ours.blocks.max(initial=0)))


def _of_stage(sides: Sequence[Side], stage: Stage) -> ArmLogs:
    columns = sides[0].columns
    first, last = (
        np.array([getattr(side, name) for side in sides], dtype=np.intp) for name in ("first", "last")
    )
    chosen = columns.boots.confirms[columns.places] == (stage == "confirm")
    before = np.concatenate([[0], np.cumsum(chosen)])
    # Rows of another family, or of none, may have any value.
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(columns.values[chosen])
    return ArmLogs(logs, columns.boots.block[columns.places[chosen]], before[first], before[last])
