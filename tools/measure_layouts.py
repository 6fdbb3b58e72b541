"""What a layout costs and does: builds a kernel, links it again with other seeds, and compares the images.

    .venv/bin/python tools/measure_layouts.py ARCHIVE [--layouts 3] [--suite local-storage] [--cache DIR]

Prints the seconds of each link and how many functions have another address. Ends with 1 where a link takes longer
than a minute.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/runner")]
from toy import RecordedProgress, request  # noqa: E402

from cliffwatch_runner.build.cache.uses import cache_uses  # noqa: E402
from cliffwatch_runner.build.kernel import Kernel, build_kernel  # noqa: E402
from cliffwatch_runner.command.options.cache import default_cache  # noqa: E402
from cliffwatch_runner.plan.run_plan import PlannedRun, plan_run  # noqa: E402
from cliffwatch_runner.run.built_run import RunTools  # noqa: E402
from cliffwatch_runner.run.prepare import check_tools  # noqa: E402

LONGEST_SECONDS = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=Path)
    parser.add_argument("--layouts", type=int, default=3)
    parser.add_argument("--suite", default="local-storage")
    parser.add_argument("--cache", type=Path, default=default_cache())
    options = parser.parse_args()
    seeds = [random.SystemRandom().randrange(10**6, 10**9) for _ in range(options.layouts)]
    began: dict[str, float] = {}

    def note(_: float | None, step: str) -> None:
        if step.startswith("layout "):
            began[step] = time.monotonic()

    kernel = _built(options, seeds, note)
    ends = [*list(began.values())[1:], time.monotonic()]
    seconds = [end - start for start, end in zip(began.values(), ends, strict=True)]
    before = _addresses(kernel.folder)
    for seed, took in zip(seeds, seconds, strict=True):
        after = _addresses(kernel.layouts[seed])
        moved = sum(after.get(name) != address for name, address in before.items())
        print(f"seed {seed}: {took:.1f} s, {moved} of {len(before)} functions elsewhere")
    print(f"longest {max(seconds):.1f} s of {LONGEST_SECONDS:.0f} s")
    return 0 if max(seconds) <= LONGEST_SECONDS else 1


def _built(options: argparse.Namespace, seeds: list[int], note: object) -> Kernel:
    with tempfile.TemporaryDirectory(prefix="cliffwatch-layouts-") as folder, cache_uses() as uses:
        wanted = request(
            options.tree,
            Path(folder),
            base="HEAD",
            head="HEAD",
            cache=options.cache,
            suites=(options.suite,),
            jobs=2,
        )
        planned = plan_run(wanted)
        assert isinstance(planned, PlannedRun), planned
        tools = check_tools(planned, RecordedProgress(), threading.Event(), uses, wanted.cache)
        assert isinstance(tools, RunTools), tools
        own, revision = tools.of_arms["base"], planned.subjects[0].revision
        assert revision is not None
        kernel = build_kernel(
            planned.tree,
            revision,
            fragments=own.fragments,
            toolchain=own.toolchain,
            settings=replace(tools.settings, report_progress=note),
            layouts=seeds,
        )
    assert isinstance(kernel, Kernel), kernel
    assert kernel.one_layout is None, kernel.one_layout
    return kernel


def _addresses(folder: Path) -> dict[str, str]:
    lines = (line.split() for line in (folder / "System.map").read_text().splitlines())
    return {name: address for address, kind, name in lines if kind in "tT"}


if __name__ == "__main__":
    sys.exit(main())
