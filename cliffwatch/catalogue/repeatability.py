"""The repeatability of counted values by case, as `tools/measure_aa.py` measured it:
suites/repeatability.csv.

A row is one metric of one case:

- `case`: as reports name it.
- `boots`: number of boots of one kernel.
- `difference`: the largest of their values over the smallest, less one, less the step of the printed digits.
- `kernel`, `emulator`, `day`: the measurement.
"""

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import CaseKey

FILE = "repeatability.csv"
COLUMNS = ("case", "metric", "boots", "difference", "kernel", "emulator", "day")

MARGIN = 2
"""Multiple of the largest measured difference that further boots may differ by."""

STEP = 0.0001
"""Repeatabilities are rounded up to a multiple of this; a few boots give no more digits."""

LEAST = 2 * STEP
"""Repeatability of cases whose boots did not differ."""


_Key = tuple[frozenset[str], str]


def _key(case: str, metric: str) -> _Key:
    return frozenset(case.split("/")), metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeatability:
    """Measured repeatability of cases."""

    differences: Mapping[_Key, float]
    """Largest difference by case and metric, a fraction. The order of a case's parameters does not matter."""

    def of(self, case: CaseKey, metric: str) -> float | None:
        """Largest difference to expect between boots of one kernel, a fraction. None if not measured."""
        seen = self.differences.get(_key(str(case), metric))
        return None if seen is None else max(LEAST, math.ceil(MARGIN * seen / STEP) * STEP)


NOTHING_MEASURED = Repeatability(differences={})


def read_repeatability(folder: Path) -> tuple[Repeatability, tuple[Problem, ...]]:
    """The repeatability of a folder of suites, empty if it has no file, and the errors of its rows."""
    file = folder / FILE
    if not file.exists():
        return NOTHING_MEASURED, ()
    with file.open(newline="") as lines:
        reader = csv.DictReader(lines)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            message = f"the columns must be {', '.join(COLUMNS)}"
            return NOTHING_MEASURED, (Problem(file=str(file), line=1, reason=message),)
        return _read(file, enumerate(reader, start=2))


def _read(
    file: Path, rows: Iterable[tuple[int, Mapping[str, str]]]
) -> tuple[Repeatability, tuple[Problem, ...]]:
    differences: dict[_Key, float] = {}
    errors: list[Problem] = []
    for line, row in rows:
        key, difference = _key(row["case"], row["metric"]), _number(row["difference"])
        if difference is None:
            errors.append(
                Problem(file=str(file), line=line, reason="'difference' must be a number from 0 on")
            )
        elif key in differences:
            errors.append(
                Problem(file=str(file), line=line, reason=f"{row['case']} {row['metric']} stands here twice")
            )
        else:
            differences[key] = difference
    return Repeatability(differences=differences), tuple(errors)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
