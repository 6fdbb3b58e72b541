"""Applies ten refactorings and ten small real costs to linux 6.12, one at a time, and checks what the reports say.

    .venv/bin/python tools/cost_shift TREE [--seed N] [--only NAME,…] [--out DIR] [--cache DIR]
    .venv/bin/python tools/cost_shift --judge [--out DIR]

TREE is a source folder or archive. The seed chooses the functions and the costs. A refactoring is right if the
report says that cost moved or a function was renamed, names the functions, and calls none slower or faster; a
cost is right if the report calls its function slower. A run that ended is not repeated. Ends with 1 unless all
are right.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from cliffwatch.formats.reading import decode  # noqa: E402
from cost_shift.command import run_cliffwatch  # noqa: E402
from cost_shift.edits import Edit  # noqa: E402
from cost_shift.judging import Outcome, Truth, judge  # noqa: E402
from cost_shift.refactorings import PATHS as REFACTORED  # noqa: E402
from cost_shift.refactorings import choose_refactorings  # noqa: E402
from cost_shift.regressions import PATHS as PLANTED  # noqa: E402
from cost_shift.regressions import choose_regressions  # noqa: E402
from cost_shift.source import patch_of, read_files  # noqa: E402

SUITES = "ringbufs,bloom,hashmap,lpm-trie,htab-mem,rename"
"""The same for every run, since the suites decide the kernel's config: each build only compiles its edit."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", nargs="?", type=Path)
    parser.add_argument("--judge", action="store_true", help="judge the runs that there are")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="names of edits, separated by commas")
    parser.add_argument("--out", type=Path, default=Path("cliffwatch-results/cost-shift"))
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--suite", default=SUITES)
    options = parser.parse_args()
    if options.judge == bool(options.tree):
        parser.error("name a tree to measure, or finished runs with --judge")
    if options.tree:
        edits = _write(options.tree, options.seed, options.out)
        wanted = set(filter(None, options.only.split(","))) or {edit.name for edit in edits}
        for edit in edits:
            if edit.name in wanted:
                _measure(edit, options)
    outcomes = list(_outcomes(options.out))
    for line in _lines(outcomes):
        print(line)
    return 0 if outcomes and all(each.right for each in outcomes) else 1


def _write(tree: Path, seed: int, out: Path) -> list[Edit]:
    """Writes the patches, and what they do, to the folder."""
    files = read_files(tree, REFACTORED | PLANTED)
    both = zip(choose_refactorings(files, seed), choose_regressions(files, seed), strict=True)
    edits = [edit for pair in both for edit in pair]
    for edit in edits:
        folder = out / edit.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "head.patch").write_text(patch_of(files, edit.files))
        truth = {name: value for name, value in asdict(edit).items() if name != "files"}
        (folder / "truth.json").write_text(json.dumps({**truth, "seed": seed}, indent=1) + "\n")
    return edits


def _measure(edit: Edit, options: argparse.Namespace) -> None:
    folder = options.out / edit.name
    if (folder / "report.txt").exists():
        return
    print(f"{edit.name}: {edit.functions[0]} {edit.kind}", file=sys.stderr, flush=True)
    words = ["--base", "HEAD", "--head", "HEAD", "--patch", folder / "head.patch", "--suite", options.suite]
    words += ["--case", edit.case, "--boots", 1, "--bench-from", "base", "--out", folder / "results"]
    words += ["--cache", options.cache] if options.cache else []
    report = run_cliffwatch("run", "--tree", options.tree, *words)
    if report is None:
        print(f"{edit.name}: not measured", file=sys.stderr, flush=True)
        return
    (folder / "report.txt").write_text(report)


def _outcomes(out: Path) -> Iterable[Outcome]:
    for truth in sorted(
        out.glob("*/truth.json"), key=lambda path: (path.parent.name[0], int(path.parent.name[1:]))
    ):
        if not (truth.parent / "report.txt").exists():
            continue
        report = run_cliffwatch("compare", truth.parent / "results", "--format", "json")
        if report is not None:
            yield judge(decode(truth.read_bytes(), Truth), report)


def _lines(outcomes: Sequence[Outcome]) -> Iterable[str]:
    for each in outcomes:
        yield f"{'right' if each.right else 'WRONG'}  {each.name:4} {each.about}"
        for line in each.said:
            yield f"             {line}"
    for expected, words in (
        ("moved", "refactorings told as moved or renamed"),
        ("slower", "costs named by function"),
    ):
        asked = [each for each in outcomes if each.expected == expected]
        said = [each for each in outcomes if each.told == expected]
        right = sum(each.right for each in asked)
        precise = sum(each.expected == expected for each in said)
        yield f"{right} of {len(asked)} {words}; {precise} of {len(said)} told so were"


if __name__ == "__main__":
    sys.exit(main())
