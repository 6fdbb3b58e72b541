"""calibration.json: how much equal kernels differ on one host, case by case."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from cliffwatch.formats.values import Count, LongText, Moment, Name, OfCase, Part, Text
from cliffwatch.samples import Mode

FORMAT: Final = "cliffwatch-calibration"
FORMAT_VERSION: Final = 1

Fraction = Annotated[float, Meta(ge=0)]


class CalibratedRow(OfCase, frozen=True, kw_only=True):
    """A primary metric of a case, over the boots of one kernel.

    `boots`: those of all arms together. `spread`: standard deviation between boots. `difference`: the largest
    between the medians of two arms. `detectable`: the smallest change that the boots of two arms would show.
    `suggested_boots`: boots per arm, in one stage, that show a change of 1 %; null if 999 do not.
    `layout_floor`: the spread between layouts of the kernel's code; null if it was not measured. Fractions;
    null with too few boots.
    """

    metric: Name
    unit: Name
    boots: Count
    spread: Fraction | None
    difference: Fraction | None
    detectable: Fraction | None
    suggested_boots: Count | None
    layout_floor: Fraction | None = None

    @property
    def spread_or_zero(self) -> float:
        return self.spread or 0.0


class CalibrationDocument(Part, frozen=True, kw_only=True):
    """A calibration: runs of one kernel against itself on one host.

    `boots`: per arm. `kernel`: release and commit. `machine`: processor, microcode, BIOS and kernel of the
    host. `false_changes`: what the method would have published of equal kernels. `missing`: suites that were
    asked for and not measured. `passed`: nothing is missing or would have been published.
    """

    format: Literal["cliffwatch-calibration"]
    format_version: Literal[1]
    cliffwatch_version: Name
    created: Moment
    platform: Name
    mode: Mode
    profile: Name | None
    boots: Count
    kernel: Text
    machine: Annotated[dict[Name, Text], Meta(max_length=20)]
    suites: Annotated[tuple[Name, ...], Meta(max_length=200)]
    missing: Annotated[tuple[Name, ...], Meta(max_length=200)]
    false_changes: Annotated[tuple[LongText, ...], Meta(max_length=1000)]
    passed: bool
    rows: Annotated[tuple[CalibratedRow, ...], Meta(max_length=5000)]
