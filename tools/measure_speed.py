"""Measures what people wait for, beside the program that they know: `.venv/bin/python
tools/measure_speed.py`.

Whole processes, medians of ten taken in turns, against the bars of docs/performance.md. Needs benchstat in
.venv/bin (make test-programs); Otava runs in an environment of its own.
"""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cliffwatch.stats.history.steps import steps
from cliffwatch.stats.history.watch import Watch

BIN = Path(sys.executable).parent
REPEATS = 10

_OTAVA = """
import json, sys, time
from otava.analysis import compute_change_points
values = json.load(sys.stdin)
compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=0.0)
began = time.perf_counter()
compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=0.0)
print(time.perf_counter() - began)
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """What a process may take, in seconds: `times` what another takes, and `more`."""

    name: str
    other: str | None
    times: float
    more: float


START, BENCHSTAT, OURS = "python -c 'import numpy'", "benchstat, {} metrics", "compare, {} metrics"
BARS = (
    Bar(OURS.format("200"), START, 1.0, 0.1),
    Bar(OURS.format("10,000"), BENCHSTAT.format("10,000"), 1.0, 0.0),
    Bar("--help", None, 0.0, 0.4),
)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        seconds = _in_turns(_processes(folder))
    for line in _table(seconds):
        print(line)
    logs = np.random.default_rng(12).normal(0, 0.015, size=5000)
    logs[2500:] += 0.03
    mine = min(_timed(lambda: steps(logs)) for _ in range(REPEATS))
    otava = _otava([float(value) for value in np.exp(logs)])
    print(
        f"a series of 5000 points: {1000 * mine:.1f} ms, Otava {1000 * otava:.1f} ms, {otava / mine:.0f}"
        " times as many a second"
    )
    watches = [Watch(logs=[float(value) for value in logs[:300]]) for _ in range(3000)]
    print(f"one point more on 3000 series: {_timed(lambda: [watch.append(0.0) for watch in watches]):.2f} s")
    return 0


def _processes(folder: str) -> dict[str, list[str]]:
    processes = {START: [sys.executable, "-c", "import numpy"], "--help": [str(BIN / "cliffwatch"), "--help"]}
    for metrics in (200, 10_000):
        files = _files(folder, metrics)
        processes[BENCHSTAT.format(f"{metrics:,}")] = [str(BIN / "benchstat"), *files]
        processes[OURS.format(f"{metrics:,}")] = [str(BIN / "cliffwatch"), "compare", *files]
    return processes


def _files(folder: str, metrics: int) -> list[str]:
    """Two files of 21 boots of each metric."""
    generator = np.random.default_rng(1)
    files = [f"{folder}/base{metrics}", f"{folder}/head{metrics}"]
    for file in files:
        lines = [
            f"BenchmarkM{metric} 1 {value:.4f} ns/op"
            for metric in range(metrics)
            for value in 1000 * np.exp(generator.normal(0, 0.02, 21))
        ]
        Path(file).write_text("\n".join(lines) + "\n")
    return files


def _in_turns(processes: Mapping[str, list[str]]) -> dict[str, tuple[float, float]]:
    """The medians of wall clock and CPU of each: a host that grows slower in between slows all of them."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in processes}
    for turn in range(REPEATS + 1):
        for name, argv in processes.items():
            seconds = _process(argv)
            if turn:  # the first fills caches
                taken[name].append(seconds)
    return {name: tuple(map(statistics.median, zip(*each, strict=True))) for name, each in taken.items()}  # type: ignore[misc]


def _process(argv: list[str]) -> tuple[float, float]:
    """Wall clock and CPU of a whole process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = _timed(lambda: subprocess.run(argv, check=True, stdout=subprocess.DEVNULL))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _table(seconds: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    """A line a process; with its bar, of wall clock, where it has one."""
    bars = {bar.name: bar for bar in BARS}
    yield f"{'process':26}{'wall, s':>9}{'CPU, s':>9}{'bar, s':>9}"
    for name, (wall, cpu) in seconds.items():
        line, bar = f"{name:26}{wall:9.3f}{cpu:9.3f}", bars.get(name)
        if bar is not None:
            most = bar.more + (bar.times * seconds[bar.other][0] if bar.other is not None else 0.0)
            line += f"{most:9.3f}  {'met' if wall <= most else f'missed, {wall / most:.1f} times'}"
        yield line


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _otava(values: list[float]) -> float:
    argv = [
        str(BIN / "uv"),
        "run",
        "--quiet",
        "--no-project",
        "--isolated",
        "--python",
        "3.11",
        "--with",
        "apache-otava==0.8.0",
    ]
    ended = subprocess.run(
        [*argv, "python", "-c", _OTAVA], check=True, input=json.dumps(values), capture_output=True, text=True
    )
    return float(ended.stdout)


if __name__ == "__main__":
    sys.exit(main())
