"""Draws the two plots of docs/method.md: `make plots` (Matplotlib in an environment of its own, figures from
fixed seeds).
"""

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from calibrate.families import METRICS, published, staged_family  # noqa: E402
from calibrate.noise import Values, family  # noqa: E402

from cliffwatch.stats.boot_values import boot_values  # noqa: E402
from cliffwatch.stats.deciding import StagedValues, decide_fixed, decide_staged  # noqa: E402
from cliffwatch.stats.ranks import two_samples  # noqa: E402
from cliffwatch.stats.stages import CAREFUL  # noqa: E402

BLUE, ORANGE, GREY = "#0b66b3", "#c2570c", "#6b7680"
SPREAD = 0.02
REPEATS = 150


def main() -> int:
    plt.rcParams.update(
        {"svg.hashsalt": "cliffwatch", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
    )
    _draw("method-false-alarms.svg", false_alarms)
    _draw("method-power.svg", power)
    return 0


def _draw(name: str, plot: Callable[[plt.Axes], None]) -> None:
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    plot(axes)
    figure.savefig(ROOT / "docs" / name, metadata={"Date": None})
    plt.close(figure)


def _null(generator: np.random.Generator, metrics: int, boots: int) -> tuple[Values, Values]:
    return family(generator, "mixed", metrics, boots, SPREAD), family(
        generator, "mixed", metrics, boots, SPREAD
    )


def false_alarms(axes: plt.Axes) -> None:
    """How often a report of a kernel against itself has a change, by the number of its rows."""
    sizes = [1, 5, 20, 50, 100, 200]
    plain, ours = [], []
    for size in sizes:
        flagged = false = 0
        for seed in range(REPEATS):
            generator = np.random.default_rng((1, size, seed))
            flagged += bool((two_samples(*_null(generator, size, 21)).p() <= 0.05).any())
            first, fresh = (
                _null(generator, size, CAREFUL.screen),
                _null(generator, size, CAREFUL.looks[-1].boots),
            )
            rows = [
                StagedValues(screened=boot_values(*screened), confirming=boot_values(*confirming))
                for screened, confirming in zip(
                    zip(*first, strict=True), zip(*fresh, strict=True), strict=True
                )
            ]
            decided = decide_staged(rows, CAREFUL, margin=0.01)
            false += any(map(published, decided))
        plain.append(100 * flagged / REPEATS)
        ours.append(100 * false / REPEATS)
    axes.plot(sizes, plain, "s--", color=ORANGE, label="p < 0.05 in each row")
    axes.plot(sizes, ours, "o-", color=BLUE, label="Cliffwatch")
    axes.set(xlabel="rows in the report", ylabel="reports with a false change, %", ylim=(-2, 102))
    axes.legend(frameon=False)


def power(axes: plt.Axes) -> None:
    """How often one real change among 200 rows is reported, by its size."""
    sizes = [0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05]
    ours, single = [], []
    for size in sizes:
        detected = fixed = 0
        for seed in range(REPEATS):
            generator = np.random.default_rng((2, int(1e4 * size), seed))
            shifts = np.zeros(METRICS)
            shifts[0] = np.log1p(size)
            detected += published(staged_family(generator, "mixed", shifts, CAREFUL)[0])
            base, head = _null(generator, METRICS, 21)
            rows = [boot_values(*arms) for arms in zip(base, head + shifts[:, None], strict=True)]
            fixed += published(decide_fixed(rows, margin=0.01, alpha=0.01)[0])
        ours.append(100 * detected / REPEATS)
        single.append(100 * fixed / REPEATS)
    percents = [100 * size for size in sizes]
    axes.plot(percents, ours, "o-", color=BLUE, label="21 boots, then 30 of the candidates")
    axes.plot(percents, single, "s--", color=GREY, label="21 boots alone, the same error")
    axes.set(xlabel="size of the change, % (boots spread by 2 %)", ylabel="detected, %", ylim=(-2, 102))
    axes.legend(frameon=False)


if __name__ == "__main__":
    sys.exit(main())
