"""Measures what people wait for, beside the program that they know: `.venv/bin/python tools/measure_speed.py`.

Whole processes, the fastest of five. Needs benchstat in .venv/bin (tools/install-benchstat.sh); Otava runs in an environment of its own.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cliffwatch.stats.history.steps import steps
from cliffwatch.stats.history.watch import Watch

BIN = Path(sys.executable).parent
REPEATS = 5

_OTAVA = """
import json, sys, time
from otava.analysis import compute_change_points
values = json.load(sys.stdin)
compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=0.0)
began = time.perf_counter()
compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=0.0)
print(time.perf_counter() - began)
"""


def main() -> int:
    for metrics in (200, 10_000):
        ours, theirs = _reports(metrics)
        print(
            f"{metrics} metrics, 21 boots an arm, files to text: {ours:.2f} s, benchstat {theirs:.2f} s, ratio {ours / theirs:.1f}"
        )
    logs = np.random.default_rng(12).normal(0, 0.015, size=5000)
    logs[2500:] += 0.03
    mine = min(_timed(lambda: steps(logs)) for _ in range(REPEATS))
    otava = _otava([float(value) for value in np.exp(logs)])
    print(
        f"a series of 5000 points: {1000 * mine:.1f} ms, Otava {1000 * otava:.1f} ms, {otava / mine:.0f} times as many a second"
    )
    watches = [Watch(logs=[float(value) for value in logs[:300]]) for _ in range(3000)]
    print(f"one point more on 3000 series: {_timed(lambda: [watch.append(0.0) for watch in watches]):.2f} s")
    return 0


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _reports(metrics: int) -> tuple[float, float]:
    generator = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        files = [f"{folder}/base", f"{folder}/head"]
        for file in files:
            lines = [
                f"BenchmarkM{metric} 1 {value:.4f} ns/op"
                for metric in range(metrics)
                for value in 1000 * np.exp(generator.normal(0, 0.02, 21))
            ]
            Path(file).write_text("\n".join(lines) + "\n")
        ours = _process([str(BIN / "cliffwatch"), "compare", *files])
        return ours, _process([str(BIN / "benchstat"), *files])


def _process(argv: list[str]) -> float:
    return min(_timed(lambda: subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)) for _ in range(REPEATS))


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
