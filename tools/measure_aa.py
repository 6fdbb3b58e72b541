"""Measures a kernel against itself: how well every case repeats, and whether a verdict would have been wrong.

    .venv/bin/python tools/measure_aa.py TREE [--boots 4] [--suite all] [--profile smoke] [--out DIR] [--write]
    .venv/bin/python tools/measure_aa.py --results DIR... [--write]

Prints the largest difference between boots of every metric of every case, beyond a step of its printed
digits, the least repeatable first, and every verdict of base against head that is a change; ends with 1 if
there is one. `--write` puts the differences into suites/repeatability.csv, in place of the rows of the
same cases: what it says is of counted values alone, with the kernel, the emulator and the day. `--results`
takes finished runs instead of measuring.
"""

import argparse
import csv
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cliffwatch.catalogue.folder import suites_folder
from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.catalogue.repeatability import COLUMNS, FILE
from cliffwatch.comparing.compare_run import compare_run, sides_of_run
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.samples import PROGRAM_PARAM

ROOT = Path(__file__).parents[1]


class Repeated(NamedTuple):
    """A row of suites/repeatability.csv."""

    case: str
    metric: str
    boots: int
    difference: float
    kernel: str
    emulator: str
    day: str


def main() -> int:
    options = _options()
    folders = options.results or [_measure(options)]
    runs = [_read(folder) for folder in folders]
    repeated = sorted(_repeated(runs), key=lambda row: -row.difference)
    for row in repeated:
        print(f"{row.difference:9.4%}  {row.boots} boots  {row.case} {row.metric}")
    wrong = [row for run in runs for row in _changes(run)]
    for change in wrong:
        print(f"a false change: {change}")
    if options.write:
        print(f"{_write(repeated)} rows in suites/{FILE}")
    return 1 if wrong else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", nargs="?")
    parser.add_argument("--results", type=Path, nargs="+", metavar="DIR")
    parser.add_argument(
        "--boots", type=int, default=4, help="of the kernel, half of them as base and half as head"
    )
    parser.add_argument("--suite", default="all")
    parser.add_argument("--profile", default="smoke")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--out", type=Path, default=Path("cliffwatch-results/aa"))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if bool(options.tree) == bool(options.results):
        parser.error("name a tree to measure, or finished runs with --results")
    return options


def _measure(options: argparse.Namespace) -> Path:
    argv = [
        Path(sys.executable).parent / "cliffwatch",
        "run",
        "--tree",
        options.tree,
        "--base",
        "HEAD",
        "--head",
        "HEAD",
    ]
    argv += ["--mode", "icount", "--suite", options.suite, "--profile", options.profile, "--all-metrics"]
    argv += ["--boots", max(1, options.boots // 2), "--out", options.out]
    argv += ["--cache", options.cache] if options.cache else []
    ended = subprocess.run([*map(str, argv), "--report-out", f"{options.out}.txt"], check=False)
    if ended.returncode not in (0, 3):
        sys.exit(ended.returncode)
    return Path(options.out)


def _read(folder: Path) -> Run:
    run = read_run(folder)
    if isinstance(run, Failure):
        sys.exit(f"{run.message}\n  {run.next_step}")
    if run.record.mode != "icount" or len({arm.facts["kernel"] for arm in run.arms.values()}) > 1:
        sys.exit(f"{folder}: this needs a run in icount mode whose kernels are the same")
    return run


def _repeated(runs: Sequence[Run]) -> Iterator[Repeated]:
    """Of all boots of all runs, which are of one kernel and one emulator."""
    about = {(run.arms["base"].facts["release"], _emulator(run)) for run in runs}
    if len(about) > 1:
        sys.exit("these runs are of different kernels or emulators; name those of one")
    ((kernel, emulator),) = about
    values: dict[tuple[str, str], list[float]] = {}
    steps: dict[tuple[str, str], float] = {}
    for boot in (boot for run in runs for arm in run.arms.values() for boot in arm.boots):
        for sample in boot.samples:
            key = str(sample.case), sample.metric
            values.setdefault(key, []).append(sample.value)
            steps[key] = max(steps.get(key, 0.0), sample.resolution)
    day = max(run.record.created for run in runs)[:10]
    for (case, metric), each in values.items():
        if len(each) > 1 and min(each) >= 0:
            apart = max(0.0, max(each) - min(each) - steps[case, metric])
            difference = apart / min(each) if min(each) else float(apart > 0)
            yield Repeated(case, metric, len(each), difference, kernel, emulator, day)


def _emulator(run: Run) -> str:
    return f"QEMU {(run.record.host or {})['programs']['qemu']}"


def _changes(run: Run) -> Iterator[str]:
    found = compare_run(sides_of_run(run))
    if isinstance(found, Failure):
        sys.exit(f"{run.path}: {found.message}")
    for row in found.rows:
        if row.verdict in ("regression", "improvement", "changed"):
            yield f"{row.case} {row.metric}: {row.verdict} {row.change}: {row.reason}"


def _write(repeated: Sequence[Repeated]) -> int:
    catalogue, file = load_catalogue(), suites_folder() / FILE
    known = list(csv.DictReader(file.read_text().splitlines())) if file.exists() else []
    rows = {(row["case"], row["metric"]): row for row in known}
    for row in repeated:
        benchmark = catalogue.benchmark(row.case.partition("/")[0])
        # What the verifier counts is exact in every mode, and boots of one kernel say too little of loads.
        of_verifier = f"/{PROGRAM_PARAM}=" in row.case
        if benchmark is not None and benchmark.icount.assume == "exact" and not of_verifier:
            content = row._replace(difference=round(row.difference, 8))._asdict()
            rows[row.case, row.metric] = {name: str(value) for name, value in content.items()}
    with file.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for _, row in sorted(rows.items()))
    return len(rows)


if __name__ == "__main__":
    sys.exit(main())
