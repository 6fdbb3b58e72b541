"""Measures a patch of twelve small changes, each of one to ten instructions in one function, and says which
of them a report names.

    .venv/bin/python tools/measure_small_changes.py TREE [--out DIR]
    .venv/bin/python tools/measure_small_changes.py --results DIR

The changes are of linux 6.12 (tools/small_changes/twelve.patch): a counter, a check more. Each function
stands in the report with the cases that execute it, and whether their values changed or the function alone
did. Ends with 1 if one is not named.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PATCH = Path(__file__).parent / "small_changes/twelve.patch"
SUITES = "ringbufs,bloom,strncmp,hashmap,trigger,crypto,string-maps,local-storage"
CHANGED = {
    "__bpf_ringbuf_reserve": "ringbufs",
    "bpf_ringbuf_submit": "ringbufs",
    "bloom_map_peek_elem": "bloom",
    "bloom_map_push_elem": "bloom",
    "bpf_strncmp": "strncmp",
    "__htab_map_lookup_elem": "hashmap",
    "htab_map_update_elem": "hashmap",
    "__bpf_prog_enter_recur": "trigger",
    "trace_call_bpf": "trigger",
    "kprobe_multi_link_prog_run": "trigger",
    "bpf_crypto_crypt": "crypto",
    "trie_lookup_elem": "string-maps",
}
"""The function that each change is in, and a suite whose cases execute it."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", nargs="?")
    parser.add_argument("--results", type=Path, metavar="DIR")
    parser.add_argument("--out", type=Path, default=Path("cliffwatch-results/small-changes"))
    options = parser.parse_args()
    if bool(options.tree) == bool(options.results):
        parser.error("name a tree to measure, or a finished run with --results")
    folder = options.results or _measure(options.tree, options.out)
    report = json.loads(_run("compare", folder, "--format", "json"))
    missing = [name for name, suite in CHANGED.items() if not _named(report, name, suite)]
    print(
        f"{len(CHANGED) - len(missing)} of {len(CHANGED)} named"
        + (f"; not {', '.join(missing)}" if missing else "")
    )
    return 1 if missing else 0


def _measure(tree: str, out: Path) -> Path:
    words = ["--base", "HEAD", "--head", "HEAD", "--patch", PATCH, "--suite", SUITES, "--out", out]
    _run("run", "--tree", tree, *words)
    return out


def _named(report: dict[str, Any], name: str, suite: str) -> bool:
    """Prints where a function is named, of the cases of a suite."""
    found = [
        (case, function)
        for case in report["functions"]
        if case["suite"] == suite
        for function in case["functions"]
        if function["name"] == name
    ]
    verdicts = {
        (row["benchmark"], str(row["params"])): row["verdict"]
        for row in report["comparisons"]
        if row["primary"]
    }
    for case, function in found:
        verdict = verdicts.get((case["benchmark"], str(case["params"])), "?")
        change = function["head"] - function["base"]
        print(f"{name:30} {change:+8.2f} insns/op  {verdict:12} {case['benchmark']} {case['params'] or ''}")
    return bool(found)


def _run(*words: object) -> str:
    program = Path(sys.executable).parent / "cliffwatch"
    ended = subprocess.run([program, *map(str, words)], check=False, stdout=subprocess.PIPE, text=True)
    if ended.returncode not in (0, 1):
        sys.exit(ended.returncode)
    return ended.stdout


if __name__ == "__main__":
    sys.exit(main())
