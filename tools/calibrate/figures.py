"""The figures of a calibration, row by row."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured figure: for which bar, of what, by whom, and whether it meets what was asked of ours.

    `met` is None for a neighbour's figure, which is there to compare and not to pass.
    """

    bar: str
    what: str
    method: str
    measured: str
    wanted: str
    met: bool | None


def share(count: int, of: int) -> str:
    return f"{100 * count / of:.2f} % of {of}"
