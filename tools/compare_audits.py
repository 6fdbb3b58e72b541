#!/usr/bin/env python3
"""Compares the values that two audits by `cliffwatch releases` share: how many are equal, and how far the rest are.

Usage: tools/compare_audits.py EARLIER/data LATER/data RELEASE …

A value is the median over boots of one metric of one case on one release.
"""

import statistics
import sys
from collections.abc import Mapping
from pathlib import Path

from pyarrow import parquet

WITHIN = (0.0, 0.002, 0.01)
MOST_NAMED = 10
Key = tuple[str, ...]


def read_medians(folder: Path, releases: set[str]) -> Mapping[Key, float]:
    """Medians by run, suite, benchmark, parameters, metric and release."""
    values: dict[Key, list[float]] = {}
    for file in sorted(folder.glob("*.parquet")):
        for row in parquet.read_table(file).to_pylist():
            if row["value"] is not None and row["arm"] in releases:
                named = (row["suite"], row["benchmark"], row["params"], row["metric"], row["arm"])
                values.setdefault((file.stem, *map(str, named)), []).append(row["value"])
    return {key: statistics.median(each) for key, each in values.items()}


def main() -> None:
    """Prints the shares, and the values that differ most."""
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    earlier, later = (read_medians(Path(each), set(sys.argv[3:])) for each in sys.argv[1:3])
    shared = sorted(earlier.keys() & later.keys())
    apart = {
        key: abs(later[key] / earlier[key] - 1) if earlier[key] else float(later[key] != 0) for key in shared
    }
    print(f"{len(shared)} values of both audits")
    for most in WITHIN:
        print(f"{sum(each <= most for each in apart.values()):8} differ by at most {most:.1%}")
    for key in sorted(shared, key=lambda key: -apart[key])[:MOST_NAMED]:
        print(f"{apart[key]:8.2%}  {' '.join(key[1:])}: {earlier[key]:g} and {later[key]:g}")


if __name__ == "__main__":
    main()
