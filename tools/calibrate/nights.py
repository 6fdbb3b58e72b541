"""Real noise: benchmark nights at a fixed commit, on which nothing changed."""

import csv
import gzip
from collections import defaultdict
from pathlib import Path

import numpy as np

from calibrate.noise import Values


def read_nights(path: Path) -> dict[str, Values]:
    """Series by variant, commit and benchmark: seconds in the order of nights. A night stands for a boot."""
    nights: dict[str, list[tuple[int, float]]] = defaultdict(list)
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            name = f"{row['variant']}/{row['commit'][:8]}/{row['benchmark']}"
            nights[name].append((int(row["night"]), float(row["seconds"])))
    return {name: np.array([seconds for _, seconds in sorted(points)]) for name, points in nights.items()}


def groups(nights: dict[str, Values]) -> dict[str, dict[str, Values]]:
    """The series of each variant and commit, by benchmark: one host, one kernel, many metrics."""
    series_of: dict[str, dict[str, Values]] = defaultdict(dict)
    for name, series in nights.items():
        variant, commit, benchmark = name.split("/", 2)
        series_of[f"{variant}/{commit}"][benchmark] = series
    return dict(series_of)
