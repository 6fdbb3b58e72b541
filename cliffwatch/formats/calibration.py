"""calibration.json: how much equal kernels differ on one host, case by case."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from cliffwatch.counting import count_noun
from cliffwatch.formats.setup import MOST_ASKED_LAYOUTS
from cliffwatch.formats.values import Count, LongText, Moment, Name, OfCase, Part, Text
from cliffwatch.samples import MOST_ASKED_BOOTS, Mode

FORMAT: Final = "cliffwatch-calibration"
FORMAT_VERSION: Final = 1

LARGEST_DETECTABLE = 0.05
"""A row that could see only larger changes is blind."""

MOST_BLIND = 0.1
"""Largest share of blind rows of a calibration that passes: some cases are noisy on any host."""

Fraction = Annotated[float, Meta(ge=0, le=1e9)]


class CalibratedRow(OfCase, frozen=True, kw_only=True):
    """A primary metric of a case, over the boots of one kernel.

    `boots`: those of all arms together. An observation is a boot, or the mean of a layout's boots. `spread`:
    standard deviation between observations. `difference`: the largest between the medians of two arms.
    `detectable`: the smallest change that the observations of two arms would show. `suggested_boots`: boots
    per arm, in one stage, that show a change of 1 %, each in its own layout if `layout_floor` is known; null
    if 999 boots, or 100 layouts, do not. `layout_floor`: the spread between layouts of the kernel's code;
    null if it was not measured. Fractions; null with too few boots.
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

    @property
    def boots_for_one_percent(self) -> str:
        """The suggested boots, or what no run has as many of: `over 999`."""
        if self.suggested_boots is not None:
            return str(self.suggested_boots)
        return f"over {MOST_ASKED_BOOTS if self.layout_floor is None else MOST_ASKED_LAYOUTS}"


class CalibrationDocument(Part, frozen=True, kw_only=True):
    """A calibration: runs of one kernel against itself on one host.

    `boots`: per arm. `kernel`: release and commit. `machine`: processor, microcode, BIOS and kernel of the
    host. `false_changes`: what the method would have published of equal kernels. `missing`: suites that were
    asked for and not measured. `passed`: there is no shortfall.
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

    def shortfalls(self) -> list[str]:
        """Returns why the calibration does not pass; empty if it does.

        A row that could see only large changes says nothing about the host, and nothing differs where nothing
        could be seen.
        """
        blind = sum(row.detectable is None or row.detectable > LARGEST_DETECTABLE for row in self.rows)
        reasons = []
        if not self.rows:
            reasons.append("nothing was measured")
        if self.missing:
            reasons.append(f"not measured yet: {', '.join(self.missing)}; the same command goes on")
        if self.false_changes:
            reasons.append(
                f"{count_noun(len(self.false_changes), 'difference')} of equal kernels would have been"
                " published"
            )
        if blind > MOST_BLIND * len(self.rows):
            reasons.append(
                f"in {blind} of {count_noun(len(self.rows), 'row')} these boots could not have shown a change"
                f" of {100 * LARGEST_DETECTABLE:.0f} %: repeat it with more --boots and another --out"
            )
        return reasons
