"""Calibrates the method and writes docs/calibration.md.

    make calibrate                   everything, about an hour on two cores
    make calibrate SEEDS="1 2 3"     with these seeds; the page has the figures of each
    make calibrate-watching          steps of histories alone; writes docs/calibration-watching.md
    make calibrate-layouts           kernels in several layouts alone; writes docs/calibration-layouts.md
    make calibrate-matched           what matched layouts say alone; writes docs/calibration-matched.md
    make calibrate-time              plans with a time budget alone; writes docs/calibration-time.md
    python tools/calibrate --quick   a part of it, on the screen: what CI runs

`--nights FILE` names the real nights (CSV with variant, commit, benchmark, night, seconds, gzipped);
without it their figures are left out, and the page says so.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from calibrate import (  # noqa: E402
    apart,
    cliffs,
    families,
    history,
    intervals,
    layouts,
    matched_layouts,
    neighbours,
    odd_families,
    real,
    sizes,
    staged_layouts,
    time_budget,
    watching,
)
from calibrate.figures import Figure  # noqa: E402
from calibrate.nights import groups, read_nights  # noqa: E402
from calibrate.page import (  # noqa: E402
    layouts_page,
    matched_page,
    merge_seeds,
    page,
    table,
    time_page,
    watching_page,
)

_LEAST_NIGHTS = 58
_QUICK = 20
_APART = 10_000_000
"""So far apart begin the draws of two seeds."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument(
        "--part", type=int, default=1, metavar="N", help="one draw in N, for a first look at a new method"
    )
    parser.add_argument("--page", choices=PAGES, default="calibration.md", help="the page to write")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument(
        "--nights", type=Path, default=ROOT.parent / "shared" / "data" / "sandmark-navajo-aa.csv.gz"
    )
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    make, write = PAGES[options.page]
    out = options.out or ROOT / "docs" / options.page
    began = time.monotonic()
    runs: dict[int, list[Figure]] = {seed: [] for seed in options.seeds}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for seed, figures in runs.items():
            scale = _QUICK if options.quick else options.part
            for figure in make(pool, options.nights, seed, scale=scale, once=seed == options.seeds[0]):
                figures.append(figure)
                mark = {True: "met", False: "MISSED", None: ""}[figure.met]
                print(
                    f"{figure.bar:>10}  {mark:<6}  {figure.measured:<28}  {figure.what} ({figure.method})",
                    flush=True,
                )
            if not options.quick:
                minutes = (time.monotonic() - began) / 60
                done = {each: figures for each, figures in runs.items() if figures}
                out.write_text(
                    write(done, minutes=minutes, nights=options.nights.exists(), part=options.part)
                )
                out.with_suffix(".csv").write_text(table(merge_seeds(done)))
    return 0


def _figures(
    pool: ProcessPoolExecutor, nights: Path, seed: int, *, scale: int, once: bool
) -> Iterator[Figure]:
    """All figures of one seed, from one draw in `scale`; those that no seed enters, or that are neighbours',
    are made once.
    """
    repeats = 4000 // scale

    def draws(count: int) -> range:
        return range(seed * _APART, seed * _APART + count // scale)

    yield from families.staged_figures(draws(2000), pool)
    yield from odd_families.broad_figures(draws(1000), pool)
    yield from odd_families.odd_figures(draws(2000), pool)
    yield from sizes.detectable_figures(draws(2000), pool)
    yield from sizes.pairs_figures(draws(2000), pool)
    yield from sizes.published_figures(draws(1500), pool)
    yield from sizes.mean_figures(1000 // scale, seed)
    for part in (
        intervals.coverage,
        intervals.equivalence,
        intervals.odd_equivalence,
        intervals.boots_and_readings,
        intervals.drift,
        intervals.needs,
        intervals.modes,
    ):
        yield from part(repeats, seed)
    yield from cliffs.cliff_figures(draws(500), pool)
    yield from apart.apart_figures(draws(200), pool)
    yield from apart.few_figures(draws(400), pool)
    if not once:
        return
    yield from families.rival_figures(draws(500), pool)
    yield from families.cost_figures(draws(500), pool)
    if nights.exists():
        yield from _on_nights(pool, nights, scale)
    if scale == 1:
        yield from neighbours.benchstat_figures(100)


def _layouts(
    pool: ProcessPoolExecutor, nights: Path, seed: int, *, scale: int, once: bool
) -> Iterator[Figure]:
    """Kernels in several layouts, in one stage and in two."""
    del nights, once
    draws = range(seed * _APART, seed * _APART + max(2, 400 // scale))
    yield from layouts.layout_figures(draws, pool)
    yield from staged_layouts.staged_layout_figures(draws, pool)


def _matched(
    pool: ProcessPoolExecutor, nights: Path, seed: int, *, scale: int, once: bool
) -> Iterator[Figure]:
    """Changes in matched layouts."""
    del nights, once
    draws = range(seed * _APART, seed * _APART + max(2, 400 // scale))
    yield from matched_layouts.matched_figures(draws, pool)


def _time(pool: ProcessPoolExecutor, nights: Path, seed: int, *, scale: int, once: bool) -> Iterator[Figure]:
    """Plans with a time budget."""
    del nights, once
    yield from time_budget.time_figures(range(seed * _APART, seed * _APART + max(2, 1000 // scale)), pool)


def _watching(
    pool: ProcessPoolExecutor, nights: Path, seed: int, *, scale: int, once: bool
) -> Iterator[Figure]:
    """What watching raises: made-up histories of every seed, and what no seed enters once."""
    first = seed * _APART
    yield from watching.watching_figures(range(first, first + max(2, 100 // scale)), pool, neighbours=once)
    if not once:
        return
    yield from history.cost()
    yield from history.machine()
    if nights.exists():
        series = read_nights(nights)
        yield from history.real_nights(series, max(1, 6 // scale))
        yield from neighbours.history_figures(series, 1)


def _on_nights(pool: ProcessPoolExecutor, path: Path, scale: int) -> Iterator[Figure]:
    series = read_nights(path)
    long = {
        host: np.log(
            np.stack([nights[:_LEAST_NIGHTS] for nights in of_host.values() if len(nights) >= _LEAST_NIGHTS])
        )
        for host, of_host in groups(series).items()
        if sum(len(nights) >= _LEAST_NIGHTS for nights in of_host.values()) > 1
    }
    yield from real.real_figures(long, 400 // scale, pool)


PAGES = {
    "calibration.md": (_figures, page),
    "calibration-watching.md": (_watching, watching_page),
    "calibration-layouts.md": (_layouts, layouts_page),
    "calibration-matched.md": (_matched, matched_page),
    "calibration-time.md": (_time, time_page),
}


if __name__ == "__main__":
    sys.exit(main())
