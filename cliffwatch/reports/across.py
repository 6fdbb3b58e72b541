"""Comparisons of the same two kernels on several targets (platform and mode), side by side: one row a case.

Works on the rows of Comparison JSON (docs/formats.md) as they are, thousands of them, without making objects of each.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TOLD = ("regression", "improvement")
TROUBLED = ("failed", "missing", "invalid")

ORDER = ("disagree", "regression", "improvement", *TROUBLED, "inconclusive", "unchanged")
"""Verdicts of a case over all targets, from what a reader must see to what he may skip."""

Key = tuple[str, str, tuple[tuple[str, str], ...], str, str]


@dataclass(frozen=True, slots=True)
class Target:
    """Where something was measured; `name` is what people read."""

    platform: str
    mode: str
    name: str


@dataclass(slots=True)
class Across:
    """A metric of a case on every target; `cells` are its rows there, None where that target does not have it.

    `verdict` is one of ORDER; `where` the targets (by place) whose rows have it, or that disagree.
    """

    suite: str
    benchmark: str
    params: Mapping[str, str]
    metric: str
    unit: str
    cells: tuple[Mapping[str, Any] | None, ...]
    verdict: str
    where: tuple[int, ...]

    @property
    def size(self) -> float:
        """The largest change that is told; without one the largest difference at all."""
        told = [
            abs(cell["change"])
            for cell in self.cells
            if cell and cell["verdict"] in TOLD and cell["change"] is not None
        ]
        return max(
            told or [abs(cell["change"]) for cell in self.cells if cell and cell["change"] is not None], default=0.0
        )

    @property
    def sure(self) -> float:
        """The change that is there at least: the bound of an interval that is nearest to zero, the largest over targets."""
        return max((_least(cell) for cell in self.cells if cell), default=0.0)


def _least(row: Mapping[str, Any]) -> float:
    low, high = row["ci_low"], row["ci_high"]
    if low is None or high is None or low <= 0 <= high:
        return 0.0
    return float(min(abs(low), abs(high)))


def targets_named(pairs: Sequence[tuple[str, str]]) -> tuple[Target, ...]:
    """Targets with the shortest names that tell them apart: the platform, with its mode where it has two."""
    platforms = Counter(platform for platform, _ in pairs)
    modes = {mode for _, mode in pairs}
    return tuple(
        Target(platform, mode, platform if platforms[platform] == 1 and len(modes) == 1 else f"{platform} {mode}")
        for platform, mode in pairs
    )


def across(rows: Sequence[Iterable[Mapping[str, Any]]], *, all_metrics: bool = False) -> list[Across]:
    """Of each target's rows the primary ones, or all, in the order in which they first come."""
    held: dict[Key, list[Mapping[str, Any] | None]] = {}
    for place, of_target in enumerate(rows):
        for row in of_target:
            if row["primary"] or all_metrics:
                key = (row["suite"], row["benchmark"], tuple(row["params"].items()), row["metric"], row["unit"])
                cells = held.get(key)
                if cells is None:
                    cells = held[key] = [None] * len(rows)
                cells[place] = row
    return [
        Across(suite, benchmark, dict(params), metric, unit, tuple(cells), *_verdict(cells))
        for (suite, benchmark, params, metric, unit), cells in held.items()
    ]


def _verdict(cells: Sequence[Mapping[str, Any] | None]) -> tuple[str, tuple[int, ...]]:
    verdicts = [cell["verdict"] if cell else None for cell in cells]
    if verdicts[0] and verdicts.count(verdicts[0]) == len(verdicts):
        return verdicts[0], tuple(range(len(verdicts)))
    if "regression" in verdicts and "improvement" in verdicts:
        return "disagree", tuple(place for place, verdict in enumerate(verdicts) if verdict in TOLD)
    found = next(verdict for verdict in ORDER if verdict in verdicts)
    return found, tuple(place for place, verdict in enumerate(verdicts) if verdict == found)


def whereabouts(row: Across, targets: Sequence[Target]) -> str:
    """On which targets a told verdict holds: `both`, `all 3`, `amd-rome only` where every other one saw no change,
    `amd-rome at least` where another could not tell or did not run. Empty on one target, or where nothing is told.
    """
    if len(targets) < 2 or row.verdict not in TOLD:
        return "disagree" if row.verdict == "disagree" else ""
    if len(row.where) == len(targets):
        return "both" if len(targets) == 2 else f"all {len(targets)}"
    names = " and ".join(targets[place].name for place in row.where)
    return f"{names} only" if _alone(row) else f"{names} at least"


def _alone(row: Across) -> bool:
    """Whether every target that does not show the verdict saw that nothing changed."""
    others = [cell for place, cell in enumerate(row.cells) if place not in row.where]
    return all(cell is not None and cell["verdict"] == "unchanged" for cell in others)


_NAMES = {"regression": "regressions", "improvement": "improvements", "disagree": "cases where targets disagree"}
_SINGLE = {"disagree": "case where targets disagree"}


def _counted(count: int, verdict: str) -> str:
    name = _SINGLE.get(verdict, verdict) if count == 1 else _NAMES.get(verdict, verdict)
    return f"{count:,} {name}"


def sentence_across(rows: Sequence[Across], targets: Sequence[Target]) -> str:
    """`2 regressions, 5 improvements, 188 unchanged; on amd-rome only: 1 regression`."""
    counts = Counter(row.verdict for row in rows)
    parts = [_counted(counts[verdict], verdict) for verdict in ORDER if counts[verdict]]
    text = ", ".join(parts) or "nothing compared"
    for place, told in _on_one(rows, targets):
        text += f"; on {targets[place].name} only: {told}"
    return text


def _on_one(rows: Sequence[Across], targets: Sequence[Target]) -> Iterable[tuple[int, str]]:
    if len(targets) < 2:
        return
    for place in range(len(targets)):
        alone = Counter(row.verdict for row in rows if row.verdict in TOLD and row.where == (place,) and _alone(row))
        if alone:
            yield place, ", ".join(_counted(alone[verdict], verdict) for verdict in TOLD if alone[verdict])


def facets(rows: Sequence[Across]) -> list[str]:
    """What told rows have in common: `all 11 regressions are of ringbufs`; only where others could have changed too."""
    found = []
    for verdict in TOLD:
        told = [row for row in rows if row.verdict == verdict]
        for name in ("benchmark", "suite"):
            names = {getattr(row, name) for row in told}
            if len(told) > 1 and len(names) == 1 and len({getattr(row, name) for row in rows}) > 1:
                found.append(f"all {len(told):,} {_NAMES[verdict]} are of {names.pop()}")
                break
    return found
