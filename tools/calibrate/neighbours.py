"""What neighbours say of the same draws: benchstat as its own program, Otava and SPA in environments of their
own.
"""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from calibrate.families import METRICS, SPREAD
from calibrate.figures import Figure, share
from calibrate.history import SIZES, Report, scored
from calibrate.noise import KINDS, Values, family

_PROGRAMS = Path(__file__).parent / "programs"
_NEIGHBOURS = Path(__file__).parents[2] / ".venv" / "neighbours"
"""Where tools/install-neighbours.sh puts them, each with the numpy that it pins."""

_OTHERS = {
    "Apache Otava 0.8.0, defaults": ("otava", "otava_steps.py"),
    "SPA 2.1.6, defaults": ("spa", "spa_steps.py"),
}


def benchstat_figures(families: int) -> Iterator[Figure]:
    """A family of 200 metrics of 21 boots an arm, nothing changed: how often benchstat's table shows a
    change.
    """
    benchstat = shutil.which("benchstat") or str(Path.home() / "go" / "bin" / "benchstat")
    for kind in KINDS:
        flagged = 0
        for seed in range(families):
            generator = np.random.default_rng(seed)
            base, head = (
                family(generator, kind, METRICS, 21, SPREAD),
                family(generator, kind, METRICS, 21, SPREAD),
            )
            flagged += _benchstat_flags(benchstat, base, head)
        yield Figure(
            bar="B1",
            what=f"{kind}: anything flagged of nothing, 21 boots",
            method="benchstat (the program)",
            measured=share(flagged, families),
            wanted="",
            met=None,
        )


def _benchstat_flags(benchstat: str, base: Values, head: Values) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        for name, arm in (("base", base), ("head", head)):
            lines = [
                f"BenchmarkM{row} 1 {1000 * np.exp(value):.6f} ns/op"
                for row, boots in enumerate(arm)
                for value in boots
            ]
            (Path(folder) / name).write_text("\n".join(lines) + "\n")
        argv = [benchstat, "-format", "csv", f"{folder}/base", f"{folder}/head"]
        table = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    rows = [line.split(",") for line in table.splitlines() if line.startswith("M")]
    return any(cells[5] not in ("~", "") for cells in rows)


def history_figures(nights: Mapping[str, Values], repeats: int) -> Iterator[Figure]:
    """The whole series at once, which is kinder than point by point."""
    logs = [np.log(series) for series in nights.values()]
    points = sum(map(len, logs))
    generator = np.random.default_rng(8)
    truths, moved = [], []
    for series in logs * repeats:
        size = float(generator.choice(SIZES) * generator.choice([-1, 1]))
        index = int(generator.integers(15, len(series) - 10))
        truths.append([(index, size)])
        moved.append(series + np.log1p(size) * (np.arange(len(series)) >= index))
    of_unmoved, of_moved = other_steps(logs), other_steps(moved)
    for name in _OTHERS:
        alarms = sum(map(len, of_unmoved[name]))
        yield Figure(
            bar="B8",
            what=f"real nights, nothing changed: alarms in 1000 points, of {points}",
            method=name,
            measured=f"{1000 * alarms / points:.2f}",
            wanted="",
            met=None,
        )
        reports = [
            (truth, [Report(index, len(series), _size(series, index)) for index in indexes])
            for truth, series, indexes in zip(truths, moved, of_moved[name], strict=True)
        ]
        score = scored(reports)
        yield Figure(
            bar="B9",
            what="real nights, one step of 1 to 5 % put in: F1; recall of 2 %",
            method=name,
            measured=f"{score.f1:.3f}; {score.detected[0.02] / score.made[0.02]:.3f}",
            wanted="",
            met=None,
        )


def _size(series: Values, index: int) -> float:
    return float(np.median(series[index:]) - np.median(series[:index])) if 0 < index < len(series) else 0.0


def other_steps(logs: Sequence[Values]) -> dict[str, list[list[int]]]:
    """What each neighbour says of series of logs, the whole of each at once. Raises FileNotFoundError where
    it is not installed.
    """
    series = json.dumps([np.exp(each).tolist() for each in logs])
    said = {}
    for name, (environment, program) in _OTHERS.items():
        python = _NEIGHBOURS / environment / "bin" / "python"
        argv = [str(python), str(_PROGRAMS / program)]
        ended = subprocess.run(argv, check=True, input=series, capture_output=True, text=True)
        said[name] = [[int(index) for index in indexes] for indexes in json.loads(ended.stdout)]
    return said
