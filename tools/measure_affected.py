"""Measures what `cliffwatch affected` leaves out, and whether it leaves out too much: `make affected-test` (docs/performance.md).

Twenty seeded patches: to BPF helpers and inline functions, and to what cases execute less of (mm, net and fs, drivers, headers, comments). Of each the cases that can be touched are
listed; with --measure they are all measured too, and a case that changed beyond its repeatability and was left out is an error. The counts are of a run that is made first.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from planted_history.edits import Mix, drawn_edits

CLIFFWATCH = Path(sys.executable).parent / "cliffwatch"
SUITES = "local-storage,hashmap,bloom,strncmp,trigger,rename,ringbufs"
CHANGES = ("regression", "improvement", "changed")
INLINE_HEADERS = (
    "include/linux/bpf_local_storage.h",
    "include/linux/bpfptr.h",
    "include/linux/percpu_freelist.h",
    "include/linux/jhash.h",
)
_HELPER = re.compile(r"^BPF_CALL_\d\((\w+),[^{;]*?\)\n\{\n", re.MULTILINE)
_INLINE = re.compile(r"^static (?:__always_)?inline [^;{}#]*\n?\{\n", re.MULTILINE)
_WORK = '\tasm volatile("nop\\n\\tnop\\n\\tnop\\n\\tnop");\n'


@dataclass(frozen=True)
class Patch:
    kind: str
    path: str
    change: Callable[[str], str]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tree", required=True, help="the kernel tree that is built, as for cliffwatch run")
    options.add_argument(
        "--sources", type=Path, help="a git repository with the same HEAD to draw patches from; default: the tree"
    )
    options.add_argument(
        "--counts", type=Path, required=True, help="result directory of a run of HEAD that counted these suites"
    )
    options.add_argument("--seed", type=int, required=True)
    options.add_argument("--suite", default=SUITES, help="suites, with commas between them")
    options.add_argument("--most", type=int, default=20)
    options.add_argument("--measure", action="store_true")
    chosen = options.parse_args()
    wrong = 0
    print(f"{'kind':<9}{'changed':>8}{'cases':>7}{'touched':>9}{'wrongly left out':>18}  file", flush=True)
    sources = chosen.sources or Path(chosen.tree)
    for number, patch in enumerate(drawn(sources, random.Random(chosen.seed))[: chosen.most]):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{number}.patch"
            file.write_text(diff_of(sources, patch))
            wrong += row(patch, file, chosen)
    return 1 if wrong else 0


def drawn(tree: Path, draw: random.Random) -> list[Patch]:
    files = git(tree, "ls-files").splitlines()
    mix = Mix(text=4, drivers=6, comments=4, breaks=0, reverted=0)
    others = [Patch(each.kind, each.path, each.change) for each in drawn_edits(mix, files, draw) if each.change]
    helpers = [
        Patch("bpf", f"kernel/bpf/{name}.c", worked(_HELPER, draw.random()))
        for name in ("helpers", "hashtab", "ringbuf", "bpf_task_storage")
    ]
    inline = [Patch("inline", path, worked(_INLINE, draw.random())) for path in INLINE_HEADERS if path in files][:2]
    patches = [*helpers, *inline, *others]
    draw.shuffle(patches)
    return patches


def worked(form: re.Pattern[str], where: float) -> Callable[[str], str]:
    """Four instructions more in one of the functions of a form."""

    def change(text: str) -> str:
        found = list(form.finditer(text))
        if not found:
            return text
        at = found[int(where * len(found))].end()
        return text[:at] + _WORK + text[at:]

    return change


def diff_of(tree: Path, patch: Patch) -> str:
    old = git(tree, "show", f"HEAD:{patch.path}")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("a", old), ("b", patch.change(old))):
            path = Path(folder) / name / patch.path
            path.parent.mkdir(parents=True)
            path.write_text(text)
        argv = ["git", "diff", "--no-index", "--no-prefix", "--", f"a/{patch.path}", f"b/{patch.path}"]
        return subprocess.run(argv, check=False, cwd=folder, capture_output=True, text=True).stdout


def row(patch: Patch, file: Path, chosen: argparse.Namespace) -> int:
    common = [
        "--tree",
        chosen.tree,
        "--base",
        "HEAD",
        "--head",
        "HEAD",
        "--patch",
        str(file),
        "--suite",
        chosen.suite,
    ]
    answered = asked(["affected", *common, "--counts", str(chosen.counts), "--format", "json"])
    if answered is None:
        print(f"{patch.kind:<9}{'does not build, or has no text':<42}  {patch.path}", flush=True)
        return 0
    answer = json.loads(answered)
    cases = len(answer["affected"]) + len(answer["unaffected"])
    missed = list(wrongly_left_out(common, answer)) if chosen.measure else []
    said = str(len(missed)) if chosen.measure else "not measured"
    start = f" (at start: {', '.join(answer['at_start'][:3])})" if answer["at_start"] else ""
    print(
        f"{patch.kind:<9}{len(answer['changed']):>8}{cases:>7}{len(answer['affected']):>9}{said:>18}  {patch.path}{start}",
        flush=True,
    )
    return len(missed)


def wrongly_left_out(common: list[str], answer: dict[str, list[dict[str, object]]]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as out:
        report = asked(["run", *common, "--mode", "icount", "--boots", "1", "--out", f"{out}/run", "--format", "json"])
    rows = json.loads(report or "{}").get("comparisons", [])
    left_out = {name_of(case) for case in answer["unaffected"]}
    yield from (
        name_of(row) for row in rows if row["primary"] and row["verdict"] in CHANGES and name_of(row) in left_out
    )


def name_of(case: dict[str, object]) -> str:
    return f"{case['suite']}/{case['benchmark']}/{case['params']}"


def asked(arguments: list[str]) -> str | None:
    ended = subprocess.run([str(CLIFFWATCH), *arguments], check=False, capture_output=True, text=True)
    return ended.stdout if ended.returncode == 0 else None


def git(tree: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(tree), *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
