"""Applies twenty patches to linux 6.12 that only move code, one at a time, and checks that nothing is reported.

    .venv/bin/python tools/moving_code.py TREE [--seed N] [--count 20] [--out DIR] [--cache DIR]
    .venv/bin/python tools/moving_code.py TREE --rehearse …

TREE is a source folder or archive. The seed draws the patches: an unused function of some size before the
functions of a file of BPF, slab or RCU, or another order of kernel/bpf's objects. Each is measured in icount,
or with --rehearse in walltime on an emulated processor, in several layouts. A run that ended is not repeated.
Prints what each moved and what was reported of it; ends with 1 if any row was.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent)]

from cost_shift.command import run_cliffwatch  # noqa: E402
from cost_shift.source import Files, patch_of, read_files  # noqa: E402

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
CHANGES = ("regression", "improvement", "changed")


def main() -> int:
    options = _options()
    files = read_files(options.tree, {*FILES, OBJECTS})
    reported = 0
    for number in range(1, options.count + 1):
        about, edited = _edit(files, random.Random(f"{options.seed}/{number}"))
        folder = options.out / f"p{number:02}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "head.patch").write_text(patch_of(files, edited))
        rows = _measure(folder, options)
        if rows is None:
            print(f"p{number:02}  {about}: not measured", flush=True)
            reported += 1
            continue
        changes = [row for row in rows if row["primary"] and row["verdict"] in CHANGES]
        print(f"p{number:02}  {about}: {len(changes)} of {len(rows)} rows reported", flush=True)
        for row in changes:
            print(
                f"       {row['benchmark']} {row['params']} {row['change']:+.3%} {row['verdict']}", flush=True
            )
        reported += bool(changes)
    print(f"{options.count - reported} of {options.count} patches without a report")
    return 1 if reported else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--boots", default="8", help="of each kernel, in the rehearsal")
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


def _measure(folder: Path, options: argparse.Namespace) -> "list[dict[str, object]] | None":
    results = folder / ("rehearsal" if options.rehearse else "icount")
    mode = (
        ["--mode", "walltime", "--accel", "tcg", "--boots", options.boots]
        if options.rehearse
        else ["--boots", "2"]
    )
    words = ["run", "--tree", options.tree, "--base", "HEAD", "--head", "HEAD", "--bench-from", "base", *mode]
    words += ["--patch", folder / "head.patch", "--suite", SUITES, *_cases(), "--out", results]
    words += ["--cache", options.cache] if options.cache else []
    if run_cliffwatch(*words) is None:
        return None
    report = run_cliffwatch("compare", results, "--format", "json", "--all-metrics")
    return None if report is None else json.loads(report)["comparisons"]


def _cases() -> Iterator[str]:
    for case in CASES:
        yield from ("--case", case)


if __name__ == "__main__":
    sys.exit(main())
