"""What a layout costs and does: builds a kernel, links it again with other seeds, and compares the images.

    .venv/bin/python tools/measure_layouts.py ARCHIVE [--layouts 3] [--patch FILE] [--suite local-storage] [--cache DIR]

Prints the seconds of each link and how many functions have another address. With --patch, the patched kernel is
then matched to each image: prints how many of the functions that both share have the same address modulo 4096.
Ends with 1 where a link takes longer than a minute, or fewer than 99 % of the functions match.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/runner")]
from toy import RecordedProgress, request  # noqa: E402

from cliffwatch_runner.build.cache.uses import cache_uses  # noqa: E402
from cliffwatch_runner.build.kernel import Kernel, build_kernel  # noqa: E402
from cliffwatch_runner.build.layouts.matched import LEAST_SHARE, Matched  # noqa: E402
from cliffwatch_runner.build.layouts.matching import count_matches, unchanged_functions  # noqa: E402
from cliffwatch_runner.build.layouts.relink import read_addresses  # noqa: E402
from cliffwatch_runner.command.options.cache import default_cache  # noqa: E402
from cliffwatch_runner.plan.run_plan import PlannedRun, plan_run  # noqa: E402
from cliffwatch_runner.run.built_run import RunTools  # noqa: E402
from cliffwatch_runner.run.prepare import check_tools  # noqa: E402
from cliffwatch_runner.source.revision import Revision  # noqa: E402

LONGEST_SECONDS = 60.0

Build = Callable[..., Kernel]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=Path)
    parser.add_argument("--layouts", type=int, default=3)
    parser.add_argument("--patch", type=Path)
    parser.add_argument("--suite", default="local-storage")
    parser.add_argument("--cache", type=Path, default=default_cache())
    options = parser.parse_args()
    seeds = [random.SystemRandom().randrange(10**6, 10**9) for _ in range(options.layouts)]
    began: dict[str, float] = {}

    def note(_: float | None, step: str) -> None:
        if "layout " in step:
            began[step] = time.monotonic()

    share = 1.0
    with builds(options, note) as build:
        kernel = build("base", layouts=seeds)
        assert kernel.one_layout is None, kernel.one_layout
        seconds = _seconds(began)
        before = read_addresses(kernel.folder)
        for seed, took in zip(seeds, seconds, strict=True):
            after = read_addresses(kernel.layouts[seed])
            moved = sum(after.get(function) != address for function, address in before.items())
            print(f"seed {seed}: {took:.1f} s, {moved} of {len(before)} functions elsewhere", flush=True)
        if options.patch is not None:
            began.clear()
            head = build("head", matched=Matched(kernel.folder, tuple(seeds)))
            assert head.unmatched is None, head.unmatched
            share = _print_matches(kernel, head, _seconds(began))
    print(f"longest {max(seconds):.1f} s of {LONGEST_SECONDS:.0f} s")
    return 0 if max(seconds) <= LONGEST_SECONDS and share >= LEAST_SHARE else 1


def _seconds(began: dict[str, float]) -> list[float]:
    ends = [*list(began.values())[1:], time.monotonic()]
    return [end - start for start, end in zip(began.values(), ends, strict=True)]


def _print_matches(base: Kernel, head: Kernel, seconds: list[float]) -> float:
    """Returns the smallest share of unchanged functions with base's addresses."""
    of_base, of_head = read_addresses(base.folder), read_addresses(head.folder)
    functions = unchanged_functions(of_base, of_head)
    print(f"{len(functions)} of {len(of_head)} functions are unchanged: same name and size")
    shares = []
    for (seed, image), took in zip(head.matched.items(), seconds, strict=True):
        match = count_matches(functions, read_addresses(image), read_addresses(base.layouts[seed]))
        shares.append(match.share)
        print(f"matched to {seed}: {took:.1f} s, {match.equal} of {match.of} ({match.share:.2%})")
    return min(shares)


@contextmanager
def builds(options: argparse.Namespace, note: Callable[[float | None, str], None]) -> Iterator[Build]:
    """Yields what builds an arm's kernel in layouts."""
    with tempfile.TemporaryDirectory(prefix="cliffwatch-layouts-") as folder, cache_uses() as uses:
        wanted = request(
            options.tree,
            Path(folder),
            base="HEAD",
            head="HEAD",
            patch=options.patch,
            cache=options.cache,
            suites=(options.suite,),
            jobs=2,
        )
        planned = plan_run(wanted)
        assert isinstance(planned, PlannedRun), planned
        tools = check_tools(planned, RecordedProgress(), threading.Event(), uses, wanted.cache)
        assert isinstance(tools, RunTools), tools
        yield partial(_build, planned, replace(tools, settings=replace(tools.settings, report_progress=note)))


def _build(planned: PlannedRun, tools: RunTools, arm: str, **images: object) -> Kernel:
    own = tools.of_arms[arm]
    (revision,) = (subject.of for subject in planned.subjects if subject.arm == arm)
    assert isinstance(revision, Revision)
    kernel = build_kernel(
        planned.tree,
        revision,
        fragments=own.fragments,
        toolchain=own.toolchain,
        settings=tools.settings,
        **images,  # type: ignore[arg-type]
    )
    assert isinstance(kernel, Kernel), kernel
    return kernel


if __name__ == "__main__":
    sys.exit(main())
