"""docs/calibration.md, -watching.md, -layouts.md, -matched.md and -time.md with every figure beside them as CSV, from what was measured."""

import csv
import io
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from calibrate.figures import Figure
from cliffwatch.comparing.comparison import METHOD_VERSION

TOPICS: Mapping[str, str] = {
    "B1": "false reports when nothing changed",
    "B2": "detection of one shift",
    "broad": "many rows shifted at once",
    "odd": "unusual distributions",
    "detectable": "the stated detectable change",
    "sizes": "sizes of published changes",
    "means": "geometric means",
    "B4": "coverage of confidence intervals",
    "B5": "equivalence: rows called unchanged",
    "B6": "readings taken for boots",
    "B7": "drift of the host",
    "B13": "boots that would decide",
    "modes": "bimodal boots",
    "cliffs": "break points of sweeps",
    "sides apart": "sides that did not take turns",
    "B1, B2": "other methods on the same draws",
    "adaptive": "boots that staged plans take",
    "B3": "real nights: detection",
    "B8": "real nights: false candidates",
    "B9": "real nights: steps put in",
    "B10": "false changes after confirmation",
    "B11": "cost of detection",
    "B12": "exactness of counted series",
    "B14": "candidates, precision and recall",
    "layouts": "kernels in several layouts, one stage of boots",
    "staged": "kernels in several layouts, the staged plan",
    "matched": "reported changes in matched layouts",
    "time": "plans with a time budget",
}
"""What the figures of a target are about."""

_HEAD = """# Calibration

How often the method (version {version}) is wrong and what it detects, on noise of known truth. Made by
`make calibrate` in {minutes:.0f} minutes on two cores, with the seeds {seeds}, drawn when the method was
frozen. [calibration.csv](calibration.csv) has every figure, one value per seed; [method.md](method.md) has
the method.

- A family has 200 metrics with a spread of 2 % between boots: independent, correlated (half of the variance
  belongs to the boot) or mixed (Gaussian, log-normal, bimodal, spikes). The threshold is 1 %.
- A sweep has 9 to 12 points, each parameter 1.3 to 3 times the one before. A break counts as found if its
  interval contains the bend, or both neighbours of the jump, and no other break is named.
{nights}
"""

_NIGHTS = """- Real nights are from one dedicated host of Sandmark (OCaml benchmarks, MIT licence) at fixed commits:
  nothing changed. The step detector was tuned on them, so its figures on them are flattering.
"""
_NO_NIGHTS = "- The real nights were not available: their figures are missing.\n"


_WATCHING_HEAD = """# Calibration of watching

How many candidates watching raises if nothing stepped, how many steps it finds and where it puts them. Made
by `make calibrate-watching SEEDS='{numbers}' PART={part}` on {date} at commit {commit},
in {minutes:.0f} minutes on two cores; the seeds were drawn when the detector was frozen.
[calibration-watching.csv](calibration-watching.csv) has every figure, one value per seed.

- A history has 500 points with a spread of 1.5 %: Gaussian, log-normal, bimodal, with spikes; a random walk
  (a twentieth of the spread per point), serial correlation of 0.5, ramps of 5 to 25 % in all, slow periods
  (waves of 40 to 200 points and one to two spreads). Histories with steps have four, at least twenty points
  apart.
- Candidates come point by point from the code that the service runs. Other detectors see each whole series at
  once, which is easier.
- A fresh comparison measures the revision before a candidate's range and the last one in it, with the noise
  of boots alone.
{nights}
"""


_LAYOUTS_HEAD = """# Calibration of layouts

What the method makes of kernels whose code lies elsewhere in each image. Made by
`make calibrate-layouts SEEDS='{numbers}' PART={part}` on {date} at commit {commit}, in {minutes:.0f} minutes
on two cores; the seeds were drawn when plan and method were frozen.
[calibration-layouts.csv](calibration-layouts.csv) has every figure, one value per seed.

- A family has 20 rows, one of which is 6 % slower. Each layout moves each row by a draw of its own (standard
  deviations of 0 to 5 %), each boot by 0.6 %.
- One stage: 24 boots of each kernel, which take the layouts in turn. The staged plan: 10 boots, then up to 42
  of open rows, each in a new layout. Beside both, one layout of each kernel at equal guest time: what a plan
  without layouts reports.
- These are simulated layouts. How far real ones move a row is measured by each run and stands in its report.
"""


_MATCHED_HEAD = """# Calibration of matched layouts

How often `--matched` says something false of a reported change. Made by
`make calibrate-matched SEEDS='{numbers}' PART={part}` on {date} at commit {commit}, in {minutes:.0f} minutes
on two cores; the seeds were drawn when the rule was frozen.
[calibration-matched.csv](calibration-matched.csv) has every figure, one value per seed.

- A run has one row and the staged plan: 10 boots in four to eight layouts, then up to 42, each in a new layout.
  Layouts move the row by standard deviations of 0 to 5 %, boots by 0.6 %.
- Head differs by its code (0 to 10 %), by its placement (0 or 3 %: its own layouts are slower, matched ones are
  not), or by both. Of each layout's luck a draw of half its size stays, as of functions that matching cannot move.
- Of a change of the code "may be due to placement alone" is false, from the threshold of 1 % on; of any other
  "not due to placement alone". The 95 % interval of a row promises at most 5 % of either.
"""


_TIME_HEAD = """# Calibration of time budgets

Whether what `--time` says will be detectable is right. Made by
`make calibrate-time SEEDS='{numbers}' PART={part}` on {date} at commit {commit}, in {minutes:.0f} minutes
on two cores; the seeds were drawn when the plan was frozen.
[calibration-time.csv](calibration-time.csv) has every figure, one value per seed.

- A run has one or six rows. The spread between layouts, boots and readings differs by the host, and by a
  factor of two either way between its rows. A link takes 30 s and a boot 10 s and 4 s a case, or more.
- The first stage is simulated, the rest is chosen from it, and the change that it says will be detectable is
  held against that of the true variances at the same boots, and against what the rows report at the end.
- Where few layouts lie far off, rank tests detect smaller changes than the variance says. There it is held
  against the change that the tests find with a power of 0.8, by simulation.
"""


def watching_page(
    runs: Mapping[int, Sequence[Figure]], *, minutes: float, nights: bool, part: int = 1
) -> str:
    """The page on watching, with today's date and the commit that is checked out."""
    return _dated(_WATCHING_HEAD, runs, minutes, part, nights=_NIGHTS if nights else _NO_NIGHTS)


def layouts_page(runs: Mapping[int, Sequence[Figure]], *, minutes: float, nights: bool, part: int = 1) -> str:
    """The page on layouts, dated likewise. It has no real nights."""
    del nights
    return _dated(_LAYOUTS_HEAD, runs, minutes, part)


def matched_page(runs: Mapping[int, Sequence[Figure]], *, minutes: float, nights: bool, part: int = 1) -> str:
    """The page on matched layouts, dated likewise."""
    del nights
    return _dated(_MATCHED_HEAD, runs, minutes, part)


def time_page(runs: Mapping[int, Sequence[Figure]], *, minutes: float, nights: bool, part: int = 1) -> str:
    """The page on time budgets, dated likewise."""
    del nights
    return _dated(_TIME_HEAD, runs, minutes, part)


def _dated(head: str, runs: Mapping[int, Sequence[Figure]], minutes: float, part: int, **words: str) -> str:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    text = head.format(
        numbers=" ".join(map(str, runs)),
        part=part,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        commit=commit,
        minutes=minutes,
        **words,
    )
    return "\n".join([text, *summary(merge_seeds(runs))])


def page(runs: Mapping[int, Sequence[Figure]], *, minutes: float, nights: bool, part: int = 1) -> str:
    """The page on comparisons. `runs` has the figures of each seed."""
    seeds = ", ".join(map(str, runs))
    lines = [
        _HEAD.format(
            version=METHOD_VERSION, minutes=minutes, seeds=seeds, nights=_NIGHTS if nights else _NO_NIGHTS
        )
    ]
    if part > 1:
        lines += [
            f"**One draw in {part}.** `make calibrate` makes all, with the other methods' programs.",
            "",
        ]
    return "\n".join([*lines, *summary(merge_seeds(runs))])


def table(rows: Sequence[Figure]) -> str:
    """Every figure as CSV: topic, what, method, measured, wanted, met (yes, no or empty)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["topic", "what", "method", "measured", "wanted", "met"])
    for row in rows:
        met = "" if row.met is None else "yes" if row.met else "no"
        writer.writerow([TOPICS[row.bar], row.what, row.method, row.measured, row.wanted, met])
    return out.getvalue()


def summary(rows: Sequence[Figure]) -> list[str]:
    """Lines of Markdown: targets by topic, then each missed target whole."""
    judged = [row for row in rows if row.met is not None]
    missed = [row for row in judged if not row.met]
    lines = [f"{len(judged) - len(missed)} of {len(judged)} targets are met.", ""]
    lines += ["| topic | figures | targets met |", "|---|---|---|"]
    for bar in dict.fromkeys(row.bar for row in rows):
        of_topic = [row for row in rows if row.bar == bar]
        wanted = [row for row in of_topic if row.met is not None]
        met = f"{sum(bool(row.met) for row in wanted)} of {len(wanted)}" if wanted else "none set"
        lines.append(f"| {TOPICS[bar]} | {len(of_topic)} | {met} |")
    lines += ["", "## Missed", "", "| what | measured, by seed | target |", "|---|---|---|"]
    lines += [f"| {row.what} | {row.measured} | {row.wanted} |" for row in missed]
    return [*lines, ""]


def merge_seeds(runs: Mapping[int, Sequence[Figure]]) -> list[Figure]:
    """One row per figure, with the values of all seeds; met if every seed meets its target."""
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
