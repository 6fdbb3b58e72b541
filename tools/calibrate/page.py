"""docs/calibration.md, from what was measured."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from calibrate.figures import Figure
from cliffwatch.comparing.comparison import METHOD_VERSION

_HEAD = """# Calibration

How often the method (version {version}) is wrong, and how much it detects, on noise whose truth is known. Made by `make calibrate` ({minutes:.0f} minutes
on two cores) with the seeds {seeds}, one figure each where there are several, so that the same command gives the same figures. [method.md](method.md) says
what the method is.

- Families have 200 metrics with a spread of 2 % between boots: independent, correlated (half of the variance belongs to the boot), or
  mixed (Gaussian, log-normal, bimodal, spikes). Notable is 1 %.
- Sweeps have 9 to 12 points, each parameter 1.3 to 3 times the one before; noise is that of a boot, where points have boots. A break is placed right
  where its interval contains the parameter of the bend, or both neighbours of the jump, and nothing else is named.
- Neighbours get the same draws; their figures are there to compare.
{nights}
"""

_NIGHTS = """- Real nights are those of one dedicated host of Sandmark (OCaml benchmarks, MIT licence) at fixed commits: nothing changed. They
  also helped to choose the clip, the guard and the threshold of the step detector, so its figures on them flatter it; another host's
  nights would be a fairer judge, and are not to be had here.
"""
_NO_NIGHTS = "- The real nights were not to hand: their figures are missing.\n"


_WATCHING_HEAD = """# Calibration of watching

How many candidates watching raises where nothing stepped, how many steps it finds, and where it puts them. Made by
`make calibrate-watching SEEDS='{numbers}' PART={part}` on {date} at commit {commit} ({minutes:.0f} minutes on two cores beside other work), one figure for each of the
seeds where there are several; they were drawn when the detector was frozen. [method.md](method.md) says what the method is, [calibration.md](calibration.md) has
the figures of comparisons.

- Histories have 500 points with a spread of 1.5 %: Gaussian, log-normal, in two modes, with spikes; a walk (a twentieth of the spread a point),
  correlation (half of each point's deviation is the next one's), ramps of 5 to 25 % in all, slow periods (waves of 40 to 200 points and one to
  two spreads). Where there are steps, there are four, at least twenty points apart.
- Candidates come point by point from the code that the service calls. Neighbours have the same series, the whole of each at once, which is kinder.
- A fresh comparison is of the revision before a candidate's range and of the last one in it. It has the noise of boots, none of the walk, ramp, slow
  period or correlation, which are the host's.
{nights}
"""


def watching_page(
    runs: Mapping[int, Sequence[Figure]], *, minutes: float, nights: bool, part: int = 1
) -> str:
    """As `page`, of the figures of watching alone; of today and of the commit that is checked out."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    head = _WATCHING_HEAD.format(
        numbers=" ".join(map(str, runs)),
        part=part,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        commit=commit,
        minutes=minutes,
        nights=_NIGHTS if nights else _NO_NIGHTS,
    )
    return "\n".join([head, *_tables(_rows(runs))])


def page(runs: Mapping[int, Sequence[Figure]], *, minutes: float, nights: bool, part: int = 1) -> str:
    """`runs` are the figures of each seed; a row has all of them, and is met where every seed meets it."""
    seeds = ", ".join(map(str, runs))
    lines = [
        _HEAD.format(
            version=METHOD_VERSION, minutes=minutes, seeds=seeds, nights=_NIGHTS if nights else _NO_NIGHTS
        )
    ]
    if part > 1:
        lines += [
            f"**One draw in {part}.** `make calibrate` has them all, and the neighbours' programs.",
            "",
        ]
    return "\n".join([*lines, *_tables(_rows(runs))])


def _tables(rows: Sequence[Figure]) -> list[str]:
    judged = [row for row in rows if row.met is not None]
    missed = [row for row in judged if not row.met]
    lines = [
        f"Of {len(judged)} figures with a bar, {len(judged) - len(missed)} meet it, {len(missed)} miss it.",
        "",
    ]
    for bar in dict.fromkeys(row.bar for row in rows):
        lines += [f"## {bar}", "", "| what | method | measured | wanted | |", "|---|---|---|---|---|"]
        for row in rows:
            if row.bar == bar:
                mark = {True: "met", False: "**missed**", None: ""}[row.met]
                lines.append(f"| {row.what} | {row.method} | {row.measured} | {row.wanted} | {mark} |")
        lines.append("")
    return lines


def _rows(runs: Mapping[int, Sequence[Figure]]) -> list[Figure]:
    """Figures of the same thing from several seeds as one row each, in the order of the first seed."""
    same: dict[tuple[str, str, str], list[Figure]] = {}
    for figures in runs.values():
        for figure in figures:
            same.setdefault((figure.bar, figure.what, figure.method), []).append(figure)
    return [
        replace(
            each[0],
            measured=" / ".join(figure.measured for figure in each),
            met=None if each[0].met is None else all(figure.met for figure in each),
        )
        for each in same.values()
    ]
