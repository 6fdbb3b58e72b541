"""How well counted values repeat, case by case: suites/repeatability.csv, as `tools/measure_aa.py` measured
it.

A row is one metric of one case: `case` as reports name it, `boots` of one kernel, and `difference`, the
largest of their values over the smallest, less one and less the step of the printed digits, which every
row has beside it; then the kernel, the emulator and the day.
"""

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.catalogue.read import CatalogueError
from cliffwatch.samples import CaseKey

FILE = "repeatability.csv"
COLUMNS = ("case", "metric", "boots", "difference", "kernel", "emulator", "day")

MARGIN = 2
"""Further boots differ by more than the few that were measured: times the largest difference seen."""

STEP = 0.0001
"""To which it is rounded up: what a few boots say has no more digits."""

LEAST = 2 * STEP
"""Of cases whose boots did not differ at all."""


_Key = tuple[frozenset[str], str]


def _key(case: str, metric: str) -> _Key:
    return frozenset(case.split("/")), metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeatability:
    """By case and metric, as fractions. A case is its parameters in whatever order: services keep them by
    their names.
    """

    differences: Mapping[_Key, float]

    def of(self, case: CaseKey, metric: str) -> float | None:
        """What boots of one kernel may differ by; None where the case was not measured."""
        seen = self.differences.get(_key(str(case), metric))
        return None if seen is None else max(LEAST, math.ceil(MARGIN * seen / STEP) * STEP)


NOTHING_MEASURED = Repeatability(differences={})


def read_repeatability(folder: Path) -> tuple[Repeatability, tuple[CatalogueError, ...]]:
    """That of a folder of suites, nothing where it has none; and what is wrong with its rows."""
    file = folder / FILE
    if not file.exists():
        return NOTHING_MEASURED, ()
    with file.open(newline="") as lines:
        reader = csv.DictReader(lines)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            message = f"the columns must be {', '.join(COLUMNS)}"
            return NOTHING_MEASURED, (CatalogueError(file=file, line=1, message=message),)
        return _read(file, enumerate(reader, start=2))


def _read(
    file: Path, rows: Iterable[tuple[int, Mapping[str, str]]]
) -> tuple[Repeatability, tuple[CatalogueError, ...]]:
    differences: dict[_Key, float] = {}
    errors: list[CatalogueError] = []
    for line, row in rows:
        key, difference = _key(row["case"], row["metric"]), _number(row["difference"])
        if difference is None:
            errors.append(
                CatalogueError(file=file, line=line, message="'difference' must be a number from 0 on")
            )
        elif key in differences:
            errors.append(
                CatalogueError(
                    file=file, line=line, message=f"{row['case']} {row['metric']} stands here twice"
                )
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
