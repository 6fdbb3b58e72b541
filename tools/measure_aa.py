"""Measures a kernel against itself, several times: the noise that every verdict has to stand above.

    .venv/bin/python tools/measure_aa.py TREE [--tries 5] [--suite local-storage] [--profile smoke] [--out DIR]

Prints the largest difference of each try and every verdict that is not `unchanged`; ends with 1 if there is one.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path


def main() -> int:
    options = _options()
    clean = True
    largest: dict[str, float] = {}
    for attempt in range(1, options.tries + 1):
        out = options.out / f"try-{attempt}"
        report = _measure(options, out)
        rows = [row for row in report["comparisons"] if row["primary"]]
        for row in rows:
            name = "/".join([row["benchmark"], *(f"{key}={value}" for key, value in row["params"].items())])
            largest[name] = max(largest.get(name, 0.0), abs(row["change"] or 0.0))
        worst = max(rows, key=lambda row: abs(row["change"] or 0.0))
        changed = [row for row in rows if row["verdict"] != "unchanged"]
        clean = clean and not changed
        print(f"try {attempt}: {len(rows)} cases, largest difference {abs(worst['change']):.5%} ({worst['benchmark']})")
        for row in changed:
            print(f"    {row['benchmark']} {row['params']}: {row['verdict']} {row['change']}: {row['reason']}")
    print("largest difference of each case over all tries:")
    for name, change in sorted(largest.items(), key=lambda item: -item[1]):
        print(f"  {change:9.5%}  {name}")
    return 0 if clean else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree")
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--suite", default="local-storage")
    parser.add_argument("--profile", default="smoke")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--out", type=Path, default=Path("cliffwatch-results/aa"))
    return parser.parse_args()


def _measure(options: argparse.Namespace, out: Path) -> dict[str, list[dict[str, object]]]:
    cliffwatch = Path(sys.executable).parent / "cliffwatch"
    cache = ["--cache", str(options.cache)] if options.cache else []
    argv = [str(cliffwatch), "run", "--tree", options.tree, "--base", "HEAD", "--head", "HEAD", "--mode", "icount"]
    argv += ["--suite", options.suite, "--profile", options.profile, "--boots", "1", "--out", str(out), *cache]
    ended = subprocess.run([*argv, "--format", "json"], check=False, stdout=subprocess.PIPE)
    if ended.returncode not in (0, 3):
        sys.exit(ended.returncode)
    return json.loads(ended.stdout)


if __name__ == "__main__":
    sys.exit(main())
