"""Rehearses a kernel against itself again and again, and checks that nothing is reported.

    .venv/bin/python tools/rehearse_aa.py TREE [--seed N] [--runs 20] [--cases 6] [--boots 8] [--pin CPU]

Each run measures cases of profile standard, one of each of some suites of bench that the seed draws, in
walltime on an emulated processor, in as many layouts as boots: base and head are one revision. A run that ended
is not repeated. `--first 11` begins with the eleventh. Prints each run's rows and what was reported; ends with
1 if anything was, or if a run failed.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent)]

from cost_shift.command import run_cliffwatch  # noqa: E402

from cliffwatch.catalogue.load import load_catalogue  # noqa: E402

CHANGES = ("regression", "improvement", "changed")
APART = ("veristat", "xdp-lb", "cilium-ebpf", "prog-run")
"""Suites with programs of their own, some of minutes a case."""


def main() -> int:
    options = _options()
    suites = dict(_cases())
    wrong = measured = 0
    for number in range(options.first, options.runs + 1):
        draw = random.Random(f"{options.seed}/{number}")
        drawn = [draw.choice(suites[name]) for name in draw.sample(sorted(suites), options.cases)]
        rows = _measure(options.out / f"seed-{options.seed}" / f"r{number:02}", suites, drawn, options)
        if rows is None:
            print(f"run {number:2}: not measured", flush=True)
            wrong += 1
            continue
        judged = [row for row in rows if row["primary"]]
        reported = [row for row in judged if row["verdict"] in CHANGES]
        measured += len(judged)
        print(f"run {number:2}: {len(reported)} of {len(judged)} rows reported", flush=True)
        for row in reported:
            print(f"    {row['benchmark']} {row['params']} {row['change']:+.2%} {row['verdict']}", flush=True)
        wrong += bool(reported)
    print(f"{options.runs - options.first + 1 - wrong} runs without a report, {measured} rows")
    return 1 if wrong else 0


def _cases() -> Iterator[tuple[str, list[str]]]:
    """Each suite's cases that a guest with one CPU can run."""
    for suite in load_catalogue().suites:
        cases = [
            str(case.key)
            for case in suite.cases("standard")
            if case.min_cpus == 1 and case.guest.cpus in (None, 1) and case.guest.possible_cpus is None
        ]
        if cases and suite.name not in APART:
            yield suite.name, cases


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--cases", type=int, default=6, help="of each run, of as many suites")
    parser.add_argument("--boots", type=int, default=8, help="of each kernel")
    parser.add_argument("--pin", help="CPU of the guests")
    parser.add_argument("--out", type=Path, default=Path("cliffwatch-results/rehearse-aa"))
    parser.add_argument("--cache", type=Path)
    return parser.parse_args()


def _measure(
    folder: Path, suites: Iterable[str], drawn: Iterable[str], options: argparse.Namespace
) -> "list[dict[str, Any]] | None":
    words = ["run", "--tree", options.tree, "--base", "HEAD", "--head", "HEAD", "--profile", "standard"]
    words += ["--mode", "walltime", "--accel", "tcg", "--boots", options.boots, "--out", folder]
    # All of them, so that every run has one configuration and one kernel.
    words += ["--suite", ",".join(suites), *(word for case in drawn for word in ("--case", case))]
    words += ["--pin", options.pin] if options.pin else []
    words += ["--cache", options.cache] if options.cache else []
    if run_cliffwatch(*words) is None:
        return None
    report = run_cliffwatch("compare", folder, "--format", "json")
    return None if report is None else json.loads(report)["comparisons"]


if __name__ == "__main__":
    sys.exit(main())
