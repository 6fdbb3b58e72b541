"""Measures what counting by function costs and changes: `make function-counts` (docs/performance.md).

One kernel against itself, with and without counts in turns: the values of both, digit by digit, beside
those of two boots without; and the time that the boots took. Needs a kernel's sources, as the demo does.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

CLIFFWATCH = Path(sys.executable).parent / "cliffwatch"
SUITES = (
    *(
        "bloom",
        "crypto",
        "harness",
        "hashmap",
        "htab-mem",
        "local-storage",
        "local-storage-create",
        "loops",
        "lpm-trie",
    ),
    *("rename", "ringbufs", "sockmap", "strncmp", "trigger", "uprobes"),
)
"""Those of bench that measure in the smoke profile."""

Values = Mapping[tuple[str, str], float]
"""By the name of a case and the metric."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tree", required=True)
    options.add_argument("--suite", action="append", default=[])
    options.add_argument("--out", type=Path, help="folder that keeps the runs")
    chosen = options.parse_args()
    suites = chosen.suite or list(SUITES)
    with tempfile.TemporaryDirectory() as temporary:
        home = chosen.out or Path(temporary)
        without, counted = (run(chosen.tree, suites, home / name, name) for name in ("without", "counted"))
        print(
            f"{'suite':<22}{'cases':>6}{'equal':>7}  {'with against without':>21}  {'two boots without':>18}"
        )
        for suite in suites:
            print(row(suite, home))
        print(
            f"time of all boots: {counted:.0f} s with counts, {without:.0f} s without:"
            f" {counted / without:.3f} times"
        )
    return 0


def run(tree: str, suites: list[str], out: Path, name: str) -> float:
    """Seconds of all boots."""
    words = ["--suite", ",".join(suites)]
    argv = [
        str(CLIFFWATCH),
        "run",
        "--tree",
        tree,
        "--base",
        "HEAD",
        "--head",
        "HEAD",
        "--mode",
        "icount",
        *words,
    ]
    argv += ["--boots", "1", "--out", str(out), *(["--no-function-counts"] if name == "without" else [])]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    boots = [json.loads(path.read_text()) for path in out.glob("boots/*/boot.json")]
    return sum(part["seconds"] for boot in boots for part in boot["parts"])


def row(suite: str, home: Path) -> str:
    sides = {name: list(boots(home / name, suite)) for name in ("without", "counted")}
    cases = {case for values in sides["counted"] for case, _ in values}
    pairs = list(zip(sides["without"], sides["counted"], strict=True))
    equal = {case for case in cases if all(alike(left, right, case) for left, right in pairs)}
    against = max((difference(left, right) for left, right in pairs), default=0.0)
    alone = difference(*sides["without"])
    return f"{suite:<22}{len(cases):>6}{len(equal):>7}  {against:>20.4%}  {alone:>17.4%}"


def boots(run_folder: Path, suite: str) -> Iterator[Values]:
    """The values of base and of head: two boots of one kernel."""
    for path in sorted(run_folder.glob("boots/*/samples.json")):
        values: dict[tuple[str, str], float] = defaultdict(float)
        for sample in json.loads(path.read_text())["samples"]:
            if sample["suite"] == suite:
                params = "/".join(f"{name}={value}" for name, value in sample["params"].items())
                values[f"{sample['benchmark']}/{params}", sample["metric"]] = sample["value"]
        yield values


def alike(left: Values, right: Values, case: str) -> bool:
    return all(
        f"{left.get(key, 0.0):.5g}" == f"{value:.5g}" for key, value in right.items() if key[0] == case
    )


def difference(left: Values, right: Values) -> float:
    """The largest relative difference of any metric that is not zero."""
    both = [(left[key], right[key]) for key in left.keys() & right.keys() if left[key]]
    return max((abs(one / other - 1) for other, one in both), default=0.0)


if __name__ == "__main__":
    sys.exit(main())
