"""Measures what the runner adds to builds and boots: wall time of a run against the time that its parts took.

    .venv/bin/python tools/measure_overhead.py OUT -- --tree TREE --base REV --head REV …

Runs `cliffwatch run --out OUT` with the options after `--`. The parts are the builds, as the run tells
them, and the time in which at least one guest ran (`began` to `ended` of every boot.json).
"""

import json
import re
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

_BUILD = re.compile(r"(?m)^\[\s*\d+ s\] build [^:]+: .*\((?:(\d+) min )?(\d+) s\)$")


def main() -> int:
    out, options = Path(sys.argv[1]), sys.argv[sys.argv.index("--") + 1 :]
    cliffwatch = Path(sys.executable).parent / "cliffwatch"
    began = time.monotonic()
    ended = subprocess.run(
        [str(cliffwatch), "run", "--out", str(out), *options], check=False, capture_output=True, text=True
    )
    wall = time.monotonic() - began
    builds = sum(60 * int(minutes or 0) + int(seconds) for minutes, seconds in _BUILD.findall(ended.stderr))
    boots = _covered([_interval(path) for path in out.glob("boots/*/boot.json")])
    added = wall - builds - boots
    print(
        f"wall {wall:.1f} s = builds {builds} s + guests {boots:.1f} s + {added:.1f} s"
        f" ({added / (builds + boots):.1%})"
    )
    return ended.returncode


def _interval(path: Path) -> tuple[float, float]:
    about = json.loads(path.read_text())
    first, last = (datetime.fromisoformat(about[name]).timestamp() for name in ("began", "ended"))
    return first, last


def _covered(intervals: list[tuple[float, float]]) -> float:
    """Seconds that lie in at least one of the intervals."""
    total, reached = 0.0, 0.0
    for first, last in sorted(intervals):
        total += max(0.0, last - max(first, reached))
        reached = max(reached, last)
    return total


if __name__ == "__main__":
    sys.exit(main())
