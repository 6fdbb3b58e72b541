"""Makes a history of 40 commits of which three change speed, and checks whether `cliffwatch bisect` names
them.

    python tools/planted_history TREE --seed N --out FOLDER [--patches FOLDER] [--small | --two-sides | --code] [--bisect] [--cache DIR]

TREE is a linux repository, folder or archive. FOLDER/linux.git gets the history (branches `base` and
`planted`) and FOLDER/truth.json what is planted where, which nothing reads but the check at the end. 40
commits: one for each patch, three by default and one of them inside a merge; ten that move kernel text off
the measured paths, twenty that touch drivers and their headers, five of comments alone, one that breaks
the build and one that is reverted; besides them the fix, the revert and the merge. With --small four, of
which one is planted. With --two-sides a merge of six, by the patches of tests/data/two-sides: one side
makes a case slower by 3 %, the other one the same case faster by 2 %. With --code the patches of
tests/data/planted-code, which are code of a few instructions in ring buffers, bloom filter and strncmp,
and all cases of these suites. With --bisect the check: one bisection of all cases that the patches change,
which ends with 1 where it names anything but what was planted.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools")]

from cliffwatch.failure import Failure  # noqa: E402
from cliffwatch_runner.command.options.cache import default_cache  # noqa: E402
from cliffwatch_runner.source.git import git  # noqa: E402
from cliffwatch_runner.source.tree import open_tree  # noqa: E402
from planted_history.edits import Mix  # noqa: E402
from planted_history.history import (  # noqa: E402
    History,
    digest_of,
    make_history,
    make_two_sides,
    write_truth,
)

SMALL = Mix(text=1, drivers=1, comments=1, breaks=0, reverted=0)
CASES = (
    "*local-storage-cache-seq-get/nr_maps=16",
    "*local-storage-cache-hashmap-control/hashmap_nr_keys_used=10",
    "*trig-syscall-count",
)
SUITES = "local-storage,harness"
TWO_SIDES = ROOT / "tests/data/two-sides"
CODE = ROOT / "tests/data/planted-code"
SUITES_OF_CODE = "ringbufs,bloom,strncmp"


def main() -> int:
    options = _options()
    folder = TWO_SIDES if options.two_sides else CODE if options.code else options.patches
    patches = sorted(folder.glob("*.patch"))
    if not patches:
        print(f"there is no patch (*.patch) in {folder}", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    history = _made(options, patches[: 1 if options.small else None])
    if isinstance(history, Failure):
        print(f"{history.message}: {history.next_step}", file=sys.stderr)
        return history.exit
    write_truth(history, options.out / "truth.json")
    print(
        f"seed {history.seed}: {len(history.made)} commits, {digest_of(history)}, in"
        f" {options.out / 'linux.git'}",
        flush=True,
    )
    return _checked(options, history) if options.bisect else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree")
    parser.add_argument("--base", default="HEAD")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--patches", type=Path, default=ROOT / "tests/data/planted")
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--small", action="store_true")
    sizes.add_argument("--two-sides", action="store_true")
    sizes.add_argument("--code", action="store_true")
    parser.add_argument("--bisect", action="store_true")
    parser.add_argument("--cache", type=Path, default=default_cache())
    return parser.parse_args()


def _made(options: argparse.Namespace, patches: list[Path]) -> History | Failure:
    tree = open_tree(options.tree, options.cache, "own")
    if isinstance(tree, Failure):
        return tree
    base = tree.resolve(options.base)
    if isinstance(base, Failure):
        return base
    repository = options.out / "linux.git"
    git(["init", "--quiet", "--bare", str(repository)])
    (repository / "objects/info/alternates").write_text(f"{tree.mirror.resolve()}/objects\n")
    if options.two_sides:
        return make_two_sides(repository, base.commit, patches, options.seed)
    return make_history(repository, base.commit, patches, options.seed, SMALL if options.small else Mix())


def _checked(options: argparse.Namespace, history: History) -> int:
    """Bisects as a user does, by the command alone, and holds what it names against what was planted."""
    drawn = () if options.code else CASES[:1] if options.two_sides else CASES
    cases = [word for case in drawn for word in ("--case", case)]
    suites = SUITES_OF_CODE if options.code else SUITES.partition(",")[0] if options.two_sides else SUITES
    argv = [
        str(Path(sys.executable).parent / "cliffwatch"),
        "bisect",
        "--tree",
        str(options.out / "linux.git"),
    ]
    argv += ["--good", "base", "--bad", "planted", "--suite", suites, "--mode", "icount", *cases]
    argv += ["--cache", str(options.cache), "--out", str(options.out / "bisection")]
    began = time.monotonic()
    ended = subprocess.run(argv, check=False, stdout=subprocess.PIPE, text=True)
    minutes = (time.monotonic() - began) / 60
    print(ended.stdout, flush=True)
    if ended.returncode:
        return ended.returncode
    document = json.loads((options.out / "bisection/bisection.json").read_text())
    named = {tuple(each["commit"] for each in culprit["commits"]) for culprit in document["culprits"]}
    right = named == {(commit,) for commit in history.planted.values()}
    commits = document["measured"] + len(document["skipped"])
    print(
        f"{'right' if right else 'WRONG'}: {len(named)} culprits, {len(history.planted)} planted;"
        f" {minutes:.1f} min, {commits} commits, {minutes / max(1, commits):.1f} min each"
    )
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())
