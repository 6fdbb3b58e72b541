"""Measures what watching costs on one core: `make measure-watching` (CPU seconds; bars of
docs/performance.md).

3,000 histories of 5,000 points, ten steps each, of five kinds of noise that calibration has and of all
eight: all steps from nothing, and then one new revision of every series.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from calibrate.histories import FIVE, HISTORY_KINDS, STEP_SIZES, HistoryKind, noise_over_time
from calibrate.noise import Values

from cliffwatch.stats.history.steps import HORIZON, Step, steps
from cliffwatch.stats.history.watch import new_candidates

SERIES, POINTS, STEPS = 3000, 5000, 10
MOST_FROM_NOTHING, MOST_FOR_ONE = 20.0, 1.0


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else SERIES
    for kinds in (FIVE, HISTORY_KINDS):
        _measure(kinds, count)
    return 0


def _measure(kinds: Sequence[HistoryKind], count: int) -> None:
    series = [_history(kinds[number % len(kinds)], number) for number in range(count)]
    began = time.process_time()
    found = [steps(logs) for logs in series]
    from_nothing = time.process_time() - began
    recent = [(logs[-HORIZON:], _known(each)) for logs, each in zip(series, found, strict=True)]
    began = time.process_time()
    for logs, known in recent:
        new_candidates(logs, known)
    for_one = time.process_time() - began
    for what, seconds, most in (
        (f"{count:,} series of {POINTS:,} points from nothing", from_nothing, MOST_FROM_NOTHING),
        (f"one new revision of {count:,} series", for_one, MOST_FOR_ONE),
    ):
        share = most * count / SERIES
        met = "met" if seconds <= share else f"missed, {seconds / share:.1f} times"
        print(
            f"{len(kinds)} kinds of noise, {what}: {seconds:.2f} s of CPU, at most {share:g} s wanted: {met}"
        )


def _history(kind: HistoryKind, number: int) -> Values:
    generator = np.random.default_rng((15, number))
    logs = noise_over_time(generator, kind, POINTS)
    for index in generator.choice(POINTS, STEPS):
        logs[index:] += np.log1p(generator.choice(STEP_SIZES) * generator.choice([-1, 1]))
    return logs


def _known(found: list[Step]) -> list[Step]:
    """The steps in the newest points, as a watch has them that reported each when it came."""
    start = POINTS - HORIZON
    return [
        replace(each, index=each.index - start, first=each.first - start, last=each.last - start)
        for each in found
    ]


if __name__ == "__main__":
    sys.exit(main())
