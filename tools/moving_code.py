"""Applies twenty patches to linux 6.12 that only move code, one at a time, and checks that nothing is reported.

    .venv/bin/python tools/moving_code.py TREE [--seed N] [--count 20] [--out DIR] [--cache DIR]
    .venv/bin/python tools/moving_code.py TREE --rehearse …

TREE is a source folder or archive. The seed draws the patches: an unused function of some size before the
functions of a file of BPF, slab or RCU, or another order of kernel/bpf's objects. Each is measured in icount
with five cases; or with --rehearse in walltime on an emulated processor, in as many layouts as boots or in
--layouts, with one of these and two that the seed draws from profile standard. A run that ended is not repeated.
`--first 11` begins with the eleventh patch. Prints what each moved and what was reported of it, in a rehearsal
also of base against base in other layouts, and how many rows could show no change, however large; ends with 1 if
any row was reported, or if a run failed.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent)]

from cost_shift.command import run_cliffwatch  # noqa: E402
from cost_shift.source import Files, patch_of, read_files  # noqa: E402

from cliffwatch.catalogue.load import load_catalogue  # noqa: E402
from cliffwatch.counting import count_noun  # noqa: E402

FILES = (
    "kernel/bpf/hashtab.c",
    "kernel/bpf/bpf_local_storage.c",
    "kernel/bpf/bpf_task_storage.c",
    "kernel/bpf/helpers.c",
    "kernel/bpf/syscall.c",
    "kernel/bpf/core.c",
    "kernel/bpf/trampoline.c",
    "kernel/trace/bpf_trace.c",
    "mm/slub.c",
    "kernel/rcu/tree.c",
)
OBJECTS = "kernel/bpf/Makefile"
SUITES = "local-storage,hashmap,trigger"
CASES = ("seq-get/nr_maps=16", "int-get/nr_maps=16", "bpf-hashmap-full-update", "trig-fentry", "trig-kprobe")
APART = ("veristat", "xdp-lb", "cilium-ebpf", "prog-run")
"""Suites with programs of their own, some of minutes a case."""
CHANGES = ("regression", "improvement", "changed")


def main() -> int:
    options = _options()
    files = read_files(options.tree, {*FILES, OBJECTS})
    wrong = 0
    for number in range(options.first, options.count + 1):
        draw = random.Random(f"{options.seed}/{number}")
        about, edited = _edit(files, draw)
        folder = options.out / f"p{number:02}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "head.patch").write_text(patch_of(files, edited))
        report = _rehearse(folder, draw, options) if options.rehearse else _count(folder, options)
        wrong += _print_reported(f"p{number:02}  {about}", report)
    measured = options.count - options.first + 1
    print(f"{measured - wrong} of {measured} patches without a report")
    return 1 if wrong else 0


def _print_reported(about: str, report: "dict[str, Any] | None") -> bool:
    """Whether anything was reported, or nothing measured."""
    if report is None:
        print(f"{about}: not measured", flush=True)
        return True
    rows = [row for row in report["comparisons"] if row["primary"]]
    changes = [row for row in rows if row["verdict"] in CHANGES]
    control = report["control"]
    beside = f"; base vs base {control['published']} of {control['rows']}" if control else ""
    blind = sum(row["mde"] is None for row in rows if row["verdict"] not in CHANGES)
    unseen = f"; {count_noun(blind, 'row')} could show no change" if blind else ""
    print(f"{about}: {len(changes)} of {len(rows)} rows reported{beside}{unseen}", flush=True)
    for row in changes:
        print(f"       {row['benchmark']} {row['params']} {row['change']:+.3%} {row['verdict']}", flush=True)
    return bool(changes or (control and control["published"]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--boots", type=int, default=6, help="of each kernel, in the rehearsal")
    parser.add_argument("--layouts", type=int, help="of each kernel, in the rehearsal; else as many as boots")
    parser.add_argument("--pin", help="CPU of the guests, in the rehearsal")
    parser.add_argument("--out", type=Path, default=Path("cliffwatch-results/moving-code"))
    parser.add_argument("--cache", type=Path)
    return parser.parse_args()


def _edit(files: Files, draw: random.Random) -> tuple[str, Files]:
    if draw.random() < 0.25:
        return "objects of kernel/bpf in another order", {OBJECTS: _in_another_order(files[OBJECTS], draw)}
    path, steps = draw.choice(FILES), draw.randrange(1, 400)
    text = files[path]
    # Behind the includes on top, not those within a table: every function of the file moves.
    top = text[: text.index("{\n")]
    place = max(found.end() for found in re.finditer(r"^#include [^\n]*\n", top, re.MULTILINE))
    body = "".join(f"\t*at += {draw.randrange(1, 1 << 20)};\n" for _ in range(steps))
    head = "static noinline __used void not_called(volatile int *at)"
    return (
        f"an unused function of {steps} statements in {path}",
        {path: f"{text[:place]}\n{head}\n{{\n{body}}}\n{text[place:]}"},
    )


def _in_another_order(text: str, draw: random.Random) -> str:
    """The objects of one line of the Makefile, shuffled."""
    lines = text.splitlines(keepends=True)
    long = [number for number, line in enumerate(lines) if len(re.findall(r"\b\w+\.o\b", line)) > 2]
    number = draw.choice(long)
    head, objects = lines[number].split("+=", 1)
    names = objects.split()
    draw.shuffle(names)
    lines[number] = f"{head}+= {' '.join(names)}\n"
    return "".join(lines)


def _count(folder: Path, options: argparse.Namespace) -> "dict[str, Any] | None":
    return _measure(folder, folder / "icount", ["--boots", 2, "--suite", SUITES], CASES, options)


def _rehearse(folder: Path, draw: random.Random, options: argparse.Namespace) -> "dict[str, Any] | None":
    suites = dict(_of_one_cpu())
    drawn = [draw.choice(suites[name]) for name in draw.sample(sorted(suites), 2)]
    layouts = options.layouts or options.boots
    words = ["--mode", "walltime", "--accel", "tcg", "--boots", options.boots, "--layouts", layouts]
    # All of them, so that every run has one configuration, and base's kernels are built once.
    words += ["--profile", "standard", "--suite", ",".join(suites)]
    words += ["--pin", options.pin] if options.pin else []
    results = folder / ("rehearsal" if layouts == options.boots else f"rehearsal-in-{layouts}")
    return _measure(folder, results, words, [draw.choice(CASES), *drawn], options)


def _of_one_cpu() -> Iterator[tuple[str, list[str]]]:
    """Each suite's cases that a guest with one CPU can run."""
    for suite in load_catalogue().suites:
        cases = [
            str(case.key)
            for case in suite.cases("standard")
            if case.min_cpus == 1 and case.guest.cpus in (None, 1) and case.guest.possible_cpus is None
        ]
        if cases and suite.name not in APART:
            yield suite.name, cases


def _measure(
    folder: Path, results: Path, how: list[Any], cases: Iterable[str], options: argparse.Namespace
) -> "dict[str, Any] | None":
    words = ["run", "--tree", options.tree, "--base", "HEAD", "--head", "HEAD", "--bench-from", "base", *how]
    words += ["--patch", folder / "head.patch", "--out", results]
    words += [word for case in cases for word in ("--case", case)]
    words += ["--cache", options.cache] if options.cache else []
    if run_cliffwatch(*words) is None:
        return None
    report = run_cliffwatch("compare", results, "--format", "json", "--all-metrics")
    return None if report is None else json.loads(report)


if __name__ == "__main__":
    sys.exit(main())
