"""Numbers in options."""

import math
from typing import Any

import rich_click as click


class FiniteRange(click.FloatRange):
    """A range of numbers without infinity and NaN, which compares with no limit."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number
